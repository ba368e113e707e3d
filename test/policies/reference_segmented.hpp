// A second implementation of the schedulability tests of the rule `segmented`, straight from the formulas and for small
// numbers. Switches break it on purpose. Unbroken the search for misses must not refute it; broken it must.
#pragma once

#include "test/policies/segmented_set.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace rtexec::test {

struct SegmentedFaults {
  bool top_class_below = false; // top-class jobs wait for no segment of a level
  bool top_class_later = false; // top-class jobs do not wait for a segment of a later or less urgent top-class job
  bool launch_ahead = false;    // a job yields after every segment, committed or not
  bool committed_tail = false;  // segments that may be committed with the last one count as preemptible
  bool level_below = false;     // a level waits for no segment below
  bool flight_below = false;    // a level does not wait for chunks in flight below
  bool above_due = false;       // jobs above count only if they are due in the interval
  bool above_jitter = false;    // jobs above have no jitter
  bool top_class_above = false; // top-class jobs cost the levels nothing
  bool load_above = false;      // a job above costs no load
  bool run_above = false;       // a job above does not wait for a segment below
  bool flight_above = false;    // a job above does not wait for chunks in flight
  bool restore = false;         // a job above does not make others reload evicted chunks
  bool restore_once = false;    // only one level reloads
  bool restore_start = false;   // reloading has no fixed costs
  bool delay = false;           // every load proceeds as if it had free frames
  bool staged_load = false;     // the job staged when a busy period begins has finished its load
  bool running_job = false;     // the job executing when a busy period begins costs nothing
  // The job executing when a busy period begins is never of a due task, even if several tasks are due.
  bool rests = false;
  bool pairing = false; // every job costs max(C, o)
  bool bypass = false;  // a bypassing job costs only its execution
  bool closed = false;  // jobs requested at the same instant do not go first
};

namespace segmented {

using Time = long long;

inline Time over(Time a, Time b) { return std::max<Time>(a - b, 0); }
inline Time ceiling(Time a, Time b) { return (a + b - 1) / b; }

struct Part {
  Time T, d, J, C, o, delay, run, last, restore;
  unsigned level;
};

constexpr Time never = 1'000'000'000;

class Reference {
 public:
  Reference(const CutSet& set, const SegmentedFaults& faults) : set_(set), faults_(faults) {
    const bool two = set.copy_engines > 1;
    const Time alpha = two ? std::max(set.in, set.out) : set.in + set.out;
    const Time beta = two ? std::min(set.in, set.out) : 0;
    const auto swapping = std::ranges::count_if(set.tasks, [](const CutTask& task) { return task.chunks > 0; });
    const auto start = [&](Time x) { return set.in_fixed + std::min<Time>(x, swapping - 1) * set.out_fixed + beta; };
    Time most = 0;
    for (const CutTask& task : set.tasks) most = std::max<Time>(most, task.chunks);
    const Time at_once = two ? 3 : 1;
    flight_ = at_once * std::max(set.in_fixed + set.in, set.out_fixed + set.out);
    for (const CutTask& task : set.tasks) {
      Part part{.T = task.period,
                .d = task.deadline,
                .J = task.jitter,
                .C = 0,
                .o = 0,
                .delay = 0,
                .run = 0,
                .last = 0,
                .restore = 0,
                .level = task.device_class};
      const Time x = task.chunks;
      for (const Time segment : task.segments) part.C += segment;
      for (std::size_t first = 0; first < task.segments.size(); ++first) {
        Time run = 0;
        for (std::size_t k = first; k < std::min(task.segments.size(), first + 1 + ahead(faults.launch_ahead)); ++k)
          run += task.segments[k];
        part.run = std::max(part.run, run);
      }
      for (std::size_t k = 0; k < std::min(task.segments.size(), 1 + ahead(!faults.committed_tail)); ++k)
        part.last += task.segments[task.segments.size() - 1 - k];
      if (x > 0) {
        part.o = std::max<Time>(1, start(x) + alpha * x);
        part.restore = faults.restore ? 0 : alpha * x + (faults.restore_start ? 0 : 2 * start(most));
        Time other = 0;
        for (const CutTask& each : set.tasks)
          if (&each != &task && each.device_class == task.device_class) other = std::max<Time>(other, each.chunks);
        if (x + other > set.frames && !faults.delay) part.delay = over(part.C, alpha * (set.frames - x));
      }
      parts_.push_back(part);
    }
    for (unsigned level = 0; level <= last_level(); ++level) {
      std::vector<std::size_t>& own = levels_.emplace_back();
      for (std::size_t i = 0; i < parts_.size(); ++i)
        if (parts_[i].level == level) own.push_back(i);
      lambdas_.push_back(lambdas_of(level));
    }
  }

