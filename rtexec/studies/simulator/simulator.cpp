#include "rtexec/studies/simulator/simulator.hpp"

#include "policies/exact_arithmetic.hpp"
#include "policies/chains/chain_bounds.hpp"
#include "policies/scheduler/sporadic_gate.hpp"

#include <array>
#include <cassert>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

namespace rtexec::simulator {
namespace {

using policies::Action;
using policies::Event;
using policies::JobId;
using policies::ReleaseDecision;
using policies::ReleaseReason;

constexpr Instant never = Instant::max();

class Simulation {
 public:
  Simulation(const TaskSet& tasks, const Plan& plan, const Options& options)
      : tasks_(tasks), plan_(plan), options_(options), scheduler_(plan) {
    outcome_.tasks.resize(tasks.tasks.size());
    engines_.resize(plan.swap ? plan.swap->copy_engines : 0);
    for (std::uint32_t i = 0; i < tasks.tasks.size(); ++i) {
      const Task& task = tasks.tasks[i];
      runs_.emplace_back(
          policies::ReleaseGrid(task.on_overrun, task.period, Instant{} + task.offset, task.on_wcet_exceeded),
          policies::SporadicGate(task.period));
      runs_[i].core = core_index(plan.tasks[i].core);
      runs_[i].segment_ends = segment_ends(i);
      release_at_.push_back(never);
      ready_at_.push_back(never);
      choose_release(i);
    }
    for (Core& core : cores_) core.ready.reserve(tasks.tasks.size());
    find_followers();
  }

  Outcome run() {
    const Instant horizon = Instant{} + options_.horizon;
    while (!over_) {
      const Instant next = next_instant();
      if (next > horizon || !goes_on(horizon)) break;
      now_ = std::max(now_, next); // the nominal instant of a late release may have passed
      if (stop_at_ > now_) step();
      else if (!end_core_parts()) begin_stop(); // parts that end at this instant end before the stop
      choose_stop();
      choose_undecided();
    }
    outcome_.end = over_ ? now_ : horizon;
    now_ = outcome_.end;
    for (const Core& core : cores_) observe_core(core);
    count_late();
    return std::move(outcome_);
  }

 private:
  enum class Phase : std::uint8_t { idle, latent, before, queued, device, after };

  struct TaskRun {
    TaskRun(policies::ReleaseGrid releases, policies::SporadicGate triggers) : grid(releases), gate(triggers) {}
    policies::ReleaseGrid grid;
    policies::SporadicGate gate;          // used if the ends of other jobs release the task
    std::vector<std::uint32_t> followers; // the tasks that the ends of its jobs release
    bool ends_at_deadline = false; // true with communication `let`: its jobs release followers at their deadlines
    Phase phase = Phase::idle;
    bool undecided = false;    // true if its next release is not known yet
    bool awaits_end = false;   // true if a due release waits for the end of the job
    bool abandoned = false;    // true if the job was aborted or failed, so that its end is no completion
    bool part_exceeds = false; // true if the current part takes longer than its WCET
    bool exceeded = false;     // true if an earlier part of the job took longer than its WCET
    std::uint64_t job = 0;
    Instant nominal{};
    Duration remaining{0};   // remaining time of the part on the core
    Duration device_part{0}; // time of the device part with all segments
    std::vector<Duration> segment_ends;
    std::size_t core = 0;
    std::uint64_t taken_in = 0; // value of `turn_` at the last copy-out of a chunk of the task
  };

  struct OnDevice {
    std::uint32_t task = 0;
    std::uint32_t segment = 0;  // the index of the job's segment that executes
    std::uint32_t launched = 0; // number of launched segments; they need no further decision
    Instant ends_at = never;    // end of the segment
  };

  struct CopyEngine {
    std::deque<Action> queue; // the first transfer is in progress
    Instant ends_at = never;
  };

  struct Core {
    unsigned number = 0;
    std::vector<std::uint32_t> ready; // the tasks with a ready part for this core, the most urgent first
    std::optional<std::uint32_t> running;
    Instant resumed{};
    Instant ends_at = never; // the end of the part or of a stop, or the next change by the supply
    bool stands = false;     // true during a machine stop of the core
    std::unique_ptr<CoreSupply> supply{};
  };

