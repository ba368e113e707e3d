// How far a set is from the edge of what make_plan proves, which a designer needs after the verdict. Pure; uses
// make_plan alone.
//
// One quantity is changed at a time; everything else stays as the set and the board say. Each changed set gets a plan
// of its own: priorities, volumes and cores are chosen anew if the set leaves them open. Along a grid, the search
// halves the distance between a value that is proved and one that is not, until they are neighbours. That is the edge
// if a proof is never lost by less load. The analyses are monotone; the choice of volumes, splits and cores is not
// quite. In that case it is one of several edges, and Edge is still right about its two values.
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

/// A factor on the grid 1.001^k between 1/100 and 100, in 10^-5. Execution times and costs are rounded up, periods
/// down.
struct Factor {
  std::int64_t units = 100'000;
  [[nodiscard]] double value() const { return static_cast<double>(units) / 1e5; }
  friend bool operator==(const Factor&, const Factor&) = default;
};

/// The end of the proof along one quantity: two neighbours on its grid, both tried.
template <class Value> struct Edge {
  std::optional<Value> proved;     // absent: no value up to the limit is proved
  std::optional<Value> not_proved; // absent: all values up to the limit are proved
  std::string reason;              // why `not_proved` fails: the limiting task, or why there is no plan
};

struct TaskSensitivity {
  std::string name;
  Edge<Factor> wcet; // the largest; of the device part, if there is one
  /// The smallest. The deadline stays, but is at most the period; it shrinks with the period if it equals that
  Edge<Factor> period;
};

struct Sensitivity {
  /// In the order of the set. Set only for a proved plan, like the next three members
  std::vector<TaskSensitivity> tasks;
  std::optional<Edge<Factor>> wcet;   // all parts of all tasks, best-effort ones included
  std::optional<Edge<Factor>> period; // all tasks
  /// The bandwidth of copies: all costs of swapping are divided by it; absent if nothing is swapped
  std::optional<Edge<Factor>> bandwidth;
  /// All parts of all tasks: the largest factor. Only for a plan that is not proved
  std::optional<Edge<Factor>> wcet_to_prove;
  /// Device memory in whole chunks: the smallest that is proved. If more memory does not help, none is proved
  Edge<Bytes> capacity;
};

/// Called before each quantity, and at the end.
using SensitivityProgress = std::function<void(std::size_t done, std::size_t all)>;

/// `plan` is the result of make_plan for `set`. Makes about 12 plans for each of 2 n + 4 quantities.
[[nodiscard]] Sensitivity sensitivity(const ResolvedSet& set, const Plan& plan,
                                      const SensitivityProgress& progress = {});

} // namespace rtexec::policies
