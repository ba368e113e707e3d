#include "rtexec/runtime/executive/device_driver.hpp"

#include "traces/emit.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace rtexec::executive {

using policies::Action;
using policies::Event;

namespace {

constexpr std::size_t background_copies =
    2; // number of copies in progress, so that the engine never waits for the next copy
constexpr std::size_t works_per_direction = policies::DeviceScheduler::transfers_per_direction + background_copies;

} // namespace

/// One execution or copy of the device. Reports its begin and end to the bandwidth control. Used by one engine's
/// thread.
class DeviceDriver::Working {
 public:
  void begin(BandwidthControl* bandwidth) noexcept {
    bandwidth_ = bandwidth;
    if (bandwidth_ != nullptr) bandwidth_->device_works();
  }
  /// Ends the execution or copy. Has no effect if begin() was not called.
  void end() noexcept {
    if (auto* bandwidth = std::exchange(bandwidth_, nullptr)) bandwidth->device_rests();
  }

 private:
  BandwidthControl* bandwidth_ = nullptr;
};

/// A segment that was submitted to the compute engine.
struct DeviceDriver::SubmittedSegment {
  TaskChannel* channel = nullptr;
  policies::JobId job;
  std::uint32_t segment = 0;
};

/// The state of one task on the device, and the channel between the task's threads, the scheduler and the engine.
struct DeviceDriver::TaskChannel {
  DeviceDriver* driver = nullptr;
  DeviceClient* client = nullptr;
  // The job on the device. Used by the scheduler thread, then by the compute engine
  policies::JobId executing;
  MemoryPolicy as = MemoryPolicy::device;
  hal::Concurrency concurrency = hal::Concurrency::alone;
  Compute* on = nullptr;
  std::uint32_t segments = 1; // number of segments of each job
  Instant started{};
  std::uint32_t done = 0;     // number of the job's segments that have ended
  std::uint32_t launched = 0; // number of the job's segments that were launched on the device
  // The next members are used by the compute engine
  bool launches = false; // true: each segment is launched before the previous segment has ended; constant
  bool opened = false;   // true: the next segment to end executes on the device, or was launched there
  /// The number of segment ends reported to the scheduler, for all jobs. The last segment of a job is not counted.
  std::uint32_t reported_ends = 0;
  Instant begun{};                      // traced beginning of the next segment to end
  Instant last_end{};                   // end of the previous segment
  Status launch_error{};                // error of launching a segment ahead; reported when this segment would execute
  std::optional<policies::JobId> ended; // the job that failed; the other submitted segments of this job do not execute
  DevicePart part{};                    // the device part so far
  /// The sum, over the job's ended segments, of the execution time between the traced begin and the traced end of the
  /// segment.
  Duration recorded{0};
  // The next members are used by the scheduler thread
  /// A ring buffer of submitted segments. After an error of a job, the engine's queue may still contain all segments of
  /// this job except one, and the segments of the task's next job
  std::vector<SubmittedSegment> submitted_segments;
  std::uint64_t submissions = 0;
  // The next members are written by the scheduler thread, and read by the compute engine
  std::atomic<std::uint32_t> submitted{0}; // number of the job's segments that have been submitted
  /// Signalled once per reported segment end, after the scheduler's decision on this end.
  hal::Signal decided;
  /// The remaining executions of the warm-up job, taken from the back
  std::vector<std::pair<MemoryPolicy, Compute*>> warm_ups;
  /// True if the warm-up job must execute again. Used by the compute engine, then by the scheduler thread.
  bool warms_up = false;
  /// True if the task's job is requested, and neither started nor cancelled. Used by the scheduler thread.
  bool waiting = false;
  /// True if the task's job is between two segments, and another job may execute. Used by the scheduler thread.
  bool preempted = false;
  Working work;
  // True from a job's request to the end of its device part. Used by the scheduler thread, then by the compute engine
  bool wants_device = false;
  // Events from the task's release thread. The queue contains at most three events: an outdated withdrawal, a request
  // and its withdrawal
  WaitFreeQueue<Event, 8> events;
  /// The number of transfers in progress for the task's job. Written by the scheduler thread.
  std::atomic<std::uint32_t> moves{0};