  std::size_t core_index(unsigned number) {
    auto core = std::ranges::find(cores_, number, &Core::number);
    if (core == cores_.end()) {
      core =
          cores_.insert(cores_.end(), Core{.number = number, .ready = {}, .running = {}, .supply = supply_of(number)});
      dispatch(*core);
    }
    return static_cast<std::size_t>(core - cores_.begin());
  }

  /// Creates the supply of a core. Returns null if static priority alone decides which part has the core.
  std::unique_ptr<CoreSupply> supply_of(unsigned core) const {
    if (std::ranges::any_of(plan_.tasks, [](const PlannedTask& task) { return task.before_reservation.has_value(); }))
      return std::make_unique<ReservedCore>(plan_.tasks, options_.interference, core);
    const auto regulated = std::ranges::find(options_.regulated, core, &CoreRegulation::core);
    if (regulated == options_.regulated.end()) return nullptr;
    return std::make_unique<RegulatedCore>(*regulated, plan_.tasks.size());
  }

  JobId id(std::uint32_t task) const { return {task, runs_[task].job}; }

  void observe(Step::Kind kind, std::uint32_t task, JobId job, Instant nominal,
               ReleaseReason reason = ReleaseReason::overrun) const {
    if (options_.observe)
      options_.observe({.kind = kind, .job = {task, job.number}, .now = now_, .nominal = nominal, .reason = reason});
  }
  void observe(Step::Kind kind, std::uint32_t task) const { observe(kind, task, id(task), runs_[task].nominal); }
  void observe(Step::Kind kind, std::uint32_t task, std::uint32_t segment) const {
    if (!options_.observe) return;
    options_.observe({.kind = kind, .job = id(task), .now = now_, .nominal = runs_[task].nominal, .segment = segment});
  }

  /// Reports to the observer the interval for which the current part has had the core.
  void observe_core(const Core& core) const {
    if (options_.observe_core && core.running && now_ > core.resumed)
      options_.observe_core({.job = id(*core.running), .core = core.number, .begin = core.resumed, .end = now_});
  }

  /// Begins a part of a job. Returns the time that the part takes.
  Duration begin_part(std::uint32_t task, Part part) {
    const Duration wcet = plan_.tasks[task].wcet.of(part);
    const Duration takes = options_.execution ? options_.execution(id(task), part) : wcet;
    runs_[task].part_exceeds = takes > wcet;
    return takes;
  }

  Duration begin_co_running_part(std::uint32_t task, JobId other) {
    ++outcome_.tasks[task].paired;
    const Duration wcet = plan_.tasks[task].co_run->wcet;
    const Duration takes = options_.co_run_execution ? options_.co_run_execution(id(task), other) : wcet;
    runs_[task].part_exceeds = takes > wcet;
    return takes;
  }

  void end_part(std::uint32_t task) {
    TaskRun& run = runs_[task];
    if (!run.part_exceeds) return;
    run.exceeded = true;
    if (policies::ends_run(tasks_.tasks[task].on_wcet_exceeded) && !over_) stop(task, ReleaseReason::wcet_exceeded);
  }

  void stop(std::uint32_t task, ReleaseReason reason) {
    observe(Step::Kind::stop, task, id(task), runs_[task].nominal, reason);
    outcome_.stopped = over_ = true;
  }

  // ---- time ----

  Instant next_instant() {
    if (std::exchange(timers_changed_, false))
      next_timer_ = std::min(std::ranges::min(release_at_), std::ranges::min(ready_at_));
    Instant next = std::min({device_ends_at(), next_timer_, stop_at_});
    for (const CopyEngine& engine : engines_) next = std::min(next, engine.ends_at);
    for (const Core& core : cores_) next = std::min(next, core.ends_at);
    return next;
  }

  /// True if there is anything left to simulate before `horizon`. Cores without a ready part do not count.
  bool goes_on(Instant horizon) const {
    return std::min(device_ends_at(), next_timer_) <= horizon ||
           std::ranges::any_of(engines_, [](const CopyEngine& engine) { return !engine.queue.empty(); }) ||
           std::ranges::any_of(cores_, [](const Core& core) { return !core.ready.empty(); });
  }

