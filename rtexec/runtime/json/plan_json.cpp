#include "rtexec/runtime/json/plan_json.hpp"

#include "rtexec/runtime/planning/origins.hpp"
#include "config/names.hpp"
#include "policies/scheduler/co_run.hpp"
#include "rtexec/runtime/json/machine_json.hpp"
#include <rtexec/planning.hpp>

namespace rtexec {

using nlohmann::json;

json to_json(const Wcet& wcet) {
  return {{"before_ns", wcet.before.count()}, {"device_ns", wcet.device.count()}, {"after_ns", wcet.after.count()}};
}

json to_json(const MemoryCosts& costs) {
  return {{"unified", costs.unified},
          {"copy_start_ns", costs.copy_start.count()},
          {"copied_in_ns_per_byte", costs.copied_in},
          {"copied_out_ns_per_byte", costs.copied_out},
          {"host_touched_ns_per_byte", costs.host_touched},
          {"mapped_ns_per_byte", costs.mapped},
          {"host_flush_ns", costs.host_flush.count()},
          {"device_flush_ns", costs.device_flush.count()},
          {"written_back_ns_per_byte", costs.written_back},
          {"memory_access_ns", costs.memory_access},
          {"cache_access_ns", costs.cache_access},
          {"faulted_ns_per_byte", costs.faulted},
          {"prefetch_start_ns", costs.prefetch_start.count()},
          {"prefetched_ns_per_byte", costs.prefetched},
          {"returned_ns_per_byte", costs.returned},
          {"linked_start_ns", costs.linked_start.count()},
          {"linked_ns_per_byte", costs.linked},
          {"linked_access_ns", costs.linked_access}};
}

namespace {

json nullable(const std::optional<Duration>& value) { return value ? json(value->count()) : json(nullptr); }
json nullable(std::optional<Bandwidth> value) { return value ? json(value->bytes_per_second) : json(nullptr); }
json nullable(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json to_json(const DurationStatistics& s) {
  return {{"min", s.min.count()}, {"mean", s.mean.count()}, {"p50", s.p50.count()},
          {"p99", s.p99.count()}, {"p999", s.p999.count()}, {"max", s.max.count()}};
}

/// Returns one side of the test's inequality: a share as a fraction (1: the whole resource), or a time in nanoseconds.
json side(const TestVerdict& test, std::int64_t value) {
  return std::holds_alternative<ShareBound>(test.bound) ? json(static_cast<double>(value) * 1e-9) : json(value);
}

json to_json(const TestVerdict& test) {
  return {{"name", test.name()},
          {"proved", test.proved},
          {"sound", test.sound()},
          {"left", side(test, test.sides().left)},
          {"right", side(test, test.sides().right)},
          {"slack_ns", test.slack.count()},
          {"instant_ns", test.instant.count()},
          {"demand_ns", test.demand.count()},
          {"blocking_ns", test.blocking.count()},
          {"blocking_task", test.blocking_task},
          {"limiting_task", test.limiting_task},
          {"inequality", test.inequality},
          {"explanation", test.explanation}};
}

/// Returns the test in JSON, with the swap volumes and response times that the test computes for each task.
json compared(const TestVerdict& test, const Plan& plan) {
  json result = to_json(test);
  json tasks = json::array();
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    json task = {{"name", plan.tasks[i].name}};
    task["swap_volume_bytes"] = test.swap_volumes.empty() ? json(nullptr) : json(test.swap_volumes[i].count);
    task["response_bound_ns"] = test.responses.empty() || test.responses[i] == Duration::zero()
                                    ? json(nullptr)
                                    : json(test.responses[i].count());
    tasks.push_back(std::move(task));
  }
  result["tasks"] = std::move(tasks);
  return result;
}

json to_json(const CoRun& co_run) { return {{"wcet_ns", co_run.wcet.count()}, {"idle_ns", nullable(co_run.idle)}}; }

json pairs(const Plan& plan) {
  json list = json::array();
  for (const policies::TaskPair& pair : policies::pairs(plan))
    list.push_back({{"executes", plan.tasks[pair.executes].name}, {"waits", plan.tasks[pair.waits].name}});
  return list;
}

json nanoseconds(std::span<const Duration> times) {
  json list = json::array();
  for (const Duration each : times) list.push_back(each.count());
  return list;
}

json to_json(const Stream& stream) {
  json reads = json::array();
  for (const SlotRange& read : stream.reads) reads.push_back({read.begin, read.end});
  return {{"ring_chunks", stream.ring},
          {"chunks", stream.reads.back().end},
          {"reads", std::move(reads)},
          {"execution_ns", stream.execution.count()}};
}

json to_json(const PlannedTask& task) {
  return {{"name", task.name},
          {"promised", task.promised},
          {"core", task.core},
          {"core_chosen", task.core_chosen},
          {"swap_volume_bytes", task.swap_volume.count},
          {"memory_policy", spelling(task.memory_policy)},
          {"level", task.device_class == 0 ? json("top") : json(task.device_class)},
          {"segments", task.segments},
          {"cuts", task.cuts},
          {"segment_wcets_ns", nanoseconds(task.segment_wcets)},
          {"stream", task.stream ? to_json(*task.stream) : json(nullptr)},
          {"co_run", task.co_run ? to_json(*task.co_run) : json(nullptr)},
          {"memory_policy_reason", nullable(task.memory_policy_reason)},
          {"response_bound_ns", nullable(task.response_bound)},
          {"deadline_ns", task.done_by.count()},
          {"wcet", rtexec::to_json(task.wcet)},
          {"tuned", !task.tuning.empty()},
          {"memory",
           {{"constant_bytes", task.memory.constant.count},
            {"scratch_bytes", task.memory.scratch.count},
            {"state_bytes", task.memory.state.count},
            {"fixed_bytes", task.memory.fixed.count},
            {"carry_bytes", task.memory.carry.count},
            {"outside_bytes", task.memory.outside.count},
            {"host_bytes", task.memory.host.count},
            {"links_bytes", task.links.count}}}};
}

json to_json(const ChainTerm& term) {
  return {{"task", term.task}, {"waits_ns", term.waits.count()}, {"takes_ns", term.takes.count()}};
}

json to_json(const PlannedChain& chain) {
  json terms = json::array();
  for (const ChainTerm& term : chain.terms) terms.push_back(to_json(term));
  return {{"name", chain.name},
          {"communicate", spelling(chain.communicate)},
          {"input_delay_ns", nullable(chain.input_delay)},
          {"reaction_bound_ns", nullable(chain.reaction)},
          {"age_bound_ns", nullable(chain.age)},
          {"reduced_age_bound_ns", nullable(chain.reduced_age)},
          {"davare_bound_ns", nullable(chain.davare)},
          {"max_reaction_ns", nullable(chain.max_reaction)},
          {"max_age_ns", nullable(chain.max_age)},
          {"kept", chain.kept},
          {"terms", terms},
          {"finding", nullable(chain.finding)}};
}

json to_json(const MeasuredTimes& measured) {
  json result = to_json(measured.times);
  result["count"] = measured.count;
  result["above_bound"] = measured.violations;
  result["bound"] = nullable(measured.bound);
  return result;
}

json to_json(const ChainReport& chain) {
  return {{"name", chain.name},
          {"from_sampling", chain.from_sampling},
          {"reaction_ns", to_json(chain.reaction)},
          {"age_ns", to_json(chain.age)},
          {"reduced_age_ns", to_json(chain.reduced_age)}};
}

json to_json(const SwapPlan& swap) {
  return {{"policy", spelling(swap.policy)},
          {"frames", swap.frames},
          {"copy_engines", swap.copy_engines},
          {"store", swap.store.empty() ? json("host memory") : json(swap.store.string())},
          {"in_per_chunk_ns", swap.cost.in_per_chunk.count()},
          {"out_per_chunk_ns", swap.cost.out_per_chunk.count()},
          {"drop_per_chunk_ns", swap.cost.drop_per_chunk.count()},
          {"in_fixed_ns", swap.cost.in_fixed.count()},
          {"out_fixed_ns", swap.cost.out_fixed.count()}};
}

json to_json(const TaskReport& task) {
  return {{"name", task.name},
          {"criticality", spelling(task.criticality)},
          {"released", task.released},
          {"completed", task.completed},
          {"missed", task.missed},
          {"skipped", task.skipped},
          {"dropped_triggers", task.dropped_triggers},
          {"aborted", task.aborted},
          {"failed", task.failed},
          {"failure", task.failure ? json(name(*task.failure)) : json(nullptr)},
          {"unfinished", task.unfinished},
          {"paired", task.paired ? json(*task.paired) : json(nullptr)},
          {"preempted", task.preempted ? json(*task.preempted) : json(nullptr)},
          {"response_ns", to_json(task.response)},
          {"release_latency_ns", to_json(task.release_latency)},
          {"input_delay_ns", task.input_delay.count > 0 ? to_json(task.input_delay) : json(nullptr)},
          {"observed", rtexec::to_json(task.observed)},
          {"wcet", rtexec::to_json(task.wcet)},
          {"above_wcet", to_json(task.above_wcet)},
          {"above_wcet_stolen", to_json(task.above_wcet_stolen)},
          {"deadline_ns", task.deadline.count()},
          {"response_bound_ns", nullable(task.bound)}};
}

json to_json(const ThreadReport& thread) {
  return {{"name", thread.name},
          {"kernel_id", thread.kernel_id},
          {"policy", to_string(thread.scheduling)},
          {"page_faults", thread.page_faults}};
}

json to_json(const StolenReport& stolen) { return {{"core", stolen.core}, {"time_ns", stolen.time.count()}}; }

json to_json(const ClockReport& clock) {
  return {{"of", clock.of},
          {"lowest_hz", clock.lowest.hertz},
          {"highest_hz", clock.highest.hertz},
          {"limits", clock.limits}};
}

json to_json(const FlightReport::Snapshot& snapshot) {
  return {{"folder", snapshot.folder.string()}, {"reason", snapshot.reason}};
}

json to_json(const DeviceReport& device) {
  return {{"name", device.name},
          {"used_bytes", device.used.count},
          {"context_bytes", device.context.count},
          {"demand_bytes", device.demand.count},
          {"separate_bytes", device.separate.count}};
}

json to_json(const std::optional<SwapReport>& swap) {
  const SwapReport moved = swap.value_or(SwapReport{});
  return {{"policy", swap ? json(spelling(moved.policy)) : json(nullptr)},
          {"store", swap ? json(moved.store) : json(nullptr)},
          {"fallback", nullable(moved.fallback)},
          {"in_bytes", moved.in.count},
          {"out_bytes", moved.out.count},
          {"skipped_bytes", moved.skipped.count},
          {"dropped_bytes", moved.dropped.count},
          {"operations", moved.operations},
          {"failure", nullable(moved.failure)}};
}

json to_json(const Percentiles<std::uint64_t>& values) {
  return {{"p50", values.p50}, {"p99", values.p99}, {"max", values.max}, {"samples", values.samples}};
}

json to_json(const Percentiles<Duration>& values) {
  return {{"p50", values.p50.count()},
          {"p99", values.p99.count()},
          {"max", values.max.count()},
          {"samples", values.samples}};
}

json to_json(const DomainReport& domain) {
  return {{"cores", domain.cores},
          {"counter", domain.counter},
          {"line_bytes", domain.line.count},
          {"budget_bytes_per_second", nullable(domain.budget)},
          {"counted_lines", domain.reads},
          {"counted_writes", domain.writes},
          {"periods", domain.periods},
          {"missed_periods", domain.missed_periods},
          {"throttled_periods", domain.throttled_periods},
          {"throttled_ns", domain.throttled.count()},
          {"overshoot_lines", to_json(domain.overshoot)},
          {"late_ns", to_json(domain.late)},
          {"lost_overflows", domain.lost_overflows},
          {"lost", domain.lost}};
}

json to_json(const ChannelReport& channel) {
  return {{"task", channel.task},
          {"name", channel.name},
          {"input", channel.input},
          {"moved", channel.moved},
          {"stale", channel.stale},
          {"dropped", channel.dropped},
          {"failure", nullable(channel.failure)}};
}

template <class Items> json list(const Items& items) {
  json result = json::array();
  for (const auto& item : items) result.push_back(to_json(item));
  return result;
}

json to_json(const BandwidthReport& bandwidth) {
  return {{"period_ns", bandwidth.period.count()},
          {"limit_bytes_per_second", nullable(bandwidth.limit)},
          {"domains", list(bandwidth.domains)},
          {"reasons", bandwidth.reasons}};
}

json to_json(const DeviceFaultReport& fault) {
  return {{"task", fault.task}, {"job", fault.job}, {"what", fault.what}};
}

json to_json(const StatusPageReport& page) {
  return {{"file", nullable(page.file)}, {"failure", nullable(page.failure)}};
}

template <class Item> json nullable(const std::optional<Item>& item) { return item ? to_json(*item) : json(nullptr); }

} // namespace

json to_json(const PartCounts& counts) {
  return {{"before", counts.before}, {"device", counts.device}, {"after", counts.after}};
}

json to_json(const Plan& plan, const std::vector<TestVerdict>& comparison) {
  json tests = list(plan.tests());
  json compared_tests = json::array();
  for (const TestVerdict& test : comparison) {
    if (test.test != plan.device_test.test) tests.push_back(to_json(test));
    compared_tests.push_back(compared(test, plan));
  }
  return {{"verdict", plan.proved ? "proved" : "not proved"},
          {"order", spelling(plan.order)},
          {"launch_ahead", plan.launch_ahead},
          {"measured_on", nullable(plan.measured_on)},
          {"tests", tests},
          {"comparison", compared_tests},
          {"tasks", list(plan.tasks)},
          {"chains", list(plan.chains)},
          {"swap", nullable(plan.swap)},
          {"pairs", pairs(plan)},
          {"device",
           {{"demand_bytes", plan.demand.count},
            {"capacity_bytes", plan.capacity.count},
            {"chunk_bytes", plan.chunk.count},
            {"separate_bytes", plan.separate.count},
            {"outside_bytes", plan.outside.count},
            {"host_bytes", plan.host.count}}}};
}

json to_json(const ProfiledTraffic& traffic) {
  return {{"in_bytes", traffic.in.count},
          {"out_bytes", traffic.out.count},
          {"copies", traffic.copies},
          {"launches", traffic.launches},
          {"dirty_launches", traffic.dirty_launches},
          {"mapped_bytes", traffic.mapped.count},
          {"touched_bytes", traffic.touched.count},
          {"written_bytes", traffic.written.count},
          {"cache_accesses", traffic.cache_accesses},
          {"hit_rate", traffic.hit_rate},
          {"latency_hidden", traffic.hidden},
          {"exchanged_bytes", traffic.exchanged.count},
          {"device_only_bytes", traffic.device_only.count},
          {"estimated", traffic.estimated}};
}

json to_json(const ProfileEntry& entry) {
  json result = {{"task", entry.task},
                 {"memory_policy", spelling(entry.memory_policy)},
                 {"samples", entry.samples},
                 {"margin", entry.margin},
                 {"tuning", entry.tuning},
                 {"wcet", to_json(entry.wcet)},
                 {"observed", to_json(entry.observed)},
                 {"co_run_wcet_ns", nullable(entry.co_run_wcet)},
                 {"wcet_beside_ns", nullable(entry.co_run_wcet)}, // the previous release's name
                 {"mapping_idle_ns", nullable(entry.mapping_idle)},
                 {"method", json::object()},
                 {"exceedance", json::object()}};
  result["degraded"] = entry.degraded;
  result["layers"] = {{"pieces", entry.layers.pieces}, {"sum_ns", entry.layers.sum.count()}};
  for (const auto& [name, part] :
       {std::pair{"before", Part::before}, {"device", Part::device}, {"after", Part::after}}) {
    result["method"][name] = spelling(entry.basis(part).method);
    result["exceedance"][name] = entry.basis(part).exceedance;
  }
  if (entry.traffic) result["traffic"] = to_json(*entry.traffic);
  return result;
}

json to_json(const ResolvedSet& set, const Plan& plan, const std::vector<TestVerdict>& comparison) {
  json result = to_json(plan, comparison);
  result["conditions"] = to_json(conditions(set, plan));
  result["measured"] = json::array();
  for (const auto& entry : executive::origins(set, plan).entries)
    if (entry) result["measured"].push_back(to_json(*entry));
  return result;
}

json memory_json(const Plan& plan) {
  json tasks = json::array();
  for (const PlannedTask& task : plan.tasks)
    tasks.push_back({{"task", task.name},
                     {"memory_policy", spelling(task.memory_policy)},
                     {"reason", nullable(task.memory_policy_reason)},
                     {"device_bytes", task.memory.on_device().count},
                     {"host_bytes", task.memory.host.count}});
  return tasks;
}

json to_json(const Report& report) {
  json result = {{"elapsed_ns", report.elapsed.count()},
                 {"deadlines_kept", report.deadlines_kept()},
                 {"bounds_kept", report.bounds_kept()},
                 {"stopped_by", to_string(report.stopped_by)},
                 {"tasks", list(report.tasks)},
                 {"chains", list(report.chains)},
                 {"threads", list(report.threads)},
                 {"device", nullable(report.device)},
                 {"device_fault", nullable(report.device_fault)},
                 {"swap", to_json(report.swap)},
                 {"bandwidth", nullable(report.bandwidth)},
                 {"status_page", nullable(report.status_page)},
                 {"clocks", list(report.clocks)},
                 {"stolen", list(report.stolen)},
                 {"channels", list(report.channels)},
                 {"degraded", report.degraded}};
  const TraceReport trace = report.trace.value_or(TraceReport{});
  const FlightReport flight = report.flight.value_or(FlightReport{});
  result["trace"] = {{"recorded", report.trace.has_value()},
                     {"events", trace.events},
                     {"lost", trace.lost},
                     {"snapshots", list(flight.snapshots)},
                     {"snapshots_left_out", flight.left_out}};
  return result;
}

} // namespace rtexec
