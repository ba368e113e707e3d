#include "rtexec/runtime/executive/run.hpp"

#include "policies/chains/chain_bounds.hpp"
#include "traces/emit.hpp"

#include <algorithm>

namespace rtexec::executive {

namespace {

/// The time from the instant when the last thread is ready to the start of the run, from which releases count.
constexpr Duration lead_time = std::chrono::milliseconds(20);

/// Returns the maximum number of jobs of a task that can end in a run of this duration, limited to `most`.
std::size_t jobs_of(const Task& task, std::optional<Duration> duration, std::size_t most) {
  return duration ? std::min(static_cast<std::size_t>(*duration / task.period) + 1, most) : most;
}

/// Returns the memory policies under which jobs co-run, by task. Empty: jobs never co-run.
std::vector<std::vector<MemoryPolicy>> co_run_policies(const Plan& plan) {
  std::vector<std::vector<MemoryPolicy>> policies;
  if (!plan.co_runs()) return policies;
  for (const PlannedTask& task : plan.tasks) {
    auto& of_task = policies.emplace_back();
    if (!task.co_run) continue;
    if (task.memory_policy == MemoryPolicy::switching) of_task = {MemoryPolicy::device, MemoryPolicy::host};
    else of_task = {task.memory_policy};
  }
  return policies;
}

std::vector<std::uint32_t> segments_of(const Plan& plan) {
  std::vector<std::uint32_t> segments;
  for (const PlannedTask& task : plan.tasks) segments.push_back(task.segments);
  return segments;
}

} // namespace

Run::Run(LoadedSet set, Plan plan, Setup setup)
    : set_(std::move(set)), plan_(std::move(plan)), chains_(set_.tasks, plan_), setup_(std::move(setup)) {
  for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i) {
    const Task& task = set_.tasks.tasks[i];
    runs_.push_back(std::make_unique<TaskRun>(i, task, plan_.tasks[i], *set_.workloads[i], *set_.io[i], control_,
                                              policies::communication_of(set_.tasks, task.name) == Communication::let));
    if (setup_.whatever_inputs) runs_.back()->take_whatever();
    runs_.back()->follow(chains_.places_of(i));
    runs_.back()->record_jobs(jobs_of(task, set_.tasks.executive.duration, setup_.record_jobs));
  }
  connect_followers();
}

/// Connects each task to the tasks that its jobs release (Trigger::after).
void Run::connect_followers() {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    std::vector<TaskRun*> followers;
    for (std::size_t k = 0; k < runs_.size(); ++k)
      if (const Task& task = set_.tasks.tasks[k];
          task.trigger == Trigger::after && task.after == set_.tasks.tasks[i].name)
        followers.push_back(runs_[k].get());
    runs_[i]->release_after(std::move(followers));
  }
}

bool Run::trigger(std::string_view task) noexcept {
  const auto& tasks = set_.tasks.tasks;
  const auto found = std::ranges::find(tasks, task, &Task::name);
  if (found == tasks.end() || found->trigger != Trigger::call) return false;
  runs_[static_cast<std::size_t>(found - tasks.begin())]->trigger(hal::now());
  return true;
}

/// Waits until the compute engines have returned from the last job. Then destroys the workloads, and after them the
/// device. The wait is needed because a task's threads may see the end of a job before the engine's call for this job
/// returns.
Run::~Run() {
  heartbeat_.reset();
  end_threads();
  if (driver_) // without the driver no job was executed, and the second engine may not exist
    for (const auto kind : compute_engines())
      static_cast<void>(device_->engine(kind).call([]() noexcept { return Status(); }));
  publisher_.reset();
  driver_.reset();
  bandwidth_.reset();
  memory_.reset();
  runs_.clear();
  set_.io.clear();
  set_.workloads.clear();
}

std::vector<hal::EngineKind> Run::compute_engines() const {
  if (!plan_.co_runs()) return {hal::EngineKind::compute};
  return {hal::EngineKind::compute, hal::EngineKind::secondary_compute};
}