  /// Sets one of the two timers of a task: its entry in `release_at_` or in `ready_at_`.
  void set_timer(std::vector<Instant>& timers, std::uint32_t task, Instant at) {
    timers_changed_ = timers_changed_ || timers[task] != at;
    timers[task] = at;
  }

  /// Handles the first kind of event that is due. Parts on cores and transfers end before the part on the device. So
  /// the device's next choice considers jobs that request the device or finish loading at this instant. All ends come
  /// before releases, so that a job that ends at this instant is not late.
  void step() {
    if (!end_core_parts() && !end_transfers() && !end_device_part()) serve_timers();
  }

  bool end_core_parts() {
    bool any = false;
    for (Core& core : cores_)
      if (core.ends_at <= now_) {
        if (core.running && core.resumed + runs_[*core.running].remaining <= now_) end_core_part(core);
        else dispatch(core);
        any = true;
      }
    return any;
  }

  bool end_transfers() {
    bool any = false;
    for (CopyEngine& engine : engines_)
      if (engine.ends_at <= now_) end_transfer(engine), any = true;
    return any;
  }

  void serve_timers() {
    for (std::uint32_t task = 0; task < runs_.size() && !over_; ++task) {
      if (ready_at_[task] <= now_) begin_first_part(task);
      if (release_at_[task] <= now_) look_at_gate(task);
    }
  }

  // ---- releases ----

  void find_followers() {
    for (std::uint32_t task = 0; task < runs_.size(); ++task) {
      const std::string& name = tasks_.tasks[task].name;
      runs_[task].ends_at_deadline = policies::communication_of(tasks_, name) == Communication::let;
      for (std::uint32_t other = 0; other < runs_.size(); ++other)
        if (tasks_.tasks[other].trigger == Trigger::after && tasks_.tasks[other].after == name)
          runs_[task].followers.push_back(other);
    }
  }

  bool triggered(std::uint32_t task) const { return tasks_.tasks[task].trigger == Trigger::after; }

  /// Sets the release timer of a task that is released by the ends of another task's jobs.
  void await_trigger(std::uint32_t task) {
    TaskRun& run = runs_[task];
    const auto next = run.gate.next();
    if (next) run.grid.postpone(std::max(*next, run.grid.next()));
    set_timer(release_at_, task, next ? run.grid.next() : never);
  }

  /// Triggers the tasks that follow `task`, after one of its jobs has ended.
  void trigger_followers(std::uint32_t task) {
    const TaskRun& run = runs_[task];
    const Instant end = run.ends_at_deadline ? std::max(now_, run.nominal + tasks_.tasks[task].deadline) : now_;
    for (const std::uint32_t follower : run.followers) {
      runs_[follower].gate.trigger(end);
      if (!runs_[follower].awaits_end) await_trigger(follower);
    }
  }

  void choose_release(std::uint32_t task) {
    if (triggered(task)) return await_trigger(task);
    choose_release(task, runs_[task].grid.next());
  }

  void choose_release(std::uint32_t task, Instant earliest) {
    TaskRun& run = runs_[task];
    if (options_.release) {
      const auto at = options_.release(task, earliest);
      run.undecided = !at;
      any_undecided_ = any_undecided_ || !at;
      if (!at) return set_timer(release_at_, task, never);
      run.grid.postpone(*at);
    }
    set_timer(release_at_, task, run.grid.next());
  }

  void choose_undecided() {
    if (!std::exchange(any_undecided_, false)) return;
    for (std::uint32_t task = 0; task < runs_.size(); ++task)
      if (runs_[task].undecided) choose_release(task, std::max(runs_[task].grid.next(), now_));
  }

