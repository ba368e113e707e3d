#include "policies/overrun_handler.hpp"

namespace rtexec::policies {

using Kind = ReleaseDecision::Kind;

OverrunHandler::OverrunHandler(OnOverrun policy, Duration period, Instant first_release)
    : policy_(policy), period_(period), next_(first_release) {}

ReleaseDecision OverrunHandler::at_release(bool outstanding) noexcept {
  if (!outstanding) return start();
  switch (policy_) {
  case OnOverrun::skip: return skip();
  case OnOverrun::catch_up:
  case OnOverrun::re_phase: return {Kind::wait, jobs_, next_};
  case OnOverrun::abort_job: return {Kind::abort_and_wait, jobs_ - 1, next_};
  case OnOverrun::stop: break;
  }
  return {Kind::stop, jobs_, next_};
}

ReleaseDecision OverrunHandler::after_wait(Instant now) noexcept {
  if (policy_ == OnOverrun::re_phase) next_ = now;
  if (policy_ == OnOverrun::abort_job)
    while (next_ + period_ <= now) skip();
  return start();
}

ReleaseDecision OverrunHandler::start() noexcept {
  const ReleaseDecision decision{Kind::start, jobs_++, next_};
  next_ += period_;
  return decision;
}

ReleaseDecision OverrunHandler::skip() noexcept {
  const ReleaseDecision decision{Kind::skip, jobs_, next_};
  next_ += period_;
  ++skipped_;
  return decision;
}

} // namespace rtexec::policies
