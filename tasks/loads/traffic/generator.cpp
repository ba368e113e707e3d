#include "tasks/loads/traffic/generator.hpp"

#include "tasks/loads/traffic/pacer.hpp"

#include <algorithm>

namespace rtexec::tasks {
namespace {

constexpr std::uint64_t piece = 64 << 10;

/// A run of a generator, in steps of about 64 KiB. The object holds the state that paced and unpaced runs have in
/// common.
class Run {
 public:
  Run(Generator& generator, const Course& course, const Clock& clock)
      : generator_(generator),
        course_(course),
        clock_(clock),
        piece_{std::max(piece / generator.unit().count, std::uint64_t{1}) * generator.unit().count} {}

  Traffic greedily() noexcept {
    while (goes_on()) move(piece_);
    return done();
  }

  Traffic paced(Bandwidth rate) noexcept {
    Pacer pacer(rate, generator_.unit(), start_);
    Pacer::Burst burst{start_, {}};
    while (goes_on()) {
      if (burst.size == Bytes{0}) {
        burst = pacer.next(now_);
        note_dropped(pacer.dropped());
      }
      if (burst.due > now_) {
        clock_.sleep_until(clock_.self, std::min(burst.due, course_.until));
        continue;
      }
      const auto part = std::min(burst.size, piece_);
      move(part);
      burst.size = burst.size - part;
    }
    return done();
  }

 private:
  bool goes_on() noexcept {
    now_ = clock_.now(clock_.self);
    return !traffic_.failed && now_ < course_.until && !(course_.stop && course_.stop->load(std::memory_order_relaxed));
  }

  void move(Bytes bytes) noexcept {
    const auto moved = generator_.run(bytes);
    traffic_.failed = moved < bytes;
    traffic_.moved += moved;
    if (course_.moved) course_.moved->store(traffic_.moved.count, std::memory_order_relaxed);
  }

  void note_dropped(Bytes dropped) noexcept {
    traffic_.dropped = dropped;
    if (course_.dropped) course_.dropped->store(dropped.count, std::memory_order_relaxed);
  }

  Traffic done() noexcept {
    traffic_.elapsed = clock_.now(clock_.self) - start_;
    return traffic_;
  }

  Generator& generator_;
  const Course& course_;
  const Clock& clock_;
  Bytes piece_;
  Instant start_ = clock_.now(clock_.self);
  Instant now_ = start_;
  Traffic traffic_;
};

} // namespace

Bandwidth Traffic::bandwidth() const {
  if (elapsed <= Duration(0)) return {};
  const auto seconds = std::chrono::duration<double>(elapsed).count();
  return {static_cast<std::uint64_t>(static_cast<double>(moved.count) / seconds)};
}

Traffic run_course(Generator& generator, const Course& course, const Clock& clock) noexcept {
  Run run(generator, course, clock);
  return course.rate ? run.paced(*course.rate) : run.greedily();
}

} // namespace rtexec::tasks