  void look_at_gate(std::uint32_t task) {
    TaskRun& run = runs_[task];
    if (triggered(task)) run.gate.release(run.grid.next());
    const ReleaseDecision decision = run.grid.at_release(run.phase != Phase::idle, run.exceeded);
    switch (decision.kind) {
    case ReleaseDecision::Kind::start: return release(task, decision);
    case ReleaseDecision::Kind::skip: return skip(task, decision);
    case ReleaseDecision::Kind::abort_and_wait:
    case ReleaseDecision::Kind::wait:
      run.awaits_end = true;
      set_timer(release_at_, task, never);
      if (decision.kind == ReleaseDecision::Kind::abort_and_wait) abandon(task);
      return;
    case ReleaseDecision::Kind::stop: stop(task, ReleaseReason::overrun);
    }
  }

  void skip(std::uint32_t task, const ReleaseDecision& decision) {
    observe(Step::Kind::skip, task, {task, decision.job}, decision.nominal, decision.reason);
    choose_release(task);
  }

  void release(std::uint32_t task, const ReleaseDecision& decision) {
    TaskRun& run = runs_[task];
    run.abandoned = run.exceeded = false;
    run.job = decision.job;
    run.nominal = decision.nominal;
    run.phase = Phase::latent;
    const Duration latency = options_.release_latency ? options_.release_latency(id(task)) : Duration(0);
    set_timer(ready_at_, task, now_ + latency + left_of_stop(stop_.releases));
    choose_release(task);
    observe(Step::Kind::release, task);
    if (ready_at_[task] <= now_) begin_first_part(task);
  }

  void abandon(std::uint32_t task) {
    TaskRun& run = runs_[task];
    run.abandoned = true;
    ++outcome_.tasks[task].aborted;
    observe(Step::Kind::abort, task);
    if (run.phase == Phase::queued || run.phase == Phase::device) decide(Event::Kind::job_withdrawn, task);
    else if (run.phase == Phase::latent) end_job(task);
  }

  void fail(std::uint32_t task) {
    runs_[task].abandoned = true;
    ++outcome_.tasks[task].failed;
    observe(Step::Kind::fail, task);
    end_job(task);
  }

  void end_job(std::uint32_t task) {
    TaskRun& run = runs_[task];
    run.phase = Phase::idle;
    set_timer(ready_at_, task, never);
    TaskStatistics& statistics = outcome_.tasks[task];
    const Duration response = now_ - run.nominal;
    if (!run.abandoned) {
      ++statistics.completed;
      statistics.response_max = std::max(statistics.response_max, response);
      observe(Step::Kind::completion, task);
      trigger_followers(task);
    }
    if (run.abandoned || response > tasks_.tasks[task].deadline) count_miss(task);
    if (std::exchange(run.awaits_end, false) && !over_) proceed(task, run.grid.after_wait(now_, run.exceeded));
  }

  void proceed(std::uint32_t task, const ReleaseDecision& decision) {
    if (decision.kind == ReleaseDecision::Kind::skip) skip(task, decision);
    else release(task, decision);
  }

  void count_miss(std::uint32_t task) {
    ++outcome_.tasks[task].missed;
    over_ = over_ || options_.stop_at_miss;
  }

  void count_late() {
    for (std::uint32_t task = 0; task < runs_.size(); ++task) {
      const TaskRun& run = runs_[task];
      TaskStatistics& statistics = outcome_.tasks[task];
      statistics.released = run.grid.released();
      statistics.skipped = run.grid.skipped();
      if (run.phase != Phase::idle) statistics.unfinished = outcome_.end - run.nominal;
      if (run.phase != Phase::idle && (run.abandoned || outcome_.end > run.nominal + tasks_.tasks[task].deadline))
        ++statistics.missed;
    }
  }

  // ---- stops of the machine ----

  bool stops(const Core& core) const { return now_ < stopped_until_ && (!stop_.cores || stop_.cores(core.number)); }

  /// Returns the rest of the current stop, which delays work that begins now. `concerned`: true if the stop affects
  /// this kind of work.
  Duration left_of_stop(bool concerned) const {
    return concerned && now_ < stopped_until_ ? stopped_until_ - now_ : Duration(0);
  }

  void choose_stop() {
    if (!options_.stop || stop_at_ != never || now_ < stopped_until_) return;
    const auto next = options_.stop(now_);
    if (!next) return;
    stop_ = *next;
    stop_at_ = std::max(now_, stop_.begin);
  }

