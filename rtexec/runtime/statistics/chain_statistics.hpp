// Statistics of a chain's reaction times and data ages, and of other times that have a bound. One thread writes.
// Readers must follow the rules of histogram.hpp.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/report.hpp>
#include "policies/chains/chain_times.hpp"
#include "rtexec/runtime/statistics/histogram.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace rtexec {

/// A histogram of times, and the number of times above a bound.
struct BoundedTimes {
  std::optional<Duration> bound; // set before the first time is added
  std::atomic<std::uint64_t> violations{0};
  DurationHistogram times;
  void add(Duration time) noexcept;
  [[nodiscard]] MeasuredTimes report() const;
};

class ChainStatistics {
 public:
  /// `from_sampling` is true if times count from the sampling of the first task's inputs.
  ChainStatistics(std::string name, bool from_sampling) : name_(std::move(name)), from_sampling_(from_sampling) {}

  /// Sets the bounds to the bounds of the plan.
  void promise(const PlannedChain& planned);
  void add(const policies::ChainSamples& samples) noexcept;
  [[nodiscard]] ChainReport report() const;
  // Figures about the reaction times. These functions allocate nothing.
  [[nodiscard]] Duration longest() const noexcept { return reaction_.times.longest(); }
  [[nodiscard]] std::uint64_t count() const noexcept { return reaction_.times.count(); }
  [[nodiscard]] std::uint64_t above() const noexcept { return reaction_.violations.load(std::memory_order_relaxed); }

 private:
  std::string name_;
  bool from_sampling_;
  BoundedTimes reaction_, age_, reduced_age_;
};

} // namespace rtexec