  void count_move(int by) noexcept {
    moves.store(moves.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(by), std::memory_order_relaxed);
  }

  void open(std::uint32_t segment) noexcept {
    opened = true;
    driver->device_.begin_execution(concurrency);
    work.begin(driver->options_.bandwidth);
    begun = concurrent() ? started : launched > segment ? last_end : hal::now();
    if (!driver->recording()) return;
    if (segment == 0) traces::device_begin(executing, begun);
    else traces::segment_begin(executing, segment, begun);
  }

  /// Launches a segment on the device, possibly while the previous segment executes.
  void launch(const SubmittedSegment& of) noexcept {
    if (ended == of.job || !launch_error) return;
    if (of.segment == done) open(of.segment);
    launch_error = driver->memory_.prepare(of.job.task, of.segment);
    if (launch_error) launch_error = client->launch(of.segment);
    launched = of.segment + 1;
  }

  Status execute(const SubmittedSegment& of) noexcept {
    if (ended == of.job) return Unexpected(Errc::cancelled);
    if (!opened) open(of.segment);
    const Status ready = launches ? launch_error : driver->memory_.prepare(of.job.task, of.segment);
    return ready ? client->execute(as, of.segment) : ready;
  }

  [[nodiscard]] bool concurrent() const noexcept { return concurrency == hal::Concurrency::concurrent; }

  void end_execution(const SubmittedSegment& of, Status outcome, Instant begin, Instant end) noexcept {
    if (ended == of.job)
      return driver->compute_.progress.completed(); // the other members may already belong to the task's next job
    on->progress.completed();
    if (std::exchange(opened, false)) begin = std::min(begin, begun);
    add(of.segment, outcome, concurrent() ? started : begin, end);
    work.end();
    if (outcome && of.segment + 1 < segments) {
      if (driver->recording()) traces::segment_end(executing, of.segment, end);
      done = of.segment + 1;
      last_end = end;
      ++reported_ends;
      const bool waits =
          launched > done && launched < segments && submitted.load(std::memory_order_acquire) <= launched;
      tell_end(Event::Kind::segment_done, of.segment, end); // unless `waits` is true, the job may end during this call
      if (waits) await_more();
      return;
    }
    if (!outcome) ended = of.job;
    launch_error = {};
    launched = 0;
    if (driver->recording()) {
      if (outcome && (segments > 1 || recorded < end - begun)) traces::device_executed(executing, recorded);
      traces::device_end(executing, end, outcome);
    }
    warms_up = outcome && !warm_ups.empty();
    if (warms_up) return tell_end(Event::Kind::execution_done, of.segment, end);
    // Only executions without a co-running job are reported, because co-running jobs slow each other down
    if (outcome && !concurrent() && driver->options_.bandwidth != nullptr)
      driver->options_.bandwidth->note_execution(executing.task, part.executed);
    driver->left(*this);
    // The event of the end is queued before the task can request its next job. take_events() relies on this order. The
    // scheduler is woken before the task, because the device is idle until the next execution.
    tell_end(Event::Kind::execution_done, of.segment, end);
    client->device_part_ended(part);
  }

  /// Waits until the scheduler has decided on all reported segment ends. The scheduler may have submitted further
  /// segments by then. Meanwhile the device executes the last submitted segment.
  void await_more() noexcept {
    for (;;) {
      const std::uint32_t seen = decided.value();
      if (seen == reported_ends || driver->lost_any()) return;
      decided.wait(seen);
    }
  }

  void add(std::uint32_t segment, Status outcome, Instant begin, Instant end) noexcept {
    if (segment == 0) part = {.outcome = {}, .begin = begin, .concurrency = concurrency}, recorded = Duration(0);
    const Duration executed = outcome ? driver->executed(end - begin) : end - begin;
    part.outcome = outcome;
    part.end = end;
    part.executed += executed;
    recorded += std::min(executed, end - begun);
    part.longest = std::max(part.longest, executed);
  }