  void begin_stop() {
    stop_at_ = never;
    stopped_until_ = now_ + stop_.length;
    for (OnDevice& part : on_device_)
      if (stop_.device && part.ends_at != never) part.ends_at += stop_.length;
    for (CopyEngine& engine : engines_)
      if (stop_.transfers && engine.ends_at != never) engine.ends_at += stop_.length;
    for (std::uint32_t task = 0; task < runs_.size(); ++task)
      if (stop_.releases && ready_at_[task] != never) set_timer(ready_at_, task, ready_at_[task] + stop_.length);
    for (Core& core : cores_) dispatch(core);
  }

  // ---- cores ----

  void begin_first_part(std::uint32_t task) {
    set_timer(ready_at_, task, never);
    begin_core_part(task, Phase::before, Part::before);
  }

  void begin_core_part(std::uint32_t task, Phase phase, Part part) {
    TaskRun& run = runs_[task];
    run.phase = phase;
    run.remaining = begin_part(task, part);
    Core& core = cores_[run.core];
    core.ready.insert(std::ranges::upper_bound(core.ready, plan_.tasks[task].core_rank, {},
                                               [&](std::uint32_t each) { return plan_.tasks[each].core_rank; }),
                      task);
    if (core.supply) core.supply->wake_up(task, part == Part::after, now_);
    dispatch(core);
  }

  /// Accounts for the time from the last call of settle() for this core until now. Reports the interval to the observer
  /// and, unless the core is stopped, its length to the core's supply (CoreSupply).
  void settle(Core& core) const {
    observe_core(core);
    if (core.supply && !core.stands) core.supply->pass(now_ - core.resumed);
    core.resumed = now_;
  }

  /// Gives the core to its most urgent ready part. If the core has a supply (CoreSupply), the supply chooses the part.
  void dispatch(Core& core) {
    const bool stands = stops(core);
    const auto most_urgent = core.ready.empty() || stands ? std::nullopt : std::optional(core.ready.front());
    if (!core.supply && most_urgent == core.running && stands == core.stands) return;
    if (core.running) runs_[*core.running].remaining -= now_ - core.resumed;
    settle(core);
    core.stands = stands;
    const auto chosen = core.supply && !stands ? core.supply->choose(core.ready, now_) : most_urgent;
    const auto before = std::exchange(core.running, chosen);
    core.ends_at = stands ? stopped_until_ : chosen ? now_ + runs_[*chosen].remaining : never;
    if (core.supply && !stands) core.ends_at = std::min(core.ends_at, core.supply->changes_at(now_));
    if (chosen && chosen != before && options_.observe_dispatch)
      options_.observe_dispatch(id(*chosen), core.number, now_);
  }

  void end_core_part(Core& core) {
    const std::uint32_t task = *core.running;
    TaskRun& run = runs_[task];
    const bool first = run.phase == Phase::before;
    run.phase = Phase::queued;
    settle(core);
    std::erase(core.ready, task);
    core.running.reset();
    core.ends_at = never;
    end_part(task);
    if (first && !run.abandoned && !plan_.tasks[task].wcet.uses_device()) {
      observe(Step::Kind::hand_on, task);
      return begin_core_part(task, Phase::after, Part::after);
    }
    dispatch(core);
    if (!first || run.abandoned) return end_job(task);
    observe(Step::Kind::request, task);
    decide(Event::Kind::job_requested, task);
  }

  // ---- device ----

  Instant device_ends_at() const { return std::min(on_device_[0].ends_at, on_device_[1].ends_at); }

  bool end_device_part() {
    if (device_ends_at() > now_) return false;
    OnDevice& part = on_device_[on_device_[0].ends_at > now_ ? 1 : 0];
    const std::uint32_t task = part.task;
    if (part.segment + 1 < scheduler_.segments_of(task)) return end_segment(part), true;
    part.ends_at = never;
    runs_[task].phase = Phase::queued;
    observe(Step::Kind::execution_end, task);
    end_part(task);
    decide(Event::Kind::execution_done, task);
    if (runs_[task].abandoned) end_job(task);
    else begin_core_part(task, Phase::after, Part::after);
    return true;
  }

