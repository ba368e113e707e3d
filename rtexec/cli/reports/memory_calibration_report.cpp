#include "rtexec/cli/reports/memory_calibration_report.hpp"

#include "config/base/text.hpp"
#include "rtexec/runtime/json/plan_json.hpp"
#include "rtexec/cli/text/table.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

namespace rtexec::study {
namespace {

double error_percent(const MemoryCosts& costs, const MeasuredTask& task) {
  const auto measured = static_cast<double>(task.job.count());
  return 100 * std::abs(static_cast<double>(estimate(costs, task).count()) - measured) / measured;
}

std::string policy_of(const MeasuredTask& task) {
  return std::string(name(task.policy)) + (task.prefetch || task.policy != MemoryPolicy::managed ? "" : ", faults");
}

void print_tasks(std::ostream& out, const MemoryCalibration& calibration) {
  report::Table table({"task", "size", "policy", "kernels", "job", "model", "error"});
  for (const MeasuredTask& task : calibration.tasks)
    table.add({std::string(name(task.kind)), std::to_string(task.size), policy_of(task), readable(task.execution),
               readable(task.job), readable(estimate(calibration.fit.costs, task)),
               config::fixed(error_percent(calibration.fit.costs, task), 1) + " %"});
  table.print(out);
}

std::string nanos(double value) { return config::fixed(value, 4) + " ns"; }

void print_costs(std::ostream& out, const MemoryCosts& costs) {
  report::Table table({"cost", "of", "value"});
  table.add({"copy_start", "a copy", readable(costs.copy_start)});
  table.add({"copied_in", "a byte", nanos(costs.copied_in)});
  table.add({"copied_out", "a byte", nanos(costs.copied_out)});
  if (costs.unified) {
    table.add({"mapped", "a byte", nanos(costs.mapped)});
    table.add({"host_flush", "a dirty launch", readable(costs.host_flush)});
    table.add({"device_flush", "a launch at most", readable(costs.device_flush)});
    table.add({"written_back", "a byte", nanos(costs.written_back)});
    table.add({"memory_access - cache_access", "an access", nanos(costs.memory_access - costs.cache_access)});
  } else {
    table.add({"faulted", "a byte", nanos(costs.faulted)});
    table.add({"prefetch_start", "a prefetch", readable(costs.prefetch_start)});
    table.add({"prefetched", "a byte", nanos(costs.prefetched)});
    table.add({"returned", "a byte", nanos(costs.returned)});
    table.add({"linked_start", "a launch", readable(costs.linked_start)});
    table.add({"linked", "a byte", nanos(costs.linked)});
    table.add({"linked_access", "an access", nanos(costs.linked_access)});
  }
  table.print(out);
}

nlohmann::json to_json(const policies::ModelError& error) {
  return {{"mean_percent", error.mean}, {"worst_percent", error.worst}};
}

} // namespace

void print(std::ostream& out, const MemoryCalibration& calibration) {
  out << "Memory policies on " << calibration.device << ": the shortest of the jobs\n";
  print_tasks(out, calibration);
  print_costs(out, calibration.fit.costs);
  const auto percent = [](double value) { return config::fixed(value, 1) + " %"; };
  out << "error of the model: " << percent(calibration.fit.error.mean) << " in the mean, "
      << percent(calibration.fit.error.worst)
      << " at worst; to expect of a new task: " << percent(calibration.fit.held_out.mean) << " in the mean, "
      << percent(calibration.fit.held_out.worst) << " at worst (tasks that were not fitted)\n";
  constexpr double tells_nothing = 50;
  if (calibration.fit.held_out.mean > tells_nothing)
    out << "With such errors the model cannot choose between policies: measure more (--sizes, --jobs)\n";
}

nlohmann::json to_json(const MemoryCalibration& calibration, const std::string& file) {
  nlohmann::json tasks = nlohmann::json::array();
  for (const MeasuredTask& task : calibration.tasks)
    tasks.push_back({{"task", name(task.kind)},
                     {"size", task.size},
                     {"policy", name(task.policy)},
                     {"prefetch", task.prefetch},
                     {"kernels_ns", task.execution.count()},
                     {"job_ns", task.job.count()},
                     {"model_ns", estimate(calibration.fit.costs, task).count()}});
  return {{"device", calibration.device},
          {"costs", to_json(calibration.fit.costs)},
          {"fitted", to_json(calibration.fit.error)},
          {"held_out", to_json(calibration.fit.held_out)},
          {"tasks", std::move(tasks)},
          {"file", file}};
}

} // namespace rtexec::study
