#include "config/base/text.hpp"
#include "rtexec/cli/reports/isolation_report.hpp"

#include "rtexec/cli/text/chart.hpp"
#include "rtexec/cli/text/table.hpp"
#include "rtexec/studies/sweep/study.hpp"

#include <nlohmann/json.hpp>
#include <ostream>

namespace rtexec::study {
namespace {

std::string signed_percent(double value) {
  const std::string text = config::fixed(value, 1);
  return value > 0 && text != "0.0" ? "+" + text : text;
}

std::string corun(std::size_t count) { return count == 0 ? "solo" : "corun" + std::to_string(count); }
std::string gigabytes(Bandwidth bandwidth) {
  return config::fixed(static_cast<double>(bandwidth.bytes_per_second) * 1e-9, 2);
}

void print_sweeps(std::ostream& out, const Isolation& isolation) {
  if (isolation.sweeps.empty()) return;
  out << "Sweeps alone, GB/s together:";
  for (std::size_t i = 0; i < isolation.sweeps.size(); ++i)
    out << (i == 0 ? " " : ", ") << corun(i + 1) << ' ' << gigabytes(isolation.sweeps[i]);
  out << "\n\n";
}

/// Prints the results of one workload as a table. Each row is a bandwidth limit. Each element of `isolations`, one mode
/// in which the cores' bandwidth is limited (such as "rtexec"), has a group of columns.
void print_workload(std::ostream& out, std::span<const Isolation> isolations, std::size_t index) {
  const IsolationResult& first = isolations.front().results[index];
  const std::size_t most = first.rows.front().measures.size() - 1;
  out << first.workload.title << ": speed-up against no limit, percent; mean and variance of " << first.workload.unit
      << " over 0 to " << most << " co-runners\n";
  std::vector<std::string> header{"limit"};
  for (const Isolation& each : isolations) {
    header.push_back(each.name + ": solo");
    if (most > 0) header.push_back(corun(most));
    for (const char* column : {"mean", "variance"}) header.emplace_back(column);
    if (most > 0) header.emplace_back("co-runners GB/s");
  }
  report::Table table(header);
  for (std::size_t row = 0; row < first.rows.size(); ++row) {
    std::vector<std::string> cells{name_of(first.rows[row].limit)};
    for (const Isolation& each : isolations) {
      const IsolationRow& own = each.results[index].rows[row];
      cells.push_back(signed_percent(own.speedup.front()));
      if (most > 0) cells.push_back(signed_percent(own.speedup.back()));
      cells.push_back(config::fixed(own.mean, 3) + (row == each.results[index].best ? " *" : "  "));
      cells.push_back(config::significant(own.variance, 2));
      if (most > 0) cells.push_back(gigabytes(own.measures.back().corunners));
    }
    table.add(std::move(cells));
  }
  table.print(out);
  out << '\n';
}

void print_runs(std::ostream& out, std::span<const Isolation> isolations) {
  if (!isolations.front().runs) return;
  out << isolations.front().runs->without.size() << " executions of the Winograd kernel without co-runners, us\n";
  report::Table table({"limit", "worst", "mean", "variance", "range", "worst is less by"});
  for (const Isolation& each : isolations) {
    const auto& runs = *each.runs;
    const auto add = [&](const std::string& limit, const Spread& spread, const std::string& gain) {
      table.add({each.name + ": " + limit, config::fixed(static_cast<double>(spread.worst.count()) * 1e-3, 1),
                 config::fixed(spread.mean_ns * 1e-3, 1), config::fixed(spread.variance_ns2 * 1e-6, 0),
                 config::fixed(static_cast<double>(spread.range().count()) * 1e-3, 1), gain});
    };
    const double gain = 100 * (1 - static_cast<double>(runs.spread_with.worst.count()) /
                                       static_cast<double>(runs.spread_without.worst.count()));
    add("none", runs.spread_without, "");
    add(name_of(runs.limit), runs.spread_with, config::fixed(gain, 1) + " %");
  }
  table.print(out);
}

std::string limit_field(BandwidthLimit limit) { return limit ? std::to_string(limit->bytes_per_second) : "none"; }

std::string results_csv(std::span<const Isolation> isolations) {
  std::string text =
      "mode,workload,unit,limit_bytes_per_second,corunners,performance,speedup_percent,corunners_bytes_per_second,"
      "device_bytes_per_second,"
      "mean_job_ns,worst_job_ns\n";
  for (const Isolation& each : isolations)
    for (const IsolationResult& result : each.results)
      for (const IsolationRow& row : result.rows)
        for (std::size_t i = 0; i < row.measures.size(); ++i)
          text += each.name + "," + result.workload.name + "," + result.workload.unit + "," + limit_field(row.limit) +
                  "," + std::to_string(i) + "," + text_of(row.measures[i].performance) + "," + text_of(row.speedup[i]) +
                  "," + std::to_string(row.measures[i].corunners.bytes_per_second) + "," +
                  std::to_string(row.measures[i].device.bytes_per_second) + "," +
                  std::to_string(row.measures[i].mean.count()) + "," + std::to_string(row.measures[i].worst.count()) +
                  "\n";
  return text;
}

std::string limits_csv(std::span<const Isolation> isolations) {
  std::string text = "mode,workload,unit,limit_bytes_per_second,mean,variance\n";
  for (const Isolation& each : isolations)
    for (const IsolationResult& result : each.results)
      for (const IsolationRow& row : result.rows)
        text += each.name + "," + result.workload.name + "," + result.workload.unit + "," + limit_field(row.limit) +
                "," + text_of(row.mean) + "," + text_of(row.variance) + "\n";
  return text;
}

std::string runs_csv(std::span<const Isolation> isolations) {
  std::string text = "mode,run,without_limit_ns,with_limit_ns\n";
  for (const Isolation& each : isolations)
    for (std::size_t i = 0; i < each.runs->without.size(); ++i)
      text += each.name + "," + std::to_string(i) + "," + std::to_string(each.runs->without[i].count()) + "," +
              std::to_string(each.runs->with[i].count()) + "\n";
  return text;
}

std::vector<std::string> categories(const IsolationResult& result) {
  std::vector<std::string> names;
  for (const IsolationRow& row : result.rows) {
    const double megabytes = row.limit ? static_cast<double>(row.limit->bytes_per_second) * 1e-6 : 0;
    names.push_back(row.limit ? text_of(megabytes) : "none");
  }
  return names;
}

report::Panel empty_panel(const Isolation& isolation, const IsolationResult& result) {
  return {.title = result.workload.title + ": " + isolation.name,
          .x_label = "limit of each core, MB/s",
          .categories = categories(result)};
}

/// Returns a panel of the speed-up by each limit, like Figs. 26 and 28 of Nigam's thesis.
report::Panel speedup_panel(const Isolation& isolation, const IsolationResult& result) {
  report::Panel panel = empty_panel(isolation, result);
  panel.y_label = "speed-up in " + result.workload.unit + ", percent";
  for (std::size_t i = 0; i < result.rows.front().measures.size(); ++i) {
    panel.curves.push_back({.name = corun(i)});
    for (const IsolationRow& row : result.rows) panel.curves.back().values.push_back(row.speedup[i]);
  }
  return panel;
}

/// Returns a panel of mean and variance of the performance by each limit, like Figs. 27 and 29 of Nigam's thesis.
report::Panel mean_panel(const Isolation& isolation, const IsolationResult& result) {
  report::Panel panel = empty_panel(isolation, result);
  panel.y_label = "mean of " + result.workload.unit;
  panel.right_label = "variance";
  panel.curves = {{.name = "mean"}, {.name = "variance", .right = true}};
  for (const IsolationRow& row : result.rows) {
    panel.curves[0].values.push_back(row.mean);
    panel.curves[1].values.push_back(row.variance);
  }
  return panel;
}

nlohmann::json limit_json(BandwidthLimit limit) {
  return limit ? nlohmann::json(limit->bytes_per_second) : nlohmann::json(nullptr);
}

nlohmann::json to_json(const IsolationRow& row) {
  nlohmann::json measures = nlohmann::json::array();
  for (std::size_t i = 0; i < row.measures.size(); ++i)
    measures.push_back({{"corunners", i},
                        {"performance", row.measures[i].performance},
                        {"speedup_percent", row.speedup[i]},
                        {"corunners_bytes_per_second", row.measures[i].corunners.bytes_per_second},
                        {"device_bytes_per_second", row.measures[i].device.bytes_per_second},
                        {"mean_job_ns", row.measures[i].mean.count()},
                        {"worst_job_ns", row.measures[i].worst.count()}});
  return {{"limit_bytes_per_second", limit_json(row.limit)},
          {"mean", row.mean},
          {"variance", row.variance},
          {"measures", std::move(measures)}};
}

nlohmann::json to_json(const Spread& spread) {
  return {{"worst_ns", spread.worst.count()},
          {"least_ns", spread.least.count()},
          {"mean_ns", spread.mean_ns},
          {"variance_ns2", spread.variance_ns2},
          {"range_ns", spread.range().count()}};
}

nlohmann::json to_json(const Isolation& isolation) {
  nlohmann::json workloads = nlohmann::json::array(), sweeps = nlohmann::json::array(), runs = nullptr;
  for (const Bandwidth each : isolation.sweeps) sweeps.push_back(each.bytes_per_second);
  for (const IsolationResult& result : isolation.results) {
    nlohmann::json rows = nlohmann::json::array();
    for (const IsolationRow& row : result.rows) rows.push_back(to_json(row));
    workloads.push_back({{"name", result.workload.name},
                         {"title", result.workload.title},
                         {"unit", result.workload.unit},
                         {"best_limit_bytes_per_second", limit_json(result.rows[result.best].limit)},
                         {"limits", std::move(rows)}});
  }
  if (isolation.runs)
    runs = {{"runs", isolation.runs->without.size()},
            {"limit_bytes_per_second", isolation.runs->limit.bytes_per_second},
            {"without_limit", to_json(isolation.runs->spread_without)},
            {"with_limit", to_json(isolation.runs->spread_with)}};
  return {{"mode", isolation.name},
          {"description", isolation.description},
          {"sweeps_bytes_per_second", std::move(sweeps)},
          {"workloads", std::move(workloads)},
          {"executions", std::move(runs)}};
}

} // namespace

void print(std::ostream& out, const IsolationSetup& setup, std::span<const Isolation> isolations) {
  for (const std::string& line : setup.preface) out << line << '\n';
  for (const Isolation& each : isolations) out << each.name << ": " << each.description << '\n';
  print_sweeps(out, isolations.front());
  for (std::size_t i = 0; i < isolations.front().results.size(); ++i) print_workload(out, isolations, i);
  if (!isolations.front().results.empty()) out << "* the limit with the greatest mean\n";
  print_runs(out, isolations);
}

report::Files files_of(std::span<const Isolation> isolations) {
  report::Files files{{"results.csv", results_csv(isolations)}, {"limits.csv", limits_csv(isolations)}};
  for (std::size_t i = 0; i < isolations.front().results.size(); ++i) {
    std::vector<report::Panel> speedups, means;
    for (const Isolation& each : isolations) {
      speedups.push_back(speedup_panel(each, each.results[i]));
      means.push_back(mean_panel(each, each.results[i]));
    }
    const std::string& name = isolations.front().results[i].workload.name;
    files.emplace_back("speedup-" + name + ".svg", report::svg(speedups));
    files.emplace_back("mean-" + name + ".svg", report::svg(means));
  }
  if (!isolations.front().runs) return files;
  files.emplace_back("runs.csv", runs_csv(isolations));
  for (const Isolation& each : isolations) {
    const report::Runs runs[] = {{"none", each.runs->without}, {name_of(each.runs->limit), each.runs->with}};
    files.emplace_back(
        "runs-" + each.name + ".svg",
        report::envelope_svg("Executions of the Winograd kernel without co-runners, by limit: " + each.name, runs));
  }
  return files;
}

nlohmann::json to_json(const IsolationSetup& setup, std::span<const Isolation> isolations) {
  nlohmann::json modes = nlohmann::json::array();
  for (const Isolation& each : isolations) modes.push_back(to_json(each));
  return {{"simulated", setup.simulated},
          {"event", setup.event.empty() ? nlohmann::json(nullptr) : nlohmann::json(setup.event)},
          {"stand_in", setup.stand_in},
          {"preface", setup.preface},
          {"seed", setup.seed},
          {"modes", std::move(modes)}};
}

} // namespace rtexec::study
