// Computes how far a set is from the edge of what make_plan() proves: by how much execution times may grow, for
// example. Pure; uses only make_plan().
//
// One quantity is changed at a time; everything else stays as the set and the board say. Each changed set gets a plan
// of its own: priorities, volumes and cores are chosen anew if the set leaves them open.
//
// The values lie on a grid. The search bisects between a value that is proved and one that is not, until they are
// neighbours on the grid. That is the only edge if less load never loses a proof. The analyses have this property; the
// choices of volumes, splits and cores do not always have it. Then there may be several edges, and the search finds one
// of them: `Edge::proved` is proved, and `Edge::not_proved` is not.
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

/// The edge of the proof along one quantity: two neighbours on its grid, both tried.
template <class Value> struct Edge {
  std::optional<Value> proved;     // absent: no value up to the limit is proved
  std::optional<Value> not_proved; // absent: all values up to the limit are proved
  std::string reason;              // why `not_proved` fails: the task with the least slack, or why there is no plan
};

struct TaskSensitivity {
  std::string name;
  Edge<Factor> wcet; // the largest factor; of the device part, if there is one
  /// The smallest factor. The deadline stays, but is at most the period; it shrinks with the period if it equals that
  Edge<Factor> period;
};

struct Sensitivity {
  /// In the order of the task set. Filled only for a proved plan, like the next three members
  std::vector<TaskSensitivity> tasks;
  std::optional<Edge<Factor>> wcet;   // all parts of all tasks, best-effort ones included
  std::optional<Edge<Factor>> period; // all tasks
  /// The bandwidth of copies, by whose factor all costs of swapping are divided; absent if nothing is swapped
  std::optional<Edge<Factor>> bandwidth;
  /// All parts of all tasks: the largest factor. Only for a plan that is not proved
  std::optional<Edge<Factor>> wcet_to_prove;
  /// The smallest device memory that is proved, in whole chunks. `proved` is absent if no amount of memory suffices
  Edge<Bytes> capacity;
};

/// Called before each quantity, and at the end.
using SensitivityProgress = std::function<void(std::size_t done, std::size_t all)>;

/// `plan` is the result of make_plan for `set`. Makes about 12 plans for each of 2 n + 4 quantities.
[[nodiscard]] Sensitivity sensitivity(const ResolvedSet& set, const Plan& plan,
                                      const SensitivityProgress& progress = {});

} // namespace rtexec::policies
