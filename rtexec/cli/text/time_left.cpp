#include "rtexec/cli/text/time_left.hpp"

#include <algorithm>

namespace rtexec::report {

namespace {

constexpr std::size_t max_points = 256;
constexpr Duration shortest = std::chrono::seconds(1);

} // namespace

std::optional<Duration> TimeLeft::operator()(Instant now, std::uint64_t done, std::uint64_t wanted) {
  if (points_.size() == max_points) {
    std::size_t place = 0;
    std::erase_if(points_, [&](const Point&) { return place++ % 2 == 1; });
  }
  points_.push_back({now, done});
  const Point begin = points_.front();
  if (now - begin.at < shortest || done == begin.done) return std::nullopt;
  const Instant half = begin.at + (now - begin.at) / 2;
  Point from = *std::prev(std::ranges::upper_bound(points_, half, {}, &Point::at));
  if (from.done == done) from = begin; // no progress in the last half of the elapsed time: uses the mean rate
  const double each = static_cast<double>((now - from.at).count()) / static_cast<double>(done - from.done);
  return Duration(static_cast<Duration::rep>(each * static_cast<double>(wanted - std::min(done, wanted))));
}

std::string rough(Duration time) {
  using namespace std::chrono;
  if (time <= seconds(90)) return std::to_string(ceil<seconds>(time).count()) + " s";
  if (time <= minutes(90)) return std::to_string(ceil<minutes>(time).count()) + " min";
  return std::to_string(ceil<hours>(time).count()) + " h";
}

} // namespace rtexec::report
