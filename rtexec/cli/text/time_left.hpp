// Estimates the remaining time of work from its progress so far.
#pragma once

#include <rtexec/units.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::report {

/// An estimator of the remaining time. It uses the progress in the last half of the elapsed time. Therefore, a slow
/// begin or a single long step has no lasting effect.
class TimeLeft {
 public:
  /// Records that `done` of `wanted` is finished at `now`, and returns the remaining time. `now` and `done` must not
  /// decrease. Returns nullopt in the first second, and until there is progress.
  [[nodiscard]] std::optional<Duration> operator()(Instant now, std::uint64_t done, std::uint64_t wanted);

 private:
  struct Point {
    Instant at{};
    std::uint64_t done = 0;
  };
  std::vector<Point> points_; // a sample of the points since the begin
};

/// Returns a rounded-up time: "40 s", "12 min" or "3 h".
[[nodiscard]] std::string rough(Duration time);

} // namespace rtexec::report
