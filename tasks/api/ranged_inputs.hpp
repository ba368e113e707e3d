// A workload that knows which integers its inputs may hold, beside what Workload asks of it: those that index a tensor
// must stay inside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace rtexec::tasks {

/// Values of one input, ends included.
struct InputRange {
  /// The network takes these. Negative ones count from the end of what they index.
  std::int64_t min = 0, max = 0;
  /// Noise is drawn from these: indices from the begin.
  std::int64_t noise_min = 0, noise_max = 0;
  friend bool operator==(const InputRange&, const InputRange&) = default;
};

class RangedInputs {
 public:
  /// Of the input with this number. Absent: any value of its type.
  [[nodiscard]] virtual std::optional<InputRange> input_range(std::size_t input) const = 0;

 protected:
  ~RangedInputs() = default;
};

} // namespace rtexec::tasks
