#include "traces/analysis/replay.hpp"

#include "traces/events.hpp"

#include <utility>

namespace rtexec::traces {
namespace {

using policies::Action;
using policies::Event;
using policies::JobId;

/// Returns the part of the plan that the scheduler core needs.
Plan plan_of(const RunSetup& setup) {
  Plan plan;
  plan.order = setup.order;
  plan.launch_ahead = setup.launch_ahead;
  for (const TaskSetup& task : setup.tasks) {
    PlannedTask& planned = plan.tasks.emplace_back();
    planned.name = task.name;
    planned.period = task.period;
    planned.device_rank = task.device_rank;
    planned.device_class = task.device_class;
    planned.segments = task.segments;
    planned.memory_policy = task.memory_policy.value_or(planned.memory_policy);
    planned.co_run = task.co_run;
    planned.device_done_by = task.device_done_by;
    planned.swap_slots.resize(task.swap_slots);
    planned.resident_slots = task.resident_slots;
    planned.stream = task.stream;
  }
  if (setup.swap)
    plan.swap = SwapPlan{.policy = setup.swap->policy,
                         .frames = setup.swap->frames,
                         .copy_engines = setup.swap->copy_engines,
                         .cost = {},
                         .store = {}};
  return plan;
}

// A damaged trace may contain any number
constexpr std::uint32_t max_chunks = 16'777'216, max_segments = 65'536;

bool can_stream(const TaskSetup& task) {
  const std::vector<SlotRange>& reads = task.stream->reads;
  SlotRange before;
  for (const SlotRange& read : reads) {
    const bool goes_on = before.begin <= read.begin && read.begin <= before.end && before.end <= read.end;
    if (!goes_on || read.begin > read.end || read.size() > task.stream->ring) return false;
    before = read;
  }
  return reads.size() == task.segments && before.end == task.swap_slots && task.stream->ring <= task.swap_slots;
}

/// Returns the reason why the scheduler core cannot be built from `setup`; empty if it can be built.
std::string why_not(const RunSetup& setup) {
  if (setup.tasks.empty()) return "the recording does not contain the tasks";
  if (!setup.clients.empty()) return "decisions of a daemon are not recorded";
  std::uint64_t resident = 0, chunks = setup.swap ? setup.swap->frames : 0;
  for (const TaskSetup& task : setup.tasks) {
    chunks += task.swap_slots;
    if (task.resident_slots.value_or(0) > task.swap_slots)
      return "task '" + task.name + "' has more resident chunks at the start than chunks";
    resident += task.resident_slots.value_or(0);
    if (task.segments == 0) return "task '" + task.name + "' has no segments";
    if (task.segments > max_segments) return "task '" + task.name + "' has an impossible number of segments";
    if (task.device_class > setup.tasks.size())
      return "task '" + task.name + "' has class " + std::to_string(task.device_class) + ", more than there are tasks";
    if (task.device_class == 0 && task.swap_slots > 0)
      return "task '" + task.name + "' swaps chunks, but is in the top preemption class (express)";
    if (task.stream && !can_stream(task)) return "task '" + task.name + "' has an impossible stream";
    if (task.swap_slots > 0 && !setup.swap) return "the recording does not contain the swap settings";
  }
  if (chunks > max_chunks)
    return "the recording names " + std::to_string(chunks) + " chunks and frames, an impossible number";
  if (setup.swap && resident > setup.swap->frames)
    return "the tasks have more resident chunks at the start than there are frames";
  return {};
}

bool of_transfer(Action::Kind kind) { return kind == Action::Kind::copy_in || kind == Action::Kind::copy_out; }
bool on_engine(Action::Kind kind) { return kind == Action::Kind::start_execution || of_transfer(kind); }

/// True if `record` has the subject of `action`. Segments are not compared at the end of an execution, because the
/// record names no segment and a failed execution may end in any segment.
bool same_subject(const Action& action, const Record& record) {
  if (of_transfer(action.kind)) return action.transfer == record.transfer && action.job == record.job;
  return action.job == record.job && (record.kind == RecordKind::device_end || action.segment == record.segment);
}

/// True if `input` equals `told`. `input`: the end of an execution or a transfer, as the scheduler core received it.
/// `told`: such an end, as an engine recorded it.
bool same_end(const Event& told, const Event& input) {
  if (told.now != input.now || told.kind != input.kind) return false;
  if (input.kind == Event::Kind::copied_in || input.kind == Event::Kind::copied_out)
    return told.transfer == input.transfer && told.failed == input.failed;
  return told.job == input.job && (input.kind == Event::Kind::execution_done || told.segment == input.segment);
}

} // namespace

Replay::Replay(const RunSetup& setup) : scheduler_(why_not(setup).empty() ? plan_of(setup) : Plan{}) {
  for (const TaskSetup& each : setup.tasks) names_.push_back(each.name);
  frames_ = setup.swap ? setup.swap->frames : 0;
  cut_off_ = setup.simulated;
  released_ = setup.simulated;
  result_.not_replayed = why_not(setup);
}

void Replay::see(const Record& record) {
  if (over()) return;
  switch (record.kind) {
  case RecordKind::job_release: released_ = true; return;
  case RecordKind::cpu_end: ready_[record.job.task] = {record.job.number, record.at}; return;
  case RecordKind::device_request: return take_request(record);
  case RecordKind::scheduler_input: return take_input(record);
  case RecordKind::scheduler_action: return take_action(record);
  case RecordKind::device_begin:
  case RecordKind::segment_begin: return begin(Action::Kind::start_execution, record);
  case RecordKind::segment_end:
  case RecordKind::device_end: return end(Action::Kind::start_execution, record);
  case RecordKind::swap_in_begin: return begin(Action::Kind::copy_in, record);
  case RecordKind::swap_in_end: return end(Action::Kind::copy_in, record);
  case RecordKind::swap_out_begin: return begin(Action::Kind::copy_out, record);
  case RecordKind::swap_out_end: return end(Action::Kind::copy_out, record);
  default: return;
  }
}

// ---- decisions ----

void Replay::take_input(const Record& record) {
  const Event& input = record.input;
  if (next_input_ == 0 && record.sequence > 0) {
    result_.not_replayed = "the recording begins with decision " + std::to_string(record.sequence) +
                           ", so the state before it is not known";
    return;
  }
  if (!unrecorded_.empty())
    return differ("decision " + std::to_string(next_input_ - 1) + ": the scheduler does '" + text(unrecorded_.front()) +
                  "', which is not recorded");
  if (record.sequence != next_input_)
    return differ("decision " + std::to_string(next_input_) + " is not recorded: " + std::to_string(record.sequence) +
                  " follows");
  check_cause(input);
  if (over()) return;
  ++next_input_;
  ++result_.inputs;
  unrecorded_ = scheduler_.on(input);
}

void Replay::take_action(const Record& record) {
  if (next_input_ == 0) return begin_in_the_middle();
  const std::string where = "decision " + std::to_string(record.sequence) + ": ";
  if (record.sequence + 1 != next_input_)
    return differ(where + "'" + text(record.action) + "' is recorded, but its cause is not");
  if (unrecorded_.empty())
    return differ(where + "'" + text(record.action) + "' is recorded, but the scheduler does not do it");
  const Action& decided = unrecorded_.front();
  unrecorded_ = unrecorded_.subspan(1);
  if (!(decided == record.action))
    return differ(where + "'" + text(record.action) + "' is recorded, but the scheduler does '" + text(decided) + "'");
  ++result_.actions;
  if (decided.kind == Action::Kind::drop || decided.kind == Action::Kind::fail) left_ = decided.job;
  expect_start(decided);
}

// ---- causes and effects of decisions ----

/// Adds the expected starts on the engine: one for the action's segment, and one for each segment committed after it.
void Replay::expect_start(const Action& action) {
  if (!released_ || !on_engine(action.kind)) return;
  Engine& engine = action.co_running ? secondary_compute_ : this->engine(action.kind);
  if (engine.failed == action.job) return; // later orders of a failed job do not begin
  for (std::uint32_t behind = 0; behind <= action.committed; ++behind) {
    engine.ordered.push_back(action);
    engine.ordered.back().segment += behind;
    engine.ordered.back().committed = 0;
  }
}

/// Returns the engine of an action. For an execution, returns the second compute engine (`secondary_compute_`) if that
/// engine has work of `job`, otherwise the first compute engine.
Replay::Engine& Replay::engine_of(Action::Kind kind, JobId job) {
  const bool co_running = kind == Action::Kind::start_execution &&
                          ((!secondary_compute_.ordered.empty() && secondary_compute_.ordered.front().job == job) ||
                           (secondary_compute_.under_way && secondary_compute_.under_way->job == job) ||
                           (!secondary_compute_.ended.empty() && secondary_compute_.ended.front().job == job));
  return co_running ? secondary_compute_ : engine(kind);
}

/// Checks an input of the core: the thread or engine that caused the input must have recorded an equal event.
void Replay::check_cause(const Event& input) {
  if (!released_) return;
  if (input.kind == Event::Kind::job_withdrawn) return;
  if (input.kind == Event::Kind::job_requested) {
    if (!requested_ || requested_->job != input.job || requested_->at != input.now ||
        requested_->deadline != input.deadline) {
      if (next_input_ == 0) return begin_in_the_middle();
      return differ("'" + text(input) + "' reached the scheduler, but no such request is recorded");
    }
    return requested_.reset();
  }
  const auto kind = input.kind == Event::Kind::copied_in    ? Action::Kind::copy_in
                    : input.kind == Event::Kind::copied_out ? Action::Kind::copy_out
                                                            : Action::Kind::start_execution;
  auto& ended = engine_of(kind, input.job).ended;
  if (ended.empty()) return differ("'" + text(input) + "' reached the scheduler, but no such end is recorded");
  const Event& told = ended.front();
  if (!same_end(told, input))
    return differ("'" + text(input) + "' reached the scheduler, but its engine recorded '" + text(told) + "'");
  ended.pop_front();
}

/// Processes the device request of a job that has ended its first part. The core must receive this request next.
void Replay::take_request(const Record& record) {
  const auto ready = ready_.find(record.job.task);
  if (ready == ready_.end() && next_input_ == 0) return begin_in_the_middle();
  if (ready == ready_.end() || ready->second != std::pair(record.job.number, record.at))
    return differ(text(record.job) + " requests the device, but no such end of its CPU part is recorded");
  if (requested_)
    return differ("the request of " + text(requested_->job) + " is recorded, but did not reach the scheduler");
  ready_.erase(ready);
  requested_ = {record.job, record.at, record.deadline};
}

void Replay::begin(Action::Kind kind, const Record& record) {
  if (next_input_ == 0) return begin_in_the_middle();
  Engine& engine = engine_of(kind, record.job);
  if (engine.ordered.empty())
    return differ("an engine begins a " + std::string(spelling(kind)) + " for " + text(record.job) +
                  ", which is not ordered");
  if (engine.under_way) return differ("the end of '" + text(*engine.under_way) + "' is not recorded");
  if (!same_subject(engine.ordered.front(), record))
    return differ("the scheduler orders '" + text(engine.ordered.front()) + "', but the engine begins one for " +
                  text(record.job));
  engine.under_way = engine.ordered.front();
  engine.ordered.pop_front();
}

void Replay::end(Action::Kind kind, const Record& record) {
  if (next_input_ == 0) return begin_in_the_middle();
  if (record.kind == RecordKind::device_end && !record.ok && left_ == record.job) return left_.reset();
  Engine& engine = engine_of(kind, record.job);
  if (!engine.under_way && !record.ok &&
      !engine.ordered.empty()) { // the engine refused the action before the action began
    engine.under_way = engine.ordered.front();
    engine.ordered.pop_front();
  }
  if (!engine.under_way)
    return differ("the beginning of a " + std::string(spelling(kind)) + " for " + text(record.job) +
                  " is not recorded");
  if (!same_subject(*engine.under_way, record))
    return differ("'" + text(*engine.under_way) + "' is running, but the recorded end is for " + text(record.job));
  engine.under_way.reset();
  if (record.kind == RecordKind::device_end &&
      !record.ok) { // the orders behind the failed execution do not begin either
    engine.failed = record.job;
    std::erase_if(engine.ordered, [&](const Action& action) { return action.job == record.job; });
  }
  Event told{.kind = Event::Kind::execution_done, .job = record.job, .now = record.at, .segment = record.segment};
  if (record.kind == RecordKind::segment_end) told.kind = Event::Kind::segment_done;
  if (of_transfer(kind)) {
    told.kind = kind == Action::Kind::copy_in ? Event::Kind::copied_in : Event::Kind::copied_out;
    told.transfer = record.transfer;
    told.failed = !record.ok;
  }
  engine.ended.push_back(told);
}

// ---- the end ----

std::optional<std::uint32_t> Replay::frames_in_use() const {
  if (frames_ == 0 || over() || next_input_ == 0) return std::nullopt;
  return frames_ - static_cast<std::uint32_t>(scheduler_.state().free.size());
}

ReplayAnalysis Replay::finish(bool whole, bool lost) {
  if (!over() && next_input_ == 0) result_.not_replayed = "no decision is recorded";
  if (whole && !over() && !unrecorded_.empty())
    differ("decision " + std::to_string(next_input_ - 1) + ": the scheduler does '" + text(unrecorded_.front()) +
           "', which is not recorded");
  if (whole && !over() && requested_)
    differ("the request of " + text(requested_->job) + " is recorded, but did not reach the scheduler");
  if (whole && !over())
    for (const Engine* engine : {&engines_[0], &engines_[1], &engines_[2], &secondary_compute_}) {
      if (!engine->ended.empty())
        differ("'" + text(engine->ended.front()) + "' is recorded by its engine, but did not reach the scheduler");
      else if (engine->under_way && !cut_off_) differ("the end of '" + text(*engine->under_way) + "' is not recorded");
      else if (!engine->ordered.empty() && !cut_off_)
        differ("'" + text(engine->ordered.front()) + "' is ordered, but no engine begins it");
    }
  if (lost && !result_.difference.empty())
    result_.not_replayed = "events were lost: " + std::exchange(result_.difference, {});
  result_.complete = whole && !over();
  return std::exchange(result_, {});
}

void Replay::begin_in_the_middle() {
  result_.not_replayed = "the recording begins in the middle of the run, so the state before it is not known";
}

void Replay::differ(std::string what) {
  if (result_.difference.empty()) result_.difference = std::move(what);
}

std::string Replay::task(std::uint32_t index) const {
  return index < names_.size() ? names_[index] : "task " + std::to_string(index);
}

std::string Replay::text(JobId job) const { return "job " + std::to_string(job.number) + " of " + task(job.task); }

std::string Replay::text(const Event& event) const {
  std::string result(spelling(event.kind));
  if (event.kind == Event::Kind::copied_in || event.kind == Event::Kind::copied_out)
    result += " slot " + std::to_string(event.transfer.slot) + " of " + task(event.transfer.task) + " in frame " +
              std::to_string(event.transfer.frame) + (event.failed ? ", failed" : "");
  else result += " " + text(event.job);
  if (event.kind == Event::Kind::segment_done) result += ", segment " + std::to_string(event.segment);
  return result + " at " + std::to_string(event.now.time_since_epoch().count()) + " ns";
}

std::string Replay::text(const Action& action) const {
  std::string result(spelling(action.kind));
  if (of_transfer(action.kind))
    result += " slot " + std::to_string(action.transfer.slot) + " of " + task(action.transfer.task) + " in frame " +
              std::to_string(action.transfer.frame) + " for";
  if (action.co_running) result += " beside";
  result += " " + text(action.job);
  if (action.segment > 0) result += " from segment " + std::to_string(action.segment);
  if (action.committed > 0) result += " and " + std::to_string(action.committed) + " behind it";
  return result;
}

} // namespace rtexec::traces