  void tell_end(Event::Kind kind, std::uint32_t segment, Instant end) noexcept {
    if (!on->ended.push({.kind = kind, .job = executing, .now = end, .deadline = {}, .segment = segment}))
      driver->on_queue_overflow();
    driver->wake_.raise();
  }
};

/// A transfer in a copy engine. A transfer without an action is a copy that only keeps the engine busy.
struct DeviceDriver::TransferWork {
  DeviceDriver* driver = nullptr;
  Direction* direction = nullptr;
  std::optional<Action> action;
  Bytes copied;
  Working work;

  [[nodiscard]] bool out() const noexcept { return direction == &driver->out_; }

  void begin() noexcept {
    if (!action) return driver->memory_.begin_background_copy(out());
    if (out()) return driver->memory_.begin_save(action->transfer);
    driver->memory_.begin_load(action->transfer);
  }

  Status move() noexcept {
    copied = {};
    if (!action) return driver->memory_.background_copy(out());
    work.begin(driver->options_.bandwidth);
    if (driver->recording()) traces::swap_begin(*action, hal::now());
    const auto moved = out() ? driver->memory_.save(action->transfer) : driver->memory_.load(action->transfer);
    if (!moved) return Unexpected(moved.error());
    copied = *moved;
    return {};
  }

  void end_transfer(Status outcome, Instant begin, Instant end) noexcept {
    direction->progress.completed();
    work.end();
    if (action && driver->recording()) traces::swap_end(*action, end, outcome, copied);
    if (const auto& observer = driver->options_.observer; action && observer.ended)
      observer.ended(observer.self, *action, begin, end);
    EndedTransfer moved{.event = {.kind = out() ? Event::Kind::copied_out : Event::Kind::copied_in,
                                  .job = {},
                                  .now = end,
                                  .deadline = {}},
                        .error = {}};
    if (action) moved.event.transfer = action->transfer;
    moved.event.failed = !outcome;
    if (!outcome) moved.error = outcome.error();
    if (!direction->finished.push(moved)) driver->on_queue_overflow();
    driver->wake_.raise();
  }
};

DeviceDriver::DeviceDriver(policies::DeviceScheduler scheduler, hal::Device& device, DeviceMemory& memory,
                           const std::vector<DeviceClient*>& clients, const Options& options)
    : scheduler_(std::move(scheduler)),
      device_(device),
      memory_(memory),
      options_(options),
      compute_{.engine = device.engine(hal::EngineKind::compute)},
      secondary_compute_(options.co_run.empty() ? nullptr
                                                : new Compute{device.engine(hal::EngineKind::secondary_compute)}),
      in_{.engine = device.engine(hal::EngineKind::copy_in), .works = {}},
      out_{.engine = device.engine(hal::EngineKind::copy_out), .works = {}} {
  for (std::size_t task = 0; task < clients.size(); ++task) {
    channels_.push_back(std::make_unique<TaskChannel>());
    channels_.back()->driver = this;
    channels_.back()->client = clients[task];
    if (!options_.segments.empty()) channels_.back()->segments = options_.segments[task];
    channels_.back()->launches =
        options_.launch_ahead > 0 && channels_.back()->segments > 1 && clients[task]->launches();
    channels_.back()->submitted_segments.resize(2 * (std::size_t{1} + options_.launch_ahead));
  }
  requests_.reserve(clients.size());
  for (std::size_t task = 0; task < options_.co_run.size(); ++task)
    for (const MemoryPolicy policy : options_.co_run[task])
      for (Compute* engine : {secondary_compute_.get(), &compute_})
        channels_[task]->warm_ups.emplace_back(policy, engine);
  for (Direction* direction : {&in_, &out_})
    for (std::size_t i = 0; i < works_per_direction; ++i) {
      direction->works.push_back(std::make_unique<TransferWork>());
      direction->works.back()->driver = this;
      direction->works.back()->direction = direction;
    }
}

DeviceDriver::~DeviceDriver() = default;

bool DeviceDriver::moves_for(std::uint32_t task) const noexcept {
  return channels_[task]->moves.load(std::memory_order_relaxed) > 0;
}

