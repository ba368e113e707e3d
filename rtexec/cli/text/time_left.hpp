// How long work will go on, judged by how it went.
#pragma once

#include <rtexec/units.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::report {

/// By the pace of the last half of the time, so that neither a slow beginning nor a single step counts for ever.
class TimeLeft {
 public:
  /// So much is done at `now`; both never less than before. Nothing before something was done for a second.
  [[nodiscard]] std::optional<Duration> operator()(Instant now, std::uint64_t done, std::uint64_t wanted);

 private:
  struct Point {
    Instant at{};
    std::uint64_t done = 0;
  };
  std::vector<Point> points_; // since the beginning, some of them
};

/// "40 s", "12 min", "3 h": rounded up.
[[nodiscard]] std::string rough(Duration time);

} // namespace rtexec::report
