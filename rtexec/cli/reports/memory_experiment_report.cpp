#include "config/base/text.hpp"
#include "rtexec/cli/reports/memory_experiment_report.hpp"

#include "rtexec/runtime/json/plan_json.hpp"
#include "rtexec/cli/text/chart.hpp"
#include "rtexec/cli/text/table.hpp"
#include "rtexec/studies/sweep/study.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

namespace rtexec::study {
namespace {

using report::Panel;

std::string text(WorkloadKind kind) { return std::string(name(kind)); }
std::string text(MemoryPolicy policy) { return std::string(name(policy)); }
std::string text(const std::array<MemoryPolicy, 2>& policies) { return text(policies[0]) + "/" + text(policies[1]); }

double milliseconds(Duration time) { return static_cast<double>(time.count()) * 1e-6; }
double mebibytes(Bytes bytes) { return static_cast<double>(bytes.count) / (1 << 20); }
std::string shown(Duration time) { return config::fixed(milliseconds(time), 3); }
std::string shown(Bytes bytes) { return config::fixed(mebibytes(bytes), 2); }

double ratio(Duration part, Duration whole) {
  return whole.count() > 0 ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}
double ratio(Bytes part, Bytes whole) {
  return whole.count > 0 ? static_cast<double>(part.count) / static_cast<double>(whole.count) : 0;
}

/// Returns the faster of two configurations: "D" (all tasks under D) and "MO" (all tasks under M). The report compares
/// "CO" (the policies chosen for each task) with this configuration.
const MemoryConfiguration* best_single(const MemoryMix& mix) {
  const auto *device = mix.of("D"), *small = mix.of("MO");
  if (device == nullptr || small == nullptr) return device == nullptr ? small : device;
  return small->length < device->length ? small : device;
}

/// Returns by how many percent a configuration takes longer than best_single().
double slower(const MemoryMix& mix, const MemoryConfiguration& configuration) {
  const auto* best = best_single(mix);
  return best == nullptr ? 0 : 100 * (ratio(configuration.length, best->length) - 1);
}

/// Returns the largest slowdown of a task under "CO", in percent, relative to its faster response under "D" and "MO".
double slower_task(const MemoryMix& mix) {
  double most = 0;
  const auto *device = mix.of("D"), *small = mix.of("MO"), *choice = mix.of("CO");
  if (device == nullptr || small == nullptr || choice == nullptr) return most;
  for (std::size_t i = 0; i < mix.kinds.size(); ++i)
    most = std::max(most, 100 * (ratio(choice->responses[i], std::min(device->responses[i], small->responses[i])) - 1));
  return most;
}

double of_device_memory(const MemoryMix& mix, const MemoryConfiguration& configuration) {
  const auto* device = mix.of("D");
  return device == nullptr ? 0 : 100 * ratio(configuration.memory, device->memory);
}

// ---- text ----

/// Prints the table for Fig. 2 of Bateni et al. (RTAS 2020): each workload alone.
void print_alone(std::ostream& out, const MemoryStudy& study, const MemoryExperiment& found) {
  out << "Each alone, at the largest size (Fig. 2): device time, ms, and of it the share of kernels, percent\n";
  std::vector<std::string> header{"workload", "size", "kernels"};
  for (const MemoryPolicy policy : study.policies) {
    header.push_back(text(policy));
    header.emplace_back("%");
  }
  report::Table table(header);
  for (const MemoryResult& result : found.results) {
    const MemoryPoint& point = result.points.back();
    std::vector<std::string> cells{text(result.kind), std::to_string(point.size), shown(point.execution)};
    for (const MemoryPolicy policy : study.policies) {
      const PolicyTime* each = point.under(policy);
      cells.push_back(each == nullptr ? "-" : shown(each->time));
      cells.push_back(each == nullptr ? "-" : config::fixed(each->utilisation, 0));
    }
    table.add(std::move(cells));
  }
  table.print(out);
  out << '\n';
}

double spread(const MemoryPair& pair) {
  const auto [least, most] = std::ranges::minmax(pair.lengths);
  return 100 * ratio(most - least, pair.length);
}

/// Prints the table for Figs. 3 and 5 and Tables I and II of Bateni et al.: two instances together.
void print_pairs(std::ostream& out, const MemoryExperiment& found) {
  if (found.pairs.empty()) return;
  out << "Two instances together (Figs. 3 and 5, Tables I and II)\n";
  report::Table table({"workload", "policies", "size", "MiB", "ms", "kernels %", "spread %"}, {0, 1});
  for (const MemoryPair& pair : found.pairs)
    table.add({text(pair.kind), text(pair.policies), std::to_string(pair.size), shown(pair.memory), shown(pair.length),
               config::fixed(pair.utilisation, 0), config::fixed(spread(pair), 1)});
  table.print(out);
  out << '\n';
}

struct Errors {
  double mean = 0;       // over all workloads
  double worst = 0;      // largest mean error of a workload
  std::string workload;  // the workload with the error `worst`
  double worst_case = 0; // largest error of a workload under one policy
  std::string in_case;
};

Errors errors_of(const MemoryStudy& study, const MemoryExperiment& found, MemoryEstimate PolicyTime::*estimate) {
  Errors errors;
  for (const MemoryResult& result : found.results) {
    const double of_all = error_of(result, {}, estimate).mean;
    errors.mean += of_all / static_cast<double>(found.results.size());
    if (of_all >= errors.worst) {
      errors.worst = of_all;
      errors.workload = text(result.kind);
    }
    for (const MemoryPolicy policy : study.policies) {
      const double mean = error_of(result, policy, estimate).mean;
      if (mean < errors.worst_case) continue;
      errors.worst_case = mean;
      errors.in_case = text(result.kind) + " under " + text(policy);
    }
  }
  return errors;
}

std::string in_words(const Errors& errors) {
  return config::fixed(errors.mean, 1) + " % in the mean, " + config::fixed(errors.worst, 1) +
         " % for the worst workload (" + errors.workload + "); " + config::fixed(errors.worst_case, 1) + " % for " +
         errors.in_case;
}

/// Prints the table for Fig. 8 of Bateni et al.: the errors of the estimates.
void print_errors(std::ostream& out, const MemoryStudy& study, const MemoryExperiment& found) {
  out << "The model against measurement (Fig. 8): mean and worst error over all sizes, percent of the shortest time of "
         "each; each size is predicted from others, by costs that were fitted to the workload alone, and by those of "
         "the platform, fitted to all\n";
  std::vector<std::string> header{"workload"};
  for (const MemoryPolicy policy : study.policies) {
    header.push_back(text(policy) + ": mean");
    header.emplace_back("worst");
  }
  header.emplace_back("platform: mean");
  header.emplace_back("worst");
  report::Table table(header);
  for (const MemoryResult& result : found.results) {
    std::vector<std::string> cells{text(result.kind)};
    const auto add = [&](const policies::ModelError& error) {
      cells.push_back(config::fixed(error.mean, 1));
      cells.push_back(config::fixed(error.worst, 1));
    };
    for (const MemoryPolicy policy : study.policies) add(error_of(result, policy, &PolicyTime::by_workload));
    add(error_of(result, {}, &PolicyTime::by_platform));
    table.add(std::move(cells));
  }
  table.print(out);
  out << "By each workload's own costs: " << in_words(errors_of(study, found, &PolicyTime::by_workload))
      << "\nBy the platform's costs: " << in_words(errors_of(study, found, &PolicyTime::by_platform)) << "\n\n";
}

/// Prints the table for Table IV of Bateni et al.: the chosen policies.
void print_guidelines(std::ostream& out, const MemoryStudy& study, const MemoryExperiment& found) {
  if (found.guidelines.empty()) return;
  out << "What guidelines 1 and 2 choose in the mix at the largest size (Table IV)\n";
  report::Table table({"workload", "kernels", "D or " + text(small_policy(study)), "of all policies"}, {0, 2, 3});
  for (const MemoryGuideline& each : found.guidelines)
    table.add({text(each.kind), std::to_string(each.kernels), text(each.policy), text(each.with_host)});
  table.print(out);
  out << '\n';
}

void print_mix(std::ostream& out, const MemoryMix& mix) {
  std::vector<std::string> header{"task", "size"};
  for (const MemoryConfiguration& each : mix.configurations) {
    header.push_back(each.name);
    header.emplace_back("ms");
  }
  report::Table table(header);
  for (std::size_t i = 0; i < mix.kinds.size(); ++i) {
    std::vector<std::string> cells{text(mix.kinds[i]), std::to_string(mix.sizes[i])};
    for (const MemoryConfiguration& each : mix.configurations) {
      cells.push_back(text(each.policies[i]));
      cells.push_back(shown(each.responses[i]));
    }
    table.add(std::move(cells));
  }
  out << "Response times at the largest size, since the common release, in the order of urgency\n";
  table.print(out);
  out << '\n';
}

/// Prints a summary of the chosen policies ("CO") over all sizes.
void print_choice(std::ostream& out, const MemoryExperiment& found) {
  double max_memory = 0, slowest = 0, slowest_task = 0;
  std::size_t chosen = 0;
  bool within = true;
  for (const MemoryMix& mix : found.mixes) {
    const auto* choice = mix.of("CO");
    if (choice == nullptr) continue;
    within = within && mix.within;
    max_memory = std::max(max_memory, of_device_memory(mix, *choice));
    slowest_task = std::max(slowest_task, slower_task(mix));
    slowest = chosen++ == 0 ? slower(mix, *choice) : std::max(slowest, slower(mix, *choice));
  }
  if (chosen == 0) return;
  out << "CO takes at most " << config::fixed(max_memory, 1) << " % of D's memory"
      << (within ? "" : ", which is the least") << ", and is at worst " << config::fixed(std::abs(slowest), 1) << " % "
      << (slowest > 0 ? "slower" : "faster") << " than the faster of D and MO; no task responds more than "
      << config::fixed(slowest_task, 1) << " % later than under the better of both\n";
}

/// Prints the tables for Fig. 9 and Table V of Bateni et al.: all tasks of the mix together.
void print_mixes(std::ostream& out, const MemoryExperimentSetup& setup, const MemoryExperiment& found) {
  if (found.mixes.empty()) return;
  const std::size_t tasks = found.mixes.front().kinds.size();
  out << tasks << (tasks == 1 ? " task" : " tasks") << " released together (Fig. 9, Table V): all under D, all under "
      << text(small_policy(setup.study)) << " (MO), and co-optimised (CO) within "
      << config::fixed(100 * setup.study.max_memory, 0)
      << " % of D's memory: of the most promising choices the one that " << (setup.simulated ? "the model runs" : "ran")
      << " fastest, in which the scheduler core starts some in pairs\n";
  report::Table table(
      {"size", "", "MiB", "of D %", "mean response ms", "all done ms", "slower %", "kernels %", "pairs"}, {1});
  for (std::size_t size = 0; size < found.mixes.size(); ++size)
    for (const MemoryConfiguration& each : found.mixes[size].configurations)
      table.add({std::to_string(size + 1), each.name, shown(each.memory),
                 config::fixed(of_device_memory(found.mixes[size], each), 1), shown(each.mean_response()),
                 shown(each.length), config::fixed(slower(found.mixes[size], each), 1),
                 config::fixed(each.utilisation, 0), std::to_string(each.pairs)});
  table.print(out);
  print_choice(out, found);
  out << '\n';
  print_mix(out, found.mixes.back());
}

// ---- CSV ----

std::string row(std::initializer_list<std::string> cells) {
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + cell;
  return line + '\n';
}
std::string cell(Duration time) { return std::to_string(time.count()); }
std::string cell(Bytes bytes) { return std::to_string(bytes.count); }

std::string times_csv(const std::string& platform, const MemoryExperiment& found) {
  std::string csv =
      "source,workload,size,policy,memory_bytes,kernels_ns,median_ns,least_ns,worst_ns,kernels_percent,"
      "model_ns,model_error_percent,own_model_ns,own_model_error_percent\n";
  for (const MemoryResult& result : found.results)
    for (const MemoryPoint& point : result.points)
      for (const PolicyTime& each : point.policies)
        csv += row({platform, text(result.kind), std::to_string(point.size), text(each.policy), cell(each.memory),
                    cell(point.execution), cell(each.time), cell(each.shortest()), cell(std::ranges::max(each.times)),
                    text_of(each.utilisation), cell(each.by_platform.time), text_of(each.by_platform.error),
                    cell(each.by_workload.time), text_of(each.by_workload.error)});
  return csv;
}

std::string errors_csv(const std::string& platform, const MemoryStudy& study, const MemoryExperiment& found) {
  std::string csv =
      "source,workload,policy,mean_error_percent,worst_error_percent,own_mean_error_percent,"
      "own_worst_error_percent\n";
  for (const MemoryResult& result : found.results)
    for (const MemoryPolicy policy : study.policies) {
      const auto of_platform = error_of(result, policy, &PolicyTime::by_platform);
      const auto own = error_of(result, policy, &PolicyTime::by_workload);
      csv += row({platform, text(result.kind), text(policy), text_of(of_platform.mean), text_of(of_platform.worst),
                  text_of(own.mean), text_of(own.worst)});
    }
  return csv;
}

std::string policies_csv(const std::string& platform, const MemoryExperiment& found) {
  std::string csv = "source,workload,kernels,policy,policy_of_all\n";
  for (const MemoryGuideline& each : found.guidelines)
    csv += row({platform, text(each.kind), std::to_string(each.kernels), text(each.policy), text(each.with_host)});
  return csv;
}

std::string pairs_csv(const std::string& platform, const MemoryExperiment& found) {
  std::string csv = "source,workload,size,policies,memory_bytes,kernels_percent,round,length_ns\n";
  for (const MemoryPair& pair : found.pairs)
    for (std::size_t i = 0; i < pair.lengths.size(); ++i)
      csv += row({platform, text(pair.kind), std::to_string(pair.size), text(pair.policies), cell(pair.memory),
                  text_of(pair.utilisation), std::to_string(i), cell(pair.lengths[i])});
  return csv;
}

std::string mix_csv(const std::string& platform, const MemoryExperiment& found) {
  std::string csv =
      "source,step,configuration,task,size,policy,response_ns,memory_bytes,length_ns,kernels_percent,pairs\n";
  for (std::size_t step = 0; step < found.mixes.size(); ++step)
    for (const MemoryConfiguration& each : found.mixes[step].configurations)
      for (std::size_t i = 0; i < each.policies.size(); ++i)
        csv += row({platform, std::to_string(step + 1), each.name, text(found.mixes[step].kinds[i]),
                    std::to_string(found.mixes[step].sizes[i]), text(each.policies[i]), cell(each.responses[i]),
                    cell(each.memory), cell(each.length), text_of(each.utilisation), std::to_string(each.pairs)});
  return csv;
}

// ---- pictures ----

std::string title(const MemoryExperimentSetup& setup, const std::string& what) { return what + ": " + setup.title; }

std::vector<std::string> names_of(std::span<const MemoryResult> results) {
  std::vector<std::string> names;
  for (const MemoryResult& result : results) names.push_back(text(result.kind));
  return names;
}

/// Draws the times of each workload relative to its time under policy D.
std::string alone_picture(const MemoryExperimentSetup& setup, const MemoryExperiment& found) {
  Panel times{.title = title(setup, "Device time alone (Fig. 2)"),
              .x_label = "workload, at its largest size",
              .y_label = "device time, of that under D",
              .categories = names_of(found.results)};
  for (const MemoryPolicy policy : setup.study.policies) {
    times.curves.push_back({.name = text(policy)});
    for (const MemoryResult& result : found.results) {
      const PolicyTime *each = result.points.back().under(policy), *device = result.points.back().policies.data();
      times.curves.back().values.push_back(each == nullptr ? 0 : ratio(each->time, device->time));
    }
  }
  return report::svg({&times, 1});
}

/// Draws the estimates of one workload, a row of Fig. 8 of Bateni et al.
std::string model_picture(const MemoryExperimentSetup& setup, const MemoryResult& result) {
  Panel panel{.title = title(setup, text(result.kind) + ", measured (e) and predicted by its own costs (p), Fig. 8"),
              .x_label = "size",
              .y_label = "device time, ms"};
  for (const MemoryPoint& point : result.points) panel.categories.push_back(std::to_string(point.size));
  for (const MemoryPolicy policy : setup.study.policies) {
    report::Curve measured{.name = text(policy) + "-e"}, predicted{.name = text(policy) + "-p"};
    for (const MemoryPoint& point : result.points) {
      const PolicyTime* each = point.under(policy);
      if (each == nullptr) break;
      measured.values.push_back(milliseconds(each->shortest()));
      predicted.values.push_back(milliseconds(each->by_workload.time));
    }
    panel.curves.push_back(std::move(measured));
    panel.curves.push_back(std::move(predicted));
  }
  return report::svg({&panel, 1});
}

/// Returns the pairs of one workload.
std::vector<const MemoryPair*> pairs_of(const MemoryExperiment& found, WorkloadKind kind) {
  std::vector<const MemoryPair*> pairs;
  for (const MemoryPair& pair : found.pairs)
    if (pair.kind == kind) pairs.push_back(&pair);
  return pairs;
}

std::vector<WorkloadKind> paired(const MemoryExperiment& found) {
  std::vector<WorkloadKind> kinds;
  for (const MemoryPair& pair : found.pairs)
    if (kinds.empty() || kinds.back() != pair.kind) kinds.push_back(pair.kind);
  return kinds;
}

/// Draws memory and time of two instances together, like Fig. 3 of Bateni et al. Each value is divided by the value for
/// memory policy D of both instances (D/D).
std::string pairs_picture(const MemoryExperimentSetup& setup, const MemoryExperiment& found) {
  Panel memory{.title = title(setup, "Memory of two (Fig. 3)"), .x_label = "workload", .y_label = "of that under D/D"};
  Panel time{.title = title(setup, "Time of two (Fig. 3)"), .x_label = "workload"};
  for (const WorkloadKind kind : paired(found)) {
    const auto pairs = pairs_of(found, kind);
    memory.categories.push_back(text(kind));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (memory.curves.size() <= i) {
        memory.curves.push_back({.name = text(pairs[i]->policies)});
        time.curves.push_back({.name = text(pairs[i]->policies)});
      }
      memory.curves[i].values.push_back(ratio(pairs[i]->memory, pairs[0]->memory));
      time.curves[i].values.push_back(ratio(pairs[i]->length, pairs[0]->length));
    }
  }
  time.categories = memory.categories;
  const Panel both[] = {std::move(memory), std::move(time)};
  return report::svg(both);
}

/// Draws the lengths of rounds in their order, like Fig. 5 of Bateni et al. Each length is divided by the median length
/// of the rounds in which both instances have memory policy D (D/D).
std::string spread_picture(const MemoryExperimentSetup& setup, const MemoryExperiment& found) {
  std::vector<Panel> panels;
  for (const WorkloadKind kind : paired(found)) {
    const auto pairs = pairs_of(found, kind);
    Panel panel{.title = title(setup, "Two of " + text(kind) + " (Fig. 5)"),
                .x_label = "round",
                .y_label = panels.empty() ? "time, of the median under D/D" : ""};
    for (std::size_t i = 0; i < pairs[0]->lengths.size(); ++i) panel.categories.push_back(std::to_string(i + 1));
    for (const MemoryPair* pair : pairs) {
      panel.curves.push_back({.name = text(pair->policies)});
      for (const Duration length : pair->lengths) panel.curves.back().values.push_back(ratio(length, pairs[0]->length));
    }
    panels.push_back(std::move(panel));
  }
  return report::svg(panels);
}

constexpr const char* configurations[] = {"D", "MO", "CO"};

std::string mix_memory_picture(const MemoryExperimentSetup& setup, const MemoryExperiment& found) {
  Panel panel{.title = title(setup, "Memory of the mix (Fig. 9)"), .x_label = "size of inputs", .y_label = "MiB"};
  for (std::size_t step = 0; step < found.mixes.size(); ++step) panel.categories.push_back(std::to_string(step + 1));
  for (const char* name : configurations) {
    panel.curves.push_back({.name = name});
    for (const MemoryMix& mix : found.mixes)
      panel.curves.back().values.push_back(mix.of(name) == nullptr ? 0 : mebibytes(mix.of(name)->memory));
  }
  return report::svg({&panel, 1});
}

/// Draws the response times of tasks and their mean, at the largest size.
std::string mix_responses_picture(const MemoryExperimentSetup& setup, const MemoryMix& mix) {
  Panel panel{.title = title(setup, "Response times of the mix (Fig. 9)"),
              .x_label = "task, at its largest size",
              .y_label = "ms"};
  for (const WorkloadKind kind : mix.kinds) panel.categories.push_back(text(kind));
  panel.categories.emplace_back("mean");
  for (const MemoryConfiguration& each : mix.configurations) {
    panel.curves.push_back({.name = each.name});
    for (const Duration response : each.responses) panel.curves.back().values.push_back(milliseconds(response));
    panel.curves.back().values.push_back(milliseconds(each.mean_response()));
  }
  return report::svg({&panel, 1});
}

// ---- JSON ----

nlohmann::json to_json(const MemoryEstimate& estimate) {
  return {{"ns", estimate.time.count()}, {"error_percent", estimate.error}};
}

nlohmann::json to_json(const PolicyTime& each) {
  nlohmann::json times = nlohmann::json::array();
  for (const Duration time : each.times) times.push_back(time.count());
  return {{"policy", text(each.policy)},           {"memory_bytes", each.memory.count},
          {"median_ns", each.time.count()},        {"times_ns", std::move(times)},
          {"kernels_percent", each.utilisation},   {"model", to_json(each.by_platform)},
          {"own_model", to_json(each.by_workload)}};
}

nlohmann::json to_json(const MemoryResult& result) {
  nlohmann::json sizes = nlohmann::json::array();
  for (const MemoryPoint& point : result.points) {
    nlohmann::json policies = nlohmann::json::array();
    for (const PolicyTime& each : point.policies) policies.push_back(to_json(each));
    sizes.push_back({{"size", point.size}, {"kernels_ns", point.execution.count()}, {"policies", std::move(policies)}});
  }
  return {{"workload", text(result.kind)}, {"sizes", std::move(sizes)}};
}

nlohmann::json to_json(const MemoryPair& pair) {
  nlohmann::json lengths = nlohmann::json::array();
  for (const Duration length : pair.lengths) lengths.push_back(length.count());
  return {{"workload", text(pair.kind)},         {"size", pair.size},
          {"policies", text(pair.policies)},     {"memory_bytes", pair.memory.count},
          {"median_ns", pair.length.count()},    {"lengths_ns", std::move(lengths)},
          {"kernels_percent", pair.utilisation}, {"spread_percent", spread(pair)}};
}

nlohmann::json to_json(const MemoryMix& mix, const MemoryConfiguration& configuration) {
  nlohmann::json tasks = nlohmann::json::array();
  for (std::size_t i = 0; i < mix.kinds.size(); ++i)
    tasks.push_back({{"workload", text(mix.kinds[i])},
                     {"size", mix.sizes[i]},
                     {"policy", text(configuration.policies[i])},
                     {"response_ns", configuration.responses[i].count()}});
  return {{"name", configuration.name},
          {"memory_bytes", configuration.memory.count},
          {"memory_percent_of_d", of_device_memory(mix, configuration)},
          {"mean_response_ns", configuration.mean_response().count()},
          {"length_ns", configuration.length.count()},
          {"slower_percent", slower(mix, configuration)},
          {"kernels_percent", configuration.utilisation},
          {"pairs", configuration.pairs},
          {"tasks", std::move(tasks)}};
}

nlohmann::json to_json(const Errors& errors) {
  return {{"mean_percent", errors.mean},
          {"worst_percent", errors.worst},
          {"worst_of", errors.workload},
          {"worst_case_percent", errors.worst_case},
          {"worst_case_of", errors.in_case}};
}

} // namespace

