#include "rtexec/studies/bringup/report_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace rtexec::bringup {

namespace {

constexpr double noticeable = 0.1;

/// Returns how much worse `now` is than `before`, as a fraction of the value of `before`. Returns 1 if that value was
/// 0.
double worse_by(const Figure& before, const Figure& now) {
  const double loss = now.more_is_better ? before.value - now.value : now.value - before.value;
  if (!(loss > 0)) return 0;
  return before.value == 0 ? 1 : loss / std::abs(before.value);
}

std::vector<FigureChange> worse_figures(const Answer& before, const Answer& now) {
  std::vector<FigureChange> worse;
  for (const Figure& figure : now.figures)
    for (const Figure& earlier : before.figures)
      if (earlier.name == figure.name && earlier.unit == figure.unit)
        if (const double share = worse_by(earlier, figure); share > noticeable)
          worse.push_back({earlier, figure, share});
  return worse;
}

const char* now_it(Outcome outcome) {
  switch (outcome) {
  case Outcome::passed: return "passes now";
  case Outcome::failed: return "fails now";
  case Outcome::skipped: return "is skipped now";
  }
  return "?";
}

} // namespace

bool Comparison::lost() const { return std::ranges::any_of(changes, &Change::lost); }

Comparison compare(const Report& earlier, const Report& report) {
  const bool same_version = earlier.version == report.version;
  Comparison comparison{
      .earlier = "of board '" + earlier.board + "', " + earlier.time +
                 (same_version ? "" : ", by rtexec " + earlier.version + " (now " + report.version + ")"),
      .other_board = earlier.board != report.board,
      .changes = {}};
  for (const Entry& entry : report.entries) {
    const auto before = std::ranges::find(earlier.entries, entry.name, &Entry::name);
    if (before == earlier.entries.end()) continue;
    Change change{.item = entry.name,
                  .before = before->answer.outcome,
                  .now = entry.answer.outcome,
                  .worse = worse_figures(before->answer, entry.answer)};
    if (change.before != change.now || !change.worse.empty()) comparison.changes.push_back(std::move(change));
  }
  return comparison;
}

std::string text_of(const Change& change) {
  std::string text;
  if (change.before != change.now) text = std::string(name(change.before)) + " before, " + now_it(change.now);
  for (const auto& [before, now, share] : change.worse)
    text += (text.empty() ? "" : "; ") + now.name + " was " + text_of(before) + ", is " + text_of(now) + " (" +
            std::to_string(std::lround(100 * share)) + " % worse)";
  return text;
}

nlohmann::json to_json(const Comparison& comparison) {
  nlohmann::json changes = nlohmann::json::array();
  for (const Change& change : comparison.changes) {
    nlohmann::json worse = nlohmann::json::array();
    for (const auto& [before, now, share] : change.worse)
      worse.push_back(
          {{"name", now.name}, {"unit", now.unit}, {"before", before.value}, {"now", now.value}, {"worse", share}});
    changes.push_back({{"item", change.item},
                       {"before", name(change.before)},
                       {"now", name(change.now)},
                       {"worse", std::move(worse)}});
  }
  return {{"earlier", comparison.earlier}, {"lost", comparison.lost()}, {"changes", std::move(changes)}};
}

} // namespace rtexec::bringup