Result<> Run::start() {
  if (const auto fit = startable(); !fit) return fit;
  if (device_ || final_report_) return fail(Errc::bad_input, "an executive can run only once: create another one");
  Placement placement;
  if (const auto taken = take_machine(placement); !taken) return taken;
  if (setup_.record)
    if (const auto recording = setup_.record(); !recording) return recording;
  if (const auto ready = fit_out_device(placement); !ready) return ready;
  for (const auto& io : set_.io)
    if (const auto opened = io->open(); !opened) return opened;
  if (const auto regulated = regulate(placement); !regulated) return regulated;
  record_plan();
  record_probes(placement);
  if (const auto started = start_threads(placement); !started) return started;
  if (const auto warm = await_warm_up(); !warm) return warm;
  if (const auto noted = note_memory(); !noted) return noted;
  for (Watched& thread : watched_) {
    thread.faults_at_start = hal::Machine().page_faults(thread.kernel_id);
    drift_.add(thread.name, thread.kernel_id);
  }
  memory_->reset_counters();
  driver_->record();
  watch_cores(placement);
  publish();
  started_ = hal::now() + std::max(lead_time, longest_window(placement));
  traces::run_begin(RTEXEC_VERSION, hal::machine_name().c_str(), false, *started_);
  if (set_.tasks.executive.duration)
    control_.end.store((*started_ + *set_.tasks.executive.duration).time_since_epoch().count());
  control_.start.store(started_->time_since_epoch().count(), std::memory_order_release);
  control_.started.raise();
  return start_heartbeat();
}

/// Starts the heartbeat. A thread counts as stuck if it makes no progress for the longest deadline plus a quarter of
/// the service manager's timeout.
Result<> Run::start_heartbeat() {
  if (!setup_.service_manager) return {};
  Duration timeout = setup_.service_manager->timeout().value_or(Duration(0)) / 4;
  timeout += std::ranges::max(set_.tasks.tasks, {}, &Task::deadline).deadline;
  heartbeat_ = std::make_unique<Heartbeat>(std::move(*setup_.service_manager), timeout);
  driver_->watch(*heartbeat_);
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (set_.tasks.tasks[i].real_time()) runs_[i]->watch(*heartbeat_, plan_.proved);
  return heartbeat_->start("Runs " + set_.tasks.file.string());
}

Result<> Run::startable() const {
  for (const Task& task : set_.tasks.tasks)
    if (task.releases)
      return fail(Errc::bad_input,
                  "task '" + task.name +
                      "': releases is only for `rtexec simulate`; leave it out to run the task periodically");
  for (std::size_t i = 0; i < set_.io.size(); ++i)
    if (const Task& task = set_.tasks.tasks[i]; task.trigger == Trigger::input && !set_.io[i]->releases())
      return fail(Errc::bad_input, "task '" + task.name +
                                       "': trigger = \"input\" needs an input from a camera or iceoryx: add one to "
                                       "inputs, or set trigger = \"call\" so that a program releases it");
  if (!plan_.proved && !setup_.force)
    return fail(Errc::not_proved, "the deadlines of the task set are not proved: `rtexec check` shows why");
  return {};
}

Result<> Run::start_thread(const hal::ThreadSettings& settings, std::function<void()> body) {
  auto thread = hal::Thread::start(settings, std::move(body));
  if (!thread) return Unexpected(thread.error());
  watched_.push_back({.name = settings.name, .scheduling = scheduling_of(settings), .kernel_id = thread->kernel_id()});
  threads_.push_back(std::move(*thread));
  return {};
}

