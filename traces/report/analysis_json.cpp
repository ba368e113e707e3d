#include "traces/report/analysis_json.hpp"

#include "config/names.hpp"
#include "traces/events.hpp"
#include "traces/report/export_names.hpp"

#include <optional>

namespace rtexec::traces {

using nlohmann::json;

namespace {

template <class Range, class Function> json list(const Range& range, const Function& of) {
  json result = json::array();
  for (const auto& item : range) result.push_back(of(item));
  return result;
}

json nullable(const std::optional<Duration>& value) { return value ? json(value->count()) : json(nullptr); }
json nullable(const std::string& reason) { return reason.empty() ? json(nullptr) : json(reason); }

/// Returns all fields of a Distribution as JSON. Instants are relative to `from`.
json to_json(const Distribution& d, Instant from) {
  return {{"count", d.count},
          {"min_ns", d.min.count()},
          {"mean_ns", d.mean.count()},
          {"p50_ns", d.p50.count()},
          {"p90_ns", d.p90.count()},
          {"p99_ns", d.p99.count()},
          {"p999_ns", d.p999.count()},
          {"p9999_ns", d.p9999.count()},
          {"max_ns", d.max.count()},
          {"max_job", d.max_job},
          {"max_at_ns", d.count ? json((d.max_at - from).count()) : json(nullptr)},
          {"high_water", list(d.high_water,
                              [](const auto& mark) {
                                return json{{"count", mark.count}, {"value_ns", mark.value.count()}};
                              })},
          {"histogram", list(d.classes, [](const auto& c) {
             return json{{"upper_ns", c.upper.count()}, {"count", c.count}};
           })}};
}

// ---- probabilistic WCET ----

json to_json(const ApplicabilityTest& test) {
  return {{"name", test.name},       {"property", test.property}, {"statistic", test.statistic},
          {"p_value", test.p_value}, {"holds", test.holds},       {"rule", test.rule}};
}

json to_json(const Quantile& q) {
  return {{"exceedance", q.exceedance},
          {"value_ns", q.value},
          {"low_ns", q.confidence.low},
          {"high_ns", q.confidence.high}};
}

json tests_of(const std::vector<ApplicabilityTest>& tests) {
  return list(tests, [](const ApplicabilityTest& test) { return to_json(test); });
}

json to_json(const TailModel& m) {
  return {{"name", m.name},
          {"location_ns", m.location},
          {"scale_ns", m.scale},
          {"shape", m.shape},
          {"shape_low", m.shape_confidence.low},
          {"shape_high", m.shape_confidence.high},
          {"rate", m.rate},
          {"used", m.used},
          {"choice", m.choice},
          {"fit", tests_of(m.fit)},
          {"quantiles", list(m.quantiles, [](const Quantile& q) { return to_json(q); })},
          {"refused", nullable(m.refused)}};
}

} // namespace

json to_json(const Pwcet& p) {
  return {{"samples", p.samples},
          {"tests", tests_of(p.tests)},
          {"pot", to_json(p.pot)},
          {"maxima", to_json(p.maxima)},
          {"bound", p.bound ? json{{"value_ns", p.bound->value}, {"exceedance", p.bound->exceedance}} : json(nullptr)},
          {"refused", nullable(p.refused)}};
}

namespace {

// ---- jobs and tasks ----

json to_json(const Share& share, const Analysis& analysis) {
  json culprit = nullptr;
  if (share.culprit) culprit = {{"task", task_name(analysis, share.culprit->task)}, {"job", share.culprit->number}};
  return {{"cause", name(share.cause)},    {"where", name(share.where)},      {"culprit", culprit},
          {"time_ns", share.time.count()}, {"usual_ns", share.usual.count()}, {"overrun_ns", share.overrun.count()}};
}

json to_json(const Preemptions& preemptions, const Analysis& analysis) {
  const auto by = [&](const Preemptions::By& each) {
    return json{{"task", task_name(analysis, each.task)}, {"times", each.times}, {"time_ns", each.time.count()}};
  };
  return {{"count", preemptions.count},
          {"by", list(preemptions.by, by)},
          {"reloaded_chunks", preemptions.reloaded},
          {"reloading_ns", preemptions.reloading.count()}};
}

json to_json(const JobBreakdown& job, const Analysis& analysis) {
  json by_cause = json::array();
  for (std::size_t i = 0; i < causes; ++i)
    by_cause.push_back({{"cause", name(static_cast<Cause>(i))}, {"time_ns", job.by_cause[i].count()}});
  return {{"task", task_name(analysis, job.job.task)},
          {"job", job.job.number},
          {"outcome", name(job.outcome)},
          {"nominal_ns", (job.nominal - analysis.from).count()},
          {"deadline_ns", job.deadline.count()},
          {"response_ns", job.response.count()},
          {"by_cause", by_cause},
          {"shares", list(job.shares, [&](const Share& share) { return to_json(share, analysis); })},
          {"preemptions", to_json(job.preemptions, analysis)},
          {"blame", nullable(job.blame)}};
}

json to_json(const TaskSetup& t) {
  return {{"criticality", spelling(t.criticality)},
          {"promised", t.promised},
          {"period_ns", t.period.count()},
          {"deadline_ns", t.deadline.count()},
          {"offset_ns", t.offset.count()},
          {"core", t.core},
          {"core_rank", t.core_rank},
          {"device_rank", t.device_rank},
          {"device_class", t.device_class},
          {"segments", t.segments},
          {"longest_segment_ns", nullable(t.longest_segment)},
          {"wcet_before_ns", t.wcet.before.count()},
          {"wcet_device_ns", t.wcet.device.count()},
          {"wcet_after_ns", t.wcet.after.count()},
          {"ready_by_ns", t.ready_by.count()},
          {"device_done_by_ns", t.device_done_by.count()},
          {"response_bound_ns", nullable(t.response_bound)},
          {"swap_slots", t.swap_slots},
          {"resident_slots", t.resident_slots ? json(*t.resident_slots) : json(nullptr)},
          {"memory_policy", t.memory_policy ? json(spelling(*t.memory_policy)) : json()},
          {"constant_bytes", t.constant.count},
          {"scratch_bytes", t.scratch.count},
          {"state_bytes", t.state.count},
          {"fixed_bytes", t.fixed.count},
          {"swap_volume_bytes", t.swap_volume.count},
          {"layers", t.layers}};
}

json to_json(const FactorAnalysis& factor) {
  const auto group = [](const FactorGroup& g) {
    return json{{"name", g.name},          {"count", g.count},        {"above_wcet", g.above_wcet},
                {"p50_ns", g.p50.count()}, {"p90_ns", g.p90.count()}, {"p99_ns", g.p99.count()},
                {"max_ns", g.max.count()}};
  };
  return {{"factor", name(factor.factor)}, {"ratio", factor.ratio}, {"groups", list(factor.groups, group)}};
}

json to_json(const Excess& excess, const Analysis& analysis) {
  json result{{"task", task_name(analysis, excess.job.task)},
              {"job", excess.job.number},
              {"part", excess.part},
              {"begin_ns", (excess.begin - analysis.from).count()},
              {"time_ns", excess.time.count()},
              {"wcet_ns", excess.wcet.count()},
              {"stolen_ns", excess.stolen.count()}};
  for (std::size_t i = 0; i < excess.surroundings.size(); ++i)
    result[std::string(name(static_cast<Factor>(i)))] = nullable(excess.surroundings[i]);
  return result;
}

json times_of(const StageAnalysis& stage, Instant from) {
  json result = to_json(stage.times, from);
  result["name"] = stage.name;
  return result;
}

json to_json(const StageAnalysis& stage, Instant from) {
  json result = times_of(stage, from);
  result["configured_ns"] = nullable(stage.configured);
  result["pwcet"] = to_json(stage.pwcet);
  result["factors"] = list(stage.factors, [](const FactorAnalysis& factor) { return to_json(factor); });
  return result;
}

/// Returns the numbers of dropped releases, by the reasons of the event job_skip.
json to_json(const SkipAnalysis& skips) {
  return {{spelling(policies::ReleaseReason::overrun), skips.overrun},
          {spelling(policies::ReleaseReason::wcet_exceeded), skips.wcet_exceeded},
          {spelling(policies::ReleaseReason::stale), skips.stale}};
}

json to_json(const InputAnalysis& inputs, Instant from) {
  return {{"jobs", inputs.jobs},
          {"stale", inputs.stale},
          {"failed", inputs.failed},
          {"age", to_json(inputs.age, from)},
          {"delay", to_json(inputs.delay, from)}};
}

json to_json(const TimeInterval& interval, Instant from) {
  return {{"begin_ns", (interval.begin - from).count()}, {"end_ns", (interval.end - from).count()}};
}

json to_json(const ContentsSetup& contents, Instant from) {
  const auto tile = [&](const TileSetup& each) {
    return json{{"bytes", each.size.count},
                {"prefetched", each.was_prefetched() ? to_json(each.prefetched, from) : json(nullptr)},
                {"made", to_json(each.made, from)}};
  };
  return {{"bytes", contents.size.count},
          {"made", to_json(contents.made, from)},
          {"by", contents.on_host ? "host" : "device"},
          {"tiles", list(contents.tiles, tile)}};
}

json to_json(const ContentsAnalysis& sum, const TaskSetup& task, Instant from) {
  return {{"loaded", task.loaded ? to_json(*task.loaded, from) : json(nullptr)},
          {"bytes", sum.size.count},
          {"took_ns", sum.took.count()},
          {"prefetched_ns", sum.prefetched.count()},
          {"made_ns", sum.made.count()},
          {"overlapped_ns", sum.overlapped.count()},
          {"buffers", list(task.contents, [&](const ContentsSetup& each) { return to_json(each, from); })}};
}

json to_json(const TaskAnalysis& task, const Analysis& analysis) {
  const auto breakdown = [](const CauseAnalysis& c) {
    return json{{"cause", name(c.cause)},
                {"total_ns", c.total.count()},
                {"mean_ns", c.mean.count()},
                {"max_ns", c.max.count()}};
  };
  return {{"name", task.setup.name},
          {"setup", to_json(task.setup)},
          {"released", task.released},
          {"completed", task.completed},
          {"missed", task.missed},
          {"skipped", task.skipped},
          {"skipped_by", to_json(task.skipped_by)},
          {"aborted", task.aborted},
          {"failed", task.failed},
          {"unfinished", task.unfinished},
          {"unknown", task.unknown},
          {"invalid", nullable(task.invalid)},
          {"release_latency", to_json(task.release_latency, analysis.from)},
          {"inter_arrival", to_json(task.inter_arrival, analysis.from)},
          {"release_jitter_ns", task.release_jitter.count()},
          {"stages", list(task.stages, [&](const StageAnalysis& stage) { return to_json(stage, analysis.from); })},
          {"layers", list(task.layers, [&](const StageAnalysis& layer) { return times_of(layer, analysis.from); })},
          {"breakdown", list(task.breakdown, breakdown)},
          {"utilisation_core", task.utilisation_core},
          {"utilisation_device", task.utilisation_device},
          {"worst", task.worst ? to_json(*task.worst, analysis) : json(nullptr)},
          {"inputs", task.inputs ? to_json(*task.inputs, analysis.from) : json(nullptr)},
          {"dropped_results", task.dropped_results},
          {"preemptions", task.preemptions},
          {"longest_segment_ns", task.setup.segments > 1 ? json(task.longest_segment.count()) : json(nullptr)},
          {"loading", to_json(task.contents, task.setup, analysis.from)}};
}

// ---- chains ----

json to_json(const ChainMeasure& measure, Instant from) {
  json result = to_json(measure.times, from);
  result["bound_ns"] = nullable(measure.bound);
  result["limit_ns"] = nullable(measure.limit);
  result["above_bound"] = measure.above;
  return result;
}

json to_json(const ChainStep& step, const Analysis& analysis) {
  const auto shares = [&](const std::vector<Share>& all) {
    return list(all, [&](const Share& share) { return to_json(share, analysis); });
  };
  return {{"task", task_name(analysis, step.job.task)},
          {"job", step.job.number},
          {"there_ns", (step.there - analysis.from).count()},
          {"nominal_ns", (step.nominal - analysis.from).count()},
          {"read_ns", (step.read - analysis.from).count()},
          {"ended_ns", (step.ended - analysis.from).count()},
          {"output_ns", (step.output - analysis.from).count()},
          {"until_release_ns", step.until_release().count()},
          {"until_read_ns", step.until_read().count()},
          {"core_ns", step.on_core().count()},
          {"device_ns", step.on_device().count()},
          {"waited_ns", step.waited().count()},
          {"held_ns", step.held().count()},
          {"delays", shares(step.delays)},
          {"shares", shares(step.shares)}};
}

json to_json(const ChainPath& path, const Analysis& analysis) {
  return {{"event_ns", (path.event - analysis.from).count()},
          {"reaction_ns", path.reaction.count()},
          {"steps", list(path.steps, [&](const ChainStep& step) { return to_json(step, analysis); })},
          {"blame", nullable(path.blame)}};
}

json to_json(const ChainDivision& division, const ChainSetup& chain, const Analysis& analysis) {
  json parts = json::array();
  for (std::size_t place = 0; place < division.parts.size(); ++place)
    parts.push_back({{"task", task_name(analysis, chain.places[place].task)},
                     {"waits_ns", division.parts[place].waits.count()},
                     {"takes_ns", division.parts[place].takes.count()}});
  return {{"reactions", division.reactions}, {"parts", parts}};
}

json to_json(const ChainAnalysis& chain, const Analysis& analysis) {
  const auto place = [&](const ChainSetup::Member& each) {
    return json{{"task", task_name(analysis, each.task)},
                {"waits_ns", nullable(each.waits)},
                {"takes_ns", nullable(each.takes)}};
  };
  return {{"name", chain.setup.name},
          {"communicate", spelling(chain.setup.communicate)},
          {"kept", chain.setup.kept},
          {"from_sampling", chain.setup.from_sampling},
          {"tasks", list(chain.setup.places, place)},
          {"reaction", to_json(chain.reaction, analysis.from)},
          {"age", to_json(chain.age, analysis.from)},
          {"reduced_age", to_json(chain.reduced_age, analysis.from)},
          {"worst", chain.worst ? to_json(*chain.worst, analysis) : json(nullptr)},
          {"mean", to_json(chain.all, chain.setup, analysis)},
          {"longest", to_json(chain.longest, chain.setup, analysis)},
          {"advice", nullable(chain.advice)},
          {"invalid", nullable(chain.invalid)}};
}

// ---- the run ----

json to_json(const TestSetup& test) {
  return {{"name", test.name},
          {"proved", test.proved},
          {"baseline", test.baseline},
          {"left", test.left.count()},
          {"right", test.right.count()},
          {"slack_ns", test.slack.count()},
          {"limiting_task", nullable(test.limiting_task)}};
}

json to_json(const SwapSetup& swap) {
  return {{"policy", spelling(swap.policy)},
          {"frames", swap.frames},
          {"copy_engines", swap.copy_engines},
          {"chunk_bytes", swap.chunk.count},
          {"store", swap.store}};
}

json to_json(const RunSetup& run, Instant from) {
  return {{"version", run.version},
          {"machine", nullable(run.machine)},
          {"task_set", nullable(run.task_set)},
          {"simulated", run.simulated},
          {"start_ns", (run.start - from).count()},
          {"verdict", run.proved ? "proved" : "not proved"},
          {"order", spelling(run.order)},
          {"demand_bytes", run.demand.count},
          {"capacity_bytes", run.capacity.count},
          {"chunk_bytes", run.chunk.count},
          {"device", run.device},
          {"swap", run.swap ? to_json(*run.swap) : json(nullptr)},
          {"tests", list(run.tests, [](const TestSetup& test) { return to_json(test); })},
          {"degraded", run.degraded},
          {"probes", list(run.probes, [](const ProbeSetup& probe) {
             return json{{"service", probe.service}, {"found", probe.found}};
           })}};
}

json to_json(const ResourceAnalysis& r) {
  return {{"name", r.name},
          {"parts", r.parts},
          {"busy_ns", r.busy.count()},
          {"longest_ns", r.longest.count()},
          {"throttled_ns", r.throttled.count()},
          {"utilisation", r.utilisation}};
}

json to_json(const StolenAnalysis& stolen) { return {{"core", stolen.core}, {"time_ns", stolen.time.count()}}; }

json to_json(const ClockAnalysis& clock) {
  return {{"of", clock.of},
          {"lowest_hz", clock.lowest.hertz},
          {"highest_hz", clock.highest.hertz},
          {"limits", clock.limits}};
}

json to_json(const SwapAnalysis& swap, Instant from) {
  return {{"in", swap.in},
          {"out", swap.out},
          {"dropped", swap.dropped},
          {"failed", swap.failed},
          {"in_bytes", swap.in_bytes.count},
          {"out_bytes", swap.out_bytes.count},
          {"in_times", to_json(swap.in_times, from)},
          {"out_times", to_json(swap.out_times, from)}};
}

json to_json(const Breach& breach) {
  return {{"task", breach.task},
          {"stage", breach.stage},
          {"promised_ns", breach.promised.count()},
          {"observed_ns", breach.observed.count()},
          {"job", breach.job},
          {"text", breach.text},
          {"chain", nullable(breach.chain)}};
}

json to_json(const ReplayAnalysis& replay) {
  return {{"inputs", replay.inputs},
          {"actions", replay.actions},
          {"complete", replay.complete},
          {"difference", nullable(replay.difference)},
          {"not_replayed", nullable(replay.not_replayed)}};
}

} // namespace

json to_json(const Analysis& a) {
  return {{"folder", a.folder},
          {"origin_ns", a.from.time_since_epoch().count()},
          {"duration_ns", (a.to - a.from).count()},
          {"host", nullable(a.host)},
          {"began", a.began ? json(date_and_time(*a.began)) : json(nullptr)},
          {"events", a.events},
          {"lost", {{"events", a.lost_events}, {"packets", a.lost_packets}}},
          {"ended", a.ended},
          {"notes", a.notes},
          {"run", to_json(a.setup, a.from)},
          {"tasks", list(a.tasks, [&](const TaskAnalysis& task) { return to_json(task, a); })},
          {"chains", list(a.chains, [&](const ChainAnalysis& chain) { return to_json(chain, a); })},
          {"resources", list(a.resources, [](const ResourceAnalysis& r) { return to_json(r); })},
          {"clocks", list(a.clocks, [](const ClockAnalysis& clock) { return to_json(clock); })},
          {"stolen", list(a.stolen, [](const StolenAnalysis& stolen) { return to_json(stolen); })},
          {"swap", a.swap ? to_json(*a.swap, a.from) : json(nullptr)},
          {"missed", a.misses},
          {"misses", list(a.missed_jobs, [&](const JobBreakdown& job) { return to_json(job, a); })},
          {"excesses", a.excesses},
          {"above_wcet", list(a.above_wcet, [&](const Excess& excess) { return to_json(excess, a); })},
          {"breaches", list(a.breaches, [](const Breach& breach) { return to_json(breach); })},
          {"replay", to_json(a.replay)}};
}

std::string json_text(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

} // namespace rtexec::traces
