#include "traces/analysis/promise.hpp"

namespace rtexec::traces {
namespace {

std::string job_of(const TaskAnalysis& task, std::uint64_t job) {
  return "job " + std::to_string(job) + " of " + task.setup.name;
}

/// Adds a breach if the stage exceeded its configured time. A part with a configured time of 0 is empty and is not
/// checked: its short time counts as overhead, which the plan adds to every job.
void check(const TaskAnalysis& task, const StageAnalysis& stage, std::vector<Breach>& found) {
  if (!stage.configured || stage.configured == Duration(0) || stage.times.max <= *stage.configured ||
      stage.times.count == 0)
    return;
  const bool response = stage.name == "response";
  found.push_back({.task = task.setup.name,
                   .stage = stage.name,
                   .promised = *stage.configured,
                   .observed = stage.times.max,
                   .job = stage.times.max_job,
                   .text = job_of(task, stage.times.max_job) +
                           (response ? " responded in "
                                     : " took " + readable(stage.times.max) + " for its part '" + stage.name + "', ") +
                           (response ? readable(stage.times.max) + ", above its bound of " : "above its WCET of ") +
                           readable(*stage.configured),
                   .chain = {}});
}

void check(const ChainAnalysis& chain, const char* stage, const char* what, const ChainMeasure& measure,
           const Analysis& analysis, std::vector<Breach>& found) {
  if (measure.above == 0) return;
  const std::uint32_t last = chain.setup.places.back().task;
  found.push_back({.task = last < analysis.tasks.size() ? analysis.tasks[last].setup.name : "",
                   .stage = stage,
                   .promised = *measure.bound,
                   .observed = measure.times.max,
                   .job = measure.times.max_job,
                   .text = std::to_string(measure.above) + " of " + std::to_string(measure.times.count) + " " + what +
                           " of chain " + chain.setup.name + " were above their bound of " + readable(*measure.bound) +
                           ", the longest " + readable(measure.times.max),
                   .chain = chain.setup.name});
}

} // namespace

std::vector<Breach> breaches(const Analysis& analysis) {
  std::vector<Breach> found;
  for (const TaskAnalysis& task : analysis.tasks) {
    if (task.setup.promised && task.missed > 0)
      found.push_back(
          {.task = task.setup.name,
           .stage = "deadline",
           .promised = task.setup.deadline,
           .observed = task.stages.back().times.max,
           .job = task.stages.back().times.max_job,
           .text = task.setup.name + " missed " + std::to_string(task.missed) + " of its promised deadlines",
           .chain = {}});
    for (const StageAnalysis& stage : task.stages) check(task, stage, found);
  }
  for (const ChainAnalysis& chain : analysis.chains) {
    check(chain, "reaction", "reactions", chain.reaction, analysis, found);
    check(chain, "age", "data ages", chain.age, analysis, found);
    check(chain, "reduced-age", "reduced data ages", chain.reduced_age, analysis, found);
  }
  return found;
}

std::string why_invalid(const TaskAnalysis& task, std::uint64_t losses_meanwhile, bool stream_missing) {
  std::string why;
  if (stream_missing) why = "the events of a core are missing";
  else if (losses_meanwhile > 0)
    why = "events were lost while " + std::to_string(losses_meanwhile) + " of its jobs ran";
  if (task.unknown > 0)
    why += (why.empty() ? "" : "; ") + std::string("events of ") + std::to_string(task.unknown) +
           " of its jobs are missing or inconsistent";
  return why;
}

} // namespace rtexec::traces
