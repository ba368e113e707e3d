// Inequalities, blocking terms and conditions for a device that swaps, as functions of times and numbers of chunks.
// Tests, charges and searches use them. Formulas and proofs: proofs/serial-and-rt-swap.md, volumes.md. Allocates
// nothing.
#pragma once

#include "policies/exact_arithmetic.hpp"
#include "policies/scheduler/swap_rule.hpp"

#include <cstddef>
#include <limits>
#include <optional>

namespace rtexec::policies {

/// The times of one job, including all charges.
struct JobTimes {
  Nanos execution = 0; // C, the time of the execution
  Nanos in = 0;        // O_in, the time to load its chunks
  Nanos out = 0;       // O_out, the time to free the frames for its chunks
  bool swaps = false;
  /// Returns the time of the job if swap-out, swap-in and execution follow each other.
  [[nodiscard]] constexpr Nanos serial() const { return bounded(Wide{out} + in + execution); }
};

/// The two longest executions of a set, C_max1 and C_max2.
struct LongestExecutions {
  Nanos longest = 0;
  Nanos second = 0;
  constexpr void add(Nanos execution) {
    second = std::max(second, std::min(longest, execution));
    longest = std::max(longest, execution);
  }
  /// Returns the longest execution among the other tasks. `own`: the execution of the task that is left out.
  [[nodiscard]] constexpr Nanos other_than(Nanos own) const { return own == longest ? second : longest; }
  [[nodiscard]] constexpr Wide both() const { return Wide{longest} + second; }
};

// ---- blocking ----

/// Computes blocking: the time of work that began earlier and cannot be stopped. Valid for rules under which chunks do
/// not move during executions. All jobs must be added with add() before the blocking is computed.
class SwapBlocking {
 public:
  /// `uncharged`: the time of moves in a busy period that the charge of no job includes (SwapCharges::uncharged).
  constexpr SwapBlocking(SwapRule rule, Nanos uncharged) : rule_(rule), uncharged_(uncharged) {}
  constexpr void add(const JobTimes& job) {
    executions_.add(job.execution);
    swaps_ = swaps_ || job.swaps;
    longest_ = std::max(longest_, Wide{job.in} + job.execution);
  }
  /// Returns the blocking by one less urgent job. Under `serial` it is the larger of two times: the job's swap-out; and
  /// its execution plus the longer of its swap-in and the longest other execution. Under `rt_swap` it is 0, since
  /// once() includes this blocking.
  [[nodiscard]] constexpr Nanos by(const JobTimes& job) const {
    if (rule_ == SwapRule::rt_swap) return 0;
    if (!job.swaps) return job.execution;
    const Nanos beside = std::max(job.in, executions_.other_than(job.execution));
    return bounded(std::max<Wide>(job.out, Wide{beside} + job.execution));
  }
  /// Returns the blocking that counts in every interval, whichever jobs block. Under `rt_swap` it is the sum of
  /// `uncharged` and the larger of two times: the longest swap-in with execution of one job; and the two longest
  /// executions together. These times cover work in progress when a busy period begins. Under other rules the result is
  /// `uncharged`.
  [[nodiscard]] constexpr Nanos once() const {
    if (rule_ != SwapRule::rt_swap) return uncharged_;
    return bounded((swaps_ ? std::max(longest_, executions_.both()) : longest_) + uncharged_);
  }
  /// Returns the total blocking in an interval in which only `job` blocks.
  [[nodiscard]] constexpr Nanos all_by(const JobTimes& job) const { return bounded(Wide{by(job)} + once()); }

 private:
  SwapRule rule_;
  Nanos uncharged_;
  LongestExecutions executions_;
  Wide longest_ = 0; // the longest swap-in plus execution of one job
  bool swaps_ = false;
};

// ---- shares ----

/// Returns `work` as a share of `period`, in nanoseconds per second, rounded up.
[[nodiscard]] constexpr Nanos share_of(Wide work, Nanos period) {
  return bounded((work * second + period - 1) / period);
}

/// Returns the part of `period` that `share` (nanoseconds per second) represents, rounded down. `share` is the time of
/// the device that the demand of jobs leaves. `share` is negative if that demand exceeds the device's time; then the
/// result is negative too.
[[nodiscard]] constexpr Nanos time_in(Nanos share, Nanos period) {
  const Wide scaled = Wide{share} * period;
  return static_cast<Nanos>(std::max<Wide>(scaled < 0 ? (scaled - second + 1) / second : scaled / second, -unbounded));
}

/// The test of RT-Swap, Theorem 1 (Kang et al., RTSS 2023). Eq. (3): B_max / min T + sum of (O_out + O_in + C)/T <= 1.
/// Eq. (2): B_max = max(O_out, O_in + C, C_max1 + C_max2). B_max: the longest blocking; T: period; min T: the shortest
/// period; O_out, O_in, C: the times of JobTimes; C_max1, C_max2: the two longest executions.
class Theorem1 {
 public:
  constexpr void add(std::size_t task, const JobTimes& job, Nanos period, bool real_time) {
    executions_.add(job.execution);
    const Wide own = std::max<Wide>(job.out, Wide{job.in} + job.execution);
    if (own > blocking_) {
      blocking_ = own;
      blocker_ = task;
    }
    if (!real_time) return;
    jobs_ += share_of(Wide{job.out} + job.in + job.execution, period);
    if (period >= shortest_) return;
    shortest_ = period;
    limiting_ = task;
  }
  [[nodiscard]] constexpr Nanos shortest() const { return shortest_; } // min T: the shortest period
  /// Returns a task with the shortest period.
  [[nodiscard]] constexpr std::optional<std::size_t> limiting() const { return limiting_; }
  [[nodiscard]] constexpr Nanos executions() const { return bounded(executions_.both()); } // C_max1 + C_max2
  [[nodiscard]] constexpr Nanos blocking() const { return bounded(std::max(blocking_, executions_.both())); }
  /// Returns the task whose job causes the blocking B_max; nullopt: the two longest executions cause it.
  [[nodiscard]] constexpr std::optional<std::size_t> blocker() const {
    return executions_.both() > blocking_ ? std::nullopt : blocker_;
  }
  /// Returns the demand of jobs in min T, the shortest period.
  [[nodiscard]] constexpr Nanos demand() const { return bounded(jobs_ * shortest_ / second); }
  /// Returns the left side of Eq. (3) of RT-Swap (see the class comment), in nanoseconds per second.
  [[nodiscard]] constexpr Nanos left() const { return bounded(jobs_ + share_of(blocking(), shortest_)); }
  [[nodiscard]] constexpr bool holds() const { return left() <= second; }
  /// Returns the time in min T, the shortest period, that the demand of jobs leaves for blocking.
  [[nodiscard]] constexpr Nanos room() const { return time_in(second - bounded(jobs_), shortest_); }

