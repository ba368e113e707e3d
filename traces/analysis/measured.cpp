#include "traces/analysis/measured.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

namespace rtexec::traces {
namespace {

struct Choice {
  Duration wcet{0};
  std::string rule;
};

Choice choose(const StageAnalysis& stage, double margin) {
  const Duration least = with_margin(stage.times.max, margin);
  std::ostringstream rule;
  rule << "longest of " << stage.times.count;
  if (!stage.wcet) return {least, rule.str()};
  const Duration found(static_cast<Duration::rep>(std::ceil(stage.wcet->value)));
  if (found <= least) rule << " times " << margin;
  else if (stage.wcet->method == WcetMethod::growth) rule << ", grown as with more jobs";
  else rule.str("upper limit of the models of the tail");
  if (stage.wcet->exceedance > 0) rule << ", exceeded by at most 1 job in " << std::floor(1 / stage.wcet->exceedance);
  return {std::max(found, least), rule.str()};
}

std::string why_not(const TaskAnalysis& task) {
  const std::string who = "task '" + task.setup.name + "': ";
  if (!task.invalid.empty()) return who + "its figures are invalid: " + task.invalid;
  if (task.completed == 0) return who + "no job of it ended in the recording";
  if (task.setup.workload.empty()) return who + "the recording does not say what its workload was";
  return {};
}

} // namespace

Result<Measured> measured_profile(const Analysis& analysis, double margin) {
  Measured measured;
  measured.profile.machine = analysis.setup.machine;
  measured.profile.device = analysis.setup.device;
  for (const TaskAnalysis& task : analysis.tasks) {
    if (const std::string why = why_not(task); !why.empty())
      return fail(Errc::bad_input, analysis.folder + ": no execution times can be written: " + why);
    std::array<Choice, 3> choices;
    const Duration least(task.setup.wcet.uses_device() ? 1 : 0);
    for (std::size_t i = 0; i < choices.size(); ++i) choices[i] = choose(task.stages[i], margin);
    measured.profile.entries.push_back(
        {.task = task.setup.name,
         .workload = task.setup.workload,
         .wcet = {.before = choices[0].wcet, .device = std::max(choices[1].wcet, least), .after = choices[2].wcet},
         .observed = {.before = task.stages[0].times.max,
                      .device = std::max(task.stages[1].times.max, least),
                      .after = task.stages[2].times.max},
         .samples = task.completed,
         .margin = margin,
         .tuning = task.setup.tuning});
    measured.rules.push_back(task.setup.name + ": before: " + choices[0].rule + "; device: " + choices[1].rule +
                             "; after: " + choices[2].rule);
  }
  return measured;
}

} // namespace rtexec::traces
