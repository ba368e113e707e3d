#include "tasks/loads/traffic/pacer.hpp"

#include <algorithm>

namespace rtexec::tasks {
namespace {

constexpr std::uint64_t grids_in_a_second = std::chrono::seconds(1) / Pacer::grid;

} // namespace

Pacer::Pacer(Bandwidth rate, Bytes unit, Instant start)
    : rate_(std::max<std::uint64_t>(rate.bytes_per_second, 1)),
      unit_(unit.count),
      cost_(unit.count * grids_in_a_second),
      due_(start) {}

Bytes Pacer::take(std::uint64_t steps) noexcept {
  credit_ += rate_ * steps;
  const auto units = credit_ / cost_;
  credit_ -= units * cost_;
  return {units * unit_};
}

Pacer::Burst Pacer::next(Instant now) noexcept {
  if (const auto late = now - max_behind - due_; late > Duration(0)) {
    const auto steps = (late + grid - Duration(1)) / grid;
    dropped_ += take(static_cast<std::uint64_t>(steps));
    due_ += steps * grid;
  }
  const auto steps = std::max<std::uint64_t>((cost_ - credit_ + rate_ - 1) / rate_, 1);
  const Instant due = due_ + static_cast<std::int64_t>(steps - 1) * grid;
  due_ = due + grid;
  return {due, take(steps)};
}

} // namespace rtexec::tasks
