#include "rtexec/supervisor/supervision.hpp"

#include <utility>

namespace rtexec::supervisor {
namespace {

/// True if the executive ended in order: with exit code 0, or with 4 (deadlines were missed).
bool in_order(const End& end) { return !end.by_signal && (end.code == 0 || end.code == 4); }
/// True if the task set or its models are the cause, so that another start would end in the same way.
bool is_no_use(const End& end) { return !end.by_signal && (end.code == 2 || end.code == 3); }

bool says(std::string_view lines, std::string_view line) {
  while (!lines.empty()) {
    const auto end = lines.find('\n');
    if (lines.substr(0, end) == line) return true;
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
  return false;
}

} // namespace

Supervision::Supervision(const Rules& rules, bool has_safe_set, unsigned failed_boots, Instant now)
    : rules_(rules),
      has_safe_set_(has_safe_set),
      since_(now - rules.pause),
      safe_(has_safe_set && failed_boots >= rules.failures) {}

void Supervision::enter(State state, Instant now) {
  state_ = state;
  since_ = now;
}

Duration Supervision::allowed() const {
  switch (state_) {
  case State::starting: return rules_.pause;
  case State::setting_up: return rules_.to_set_up;
  case State::running: return rules_.silence;
  case State::stopping: return rules_.to_stop;
  case State::killed: return rules_.to_die;
  case State::over:
  case State::given_up: break;
  }
  return Duration::max();
}

Instant Supervision::wakes() const {
  const Duration most = allowed();
  return most == Duration::max() ? Instant::max() : since_ + most;
}

Supervision::Action Supervision::next(Instant now) {
  if (asked_ && !std::exchange(told_to_stop_, true)) {
    if (state_ == State::starting) return enter(State::over, now), Action::nothing;
    if (state_ == State::setting_up || state_ == State::running) return enter(State::stopping, now), Action::stop;
  }
  return now < wakes() ? Action::nothing : time_is_up(now);
}

Supervision::Action Supervision::time_is_up(Instant now) {
  if (state_ == State::starting) return start(now);
  if (state_ == State::killed) {
    enter(State::given_up, now);
    return Action::nothing;
  }
  silent_ = state_ == State::running;
  enter(State::killed, now);
  return Action::kill;
}

Supervision::Action Supervision::start(Instant now) {
  was_ready_ = silent_ = is_wanted_ = false;
  enter(State::setting_up, now);
  return safe_ ? Action::start_safe : Action::start;
}

void Supervision::hear(std::string_view lines, Instant now) {
  if (state_ == State::setting_up && says(lines, "READY=1")) {
    enter(State::running, now);
    ready_ = now;
    was_ready_ = true;
  }
  if (state_ != State::running) return;
  if (says(lines, "WATCHDOG=1")) since_ = now;
  if (now - ready_ >= rules_.proof) failures_ = 0;
  if (now - ready_ >= rules_.proof && !safe_) proved_ = true;
  if (!says(lines, "STOPPING=1")) return;
  enter(State::stopping, now);
  is_wanted_ = says(lines, "STATUS=Stopped by duration") || says(lines, "STATUS=Stopped by request");
}

Supervision::Failure Supervision::ended(const End& end, Instant now) {
  if (asked_ || (is_wanted_ && state_ == State::stopping && in_order(end))) {
    enter(State::over, now);
    return Failure::none;
  }
  fail(!was_ready_ && is_no_use(end));
  if (state_ != State::given_up) enter(State::starting, now);
  if (silent_) return Failure::silence;
  return was_ready_ ? Failure::death : Failure::refusal;
}

void Supervision::fail(bool for_good) {
  if (++failures_ < rules_.failures && !for_good) return;
  if (safe_ || !has_safe_set_) state_ = State::given_up;
  safe_ = has_safe_set_;
  failures_ = 0;
}

} // namespace rtexec::supervisor
