#include "rtexec/runtime/executive/run.hpp"

#include <utility>

namespace rtexec::executive {

Result<Executive> create(TaskSet tasks, Setup setup) {
  auto run = Run::prepare(std::move(tasks), std::move(setup));
  if (!run) return Unexpected(run.error());
  return Executive(std::move(*run));
}

} // namespace rtexec::executive

namespace rtexec {

Result<Executive> Executive::create(TaskSet tasks, ExecutiveSetup setup) {
  executive::Setup internal;
  static_cast<ExecutiveSetup&>(internal) = std::move(setup);
  return executive::create(std::move(tasks), std::move(internal));
}

Executive::Executive(std::unique_ptr<executive::Run> run) : run_(std::move(run)) {}
Executive::~Executive() = default;
Executive::Executive(Executive&&) noexcept = default;
Executive& Executive::operator=(Executive&&) noexcept = default;

const ResolvedSet& Executive::set() const { return run_->set_; }
const Plan& Executive::plan() const { return run_->plan_; }
const std::vector<std::string>& Executive::fingerprints() const { return run_->set_.fingerprints; }
const std::vector<std::string>& Executive::degraded() const { return run_->degraded_; }
Result<> Executive::startable() const { return run_->startable(); }
Result<> Executive::start() { return run_->start(); }
bool Executive::wait(std::optional<Duration> at_most) { return run_->wait(at_most); }
bool Executive::trigger(std::string_view task) noexcept { return run_->trigger(task); }
void Executive::request_stop() noexcept { run_->control_.end_run(); }
Report Executive::progress() const { return run_->report(); }
Report Executive::stop() { return run_->stop(); }
JobRecords Executive::job_records() const { return run_->job_records(); }

} // namespace rtexec
