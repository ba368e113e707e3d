// The supervisor's decisions: when to start the executive and with which task set, when to kill it, and when to feed
// the hardware watchdog. A state machine without a clock and without I/O.
//
// The executive sets up, runs and stops. The supervisor kills the executive if set-up or stopping takes too long, or if
// heartbeats stop during the run. The supervisor restarts the executive after a kill, and after an end that nobody
// requested.
//
// The safe set is an alternative task set. The safe set replaces the task set after three consecutive failures. The
// safe set replaces the task set at once if the task set is refused, if three consecutive boots failed, or if failed
// boots cannot be counted. After three failures of the safe set, the supervisor gives up. It then stops feeding the
// watchdog, and the watchdog resets the machine.
#pragma once

#include <rtexec/units.hpp>

#include <string_view>

namespace rtexec::supervisor {

struct Rules {
  Duration to_set_up = std::chrono::minutes(2); // maximum time from start to ready
  Duration silence = std::chrono::seconds(10);  // maximum time between two heartbeats
  Duration to_stop = std::chrono::seconds(30);  // maximum time to end after a request
  Duration to_die = std::chrono::seconds(10);   // maximum time to end after SIGKILL, if the kernel delays the end
  Duration proof = std::chrono::seconds(60);    // a run with heartbeats is a success after this time
  Duration pause = std::chrono::seconds(1);     // pause before the next start
  unsigned failures = 3;                        // consecutive failed starts, or boots, that lead to the safe set
};

/// How the executive ended: with an exit code, or by a signal.
struct End {
  int code = 0;
  bool by_signal = false;
};

class Supervision {
 public:
  enum class Action { nothing, start, start_safe, stop, kill };
  enum class Failure { none, refusal, death, silence };

  /// `failed_boots` is the number of consecutive failed boots before this boot.
  Supervision(const Rules& rules, bool has_safe_set, unsigned failed_boots, Instant now);

  /// Returns the action to execute now. Must be called after each event, and at the time that wakes() returns.
  [[nodiscard]] Action next(Instant now);
  /// Returns the time at which next() must be called if no event comes earlier.
  [[nodiscard]] Instant wakes() const;

  /// Uses the safe set from the first start. Needed on machines that cannot count failed boots. On these machines,
  /// failed boots would otherwise never lead to the safe set. Must be called before the first start.
  void distrust() { safe_ = has_safe_set_; }

  // ---- events ----
  /// Handles lines "NAME=VALUE" that the executive sent.
  void hear(std::string_view lines, Instant now);
  /// Handles the end of the executive. Returns the kind of failure, or `none`.
  Failure ended(const End& end, Instant now);
  void ask_to_stop() { asked_ = true; }

  /// True if the executive has ended as intended, so that the supervisor can end too.
  [[nodiscard]] bool over() const { return state_ == State::over; }
  [[nodiscard]] bool feeds() const { return state_ != State::given_up; }
  /// True if the task set (not the safe set) has once run long enough to count as a success. Remains true.
  [[nodiscard]] bool proved() const { return proved_; }
  [[nodiscard]] bool asked_to_stop() const { return asked_; }

 private:
  enum class State { starting, setting_up, running, stopping, killed, over, given_up };
  void enter(State state, Instant now);
  void fail(bool for_good);
  [[nodiscard]] Duration allowed() const;
  [[nodiscard]] Action start(Instant now);
  [[nodiscard]] Action time_is_up(Instant now);

  const Rules rules_;
  const bool has_safe_set_;
  State state_ = State::starting;
  Instant since_;   // begin of the state, or time of the last heartbeat
  Instant ready_{}; // when the executive became ready
  bool safe_;       // true: the present or next start uses the safe set
  bool was_ready_ = false;
  bool silent_ = false;    // true: the executive was killed because its heartbeats stopped
  bool is_wanted_ = false; // true: the executive's end was requested or due, and not caused by a task or a fault
  bool asked_ = false, told_to_stop_ = false;
  bool proved_ = false;
  unsigned failures_ = 0; // consecutive failures with the present task set or safe set
};

} // namespace rtexec::supervisor