void DeviceDriver::watch(Heartbeat& heartbeat) const {
  heartbeat.watch("the scheduler thread", [this](Instant now) { return progress_.progress(now); });
  const auto add = [&](const char* name, const ProgressCounter& progress) {
    heartbeat.watch(name, [&progress](Instant now) { return progress.progress(now); });
  };
  add("the compute engine", compute_.progress);
  if (secondary_compute_) add("the second compute engine", secondary_compute_->progress);
  add("the copy-in engine", in_.progress);
  add("the copy-out engine", out_.progress);
}

void DeviceDriver::post(const Event& event) noexcept {
  TaskChannel& channel = *channels_[event.job.task];
  if (channel.events.push(event)) return wake_.raise();
  on_queue_overflow();
  if (event.kind == Event::Kind::job_requested)
    channel.client->device_part_ended({.outcome = Unexpected(Errc::cancelled), .begin = event.now, .end = event.now});
}

/// The event queue overflowed; the scheduler core's state is stale. From now on all jobs are cancelled.
void DeviceDriver::on_queue_overflow() noexcept {
  lost_events_.fetch_add(1, std::memory_order_release);
  if (options_.failed != nullptr) options_.failed(options_.self);
  for (const auto& channel : channels_) channel->decided.raise();
  wake_.raise();
}

void DeviceDriver::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  wake_.raise();
}

void DeviceDriver::run() noexcept {
  traces::prepare_thread();
  for (;;) {
    const std::uint32_t seen = wake_.value();
    if (lost_any()) return cancel_all();
    if (step()) continue;
    const bool still = scheduler_.idle() && in_.begun == in_.ended && out_.begun == out_.ended;
    if (stopping_.load(std::memory_order_acquire) && still) return;
    progress_.wait(wake_, seen);
  }
}

/// Cancels all waiting and requested jobs after an event was lost. Executions and copies in progress end by themselves.
void DeviceDriver::cancel_all() noexcept {
  for (;;) {
    const std::uint32_t seen = wake_.value();
    const bool stopping = stopping_.load(std::memory_order_acquire);
    for (Event end; take_end(&compute_, end) || take_end(secondary_compute_.get(), end);)
      if (TaskChannel& channel = *channels_[end.job.task];
          end.kind == Event::Kind::segment_done ? leaves(channel, end) : channel.warms_up)
        not_executed(channel, Errc::cancelled);
    for (const auto& channel : channels_) {
      if (channel->waiting || channel->preempted) not_executed(*channel, Errc::cancelled);
      for (Event event; channel->events.pop(event);)
        if (event.kind == Event::Kind::job_requested) not_executed(*channel, Errc::cancelled);
    }
    if (stopping) break;
    progress_.wait(wake_, seen);
  }
  for (hal::Engine* engine : {&compute_.engine, &in_.engine, &out_.engine})
    engine->call([]() noexcept { return Status(); });
  if (secondary_compute_) secondary_compute_->engine.call([]() noexcept { return Status(); });
}

bool DeviceDriver::step() noexcept {
  // The event of an execution's end is read from its queue first, and passed to the scheduler core last. Therefore the
  // choice of the next job considers all requests that were made before this end.
  Event end, secondary_end;
  const bool ended = take_end(&compute_, end), secondary_ended = take_end(secondary_compute_.get(), secondary_end);
  bool any = ended || secondary_ended;
  while (take_events()) any = true;
  any = take_transfers(in_) || any;
  any = take_transfers(out_) || any;
  if (ended) decide_end(end);
  if (secondary_ended) decide_end(secondary_end);
  if (options_.background_copy && scheduler_.state().running) {
    background_copy(in_);
    background_copy(out_);
  }
  return any;
}

bool DeviceDriver::take_end(Compute* of, Event& end) noexcept { return of != nullptr && of->ended.pop(end); }

/// True if the job has executed all its submitted segments, and has further segments that are not submitted.
bool DeviceDriver::leaves(const TaskChannel& channel, const Event& end) noexcept {
  return end.kind == Event::Kind::segment_done && end.segment + 1 == channel.submitted.load(std::memory_order_relaxed);
}

