// Estimates the time that work still takes, from its pace so far.
#pragma once

#include <rtexec/units.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::report {

/// Uses the pace of the last half of the time, so that neither a slow beginning nor a single step has a lasting effect.
class TimeLeft {
 public:
  /// Reports that `done` of `wanted` is finished at `now`. `now` and `done` never decrease. Returns nullopt in the
  /// first second, and until there is progress.
  [[nodiscard]] std::optional<Duration> operator()(Instant now, std::uint64_t done, std::uint64_t wanted);

 private:
  struct Point {
    Instant at{};
    std::uint64_t done = 0;
  };
  std::vector<Point> points_; // some of the points since the beginning
};

/// Returns "40 s", "12 min" or "3 h": rounded up.
[[nodiscard]] std::string rough(Duration time);

} // namespace rtexec::report
