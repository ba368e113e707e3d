#include "rtexec/runtime/executive/release_wait.hpp"

#include <algorithm>

namespace rtexec::executive {

std::optional<Instant> ReleaseWait::for_start() noexcept {
  constexpr Duration shortest = std::chrono::milliseconds(10);
  for (;;) {
    const std::uint32_t seen = control_.started.value();
    if (control_.stopping.load()) return std::nullopt;
    if (const auto start = control_.start.load(std::memory_order_acquire)) return Instant(Duration(start));
    const bool again = io_.keep_up();
    if (again) waits_.wait_until(control_.started, seen, hal::now() + std::max(task_.period, shortest));
    else waits_.wait(control_.started, seen);
  }
}

bool ReleaseWait::for_release(policies::ReleaseGrid& grid) noexcept {
  return gate_ ? for_trigger(grid) : until(grid.next());
}

/// Waits for the next trigger. Pending triggers coalesce into one job, which reads the newest sample. If the source of
/// the inputs has failed, a job is released in each period, so that the failure is reported.
bool ReleaseWait::for_trigger(policies::ReleaseGrid& grid) noexcept {
  for (;;) {
    const std::uint32_t seen = handshake_.for_release.value();
    if (control_.stopping.load()) return false;
    Instant first{};
    for (std::uint64_t more = triggers_.take(first); more > 0; --more) gate_->trigger(first);
    statistics_.dropped_triggers(gate_->dropped() + (task_.trigger == Trigger::input ? io_.passed_over() : 0));
    if (const auto next = gate_->next()) {
      const Instant release = std::max(*next, grid.next());
      if (hal::now() >= release) return grid.postpone(release), true;
      waits_.wait_until(handshake_.for_release, seen, release);
    } else if (task_.trigger == Trigger::input) {
      if (const auto fresh = waits_.wait_elsewhere([this] { return io_.await(); }); !fresh || *fresh)
        gate_->trigger(hal::now());
    } else {
      waits_.wait(handshake_.for_release, seen);
    }
  }
}

bool ReleaseWait::until(Instant when) noexcept {
  for (;;) {
    const std::uint32_t seen = handshake_.for_release.value();
    if (control_.stopping.load()) return false;
    if (hal::now() >= when) return true;
    waits_.wait_until(handshake_.for_release, seen, when);
  }
}

/// Waits until `done` returns true. Looks again after each signal of the job handshake.
template <class Done> void ReleaseWait::until_true(Done done) noexcept {
  for (;;) {
    const std::uint32_t seen = handshake_.for_release.value();
    if (done()) return;
    waits_.wait(handshake_.for_release, seen);
  }
}

bool ReleaseWait::for_job_end() noexcept {
  until_true([this] { return !handshake_.outstanding() || control_.stopping.load(); });
  return !handshake_.outstanding();
}

void ReleaseWait::for_stop() noexcept {
  until_true([this] { return control_.stopping.load(); });
}

void ReleaseWait::for_last_job_end() noexcept {
  until_true([this] { return !handshake_.outstanding(); });
}

void ReleaseWait::trigger(Instant at) noexcept {
  triggers_.add(at);
  handshake_.for_release.raise();
}

} // namespace rtexec::executive