void DeviceDriver::decide_end(const Event& end) noexcept {
  TaskChannel& channel = *channels_[end.job.task];
  if (end.kind == Event::Kind::segment_done) {
    channel.preempted = leaves(channel, end);
    decide(end);
    if (channel.preempted) ++channel.part.preemptions;
    return channel.decided.raise();
  }
  if (!std::exchange(channel.warms_up, false)) return decide(end);
  std::tie(channel.as, channel.on) = channel.warm_ups.back();
  channel.warm_ups.pop_back();
  channel.concurrency = hal::Concurrency::alone;
  submit(channel, 0);
}

bool DeviceDriver::executes(std::uint32_t task) const noexcept {
  const auto& state = scheduler_.state();
  return (state.running && state.running->task == task) || (state.co_running && state.co_running->task == task);
}

/// Passes events to the scheduler core: first the withdrawals of each task up to its next request, then the requests of
/// all tasks in order of urgency. Returns true if there was any event.
bool DeviceDriver::take_events() noexcept {
  bool any = false;
  requests_.clear();
  for (std::uint32_t task = 0; task < channels_.size(); ++task) {
    auto& events = channels_[task]->events;
    for (const Event* event = events.front(); event != nullptr; event = events.front()) {
      const bool request = event->kind == Event::Kind::job_requested;
      // If the task's previous job still counts as executing, the event of its end is already queued, and must be
      // decided first.
      if (request && executes(task)) break;
      if (request) requests_.push_back(*event);
      else decide(*event);
      events.pop_front();
      any = true;
      if (request) break;
    }
  }
  std::ranges::sort(requests_, [this](const Event& a, const Event& b) { return scheduler_.precedes(a, b); });
  for (const Event& request : requests_) decide(request);
  return any;
}

bool DeviceDriver::take_transfers(Direction& direction) noexcept {
  bool any = false;
  EndedTransfer moved;
  while (direction.finished.pop(moved)) {
    const auto& action = direction.works[direction.ended % works_per_direction]->action;
    ++direction.ended;
    any = true;
    if (!action) continue;
    channels_[action->job.task]->count_move(-1);
    if (moved.event.failed) last_transfer_error_ = moved.error;
    decide(moved.event);
  }
  return any;
}

void DeviceDriver::decide(const Event& event) noexcept {
  if (event.kind == Event::Kind::job_requested) {
    wanted(*channels_[event.job.task]);
    channels_[event.job.task]->waiting = true;
    if (recording()) traces::device_request(event.job, event.now, event.deadline);
  }
  const std::uint64_t sequence = decisions_++;
  traces::scheduler_input(sequence, event);
  const auto actions = scheduler_.on(event);
  const auto concurrency =
      std::ranges::any_of(actions, &Action::co_running) ? hal::Concurrency::concurrent : hal::Concurrency::alone;
  for (const Action& action : actions) {
    traces::scheduler_action(sequence, action);
    // The scheduler core refuses a withdrawal if the job's device part has already ended. This is no error.
    if (action.kind == Action::Kind::refuse && event.kind == Event::Kind::job_withdrawn) continue;
    carry_out(action, concurrency);
  }
}

void DeviceDriver::carry_out(const Action& action, hal::Concurrency concurrency) noexcept {
  switch (action.kind) {
  case Action::Kind::start_execution: return start(*channels_[action.job.task], action, concurrency);
  case Action::Kind::copy_in: return move(in_, action);
  case Action::Kind::copy_out: return move(out_, action);
  case Action::Kind::drop: return not_executed(*channels_[action.job.task], Errc::cancelled);
  case Action::Kind::fail: return not_executed(*channels_[action.job.task], last_transfer_error_);
  case Action::Kind::refuse: refused_.fetch_add(1, std::memory_order_relaxed); return;
  }
}

void DeviceDriver::not_executed(TaskChannel& channel, Errc why) noexcept {
  const Instant now = hal::now();
  left(channel);
  channel.waiting = false;
  if (std::exchange(channel.preempted, false) && recording())
    traces::device_end(channel.executing, now, Unexpected(why));
  channel.client->device_part_ended({.outcome = Unexpected(why), .begin = now, .end = now});
}

