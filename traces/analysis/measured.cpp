#include "traces/analysis/measured.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

namespace rtexec::traces {
namespace {

/// Of the model that holds, the one of peaks before the one of maxima.
std::optional<Quantile> quantile(const Pwcet& pwcet, double exceedance) {
  if (!pwcet.refused.empty()) return std::nullopt;
  for (const TailModel* model : {&pwcet.pot, &pwcet.maxima}) {
    if (!model->refused.empty()) continue;
    const auto found = std::ranges::find(model->quantiles, exceedance, &Quantile::exceedance);
    if (found != model->quantiles.end()) return *found;
  }
  return std::nullopt;
}

struct Choice {
  Duration wcet{0};
  std::string rule;
};

Choice choose(const StageAnalysis& stage, const MeasuredOptions& options) {
  const Duration longest = stage.times.max;
  const auto tail = options.exceedance ? quantile(stage.pwcet, *options.exceedance) : std::nullopt;
  std::ostringstream rule;
  if (tail) {
    rule << "at most 1 job in " << 1 / *options.exceedance << " is longer";
    return {std::max(longest, Duration(static_cast<Duration::rep>(std::ceil(tail->confidence.high)))), rule.str()};
  }
  rule << "longest of " << stage.times.count << " times " << options.margin;
  return {with_margin(longest, options.margin), rule.str()};
}

std::string why_not(const TaskAnalysis& task) {
  const std::string who = "task '" + task.setup.name + "': ";
  if (!task.invalid.empty()) return who + "its figures are invalid: " + task.invalid;
  if (task.completed == 0) return who + "no job of it ended in the recording";
  if (task.setup.workload.empty()) return who + "the recording does not say what its workload was";
  return {};
}

} // namespace

Result<Measured> measured_profile(const Analysis& analysis, const MeasuredOptions& options) {
  Measured measured;
  measured.profile.machine = analysis.setup.machine;
  measured.profile.device = analysis.setup.device;
  for (const TaskAnalysis& task : analysis.tasks) {
    if (const std::string why = why_not(task); !why.empty())
      return fail(Errc::bad_input, analysis.folder + ": no execution times can be written: " + why);
    std::array<Choice, 3> choices;
    const Duration least(task.setup.wcet.uses_device() ? 1 : 0);
    for (std::size_t i = 0; i < choices.size(); ++i) choices[i] = choose(task.stages[i], options);
    measured.profile.entries.push_back(
        {.task = task.setup.name,
         .workload = task.setup.workload,
         .wcet = {.before = choices[0].wcet, .device = std::max(choices[1].wcet, least), .after = choices[2].wcet},
         .observed = {.before = task.stages[0].times.max,
                      .device = std::max(task.stages[1].times.max, least),
                      .after = task.stages[2].times.max},
         .samples = task.completed,
         .margin = options.margin,
         .tuning = task.setup.tuning});
    measured.rules.push_back(task.setup.name + ": before: " + choices[0].rule + "; device: " + choices[1].rule +
                             "; after: " + choices[2].rule);
  }
  return measured;
}

} // namespace rtexec::traces
