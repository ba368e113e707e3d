// Counts durations one by one and makes a Distribution of them. The memory grows only with the number of powers of two
// between the smallest and the largest duration.
#pragma once

#include "traces/analysis/analysis.hpp"
#include "traces/log_linear.hpp"

#include <array>
#include <cstdint>
#include <memory>

namespace rtexec::traces {

class DistributionBuilder {
 public:
  /// Adds a duration. A negative value counts as 0. If the value is the largest so far, stores `job` and `at`.
  void add(Duration value, std::uint64_t job, Instant at);
  [[nodiscard]] std::uint64_t count() const noexcept { return built_.count; }
  [[nodiscard]] Duration min() const noexcept { return built_.min; }
  [[nodiscard]] Duration max() const noexcept { return built_.max; }
  [[nodiscard]] Duration sum() const noexcept { return Duration(static_cast<Duration::rep>(sum_)); }
  [[nodiscard]] Distribution distribution() const;

 private:
  static constexpr std::size_t row = std::size_t{1} << log_linear::sub_bits;
  static constexpr std::size_t rows = log_linear::classes / row;
  /// Maximum number of stored rises of the maximum. A later rise replaces the last stored rise.
  static constexpr std::size_t max_marks = 1000;

  [[nodiscard]] std::uint64_t count_of(std::size_t index) const noexcept;
  [[nodiscard]] std::vector<Distribution::Class> classes() const;

  std::array<std::unique_ptr<std::array<std::uint64_t, row>>, rows> counts_;
  std::uint64_t sum_ = 0;
  Distribution built_;
};

} // namespace rtexec::traces
