// A workload that knows which integers its inputs may hold, beside what Workload asks of it.
#pragma once

#include "tasks/dnn/graph/input_ranges.hpp"

#include <cstddef>
#include <optional>

namespace rtexec::tasks {

class RangedInputs {
 public:
  /// Of the input with this number. Absent: any value of its type.
  [[nodiscard]] virtual std::optional<InputRange> input_range(std::size_t input) const = 0;

 protected:
  ~RangedInputs() = default;
};

} // namespace rtexec::tasks