void print(std::ostream& out, const MemoryExperimentSetup& setup, const MemoryExperiment& found) {
  for (const std::string& line : setup.preface) out << line << '\n';
  for (const std::string& line : found.notes) out << line << '\n';
  out << '\n';
  print_alone(out, setup.study, found);
  print_pairs(out, found);
  print_errors(out, setup.study, found);
  print_guidelines(out, setup.study, found);
  print_mixes(out, setup, found);
}

report::Files files_of(const MemoryExperimentSetup& setup, const MemoryExperiment& found) {
  const std::string platform = setup.platform->name();
  report::Files files{{"times.csv", times_csv(platform, found)},
                      {"errors.csv", errors_csv(platform, setup.study, found)},
                      {"alone.svg", alone_picture(setup, found)}};
  for (const MemoryResult& result : found.results)
    files.emplace_back("model-" + text(result.kind) + ".svg", model_picture(setup, result));
  if (!found.pairs.empty()) {
    files.emplace_back("pairs.csv", pairs_csv(platform, found));
    files.emplace_back("pairs.svg", pairs_picture(setup, found));
    files.emplace_back("spread.svg", spread_picture(setup, found));
  }
  if (!found.mixes.empty()) {
    files.emplace_back("policies.csv", policies_csv(platform, found));
    files.emplace_back("mix.csv", mix_csv(platform, found));
    files.emplace_back("mix-memory.svg", mix_memory_picture(setup, found));
    files.emplace_back("mix-responses.svg", mix_responses_picture(setup, found.mixes.back()));
  }
  return files;
}