  /// Ends a segment. The next segment begins at once if it has already been launched.
  void end_segment(OnDevice& part) {
    const std::uint32_t ended = part.segment++;
    observe(Step::Kind::segment_end, part.task, ended);
    part.ends_at = never;
    if (part.segment < part.launched) begin_segment(part);
    decide(Event::Kind::segment_done, part.task, ended);
  }

  void begin_segment(OnDevice& part) const {
    part.ends_at = now_ + segment_length(part.task, part.segment) + left_of_stop(stop_.device);
    if (part.segment > 0) observe(Step::Kind::segment_begin, part.task, part.segment);
  }

  Duration segment_length(std::uint32_t task, std::uint32_t segment) const {
    return executed_after(task, segment + 1) - executed_after(task, segment);
  }

  /// Returns the time that the first `segments` segments of this job take. The time of the device part is divided in
  /// proportion to the planned times of the segments, or evenly if these are not known.
  Duration executed_after(std::uint32_t task, std::uint32_t segments) const {
    const TaskRun& run = runs_[task];
    if (segments == 0) return Duration(0);
    if (segments == run.segment_ends.size()) return run.device_part;
    const policies::Wide part = run.device_part.count(), end = run.segment_ends[segments - 1].count();
    return Duration(static_cast<std::int64_t>(part * end / run.segment_ends.back().count()));
  }

  /// Returns the ends of the segments relative to the beginning of the device part, in an arbitrary unit. The last end
  /// is above 0.
  std::vector<Duration> segment_ends(std::uint32_t task) const {
    std::vector<Duration> lengths = plan_.tasks[task].segment_wcets;
    const std::size_t segments = scheduler_.segments_of(task);
    if (lengths.size() != segments || std::ranges::max(lengths) == Duration(0)) lengths.assign(segments, Duration(1));
    std::partial_sum(lengths.begin(), lengths.end(), lengths.begin());
    return lengths;
  }

  void decide(Event::Kind kind, std::uint32_t task, std::uint32_t segment = 0) {
    decide({.kind = kind,
            .job = id(task),
            .now = now_,
            .deadline = runs_[task].nominal + plan_.tasks[task].device_done_by,
            .segment = segment});
  }

  void decide(const Event& event) {
    const auto actions = scheduler_.on(event);
    ++outcome_.events;
    if (options_.observe_decision) options_.observe_decision({.event = event, .actions = actions});
    if (event.kind == Event::Kind::segment_done && scheduler_.state().running != event.job) preempt(event.job.task);
    for (const Action& action : actions) {
      switch (action.kind) {
      case Action::Kind::start_execution: start_device_part(action); break;
      case Action::Kind::copy_in:
      case Action::Kind::copy_out: queue_transfer(action); break;
      case Action::Kind::drop: end_job(action.job.task); break;
      case Action::Kind::fail: fail(action.job.task); break;
      case Action::Kind::refuse: assert(false); break;
      }
    }
  }

  void preempt(std::uint32_t task) {
    runs_[task].phase = Phase::queued;
    if (!runs_[task].abandoned) ++outcome_.tasks[task].preempted;
    observe(Step::Kind::preemption, task);
  }

  void start_device_part(const Action& action) {
    const std::uint32_t task = action.job.task;
    TaskRun& run = runs_[task];
    OnDevice& part = on_device_[action.co_running ? 1 : 0];
    part.launched = action.segment + action.committed + 1;
    if (part.ends_at != never) return; // this segment waits for the end of the executing segment
    part.task = task;
    part.segment = action.segment;
    const auto& state = scheduler_.state();
    if (action.segment == 0)
      run.device_part = !state.co_running
                            ? begin_part(task, Part::device)
                            : begin_co_running_part(task, action.co_running ? *state.running : *state.co_running);
    const bool goes_on = std::exchange(run.phase, Phase::device) == Phase::device;
    if (!goes_on) observe(action.segment == 0 ? Step::Kind::execution_start : Step::Kind::resumption, task);
    begin_segment(part);
  }

  // ---- transfers ----