Result<> Run::start_threads(const Placement& placement) {
  std::vector<DeviceClient*> clients;
  for (const auto& run : runs_) clients.push_back(run.get());
  driver_ =
      std::make_unique<DeviceDriver>(std::move(scheduler_), *device_, *memory_, clients,
                                     DeviceDriver::Options{.background_copy = background_copies(),
                                                           .co_run = co_run_policies(plan_),
                                                           .segments = segments_of(plan_),
                                                           .launch_ahead = plan_.launch_ahead,
                                                           .observer = setup_.observe_transfers,
                                                           .max_not_executed = max_not_executed(placement, set_.board),
                                                           .bandwidth = bandwidth_.get(),
                                                           .failed =
                                                               [](void* self) noexcept {
                                                                 auto& control = *static_cast<RunControl*>(self);
                                                                 control.driver_failed.store(true);
                                                                 control.over.raise();
                                                               },
                                                           .self = &control_});
  if (const auto started = start_thread(placement.scheduler, [this] { driver_->run(); }); !started) return started;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    TaskRun& run = *runs_[i];
    run.connect(*driver_);
    if (bandwidth_ && placement.release[i].core) run.regulate(*bandwidth_, *placement.release[i].core);
    // The completion thread is started first. If only the release thread could be started, the release thread would
    // wait forever for the end of its warm-up.
    if (const auto started = start_thread(placement.completion[i], [&run] { run.completion_loop(); }); !started)
      return started;
    if (const auto started = start_thread(placement.release[i], [&run] { run.release_loop(); }); !started)
      return run.no_releases(), started;
  }
  return start_notifier();
}

Result<> Run::start_notifier() {
  if (!setup_.on_miss && !setup_.on_wcet_exceeded) return {};
  const auto call = [this](const Notice& notice) {
    if (const auto* miss = std::get_if<Miss>(&notice)) setup_.on_miss(*miss);
    else setup_.on_wcet_exceeded(std::get<WcetExcess>(notice));
  };
  auto notifier = Notifier::start(call, control_.noticed, [this] { return take_notice(); });
  if (!notifier) return Unexpected(notifier.error());
  notifier_ = std::move(*notifier);
  return {};
}

Result<> Run::await_warm_up() {
  while (control_.warmed_up.load() < runs_.size()) {
    const std::uint32_t seen = control_.warm_up_ended.value();
    if (control_.warmed_up.load() < runs_.size()) control_.warm_up_ended.wait(seen);
  }
  if (control_.unregulated.load()) {
    const char* uncounted = "the memory traffic of a task's thread cannot be counted, so its budget cannot be enforced";
    if (!set_.tasks.executive.allow_degraded) return fail(Errc::refused, uncounted);
    degraded_.emplace_back(uncounted);
  }
  const std::string nothing = " its warm-up job, before the start; no job was released";
  if (device_failed())
    return fail(Errc::device_fault,
                "task '" + device_fault_->task + "': the device was lost in" + nothing + "\n  " + device_fault_->what);
  if (const auto* failed = control_.warm_up_failed.load())
    return fail(Errc::device_fault, "task '" + failed->name() + "': a fault was reported by" + nothing + " (" +
                                        name(failed->warm_up().error()) + ")");
  return {};
}

bool Run::wait(std::optional<Duration> at_most) {
  if (!started_ || final_report_) return true;
  const Instant end = planned_end();
  const Instant until = at_most ? std::min(end, hal::now() + *at_most) : end;
  for (;;) {
    const std::uint32_t seen = control_.over.value();
    const Instant now = hal::now();
    if (control_.over_requested.load() || control_.driver_failed.load() || now >= end || device_failed()) return true;
    if (now >= until) return false;
    if (until == Instant::max()) control_.over.wait(seen);
    else control_.over.wait_until(seen, until);
  }
}

Instant Run::planned_end() const {
  const auto duration = set_.tasks.executive.duration;
  return started_ && duration ? *started_ + *duration : Instant::max();
}

