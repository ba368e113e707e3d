#include "rtexec/sharing/client/jobs.hpp"

namespace rtexec::client {

using protocol::EntryKind;
using protocol::Verdict;

Grant Jobs::begin() noexcept {
  for (;;) {
    const std::uint32_t seen = changed_.value();
    if (lost_.load(std::memory_order_acquire)) return Grant::lost;
    Phase phase = phase_.load(std::memory_order_acquire);
    if (phase == Phase::granted) return Grant::granted;
    if (phase == Phase::asked) { // another thread is requesting or ending the job
      changed_.wait(seen);
      continue;
    }
    if (!phase_.compare_exchange_strong(phase, Phase::asked, std::memory_order_acq_rel)) continue;
    const std::uint64_t job = last_.fetch_add(1, std::memory_order_relaxed) + 1;
    const bool sent = outbox_.send({.kind = static_cast<std::uint16_t>(EntryKind::request), .job = job});
    const Grant grant = sent ? wait(job) : Grant::lost;
    phase_.store(grant == Grant::granted ? Phase::granted : Phase::none, std::memory_order_release);
    changed_.raise();
    return grant;
  }
}

Grant Jobs::wait(std::uint64_t job) noexcept {
  const Instant sleeps_from = hal::now() + spin_;
  for (;;) {
    const std::uint32_t seen = state_.bell.value();
    if (const protocol::JobVerdict verdict = state_.job(); verdict.job == job && verdict.verdict != Verdict::waiting)
      return verdict.verdict == Verdict::granted ? Grant::granted : Grant::failed;
    if (lost_.load(std::memory_order_acquire)) return Grant::lost;
    if (hal::now() < sleeps_from) hal::pause_core();
    else state_.bell.wait_until(seen, hal::now() + look);
  }
}

Grant Jobs::resume() noexcept {
  const Grant grant = wait(last());
  if (grant != Grant::granted) phase_.store(Phase::none, std::memory_order_release);
  changed_.raise();
  return grant;
}

void Jobs::end() noexcept {
  Phase phase = Phase::granted;
  if (!phase_.compare_exchange_strong(phase, Phase::asked, std::memory_order_acq_rel)) return;
  static_cast<void>(outbox_.send({.kind = static_cast<std::uint16_t>(EntryKind::done), .job = last()}));
  // The phase changes only after sending, so that a later request follows `done` in the ring.
  phase_.store(Phase::none, std::memory_order_release);
  changed_.raise();
}

} // namespace rtexec::client