  std::optional<std::vector<Time>> edf() const {
    std::vector<Time> bounds(parts_.size());
    for (unsigned level = 0; level <= last_level(); ++level) {
      const std::vector<std::size_t>& own = of_level(level);
      if (own.empty()) continue;
      const auto lengths = lengths_of(level);
      if (!lengths) return std::nullopt;
      const Time busy = busiest(level);
      std::vector<Time> slack(parts_.size(), never);
      for (const Time L : *lengths) {
        Time t = std::min(done(level, L), busy);
        if (t > L) return std::nullopt;
        for (const std::size_t i : own)
          if (parts_[i].d <= L) slack[i] = std::min(slack[i], L - t);
      }
      for (const std::size_t i : own) bounds[i] = parts_[i].J + parts_[i].d - slack[i];
    }
    return bounds;
  }

  std::optional<std::vector<Time>> fixed() const {
    std::vector<Time> bounds;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      std::optional<Time> least;
      for (const Time lambda : lambdas(parts_[i].level))
        if (const auto found = response(i, lambda)) least = std::min(least.value_or(*found), *found);
      if (!least) return std::nullopt;
      bounds.push_back(*least);
    }
    return bounds;
  }

 private:
  [[nodiscard]] std::size_t ahead(bool ignored) const { return ignored ? 0 : set_.launch_ahead; }

  // ---- charges ----

  [[nodiscard]] unsigned last_level() const { return std::ranges::max(parts_, {}, &Part::level).level; }
  [[nodiscard]] const std::vector<std::size_t>& of_level(unsigned level) const { return levels_[level]; }
  [[nodiscard]] Time run_below(unsigned level) const {
    Time run = 0;
    for (const Part& part : parts_)
      if (part.level > level) run = std::max(run, part.run);
    return run;
  }
  [[nodiscard]] Time flight_below(unsigned level) const {
    for (const Part& part : parts_)
      if (part.level > level && part.o > 0) return flight_;
    return 0;
  }
  /// Returns w_u.
  [[nodiscard]] Time hold(const Part& u, unsigned level) const {
    if (u.level == 0) return faults_.top_class_above ? 0 : u.C;
    return u.C + (faults_.load_above ? 0 : u.o) + (faults_.run_above ? 0 : run_below(u.level)) +
           (faults_.flight_above ? 0 : flight_below(u.level)) +
           u.restore * (faults_.restore_once ? 1 : level - u.level);
  }
  [[nodiscard]] Time above(unsigned level, Time t) const {
    Time sum = 0;
    for (const Part& u : parts_) {
      if (u.level >= level) continue;
      const Time jobs =
          faults_.above_due ? (t < u.d ? 0 : (t - u.d) / u.T + 1) : ceiling(t + (faults_.above_jitter ? 0 : u.J), u.T);
      sum += jobs * hold(u, level);
    }
    return sum;
  }

  [[nodiscard]] const std::vector<Time>& lambdas(unsigned level) const { return lambdas_[level]; }
  [[nodiscard]] std::vector<Time> lambdas_of(unsigned level) const {
    std::vector<Time> list{0};
    Time longest = 0;
    for (const std::size_t i : of_level(level)) longest = std::max(longest, parts_[i].C);
    for (const std::size_t i : of_level(level)) {
      list.push_back(parts_[i].C - parts_[i].delay);
      if (parts_[i].o <= longest) list.push_back(parts_[i].o);
    }
    std::ranges::sort(list);
    list.erase(std::ranges::unique(list).begin(), list.end());
    return list;
  }
  [[nodiscard]] static Time p(const Part& part, Time lambda) { return part.delay + over(part.C - part.delay, lambda); }
  [[nodiscard]] static Time q(const Part& part, Time lambda) { return over(part.o, lambda); }
  [[nodiscard]] Time e(const Part& part, Time lambda) const {
    if (faults_.pairing) return std::max(part.C, part.o);
    if (faults_.bypass && part.o == 0) return part.C;
    return lambda + p(part, lambda) + q(part, lambda);
  }
  /// Returns B. Its b is a task for which `later` holds, or absent. Its a is any task except one for which alone `in`
  /// holds.
  [[nodiscard]] Time blocking(unsigned level, Time lambda, auto later, auto in) const {
    const Time g = faults_.level_below ? 0 : run_below(level);
    const bool one = std::ranges::count_if(of_level(level), in) == 1 || faults_.rests;
    Time most = g;
    for (const std::size_t a : of_level(level))
      if (!faults_.running_job && !(one && in(a))) most = std::max(most, p(parts_[a], lambda));
    for (const std::size_t b : of_level(level)) {
      if (!later(b)) continue;
      Time before = g + lambda;
      for (const std::size_t a : of_level(level))
        if (a != b && !faults_.running_job && !(one && in(a))) before = std::max(before, lambda + p(parts_[a], lambda));
      if (faults_.running_job) before = g;
      most = std::max(most, before + p(parts_[b], lambda) + (faults_.staged_load ? 0 : q(parts_[b], lambda)));
    }
    return most + (faults_.flight_below ? 0 : flight_below(level));
  }

