// How far a set is from the edge of what make_plan proves: what a designer asks after the verdict. Pure; rests on
// make_plan alone.
//
// One quantity is changed at a time, everything else stays as the set and the board say, and each changed set gets a
// plan of its own: priorities, volumes and cores are chosen anew where the set leaves them open. Along a grid the
// search halves the way between a value that is proved and one that is not, until they are neighbours. That is the edge
// if less load is never proved worse. The analyses are monotone, the choice of volumes, splits and cores is not quite:
// then it is one of several edges, and what Edge says of its two values is true still.
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

/// Of the grid 1.001^k between 1/100 and 100, in 10^-5. Execution times and costs are rounded up, periods down.
struct Factor {
  std::int64_t units = 100'000;
  [[nodiscard]] double value() const { return static_cast<double>(units) / 1e5; }
  friend bool operator==(const Factor&, const Factor&) = default;
};

/// Where the proof ends along one quantity: two neighbours on its grid, both tried.
template <class Value> struct Edge {
  std::optional<Value> proved;     // absent: nothing up to the limit is
  std::optional<Value> not_proved; // absent: nothing up to the limit is not
  std::string reason;              // of not_proved: the limiting task, or why there is no plan
};

struct TaskSensitivity {
  std::string name;
  Edge<Factor> wcet; // of the device part, where there is one: the largest
  /// The smallest; the deadline stays, but at most the period, and shrinks along where it is the period
  Edge<Factor> period;
};

struct Sensitivity {
  std::vector<TaskSensitivity> tasks; // in the order of the set; of a proved plan only, as are
  std::optional<Edge<Factor>> wcet;   // all parts of all tasks, best-effort ones included,
  std::optional<Edge<Factor>> period; // all tasks, and
  /// The copies': all costs of swapping are divided by it; absent where nothing is swapped
  std::optional<Edge<Factor>> bandwidth;
  /// All parts of all tasks: the largest; of a plan that is not proved
  std::optional<Edge<Factor>> wcet_to_prove;
  /// Device memory in whole chunks: the smallest; where nothing more helps, none is proved
  Edge<Bytes> capacity;
};

/// Called before each quantity, and at the end.
using SensitivityProgress = std::function<void(std::size_t done, std::size_t all)>;

/// `plan` is what make_plan says of `tasks` on `board`. Makes some 12 plans for each of 2 n + 4 quantities.
[[nodiscard]] Sensitivity sensitivity(const ResolvedSet& set, const Plan& plan,
                                      const SensitivityProgress& progress = {});

} // namespace rtexec::policies
