#include "policies/scheduler/release_grid.hpp"

namespace rtexec::policies {

using Kind = ReleaseDecision::Kind;

ReleaseGrid::ReleaseGrid(OnOverrun policy, Duration period, Instant first_release, OnWcetExceeded on_wcet_exceeded)
    : policy_(policy), on_wcet_exceeded_(on_wcet_exceeded), period_(period), next_(first_release) {}

ReleaseDecision ReleaseGrid::at_release(bool outstanding, bool exceeded) noexcept {
  if (!outstanding) return proceed(exceeded);
  switch (policy_) {
  case OnOverrun::skip: return skip(ReleaseReason::overrun);
  case OnOverrun::catch_up:
  case OnOverrun::re_phase: return {Kind::wait, jobs_, next_};
  case OnOverrun::abort_job: return {Kind::abort_and_wait, jobs_ - 1, next_};
  case OnOverrun::stop: break;
  }
  return {Kind::stop, jobs_, next_};
}

ReleaseDecision ReleaseGrid::after_wait(Instant now, bool exceeded) noexcept {
  if (policy_ == OnOverrun::re_phase) next_ = now;
  if (policy_ == OnOverrun::abort_job)
    while (next_ + period_ <= now) skip(ReleaseReason::overrun);
  return proceed(exceeded);
}

ReleaseDecision ReleaseGrid::proceed(bool exceeded) noexcept {
  if (exceeded && !dropped_ && on_wcet_exceeded_ == OnWcetExceeded::skip_next)
    return skip(ReleaseReason::wcet_exceeded);
  return start();
}

ReleaseDecision ReleaseGrid::drop() noexcept {
  --jobs_;
  next_ -= period_;
  return skip(ReleaseReason::stale);
}

ReleaseDecision ReleaseGrid::start() noexcept {
  const ReleaseDecision decision{Kind::start, jobs_++, next_};
  next_ += period_;
  dropped_ = false;
  return decision;
}

ReleaseDecision ReleaseGrid::skip(ReleaseReason reason) noexcept {
  const ReleaseDecision decision{Kind::skip, jobs_, next_, reason};
  next_ += period_;
  ++skipped_;
  dropped_ = true;
  return decision;
}

} // namespace rtexec::policies