  // ---- EDF ----

  [[nodiscard]] static Time jobs_due(const Part& part, Time L) { return L < part.d ? 0 : (L - part.d) / part.T + 1; }

  [[nodiscard]] Time demanded(unsigned level, Time L) const {
    Time alone = 0, later = level == 0 ? top_class_blocking() : faults_.level_below ? 0 : run_below(level);
    bool swaps = false;
    for (const std::size_t i : of_level(level)) {
      const Part& part = parts_[i];
      alone += jobs_due(part, L) * part.C;
      if (part.d <= L) swaps = swaps || part.o > 0;
      else if (level > 0) later = std::max(later, part.C);
      else if (!faults_.top_class_later) later = std::max(later, part.run);
    }
    if (!swaps) return alone + later;
    Time least = never;
    for (const Time lambda : lambdas(level)) {
      Time sum = blocking(
          level, lambda, [&](std::size_t b) { return parts_[b].d > L; },
          [&](std::size_t i) { return parts_[i].d <= L; });
      Time last = 0;
      for (const std::size_t i : of_level(level)) {
        sum += jobs_due(parts_[i], L) * e(parts_[i], lambda);
        if (parts_[i].d <= L) last = std::max(last, parts_[i].C - p(parts_[i], lambda));
      }
      least = std::min(least, sum + last);
    }
    return least;
  }
  [[nodiscard]] Time top_class_blocking() const { return faults_.top_class_below ? 0 : run_below(0); }
  /// Returns the least t with h + A(t) <= t. A result above L means later than L.
  [[nodiscard]] Time done(unsigned level, Time L) const {
    const Time h = demanded(level, L);
    for (Time t = h;;) {
      const Time next = h + above(level, t);
      if (next == t || t > L) return t;
      t = next;
    }
  }
  [[nodiscard]] bool loads(unsigned level) const {
    return std::ranges::any_of(of_level(level), [&](std::size_t i) { return parts_[i].o > 0; });
  }
  struct Rate {
    double use = 0;  // per unit of time
    double once = 0; // independent of the length
  };
  /// Returns the rate of work in an interval in which all tasks are due.
  [[nodiscard]] Rate rate(unsigned level, Time lambda) const {
    Rate rate;
    const bool swaps = loads(level);
    Time last = 0;
    for (const std::size_t i : of_level(level)) {
      const Part& part = parts_[i];
      const Time cost = swaps ? e(part, lambda) : part.C;
      rate.use += static_cast<double>(cost) / static_cast<double>(part.T);
      rate.once += static_cast<double>(cost * (part.T - part.d)) / static_cast<double>(part.T);
      last = std::max(last, swaps ? part.C - p(part, lambda) : 0);
    }
    rate.once += static_cast<double>(last + blocked(level, lambda));
    for (const Part& u : parts_) {
      if (u.level >= level) continue;
      const auto cost = static_cast<double>(hold(u, level));
      rate.use += cost / static_cast<double>(u.T);
      rate.once += cost * (1 + static_cast<double>(u.J) / static_cast<double>(u.T));
    }
    return rate;
  }
  /// Returns the blocking by tasks that are never due in the interval.
  [[nodiscard]] Time blocked(unsigned level, Time lambda) const {
    if (level == 0) return top_class_blocking();
    if (!loads(level)) return faults_.level_below ? 0 : run_below(level);
    return blocking(
        level, lambda, [](std::size_t) { return false; }, [](std::size_t) { return true; });
  }

  /// Returns all interval lengths L to test, or nullopt if the device is overloaded.
  [[nodiscard]] std::optional<std::vector<Time>> lengths_of(unsigned level) const {
    Time longest = 0;
    for (const std::size_t i : of_level(level)) longest = std::max(longest, parts_[i].d);
    std::optional<double> least;
    for (const Time lambda : lambdas(level))
      if (const Rate found = rate(level, lambda); found.use < 0.9999) {
        // Beyond this length no slack is less than `longest`.
        const double end = (found.once + static_cast<double>(longest)) / (1 - found.use);
        least = std::min(least.value_or(end), end);
      }
    if (!least) return std::nullopt;
    // No t exceeds the longest busy period.
    const Time end = longest + std::min(static_cast<Time>(*least), busiest(level));
    std::vector<Time> list;
    for (const std::size_t i : of_level(level))
      for (Time L = parts_[i].d; L <= end; L += parts_[i].T) list.push_back(L);
    return list;
  }

