// What is kept of a chain's reactions and ages. One writer; readers as of histograms.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/report.hpp>
#include "policies/chain_times.hpp"
#include "rtexec/statistics/histogram.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace rtexec {

class ChainStatistics {
 public:
  explicit ChainStatistics(std::string name) : name_(std::move(name)) {}

  /// Holds them to what was promised.
  void promise(const PlannedChain& planned);
  void add(const policies::ChainSamples& samples) noexcept;
  [[nodiscard]] ChainReport report() const;
  // Of reactions; allocates nothing.
  [[nodiscard]] Duration longest() const noexcept { return reaction_.times.longest(); }
  [[nodiscard]] std::uint64_t count() const noexcept { return reaction_.times.count(); }
  [[nodiscard]] std::uint64_t above() const noexcept { return reaction_.violations.load(std::memory_order_relaxed); }

 private:
  struct Measure {
    std::optional<Duration> bound;
    std::atomic<std::uint64_t> violations{0};
    DurationHistogram times;
    void add(const std::optional<Duration>& sample) noexcept;
    [[nodiscard]] ChainReport::Measured report() const;
  };

  std::string name_;
  Measure reaction_, age_, reduced_age_;
};

} // namespace rtexec