  void queue_transfer(const Action& action) {
    CopyEngine& engine = action.kind == Action::Kind::copy_in ? engines_.front() : engines_.back();
    engine.queue.push_back(action);
    if (engine.queue.size() == 1) begin_transfer(engine);
  }

  void begin_transfer(CopyEngine& engine) {
    const Action& action = engine.queue.front();
    const Duration planned = planned_for(action);
    engine.ends_at =
        now_ + (options_.transfer ? options_.transfer(action, planned) : planned) + left_of_stop(stop_.transfers);
    observe(Step::Kind::transfer_begin, action);
  }

  void end_transfer(CopyEngine& engine) {
    const Action action = engine.queue.front();
    engine.queue.pop_front();
    engine.ends_at = never;
    const bool failed = options_.transfer_fails && options_.transfer_fails(action);
    observe(Step::Kind::transfer_end, action, failed);
    if (!engine.queue.empty()) begin_transfer(engine);
    if (!failed) ++chunks(action);
    const auto kind = action.kind == Action::Kind::copy_in ? Event::Kind::copied_in : Event::Kind::copied_out;
    decide({.kind = kind, .job = {}, .now = now_, .transfer = action.transfer, .failed = failed});
  }

  void observe(Step::Kind kind, const Action& action, bool failed = false) const {
    if (options_.observe)
      options_.observe({.kind = kind, .job = action.job, .now = now_, .action = action, .failed = failed});
  }

  bool copied_out(const policies::Transfer& transfer) const {
    return plan_.tasks[transfer.task].swap_slots[transfer.slot].copied_out;
  }

  /// Returns the planned time of a transfer. The fixed cost is added for the first chunk of a job's load. The fixed
  /// cost is also added for the first chunk that is taken from each victim (a task that loses chunks) for the job. It
  /// is added again if the copy engine has processed a transfer for another job in between.
  Duration planned_for(const Action& action) {
    const SwapCost& cost = plan_.swap->cost;
    if (action.kind == Action::Kind::copy_in)
      return cost.in_per_chunk + (std::exchange(loads_for_, action.job) == action.job ? Duration{0} : cost.in_fixed);
    if (std::exchange(saves_for_, action.job) != action.job) ++turn_;
    const bool goes_on = std::exchange(runs_[action.transfer.task].taken_in, turn_) == turn_;
    return (copied_out(action.transfer) ? cost.out_per_chunk : cost.drop_per_chunk) +
           (goes_on ? Duration{0} : cost.out_fixed);
  }

  std::uint64_t& chunks(const Action& action) {
    TaskStatistics& owner = outcome_.tasks[action.transfer.task];
    if (action.kind == Action::Kind::copy_in) return owner.chunks_in;
    return copied_out(action.transfer) ? owner.chunks_out : owner.chunks_dropped;
  }

  const TaskSet& tasks_;
  const Plan& plan_;
  const Options& options_;
  policies::DeviceScheduler scheduler_;
  std::vector<TaskRun> runs_;
  std::vector<Instant> release_at_; // by task: next instant to consider a release
  std::vector<Instant> ready_at_;   // by task: end of the release latency
  Instant next_timer_ = never;      // earliest of all timers
  bool timers_changed_ = true;
  bool any_undecided_ = false;
  std::vector<Core> cores_;
  std::vector<CopyEngine> engines_;
  std::optional<JobId> loads_for_, saves_for_; // job of the last load, and of the last copy-out
  std::uint64_t turn_ = 0;                     // counts how often copy-outs change to another job
  std::array<OnDevice, 2> on_device_;          // the second device part co-runs with the first
  MachineStop stop_;                           // the next or the current stop
  Instant stop_at_ = never;                    // the beginning of the next stop; `never`: none is known
  Instant stopped_until_{};
  Instant now_{};
  bool over_ = false;
  Outcome outcome_;
};

} // namespace

std::uint64_t Outcome::missed() const {
  std::uint64_t sum = 0;
  for (const TaskStatistics& task : tasks) sum += task.missed;
  return sum;
}

Outcome simulate(const TaskSet& tasks, const Plan& plan, const Options& options) {
  return Simulation(tasks, plan, options).run();
}

} // namespace rtexec::simulator