  /// Returns the longest busy period, for the lambda that gives the smallest one.
  [[nodiscard]] Time busiest(unsigned level) const {
    const bool swaps = loads(level);
    std::optional<Time> best;
    double least = 0;
    for (const Time lambda : lambdas(level)) {
      const double use = rate(level, lambda).use;
      if (use < 0.9999 && (!best || use < least - 1e-12)) {
        best = lambda;
        least = use;
      }
    }
    if (!best) return never;
    Time last = 0;
    for (const std::size_t i : of_level(level)) last = std::max(last, swaps ? parts_[i].C - p(parts_[i], *best) : 0);
    Time length = 1;
    for (;;) {
      Time next = blocked(level, *best) + above(level, length + last);
      for (const std::size_t i : of_level(level))
        next += ceiling(length + parts_[i].J, parts_[i].T) * (swaps ? e(parts_[i], *best) : parts_[i].C);
      if (next <= length) return length + last;
      length = next;
    }
  }

  // ---- static priority ----

  [[nodiscard]] Time jobs_until(const Part& part, Time start) const {
    return faults_.closed ? ceiling(start + part.J, part.T) : (start + part.J) / part.T + 1;
  }
  [[nodiscard]] Time above_until(unsigned level, Time start) const {
    Time sum = 0;
    for (const Part& u : parts_)
      if (u.level < level) sum += ((start + (faults_.above_jitter ? 0 : u.J)) / u.T + 1) * hold(u, level);
    return sum;
  }

  /// Returns R_i, or nullopt if it exceeds d.
  [[nodiscard]] std::optional<Time> response(std::size_t i, Time lambda) const {
    const Part& own = parts_[i];
    const std::vector<std::size_t>& level = of_level(own.level);
    bool swaps = false;
    for (const std::size_t j : level) swaps = swaps || (j <= i && parts_[j].o > 0);
    const auto cost = [&](std::size_t j) { return swaps ? e(parts_[j], lambda) : parts_[j].C; };
    Time blocked = 0;
    if (swaps)
      blocked = blocking(
          own.level, lambda, [&](std::size_t b) { return b > i; }, [&](std::size_t) { return level.size() == 1; });
    else if (own.level == 0) {
      blocked = top_class_blocking();
      for (const std::size_t j : level)
        if (j > i && !faults_.top_class_later) blocked = std::max(blocked, parts_[j].run);
    } else {
      blocked = faults_.level_below ? 0 : run_below(own.level);
      for (const std::size_t j : level)
        if (j > i) blocked = std::max(blocked, parts_[j].C);
    }
    const Time lead = own.level == 0 ? own.C - own.last : swaps ? lambda + q(own, lambda) : 0;
    const Time body = own.level == 0 ? 0 : own.C - own.last;
    Time most = 0;
    for (Time job = 0;; ++job) {
      Time start = 0;
      Time urgent = 0;
      for (Time before = -1; before != start;) {
        before = start;
        urgent = 0;
        for (const std::size_t j : level)
          if (j < i) urgent += jobs_until(parts_[j], before) * cost(j);
        start = blocked + job * cost(i) + lead + urgent + above_until(own.level, before);
        if (start > (job + 2) * own.T) return std::nullopt;
      }
      Time last = start;
      for (Time before = -1; before != last;) {
        before = last;
        last = blocked + job * cost(i) + lead + urgent + body + above_until(own.level, before);
        if (last > (job + 2) * own.T) return std::nullopt;
      }
      most = std::max(most, own.J + last + own.last - job * own.T);
      if (most > own.J + own.d) return std::nullopt;
      Time length = 1;
      for (Time before = 0; before != length;) {
        before = length;
        length = blocked + above(own.level, before);
        for (const std::size_t j : level)
          if (j <= i) length += ceiling(before + parts_[j].J, parts_[j].T) * cost(j);
        if (length > never) return std::nullopt;
      }
      if ((job + 1) * own.T - own.J >= length) return most;
    }
  }

  const CutSet& set_;
  const SegmentedFaults& faults_;
  std::vector<Part> parts_;
  std::vector<std::vector<std::size_t>> levels_; // the tasks of each level
  std::vector<std::vector<Time>> lambdas_;
  Time flight_ = 0;
};

} // namespace segmented

/// Returns bounds on the ends of jobs after their nominal releases, or nullopt if some deadline is missed.
[[nodiscard]] inline std::optional<std::vector<long long>> reference_segmented(const CutSet& set,
                                                                               const SegmentedFaults& faults = {}) {
  const segmented::Reference reference(set, faults);
  return set.order == Order::edf ? reference.edf() : reference.fixed();
}

} // namespace rtexec::test
