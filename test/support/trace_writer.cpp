#include "test/support/trace_writer.hpp"

#include "traces/events.hpp"

#include "config/names.hpp"

#include <array>
#include <stdexcept>

namespace rtexec::test {
namespace {

using traces::Record;
using traces::RecordKind;
using Type = CtfField::Type;
using Fields = std::vector<CtfField>;
using Values = std::vector<CtfValue>;

std::int64_t ns(Instant instant) { return instant.time_since_epoch().count(); }
std::int64_t n(std::uint64_t value) { return static_cast<std::int64_t>(value); }

Fields operator+(Fields a, const Fields& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Fields job{{"task", Type::u32}, {"job", Type::u64}};
const Fields at{{"at", Type::i64}};
const Fields transfer{{"slot", Type::u32}, {"frame", Type::u32}};
const Fields swap =
    Fields{{"task", Type::u32}} + transfer + Fields{{"cause_task", Type::u32}, {"cause_job", Type::u64}} + at;
const CtfField outcome{"outcome", Type::enumeration, {{"ok", 0}, {"device-fault", 7}, {"io-error", 10}}};
const CtfField executed{"executed", Type::i64};

template <class Enum> CtfField enumeration(const char* name) {
  CtfField field{name, Type::enumeration, {}};
  for (const auto& known : spellings<Enum>()) field.labels.emplace_back(known.text, static_cast<unsigned>(known.value));
  return field;
}

/// Describes how one kind of record is written as an event.
struct Form {
  RecordKind kind;
  const char* name;
  Fields fields;
  void (*fill)(const Record& record, Values& values); // fills the values in the order of the event's fields
};

void of_job(const Record& r, Values& v) { v = {n(r.job.task), n(r.job.number), ns(r.at)}; }
void of_swap(const Record& r, Values& v) {
  v = {n(r.transfer.task), n(r.transfer.slot), n(r.transfer.frame), n(r.job.task), n(r.job.number), ns(r.at)};
}
void end_of_swap(const Record& r, Values& v) {
  of_swap(r, v);
  v.insert(v.end(), {r.ok ? 0 : 10, n(r.bytes)});
}
void of_core(const Record& r, Values& v) { v = {n(r.core), ns(r.at)}; }
void of_segment(const Record& r, Values& v) { v = {n(r.job.task), n(r.job.number), n(r.segment), ns(r.at)}; }
void of_layer(const Record& r, Values& v) { v = {n(r.job.task), n(r.job.number), n(r.layer), ns(r.at)}; }

void of_input(const Record& r, Values& v) {
  const policies::Event& e = r.input;
  v = {n(r.sequence),       static_cast<std::int64_t>(e.kind),
       n(e.job.task),       n(e.job.number),
       ns(e.now),           ns(e.deadline),
       n(e.transfer.task),  n(e.transfer.slot),
       n(e.transfer.frame), e.failed ? 1 : 0,
       n(e.segment)};
}
void of_action(const Record& r, Values& v) {
  const policies::Action& a = r.action;
  v = {n(r.sequence),
       static_cast<std::int64_t>(a.kind),
       n(a.job.task),
       n(a.job.number),
       n(a.transfer.task),
       n(a.transfer.slot),
       n(a.transfer.frame),
       a.co_running ? 1 : 0,
       static_cast<std::int64_t>(a.as),
       n(a.segment),
       n(a.committed)};
}

std::vector<Form> job_forms() {
  using enum RecordKind;
  return {
      {job_release, "job_release", job + Fields{{"nominal", Type::i64}, {"actual", Type::i64}, {"deadline", Type::i64}},
       [](const Record& r, Values& v) {
         v = {n(r.job.task), n(r.job.number), ns(r.nominal), ns(r.at), ns(r.deadline)};
       }},
      {job_start, "job_start", job + at, of_job},
      {job_input, "job_input",
       job + at + Fields{{"sampled", Type::i64}, {"inputs", Type::u32}, {"stale", Type::u32}, outcome},
       [](const Record& r, Values& v) {
         of_job(r, v);
         v.insert(v.end(), {ns(r.sampled), n(r.inputs), n(r.stale), r.ok ? 0 : 7});
       }},
      {cpu_end, "cpu_end", job + at + Fields{executed},
       [](const Record& r, Values& v) {
         of_job(r, v);
         v.push_back(r.executed.count());
       }},
      {device_request, "device_request", job + at + Fields{{"deadline", Type::i64}},
       [](const Record& r, Values& v) {
         of_job(r, v);
         v.push_back(ns(r.deadline));
       }},
      {device_begin, "device_begin", job + at, of_job},
      {segment_end, "segment_end", job + Fields{{"segment", Type::u32}} + at, of_segment},
      {segment_begin, "segment_begin", job + Fields{{"segment", Type::u32}} + at, of_segment},
      {device_executed, "device_executed", job + Fields{executed},
       [](const Record& r, Values& v) {
         v = {n(r.job.task), n(r.job.number), r.executed.count()};
       }},
      {device_end, "device_end", job + at + Fields{outcome},
       [](const Record& r, Values& v) {
         of_job(r, v);
         v.push_back(r.ok ? 0 : 7);
       }},
      {after_begin, "after_begin", job + at, of_job},
      {result_drop, "result_drop", job + at + Fields{{"sinks", Type::u32}},
       [](const Record& r, Values& v) {
         of_job(r, v);
         v.push_back(n(r.sinks));
       }},
      {job_end, "job_end", job + at + Fields{{"response", Type::i64}, executed},
       [](const Record& r, Values& v) {
         of_job(r, v);
         v.push_back(r.response.count());
         v.push_back(r.executed.count());
       }},
      {job_miss, "job_miss", job + at + Fields{{"deadline", Type::i64}, {"lateness", Type::i64}},
       [](const Record& r, Values& v) {
         of_job(r, v);
         v.insert(v.end(), {ns(r.deadline), (r.at - r.deadline).count()});
       }},
      {job_overrun, "job_overrun",
       job + at + Fields{enumeration<OnOverrun>("policy"), enumeration<policies::ReleaseDecision::Kind>("decision")},
       [](const Record& r, Values& v) {
         of_job(r, v);
         v.insert(v.end(), {n(0), n(0)});
       }},
      {job_skip, "job_skip",
       Fields{{"task", Type::u32}, {"nominal", Type::i64}} + at +
           Fields{enumeration<policies::ReleaseReason>("reason")},
       [](const Record& r, Values& v) {
         v = {n(r.job.task), ns(r.nominal), ns(r.at), static_cast<std::int64_t>(r.reason)};
       }},
      {job_abort, "job_abort", job + at, of_job},
      {device_fault, "device_fault", job + Fields{{"what", Type::text}},
       [](const Record& r, Values& v) {
         v = {n(r.job.task), n(r.job.number), "a fault"};
       }},
      {layer_begin, "layer_begin", job + Fields{{"layer", Type::u32}} + at, of_layer},
      {layer_end, "layer_end", job + Fields{{"layer", Type::u32}} + at, of_layer},
  };
}

std::vector<Form> other_forms() {
  using enum RecordKind;
  const Fields done = swap + Fields{outcome, {"copied_bytes", Type::u64}};
  const Fields moved = Fields{{"moved_task", Type::u32}} + transfer;
  const CtfField input{"input",
                       Type::enumeration,
                       {{"job-requested", 0},
                        {"job-withdrawn", 1},
                        {"segment-done", 2},
                        {"execution-done", 3},
                        {"copied-in", 4},
                        {"copied-out", 5}}};
  const CtfField action{
      "action",
      Type::enumeration,
      {{"start-execution", 0}, {"copy-in", 1}, {"copy-out", 2}, {"refuse", 3}, {"drop", 4}, {"fail", 5}}};
  return {
      {swap_in_begin, "swap_in_begin", swap, of_swap},
      {swap_in_end, "swap_in_end", done, end_of_swap},
      {swap_out_begin, "swap_out_begin", swap, of_swap},
      {swap_out_end, "swap_out_end", done, end_of_swap},
      {scheduler_input, "scheduler_input",
       Fields{{"sequence", Type::u64}, input} + job + at + Fields{{"deadline", Type::i64}} + moved +
           Fields{{"failed", Type::u8}, {"segment", Type::u32}},
       of_input},
      {scheduler_action, "scheduler_action",
       Fields{{"sequence", Type::u64}, action} + job + moved +
           Fields{
               {"beside", Type::u8}, enumeration<MemoryPolicy>("as"), {"segment", Type::u32}, {"committed", Type::u32}},
       of_action},
      {throttle_begin, "throttle_begin", Fields{{"core", Type::u32}} + at, of_core},
      {throttle_end, "throttle_end", Fields{{"core", Type::u32}} + at, of_core},
      {bandwidth_budget, "bandwidth_budget",
       Fields{{"core", Type::u32}} + at + Fields{{"bytes", Type::u64}, {"period", Type::i64}},
       [](const Record& r, Values& v) {
         of_core(r, v);
         v.insert(v.end(), {n(r.bytes), 1'000'000});
       }},
      {core_clock, "core_clock", Fields{{"core", Type::u32}} + at + Fields{{"frequency", Type::u64}},
       [](const Record& r, Values& v) {
         of_core(r, v);
         v.push_back(n(r.frequency.hertz));
       }},
      {core_stolen, "core_stolen",
       Fields{{"core", Type::u32}, {"computes", Type::u8}, {"since", Type::i64}} + at + Fields{{"stolen", Type::i64}},
       [](const Record& r, Values& v) {
         v = {n(r.core), r.computes ? 1 : 0, ns(r.since), ns(r.at), r.stolen.count()};
       }},
      {device_clock, "device_clock",
       at + Fields{{"frequency", Type::u64}, {"memory_frequency", Type::u64}, {"limits", Type::u32}},
       [](const Record& r, Values& v) {
         v = {ns(r.at), n(r.frequency.hertz), n(r.memory_frequency.hertz), n(r.limits)};
       }},
      {run_end, "run_end", at + Fields{{"stopped_by", Type::text}},
       [](const Record& r, Values& v) {
         v = {ns(r.at), "the duration"};
       }},
  };
}

/// The forms, indexed by record kind.
const std::array<Form, static_cast<std::size_t>(RecordKind::other)>& forms() {
  static const auto all = [] {
    std::array<Form, static_cast<std::size_t>(RecordKind::other)> by_kind;
    for (auto list : {job_forms(), other_forms()})
      for (Form& form : list) by_kind[static_cast<std::size_t>(form.kind)] = std::move(form);
    return by_kind;
  }();
  return all;
}

enum SetupEvent : std::size_t {
  run_begin,
  task_set,
  plan,
  task_info,
  task_memory,
  task_co_run,
  task_segments,
  task_stream,
  task_workload,
  task_tuning,
  chain_info,
  chain_task,
  layer_info,
  swap_plan,
  admission_test,
  degraded,
  probe,
  device_memory,
  task_load,
  first_contents,
  first_contents_tile,
  regulated_core
};

CtfChannel setup_events() {
  const auto lengths = [](std::initializer_list<const char*> names, Type type = Type::i64) {
    Fields fields;
    for (const char* name : names) fields.push_back({name, type});
    return fields;
  };
  const Fields task{{"task", Type::u32}};
  return {
      "setup",
      {{"rtexec:run_begin",
        {{"version", Type::text}, {"machine", Type::text}, {"simulated", Type::u8}, {"start", Type::i64}}},
       {"rtexec:task_set", {{"file", Type::text}}},
       {"rtexec:plan", Fields{{"proved", Type::u8}, enumeration<Order>("order"), {"tasks", Type::u32}} +
                           lengths({"demand_bytes", "capacity_bytes", "chunk_bytes"}, Type::u64) +
                           Fields{{"tightest_test", Type::text}, {"tightest_task", Type::text}, {"slack", Type::i64}}},
       {"rtexec:task_info",
        task + Fields{{"name", Type::text}, enumeration<Criticality>("criticality"), {"promised", Type::u8}} +
            lengths({"period", "deadline", "offset"}) + lengths({"core", "core_rank", "device_rank"}, Type::u32) +
            lengths({"wcet_before", "wcet_device", "wcet_after", "ready_by", "device_done_by", "response_bound"}) +
            Fields{{"swap_slots", Type::u32}, {"resident_slots", Type::i64}}},
       {"rtexec:task_memory",
        task + Fields{{"policy", Type::text}} +
            lengths({"constant_bytes", "scratch_bytes", "state_bytes", "fixed_bytes", "swap_volume_bytes"}, Type::u64)},
       {"rtexec:task_co_run", task + lengths({"wcet", "idle"})},
       {"rtexec:task_segments",
        task + lengths({"device_class", "segments", "launch_ahead"}, Type::u32) + lengths({"longest"})},
       {"rtexec:task_stream", task + lengths({"ring", "begin", "end"}, Type::u32)},
       {"rtexec:task_workload", task + Fields{{"workload", Type::text}}},
       {"rtexec:task_tuning", task + Fields{{"line", Type::text}}},
       {"rtexec:chain_info", Fields{{"chain", Type::u32},
                                    {"name", Type::text},
                                    enumeration<Communication>("communicate"),
                                    {"triggered", Type::u8},
                                    {"kept", Type::u8}} +
                                 lengths({"reaction", "age", "reduced_age", "max_reaction", "max_age"}) +
                                 Fields{{"from_sampling", Type::u8}}},
       {"rtexec:chain_task", Fields{{"chain", Type::u32}} + task + lengths({"waits", "takes"})},
       {"rtexec:layer_info", task + Fields{{"layer", Type::u32}, {"name", Type::text}}},
       {"rtexec:swap_plan", Fields{enumeration<SwapPolicy>("policy"),
                                   {"frames", Type::u32},
                                   {"copy_engines", Type::u32},
                                   {"chunk_bytes", Type::u64},
                                   {"store", Type::text}}},
       {"rtexec:admission_test", Fields{{"name", Type::text}, {"proved", Type::u8}, {"baseline", Type::u8}} +
                                     lengths({"left", "right", "slack"}) + Fields{{"limiting_task", Type::text}}},
       {"rtexec:degraded", {{"what", Type::text}}},
       {"rtexec:probe", {{"service", Type::text}, {"found", Type::text}}},
       {"rtexec:device_memory",
        Fields{{"name", Type::text}} +
            lengths({"used_bytes", "context_bytes", "demand_bytes", "separate_bytes"}, Type::u64)},
       {"rtexec:task_load", task + lengths({"begin", "end"})},
       {"rtexec:first_contents",
        task + Fields{{"buffer", Type::u32}, {"bytes", Type::u64}, {"tiles", Type::u32}} + lengths({"begin", "end"})},
       {"rtexec:first_contents_tile", task + Fields{{"buffer", Type::u32}, {"tile", Type::u32}, {"bytes", Type::u64}} +
                                          lengths({"prefetch_begin", "prefetch_end", "make_begin", "make_end"})},
       {"rtexec:regulated_core", {{"core", Type::u32}, {"period", Type::i64}}}}};
}

bool lacks_field(const Form& form, std::string_view field) {
  return !form.fields.empty() && form.fields.back().name == field;
}

std::vector<CtfChannel> channels(std::string_view lacks) {
  CtfChannel events{"events", {}};
  for (const Form& form : forms()) {
    Fields fields = form.fields;
    if (lacks_field(form, lacks)) fields.pop_back();
    events.events.push_back({std::string("rtexec:") + form.name, std::move(fields)});
  }
  return {setup_events(), events};
}

void write_contents(CtfWriter& ctf, std::int64_t time, std::int64_t task, std::int64_t buffer,
                    const traces::ContentsSetup& c) {
  const auto put = [&](SetupEvent event, const Values& values) {
    ctf.write(TraceWriter::setup_channel, 0, event, time, values);
  };
  put(first_contents, {task, buffer, n(c.size.count), n(c.tiles.size()), ns(c.made.begin), ns(c.made.end)});
  for (std::size_t tile = 0; tile < c.tiles.size(); ++tile) {
    const traces::TileSetup& t = c.tiles[tile];
    put(first_contents_tile, {task, buffer, n(tile), n(t.size.count), ns(t.prefetched.begin), ns(t.prefetched.end),
                              ns(t.made.begin), ns(t.made.end)});
  }
}

void write_task(CtfWriter& ctf, std::int64_t time, std::int64_t index, const traces::TaskSetup& t) {
  const auto put = [&](SetupEvent event, const Values& values) {
    ctf.write(TraceWriter::setup_channel, 0, event, time, values);
  };
  put(task_info, {index, t.name, static_cast<std::int64_t>(t.criticality), t.promised ? 1 : 0, t.period.count(),
                  t.deadline.count(), t.offset.count(), t.core, t.core_rank, t.device_rank, t.wcet.before.count(),
                  t.wcet.device.count(), t.wcet.after.count(), t.ready_by.count(), t.device_done_by.count(),
                  t.response_bound ? t.response_bound->count() : -1, t.swap_slots,
                  t.resident_slots ? std::int64_t{*t.resident_slots} : -1});
  put(task_memory, {index, t.memory_policy ? std::string(spelling(*t.memory_policy)) : "", n(t.constant.count),
                    n(t.scratch.count), n(t.state.count), n(t.fixed.count), n(t.swap_volume.count)});
  if (t.co_run)
    put(task_co_run, {index, t.co_run->wcet.count(), t.co_run->idle ? t.co_run->idle->count() : std::int64_t{-1}});
  put(task_workload, {index, t.workload});
  for (const std::string& line : t.tuning) put(task_tuning, {index, line});
  if (t.loaded) put(task_load, {index, ns(t.loaded->begin), ns(t.loaded->end)});
  for (std::size_t i = 0; i < t.contents.size(); ++i) write_contents(ctf, time, index, n(i), t.contents[i]);
  for (std::size_t layer = 0; layer < t.layers.size(); ++layer) put(layer_info, {index, n(layer), t.layers[layer]});
}

void write_chain(CtfWriter& ctf, std::int64_t time, std::int64_t index, const traces::ChainSetup& c) {
  const auto or_none = [](const std::optional<Duration>& length) { return length ? length->count() : -1; };
  ctf.write(TraceWriter::setup_channel, 0, chain_info, time,
            {index, c.name, static_cast<std::int64_t>(c.communicate), c.triggered ? 1 : 0, c.kept ? 1 : 0,
             or_none(c.reaction), or_none(c.age), or_none(c.reduced_age), or_none(c.max_reaction), or_none(c.max_age),
             c.from_sampling ? 1 : 0});
  for (const auto& place : c.places)
    ctf.write(TraceWriter::setup_channel, 0, chain_task, time,
              {index, n(place.task), or_none(place.waits), or_none(place.takes)});
}

} // namespace

TraceWriter::TraceWriter(const std::filesystem::path& folder, unsigned cores, const CtfOptions& options,
                         std::string_view lacks)
    : lacks_(lacks), ctf_(folder, channels(lacks), cores, options) {}

void TraceWriter::write(const traces::RunSetup& setup, Instant time) {
  const auto put = [&](SetupEvent event, const Values& values) {
    ctf_.write(setup_channel, 0, event, ns(time), values);
  };
  put(run_begin, {setup.version, setup.machine, setup.simulated ? 1 : 0, ns(setup.start)});
  if (!setup.task_set.empty()) put(task_set, {setup.task_set});
  if (setup.swap)
    put(swap_plan, {static_cast<std::int64_t>(setup.swap->policy), setup.swap->frames, setup.swap->copy_engines,
                    n(setup.swap->chunk.count), setup.swap->store});
  put(plan, {setup.proved ? 1 : 0, static_cast<std::int64_t>(setup.order), n(setup.tasks.size()), n(setup.demand.count),
             n(setup.capacity.count), n(setup.chunk.count), "", "", n(0)});
  for (const traces::TestSetup& test : setup.tests)
    put(admission_test, {test.name, test.proved ? 1 : 0, test.baseline ? 1 : 0, test.left.count(), test.right.count(),
                         test.slack.count(), test.limiting_task});
  for (std::size_t i = 0; i < setup.tasks.size(); ++i)
    if (const traces::TaskSetup& task = setup.tasks[i]; task.device_class != 1 || task.segments > 1)
      put(task_segments, {n(i), task.device_class, task.segments, setup.launch_ahead,
                          task.longest_segment ? task.longest_segment->count() : -1});
  for (std::size_t i = 0; i < setup.tasks.size(); ++i)
    if (const auto& stream = setup.tasks[i].stream)
      for (const SlotRange& read : stream->reads) put(task_stream, {n(i), stream->ring, read.begin, read.end});
  for (std::size_t i = 0; i < setup.tasks.size(); ++i) write_task(ctf_, ns(time), n(i), setup.tasks[i]);
  for (std::size_t i = 0; i < setup.chains.size(); ++i) write_chain(ctf_, ns(time), n(i), setup.chains[i]);
  for (const unsigned core : setup.regulated_cores) put(regulated_core, {core, 1'000'000});
  for (const std::string& what : setup.degraded) put(degraded, {what});
  for (const traces::ProbeSetup& found : setup.probes) put(probe, {found.service, found.found});
  if (!setup.device.empty()) put(device_memory, {setup.device, n(0), n(0), n(0), n(0)});
}

void TraceWriter::write(unsigned core, const Record& record) {
  thread_local Values values;
  const Form& form = forms().at(static_cast<std::size_t>(record.kind));
  form.fill(record, values);
  if (lacks_field(form, lacks_)) values.pop_back();
  ctf_.write(event_channel, core, static_cast<std::size_t>(record.kind), ns(record.time), values);
}

} // namespace rtexec::test
