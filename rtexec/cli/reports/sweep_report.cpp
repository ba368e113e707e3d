#include "config/base/text.hpp"
#include "rtexec/cli/reports/sweep_report.hpp"

#include "config/names.hpp"
#include "rtexec/cli/text/chart.hpp"
#include "rtexec/cli/text/table.hpp"
#include "rtexec/studies/sweep/presets.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

namespace rtexec::study {
namespace {

/// Returns the preset of the study, or null if the study defines its own tasks.
const Preset* preset_of(const Study& study) {
  const auto preset = std::ranges::find(presets(), study.source_name, &Preset::name);
  return preset == presets().end() ? nullptr : &*preset;
}

std::string title_of(const Study& study) {
  const Preset* preset = preset_of(study);
  return preset == nullptr ? "Random tasks" : std::string(preset->title);
}

const char* label_of(Axis axis) {
  switch (axis) {
  case Axis::tasks: return "tasks (n)";
  case Axis::utilisation: return "utilisation of the device by executions";
  case Axis::reduced: return "capacity, percent less";
  case Axis::high: break;
  }
  return "tasks at high resolution";
}

/// Prints explanations of the columns whose assumptions are not obvious.
void print_notes(std::ostream& out, const Study& study) {
  const auto shown = [&](std::string_view name) {
    return std::ranges::find(study.tests, name, &Column::name) != study.tests.end();
  };
  const std::string constants = study.source.networks.empty()
                                    ? text_of(100 * study.source.constants) + " % of swappable memory"
                                    : "what is left of a network's swappable memory at zero pixels (0.1 to 0.3 GB)";
  if (shown("theorem1")) out << "theorem1: RT-Swap's Theorem 1, which accepts some sets that miss deadlines\n";
  if (shown("utilisation")) out << "utilisation: executions alone take at most all of the time\n";
  if (shown("fits")) out << "fits: and the largest task fits into the memory that there is\n";
  if (shown("pipelined-h1")) out << "pipelined-h1: one copy engine; other pipelined tests: two\n";
  if (shown("pipelined-constant"))
    out << "pipelined-constant: as if all swappable memory were weights, which are not copied out\n";
  if (shown("classes"))
    out << "classes: weights, assumed to be " << constants
        << ", are swapped and not copied out; scratch, the rest of it, is shared; all else stays\n";
  if (shown("one-process"))
    out << "one-process: as classes, and what cannot be swapped (context, libraries) is there once, not for each "
           "task\n";
  if (study.source.layers.most == 1) return;
  out << "One copy engine; weights, " << constants << ", are swapped and not copied out\n"
      << "segmented: jobs are cut between layers, " << rtexec::to_string(study.device.cut_overhead) << " a cut\n";
  if (shown("segmented-one-level")) out << "segmented-one-level: tasks that swap do not preempt each other\n";
}

std::string csv(const Study& study, std::span<const Row> rows) {
  std::string text = std::string(name_of(study.axis)) + ",sets";
  for (const Column& test : study.tests) text += "," + std::string(test.name);
  text += "\n";
  for (const Row& row : rows) {
    text += text_of(row.value) + "," + std::to_string(study.sets);
    for (const double each : row.percent) text += "," + text_of(each);
    text += "\n";
  }
  return text;
}

std::string chart(const Study& study, std::span<const Row> rows) {
  report::Panel panel{.title = title_of(study),
                      .x_label = label_of(study.axis),
                      .y_label = "sets proved, percent of " + std::to_string(study.sets),
                      .reach = 100};
  for (const Row& row : rows) panel.categories.push_back(text_of(row.value));
  for (std::size_t i = 0; i < study.tests.size(); ++i) {
    const bool sound = study.tests[i].name != "theorem1";
    panel.curves.push_back({.name = std::string(study.tests[i].name) + (sound ? "" : " (not sound)")});
    for (const Row& row : rows) panel.curves.back().values.push_back(row.percent[i]);
  }
  return report::svg({&panel, 1});
}

} // namespace

void print(std::ostream& out, const Study& study, std::span<const Row> rows) {
  out << title_of(study) << "\nSets proved, percent of " << study.sets << " in each row; order "
      << spelling(study.order) << ", seed " << study.seed << "\n";
  std::vector<std::string> header{std::string(name_of(study.axis))};
  for (const Column& test : study.tests) header.emplace_back(test.name);
  report::Table table(header);
  for (const Row& row : rows) {
    std::vector<std::string> cells{text_of(row.value)};
    for (const double each : row.percent) cells.push_back(config::fixed(each, 1));
    table.add(std::move(cells));
  }
  table.print(out);
  print_notes(out, study);
}

nlohmann::json to_json(const Study& study, std::span<const Row> results) {
  const std::string varied(name_of(study.axis));
  nlohmann::json rows = nlohmann::json::array(), tests = nlohmann::json::array();
  for (const Column& test : study.tests) tests.push_back(test.name);
  for (const Row& result : results) {
    nlohmann::json row{{"sets", study.sets}};
    if (study.axis == Axis::tasks || study.axis == Axis::high) row[varied] = static_cast<std::uint64_t>(result.value);
    else row[varied] = result.value;
    for (std::size_t i = 0; i < study.tests.size(); ++i) row[std::string(study.tests[i].name)] = result.percent[i];
    rows.push_back(std::move(row));
  }
  return {{"preset", preset_of(study) == nullptr ? nlohmann::json(nullptr) : nlohmann::json(study.source_name)},
          {"order", spelling(study.order)},
          {"seed", study.seed},
          {"sets", study.sets},
          {"varied", varied},
          {"tests", std::move(tests)},
          {"rows", std::move(rows)}};
}

report::Files files_of(const Study& study, std::span<const Row> rows) {
  return {{"results.csv", csv(study, rows)}, {"results.svg", chart(study, rows)}};
}

} // namespace rtexec::study