 private:
  LongestExecutions executions_;
  Wide blocking_ = 0;
  Wide jobs_ = 0; // the sum of (O_out + O_in + C)/T over the real-time tasks, in ns per second
  Nanos shortest_ = longest_time;
  std::optional<std::size_t> limiting_, blocker_;
};

/// Returns the largest number x of chunks for which fixed + x per_chunk <= time.
[[nodiscard]] constexpr std::uint64_t chunks_within(Nanos time, Nanos fixed, Nanos per_chunk) {
  if (time < fixed) return 0;
  return per_chunk == 0 ? std::numeric_limits<std::uint32_t>::max()
                        : static_cast<std::uint64_t>((time - fixed) / per_chunk);
}

// ---- frames for a load during an execution ----

/// The two largest swap volumes of a set.
struct LargestVolumes {
  std::uint64_t largest = 0;
  std::uint64_t second = 0;
  constexpr void add(std::uint64_t volume) {
    second = std::max(second, std::min(largest, volume));
    largest = std::max(largest, volume);
  }
  /// Returns the largest swap volume among the other tasks. `own`: the swap volume of the task that is left out.
  [[nodiscard]] constexpr std::uint64_t other_than(std::uint64_t own) const {
    return own == largest ? second : largest;
  }
};

/// Returns the longest time by which the execution of a job delays a concurrent load. The frames (physical chunks) of
/// that job become free only at its end. `own`: the number of chunks of the job, at most `frames`. `others`: the
/// largest number of chunks of a concurrent load. `alpha`: the time that each chunk adds to a load.
[[nodiscard]] constexpr Nanos load_delay(Nanos execution, std::uint64_t own, std::uint64_t others, std::uint64_t frames,
                                         Nanos alpha) {
  if (own == 0 || own + others <= frames) return 0;
  return static_cast<Nanos>(std::max<Wide>(Wide{execution} - Wide{alpha} * (frames - own), 0));
}

/// Returns the number of frames whose load takes at least as long as the execution of a job: ceil(execution / alpha).
/// `alpha`: the time that each chunk adds to a load. The result may exceed the number of frames of the device.
[[nodiscard]] constexpr std::uint64_t frames_loaded_in(Nanos execution, Nanos alpha) {
  if (execution == 0) return 0;
  if (alpha == 0) return std::numeric_limits<std::uint32_t>::max();
  return (static_cast<std::uint64_t>(execution) + static_cast<std::uint64_t>(alpha) - 1) /
         static_cast<std::uint64_t>(alpha);
}

/// Checks condition (M) of proofs/volumes.md: for each task k that swaps, x_k + the largest swap volume of another task
/// <= F, or C_k <= alpha (F - x_k). If (M) holds, no job delays a concurrent load. x_k is the swap volume of task k
/// (its number of swapped chunks), F the number of frames, C_k the execution, and alpha the time that each chunk adds
/// to a load. `volume(k)` must return x_k; `beside(k)` must return ceil(C_k / alpha). Returns the first k for which (M)
/// fails, or nullopt.
[[nodiscard]] constexpr std::optional<std::size_t> without_load_room(std::size_t tasks, std::uint64_t frames,
                                                                     const auto& volume, const auto& beside) {
  LargestVolumes volumes;
  for (std::size_t k = 0; k < tasks; ++k) volumes.add(volume(k));
  for (std::size_t k = 0; k < tasks; ++k) {
    const std::uint64_t own = volume(k);
    if (own > 0 && own + volumes.other_than(own) > frames && own + beside(k) > frames) return k;
  }
  return std::nullopt;
}

/// Returns the largest swap volume with which a task meets condition (M) of without_load_room(), if no other task's
/// volume exceeds `highest`. `beside`: ceil(C / alpha), where C is the execution of the task and alpha the time that
/// each chunk adds to a load.
[[nodiscard]] constexpr std::uint64_t max_with_load_room(std::uint64_t frames, std::uint64_t highest,
                                                         std::uint64_t beside) {
  return frames - std::min({frames, beside, highest});
}

} // namespace rtexec::policies
