#include "rtexec/executive.hpp"

#include "rtexec/executive/run.hpp"

namespace rtexec {

Executive::Executive(std::unique_ptr<executive::Run> run) : run_(std::move(run)) {}
Executive::~Executive() = default;
Executive::Executive(Executive&&) noexcept = default;
Executive& Executive::operator=(Executive&&) noexcept = default;

Result<Executive> Executive::create(TaskSet tasks, ExecutiveSetup setup) {
  executive::Setup internal;
  static_cast<ExecutiveSetup&>(internal) = std::move(setup);
  return executive::create(std::move(tasks), std::move(internal));
}

Result<Executive> executive::create(TaskSet tasks, Setup setup) {
  auto set = load(std::move(tasks), setup);
  if (!set) return Unexpected(set.error());
  auto plan = make_plan(*set);
  if (!plan) return Unexpected(plan.error());
  return Executive(std::make_unique<Run>(std::move(*set), std::move(*plan), std::move(setup)));
}

const TaskSet& Executive::tasks() const { return run_->set_.tasks; }
const Board& Executive::board() const { return run_->set_.board; }
const Plan& Executive::plan() const { return run_->plan_; }
const std::vector<std::string>& Executive::fingerprints() const { return run_->set_.fingerprints; }
const std::vector<std::string>& Executive::degraded() const { return run_->degraded_; }
Result<> Executive::startable() const { return run_->startable(); }
Result<> Executive::start() { return run_->start(); }
bool Executive::wait(std::optional<Duration> at_most) { return run_->wait(at_most); }
void Executive::request_stop() noexcept { run_->control_.end_run(); }
Report Executive::progress() const { return run_->report(); }
Report Executive::stop() { return run_->stop(); }
JobRecords Executive::job_records() const { return run_->job_records(); }

} // namespace rtexec