nlohmann::json to_json(const MemoryExperimentSetup& setup, const MemoryExperiment& found) {
  nlohmann::json workloads = nlohmann::json::array(), pairs = workloads, guidelines = workloads, mixes = workloads;
  for (const MemoryResult& result : found.results) workloads.push_back(to_json(result));
  for (const MemoryPair& pair : found.pairs) pairs.push_back(to_json(pair));
  for (const MemoryGuideline& each : found.guidelines)
    guidelines.push_back({{"workload", text(each.kind)},
                          {"kernels", each.kernels},
                          {"policy", text(each.policy)},
                          {"policy_of_all", text(each.with_host)}});
  for (const MemoryMix& mix : found.mixes) {
    nlohmann::json configurations = nlohmann::json::array();
    for (const MemoryConfiguration& each : mix.configurations) configurations.push_back(to_json(mix, each));
    mixes.push_back(std::move(configurations));
  }
  return {{"simulated", setup.simulated},
          {"source", setup.platform->name()},
          {"preface", setup.preface},
          {"notes", found.notes},
          {"costs", to_json(found.costs)},
          {"model", to_json(errors_of(setup.study, found, &PolicyTime::by_platform))},
          {"own_model", to_json(errors_of(setup.study, found, &PolicyTime::by_workload))},
          {"workloads", std::move(workloads)},
          {"pairs", std::move(pairs)},
          {"guidelines", std::move(guidelines)},
          {"mixes", std::move(mixes)}};
}

} // namespace rtexec::study
