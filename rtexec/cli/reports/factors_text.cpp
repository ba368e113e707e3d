// The output of `rtexec analyze --causes`: execution times grouped by their circumstances, such as the time since the
// last job.
#include "config/base/text.hpp"
#include "rtexec/cli/reports/analysis_text.hpp"

#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/cli/text/name_list.hpp"

#include <algorithm>
#include <array>
#include <ostream>

namespace rtexec::command {
namespace {

using traces::Analysis;
using traces::Excess;
using traces::Factor;
using traces::FactorAnalysis;
using traces::FactorGroup;
using traces::StageAnalysis;

constexpr double worth_showing = 1.1;
/// The maximum number of factors of a part, and the maximum number of groups of a factor.
constexpr std::size_t max_factors = 2, max_groups = 4;

std::string worded(Factor factor) {
  static constexpr std::array<const char*, traces::factors> words{"since its last", "after", "beside", "clock"};
  return words[static_cast<std::size_t>(factor)];
}

/// Returns the groups of executions to print, the slowest first. A printed group has enough samples for a comparison,
/// or an execution above the WCET. If there are too many groups, keeps the first groups and the last group.
std::vector<FactorGroup> shown(const FactorAnalysis& factor) {
  std::vector<FactorGroup> groups;
  std::ranges::copy_if(factor.groups, std::back_inserter(groups), [](const FactorGroup& group) {
    return group.count >= FactorGroup::enough || group.above_wcet > 0;
  });
  std::ranges::stable_sort(groups, std::ranges::greater(), &FactorGroup::p90);
  if (groups.size() > max_groups) groups.erase(groups.begin() + max_groups - 1, groups.end() - 1);
  return groups;
}

/// Adds a row for each group. Names of task, part and factor are printed in the first row only.
void add_rows(Table& table, std::string task, std::string part, const FactorAnalysis& factor) {
  std::string by = worded(factor.factor), ratio = config::fixed(factor.ratio, 2);
  for (const FactorGroup& group : shown(factor))
    table.add({std::exchange(task, ""), std::exchange(part, ""), std::exchange(by, ""), std::exchange(ratio, ""),
               group.name, std::to_string(group.count), readable(group.p50), readable(group.p99), readable(group.max),
               std::to_string(group.above_wcet)});
}

/// Adds the factors with a considerable effect on the part's times. Returns false if no factor has such an effect.
bool add_part(Table& table, const std::string& task, const StageAnalysis& part) {
  std::size_t added = 0;
  for (const FactorAnalysis& factor : part.factors) {
    if (factor.ratio < worth_showing || added == max_factors) break;
    add_rows(table, added == 0 ? task : "", added == 0 ? part.name : "", factor);
    ++added;
  }
  return added > 0;
}

std::string surroundings(const Excess& excess) {
  std::string text;
  for (std::size_t i = 0; i < excess.surroundings.size(); ++i)
    if (!excess.surroundings[i].empty())
      text += (text.empty() ? "" : "; ") + worded(static_cast<Factor>(i)) + ": " + excess.surroundings[i];
  if (excess.stolen > Duration(0))
    text += (text.empty() ? "" : "; ") + ("about then stolen of its core: " + readable(excess.stolen));
  return text;
}

void print_excesses(std::ostream& out, const Analysis& analysis, std::size_t most) {
  out << "  " << analysis.excesses
      << (analysis.excesses == 1 ? " part took longer than its WCET\n" : " parts took longer than their WCETs\n");
  for (std::size_t i = 0; i < std::min(most, analysis.above_wcet.size()); ++i) {
    const Excess& excess = analysis.above_wcet[i];
    out << "  " << analysis.tasks[excess.job.task].setup.name << ' ' << excess.part << ", job " << excess.job.number
        << ": " << readable(excess.time) << " of " << readable(excess.wcet) << " (" << surroundings(excess) << ")\n";
  }
  if (analysis.excesses > most) out << "  and " << analysis.excesses - most << " more (--misses, --json)\n";
}

} // namespace

void print_factors(std::ostream& out, const Analysis& analysis, std::size_t max_excesses) {
  out << "\nWhat execution times depend on (x: ratio of the 90 % quantiles of two groups)\n";
  Table table({"task", "part", "", "x", "", "jobs", "p50", "p99", "max", "above WCET"}, {0, 1, 2, 4});
  std::size_t rows = 0;
  report::NameList steady;
  for (const traces::TaskAnalysis& task : analysis.tasks)
    for (const StageAnalysis& part : task.stages) {
      if (part.factors.empty() || part.times.max == Duration(0)) continue;
      if (add_part(table, task.setup.name, part)) ++rows;
      else steady.add(task.setup.name + " " + part.name);
    }
  if (rows > 0) table.print(out);
  if (!steady.empty()) out << "  On none of these (x below " << worth_showing << "): " << steady.text() << '\n';
  print_excesses(out, analysis, max_excesses);
}

} // namespace rtexec::command