/// Returns the execution time within `passed`, the time between begin and end of an execution. Subtracts the time that
/// the device reports as not executed, but at most Options::max_not_executed. Called on a compute engine's thread.
Duration DeviceDriver::executed(Duration passed) noexcept {
  return std::clamp(device_.executed(passed), std::max(Duration(0), passed - options_.max_not_executed), passed);
}

void DeviceDriver::wanted(TaskChannel& channel) noexcept {
  if (options_.bandwidth == nullptr || std::exchange(channel.wants_device, true)) return;
  options_.bandwidth->device_wanted();
}

void DeviceDriver::left(TaskChannel& channel) noexcept {
  if (std::exchange(channel.wants_device, false)) options_.bandwidth->device_left();
}

/// Submits the segments of `action` to a compute engine. If the job already executes, the segments are further segments
/// of this job, and the state of its execution must not change.
void DeviceDriver::start(TaskChannel& channel, const Action& action, hal::Concurrency concurrency) noexcept {
  channel.waiting = channel.preempted = false;
  if (action.segment == 0) {
    channel.executing = action.job;
    channel.as = action.as;
    channel.concurrency = concurrency;
    channel.on = action.co_running ? secondary_compute_.get() : &compute_;
    channel.done = channel.launched = 0;
    channel.submitted.store(0, std::memory_order_relaxed);
  }
  for (std::uint32_t segment = action.segment; segment <= action.segment + action.committed; ++segment)
    submit(channel, segment);
}

void DeviceDriver::submit(TaskChannel& channel, std::uint32_t segment) noexcept {
  if (segment == 0) channel.started = hal::now();
  SubmittedSegment& entry = channel.submitted_segments[channel.submissions++ % channel.submitted_segments.size()];
  entry = {.channel = &channel, .job = channel.executing, .segment = segment};
  hal::Work work{.run =
                     [](void* self) noexcept {
                       const auto& of = *static_cast<SubmittedSegment*>(self);
                       return of.channel->execute(of);
                     },
                 .done =
                     [](void* self, Status outcome, Instant begin, Instant end) noexcept {
                       const auto& of = *static_cast<SubmittedSegment*>(self);
                       of.channel->end_execution(of, outcome, begin, end);
                     },
                 .context = &entry};
  if (channel.launches)
    work.begin = [](void* self) noexcept {
      const auto& of = *static_cast<SubmittedSegment*>(self);
      of.channel->launch(of);
    };
  channel.on->progress.submitted();
  const auto accepted = channel.on->engine.submit(work);
  channel.submitted.store(segment + 1, std::memory_order_release);
  // The engine's queue is never full. The queue contains the segments of one job and of a previous failed job. In the
  // warm-up, it contains the segments of two jobs. If the engine refuses a segment nevertheless, the job fails, so that
  // the scheduler does not wait for its end.
  if (!accepted) channel.end_execution(entry, accepted, hal::now(), hal::now());
}

/// Submits a transfer. A transfer without an action is a copy that only keeps the engine busy.
void DeviceDriver::move(Direction& direction, const std::optional<Action>& action) noexcept {
  TransferWork& work_item = *direction.works[direction.begun++ % works_per_direction];
  work_item.action = action;
  if (action) channels_[action->job.task]->count_move(+1);
  const hal::Work work{
      .begin = [](void* self) noexcept { static_cast<TransferWork*>(self)->begin(); },
      .run = [](void* self) noexcept { return static_cast<TransferWork*>(self)->move(); },
      .done = [](void* self, Status outcome, Instant begin,
                 Instant end) noexcept { static_cast<TransferWork*>(self)->end_transfer(outcome, begin, end); },
      .context = &work_item};
  direction.progress.submitted();
  if (const auto accepted = direction.engine.submit(work); !accepted)
    work_item.end_transfer(accepted, hal::now(), hal::now());
}

void DeviceDriver::background_copy(Direction& direction) noexcept {
  while (direction.begun - direction.ended < background_copies) move(direction, std::nullopt);
}

} // namespace rtexec::executive
