// The samples of a series in the order of measurement, in bounded memory. If there are too many samples, each pair of
// neighbours is replaced by its maximum. So each stored sample is the largest of `block` jobs, where `block` is a power
// of two.
#pragma once

#include <rtexec/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rtexec::traces {

class SampleSeries {
 public:
  /// `capacity` must be even and at least 2.
  explicit SampleSeries(std::size_t capacity = std::size_t{1} << 16) : capacity_(capacity) {}
  /// Continues a series from stored samples, each of which is the largest of `block` jobs.
  SampleSeries(std::size_t capacity, std::uint64_t block, std::vector<double> samples)
      : capacity_(capacity), samples_(std::move(samples)), block_(block) {
    while (samples_.size() >= capacity_) merge();
  }

  void add(Duration value) {
    largest_ = filled_ == 0 ? value : std::max(largest_, value);
    if (++filled_ < block_) return;
    filled_ = 0;
    samples_.push_back(static_cast<double>(largest_.count()));
    if (samples_.size() == capacity_) merge();
  }

  /// Appends a later series. Drops the incomplete last block of each series.
  void append(SampleSeries later) {
    filled_ = 0;
    while (block_ != later.block_ || samples_.size() + later.samples_.size() >= capacity_)
      (block_ <= later.block_ ? *this : later).merge();
    samples_.insert(samples_.end(), later.samples_.begin(), later.samples_.end());
  }

  /// Returns the samples in nanoseconds, without the last, incomplete block.
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
