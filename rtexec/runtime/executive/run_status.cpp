#include "rtexec/runtime/executive/run.hpp"

#include "config/names.hpp"
#include "hal/machine_files.hpp"
#include "traces/emit.hpp"

#include <algorithm>
#include <iterator>

namespace rtexec::executive {

namespace {

void record_regulation(const BandwidthReport& regulation) {
  for (const std::string& reason : regulation.reasons) traces::probe("bandwidth", reason.c_str());
  for (const DomainReport& domain : regulation.domains)
    for (const unsigned core : domain.cores) traces::regulated_core(core, regulation.period);
}

} // namespace

void Run::record_plan() {
  traces::task_set(set_.tasks.file.c_str());
  traces::plan(plan_);
  for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i) {
    traces::task_info(i, set_.tasks.tasks[i], plan_.tasks[i]);
    const auto layers = set_.workloads[i]->layers();
    if (setup_.trace_layers)
      for (std::uint32_t layer = 0; layer < layers.size(); ++layer) traces::layer_info(i, layer, layers[layer].c_str());
  }
  for (std::uint32_t i = 0; i < plan_.chains.size(); ++i) traces::chain_info(i, set_.tasks, plan_.chains[i]);
  for (const std::string& line : degraded_) traces::degraded(line.c_str());
}

/// Traces the probed state of the machine: the granted scheduling class of each thread, and the properties that the
/// device and the store report.
void Run::record_probes(const Placement& placement) const {
  const auto probe = [](const std::string& service, const std::string& found) {
    traces::probe(service.c_str(), found.c_str());
  };
  const auto thread = [&](const hal::ThreadSettings& settings) {
    probe("thread " + settings.name, to_string(scheduling_of(settings)) +
                                         (settings.core ? ", core " + std::to_string(*settings.core) : ", any core"));
  };
  for (const auto* service : {&placement.scheduler, &placement.compute, &placement.copy_in, &placement.copy_out})
    thread(*service);
  std::ranges::for_each(placement.release, thread);
  std::ranges::for_each(placement.completion, thread);
  probe("device",
        device_->name() + ", " + readable(device_->capacity()) + " in chunks of " + readable(device_->chunk_size()));
  for (const std::string& finding : device_->capabilities().findings) probe("device", finding);
  if (bandwidth_) record_regulation(bandwidth_->report());
  if (memory_->store() == nullptr) return;
  probe("store", memory_->store()->description());
  if (const std::string fallback = memory_->store()->fallback(); !fallback.empty())
    probe("store", "fell back: " + fallback);
}

void Run::publish() {
  auto publisher =
      StatusPublisher::start(setup_.status_folder, first_snapshot(), [this](Snapshot& snapshot) { show(snapshot); });
  status_page_ = StatusPageReport{.file = publisher ? (*publisher)->file() : "",
                                  .failure = publisher ? "" : publisher.error().what};
  if (publisher) publisher_ = std::move(*publisher);
}

/// Returns a snapshot for the status page with its static fields filled in.
Snapshot Run::first_snapshot() const {
  Snapshot snapshot;
  RunStatus& run = snapshot.run;
  run.task_set = set_.tasks.file.native();
  run.order = spelling(plan_.order);
  if (plan_.swap) run.swap_policy = spelling(plan_.swap->policy);
  run.device = device_report_->name;
  run.used = device_report_->used;
  run.context = device_report_->context;
  run.demand = plan_.demand;
  run.capacity = plan_.capacity;
  run.chunk = plan_.chunk;
  run.planned = set_.tasks.executive.duration.value_or(Duration(0));
  run.compute_core = set_.compute_core;
  run.service_core = set_.service_core;
  run.proved = plan_.proved;
  std::string lines;
  for (const std::string& line : degraded_) lines += line + '\n';
  run.degraded = lines;
  for (const auto& task : runs_) snapshot.tasks.push_back(task->first_status());
  snapshot.chains = chains_.first_status();
  return snapshot;
}

/// Fills the dynamic fields of the snapshot. Called on the publisher's thread; reads only atomics and data that do not
/// change after the start. Allocates nothing.
void Run::show(Snapshot& snapshot) {
  RunStatus& run = snapshot.run;
  const Duration start(control_.start.load(std::memory_order_acquire));
  run.elapsed = start == Duration(0) ? start : std::max(Duration(0), hal::now().time_since_epoch() - start);
  look(run.elapsed);
  if (plan_.swap) {
    const SwapCounters moved = memory_->counters();
    run.swapped = {.in = plan_.chunk * moved.loads, .out = plan_.chunk * moved.saves};
  }
  for (std::uint32_t i = 0; i < runs_.size(); ++i) {
    TaskStatus& task = snapshot.tasks[i];
    runs_[i]->show(task);
    if (task.state == TaskState::waiting_for_device && driver_->moves_for(i)) task.state = TaskState::swapping;
  }
  chains_.show(snapshot.chains);
}

/// Checks if the machine is still in the state that it had at the start, and traces changes. `at` is the time since the
/// start of the run.
void Run::look(Duration at) {
  drift_.look(at);
  clocks_.look();
  steal_.look();
}

std::optional<SwapReport> Run::swap_report() const {
  if (!plan_.swap || !memory_) return std::nullopt;
  const SwapCounters moved = memory_->counters();
  const Bytes chunk = plan_.chunk;
  return SwapReport{.policy = plan_.swap->policy,
                    .store = memory_->store()->description(),
                    .fallback = memory_->store()->fallback(),
                    .in = chunk * moved.loads,
                    .out = chunk * moved.saves,
                    .skipped = chunk * moved.skips,
                    .dropped = chunk * moved.drops,
                    .operations = moved.loads + moved.saves + moved.skips + moved.drops,
                    .failure = memory_->store()->failure()};
}

Report Run::report() const {
  Report report;
  const Instant now = hal::now();
  report.elapsed = started_ ? std::max(Duration(0), now - *started_) : Duration(0);
  report.degraded = degraded_;
  const auto changes = drift_.changes();
  report.degraded.insert(report.degraded.end(), changes.begin(), changes.end());
  if (heartbeat_) std::ranges::move(heartbeat_->gaps(), std::back_inserter(report.degraded));
  if (std::string invalid = clocks_.invalid(); !invalid.empty()) report.degraded.push_back(std::move(invalid));
  report.device = device_report_;
  report.clocks = clocks_.seen();
  report.stolen = steal_.seen();
  report.chains = chains_.report();
  for (const auto& io : set_.io) io->report(report.channels);
  report.device_fault = device_fault_;
  report.swap = swap_report();
  if (bandwidth_) report.bandwidth = bandwidth_->report();
  report.status_page = status_page_;
  if (publisher_ && report.status_page->failure.empty()) report.status_page->failure = publisher_->failure();
  for (const auto& run : runs_) {
    report.tasks.push_back(run->report());
    report.lost_callbacks += setup_.on_miss ? run->statistics().lost_misses() : 0;
    report.lost_callbacks += setup_.on_wcet_exceeded ? run->statistics().lost_excesses() : 0;
  }
  if (notifier_) {
    report.lost_callbacks += notifier_->uncalled();
    report.callback_failure = notifier_->failure();
  }
  for (const Watched& thread : watched_)
    report.threads.push_back(
        {.name = thread.name,
         .kernel_id = thread.kernel_id,
         .scheduling = thread.scheduling,
         .page_faults = thread.maps ? 0 : hal::Machine().page_faults(thread.kernel_id) - thread.faults_at_start});
  report.stopped_by = stopped_by(now);
  return report;
}

} // namespace rtexec::executive