/// Returns the reason why the run ended, or StopCause::none while the run continues.
Stop Run::stopped_by(Instant now) const {
  if (device_fault_) return {.cause = StopCause::device_fault, .task = device_fault_->task};
  if (control_.driver_failed.load()) return {.cause = StopCause::driver_fault, .task = {}};
  if (const Stopper* stopper = control_.stopped_by.load())
    return {.cause = stopper->cause, .task = stopper->task->name};
  if (control_.over_requested.load()) return {.cause = StopCause::request, .task = {}};
  return {.cause = now < planned_end() ? StopCause::none : StopCause::duration, .task = {}};
}

Report Run::stop() {
  if (final_report_) return *final_report_;
  // The page faults of the threads must be read while the threads live. The statistics of the tasks are complete once
  // the threads have ended.
  device_failed();
  if (started_) look(std::max(Duration(0), hal::now() - *started_));
  Report alive = report();
  if (alive.stopped_by.cause == StopCause::none) alive.stopped_by.cause = StopCause::request;
  if (heartbeat_) heartbeat_->stop(to_string(alive.stopped_by));
  end_threads();
  for (const auto& io : set_.io) io->close();
  if (started_) steal_.look(); // attributes WCET excesses of the last jobs, which have ended
  if (bandwidth_) bandwidth_->end();
  device_failed(); // notes a fault that the last job reported
  final_report_ = report();
  if (const auto& swap = final_report_->swap) traces::swap_totals(swap->in, swap->out, swap->skipped, swap->dropped);
  final_report_->threads = std::move(alive.threads);
  final_report_->elapsed = alive.elapsed;
  final_report_->stopped_by = std::move(alive.stopped_by);
  if (publisher_) publisher_->end(to_string(final_report_->stopped_by));
  if (started_) traces::run_end(hal::now(), to_string(final_report_->stopped_by).c_str());
  return *final_report_;
}

JobRecords Run::job_records() const {
  JobRecords records;
  if (setup_.record_jobs > 0)
    for (const auto& run : runs_) run->statistics().add_records(records);
  return records;
}

void Run::end_threads() noexcept {
  control_.stopping.store(true);
  control_.started.raise();
  for (const auto& run : runs_) run->interrupt();
  // The tasks' threads are joined first, because the scheduler thread serves their last jobs.
  for (std::size_t i = threads_.size(); i-- > 1;) threads_[i].join();
  if (driver_) driver_->stop();
  if (!threads_.empty()) threads_.front().join();
  if (notifier_) notifier_->end();
}

/// Checks if a fault that a job reported has ended the device; in this case, records the fault and returns true. If
/// only the job's workload failed, returns false, and the run continues.
bool Run::device_failed() {
  if (device_fault_) return true;
  const auto* suspect = control_.suspect.load();
  if (suspect == nullptr) return false;
  const auto fault = device_->fault();
  if (!fault && !control_.device_lost.load()) return false;
  device_fault_ = DeviceFaultReport{.task = suspect->name(),
                                    .job = suspect->suspect_job(),
                                    .what = fault ? fault->what : "the device was lost before this job"};
  traces::device_fault({.task = suspect->index(), .number = device_fault_->job}, device_fault_->what.c_str());
  return true;
}

/// Returns the next miss or WCET excess for which there is a callback, or nullopt.
std::optional<Notice> Run::take_notice() noexcept {
  for (const auto& run : runs_) {
    if (setup_.on_wcet_exceeded)
      if (const auto excess = run->statistics().take_excess()) return excess;
    if (setup_.on_miss)
      if (const auto miss = run->statistics().take_miss()) return miss;
  }
  return std::nullopt;
}

Result<std::unique_ptr<Run>> Run::prepare(TaskSet tasks, Setup setup) {
  auto set = load(std::move(tasks), setup);
  if (!set) return Unexpected(set.error());
  auto made = plan(*set);
  if (!made) return Unexpected(made.error());
  if (const auto done = cut(*set, *made); !done) return Unexpected(done.error());
  return std::make_unique<Run>(std::move(*set), std::move(*made), std::move(setup));
}

} // namespace rtexec::executive
