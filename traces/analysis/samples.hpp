// The samples of a series in the order in which they came, in bounded memory: when there are too many, neighbours are
// merged two by two into their maximum, so that each kept sample is the largest of `block` jobs.
#pragma once

#include <rtexec/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::traces {

class SampleSeries {
 public:
  /// At least 2, even.
  explicit SampleSeries(std::size_t capacity = std::size_t{1} << 16) : capacity_(capacity) {}

  void add(Duration value) {
    largest_ = filled_ == 0 ? value : std::max(largest_, value);
    if (++filled_ < block_) return;
    filled_ = 0;
    samples_.push_back(static_cast<double>(largest_.count()));
    if (samples_.size() == capacity_) merge();
  }

  /// Nanoseconds; of the last, incomplete block nothing.
  [[nodiscard]] std::span<const double> samples() const noexcept { return samples_; }
  [[nodiscard]] std::uint64_t block() const noexcept { return block_; }

 private:
  void merge() {
    for (std::size_t i = 0; i < samples_.size() / 2; ++i) samples_[i] = std::max(samples_[2 * i], samples_[2 * i + 1]);
    samples_.resize(samples_.size() / 2);
    block_ *= 2;
  }

  std::size_t capacity_;
  std::vector<double> samples_;
  std::uint64_t block_ = 1, filled_ = 0;
  Duration largest_{0};
};

} // namespace rtexec::traces
