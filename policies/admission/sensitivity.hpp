// Computes how far a set is from the limit of what make_plan() proves, for example by which factor execution times may
// grow. Pure; uses only make_plan().
//
// One quantity is changed at a time; all other quantities keep the values of the set and the board. Each changed set
// gets its own plan: priorities, swap volumes and cores are chosen anew if the set does not specify them.
//
// The values are on a grid. The search bisects between a value that is proved and a value that is not, until the two
// values are neighbours on the grid (an edge). There is only one edge if a lower load never loses a proof. The analyses
// have this property. The choices of swap volumes, of cores and of splits (deadlines for the parts of a job) do not
// always have it. Then there may be several edges, and the search finds one of them. In each case, `Edge::proved` is
// proved and `Edge::not_proved` is not.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::policies {

/// A factor on the grid 1.001^k, between 1/100 and 100. Scaled execution times and costs are rounded up, scaled periods
/// down. `units`: the factor in units of 10^-5.
struct Factor {
  std::int64_t units = 100'000;
  [[nodiscard]] double value() const { return static_cast<double>(units) / 1e5; }
  friend bool operator==(const Factor&, const Factor&) = default;
};

/// The limit of the proof along one quantity: two neighbouring values on its grid, both tried.
template <class Value> struct Edge {
  std::optional<Value> proved;     // absent: no value of the searched range is proved
  std::optional<Value> not_proved; // absent: all values of the searched range are proved
  std::string reason; // why `not_proved` fails: the task with the least slack, or the reason why there is no plan
};

struct TaskSensitivity {
  std::string name;
  Edge<Factor> wcet; // the largest factor for the device part; for the CPU parts, if the task does not use the device
  /// The smallest factor for the period. The deadline shrinks with the period only if the deadline equals the period,
  /// or would otherwise exceed it
  Edge<Factor> period;
};

struct Sensitivity {
  /// By task, in the order of the set. This member and the next three are set only for a proved plan
  std::vector<TaskSensitivity> tasks;
  std::optional<Edge<Factor>> wcet;   // the largest factor for all parts of all tasks, including best-effort tasks
  std::optional<Edge<Factor>> period; // the smallest factor for the periods of all tasks
  /// The smallest factor for the bandwidth of copies: all costs of swapping are divided by this factor. Absent if
  /// nothing is swapped
  std::optional<Edge<Factor>> bandwidth;
  /// Only for a plan that is not proved: the largest factor for all parts of all tasks with which the set is proved
  std::optional<Edge<Factor>> wcet_to_prove;
  /// The smallest device memory with which the set is proved, in whole chunks. `proved` is absent if no amount of
  /// memory suffices
  Edge<Bytes> capacity;
};

/// Called before each quantity is examined, and at the end.
using SensitivityProgress = std::function<void(std::size_t done, std::size_t all)>;

/// Computes the sensitivity. `plan` must be the result of make_plan() for `set`. Makes about 12 plans for each of 2 n +
/// 4 quantities, with n tasks.
[[nodiscard]] Sensitivity sensitivity(const ResolvedSet& set, const Plan& plan,
                                      const SensitivityProgress& progress = {});

} // namespace rtexec::policies
