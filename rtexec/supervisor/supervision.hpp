// What the supervisor decides: when the executive is started, with which set, when it is killed, and whether the
// hardware's watchdog may be fed. A state machine without a clock and without I/O.
//
// The executive sets up, runs and stops. Where it takes longer than its time, or is silent while it runs, it is killed;
// then, and where it ends unasked, it is started again.
//
// After three failures in a row the safe set takes the place of the task set; it does so at once where the task set is
// refused, or where three boots in a row failed or nobody can count them. After three failures of the safe set, too, it
// is given up: nobody feeds the watchdog, which resets the machine.
#pragma once

#include <rtexec/units.hpp>

#include <string_view>

namespace rtexec::supervisor {

struct Rules {
  Duration to_set_up = std::chrono::minutes(2); // at most, from start to ready
  Duration silence = std::chrono::seconds(10);  // at most, between two beats
  Duration to_stop = std::chrono::seconds(30);  // at most, until it has ended by itself
  Duration to_die = std::chrono::seconds(10);   // at most, after SIGKILL: the kernel may hold it
  Duration proof = std::chrono::seconds(60);    // so long it beats until it has proved itself
  Duration pause = std::chrono::seconds(1);     // before it is started again
  unsigned failures = 3;                        // in a row: of starts, and of boots
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

  /// `failed_boots`: in a row, before this one.
  Supervision(const Rules& rules, bool has_safe_set, unsigned failed_boots, Instant now);

  /// To be carried out at once; to be asked again after each event, and at wakes().
  [[nodiscard]] Action next(Instant now);
  /// What next() waits for, where nothing happens before.
  [[nodiscard]] Instant wakes() const;

  /// Before the first start: failed boots are not counted, and would never lead to the safe set.
  void distrust() { safe_ = has_safe_set_; }

  // Events.
  /// Lines from the executive, "NAME=VALUE".
  void hear(std::string_view lines, Instant now);
  /// Returns as what it is counted.
  Failure ended(const End& end, Instant now);
  void ask_to_stop() { asked_ = true; }

  /// It has ended as it should: nothing is left to be done.
  [[nodiscard]] bool over() const { return state_ == State::over; }
  [[nodiscard]] bool feeds() const { return state_ != State::given_up; }
  /// The task set, not the safe one, has run long enough. Once true, it stays.
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
  Instant since_;   // the state, or the last beat
  Instant ready_{}; // when it was
  bool safe_;       // the set of this start, or of the next one
  bool was_ready_ = false;
  bool silent_ = false;    // it was killed for that
  bool is_wanted_ = false; // its end, for which it was asked or its duration is over; no task and no fault ended it
  bool asked_ = false, told_to_stop_ = false;
  bool proved_ = false;
  unsigned failures_ = 0; // in a row, of this set
};

} // namespace rtexec::supervisor
