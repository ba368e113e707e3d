// A device under the rule `segmented` (policies/proofs/segmented.md), written for tests from the text of the rule:
// plain, small, copied and compared as a whole. The caller decides times, lengths and victims.
#pragma once

#include "test/policies/segmented_set.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace rtexec::test {

/// Deliberate errors in the rule.
struct RuleFaults {
  bool back_fill = false;      // a lower level executes while the active one loads
  bool loads_go_on = false;    // the loader serves a lower level while the active one has nothing to load
  bool whole_jobs = false;     // top-class jobs wait for the end of a job
  bool displaces = false;      // a more urgent job displaces the staged one
  bool looks_past = false;     // jobs bypass although they do not head their queue
  bool robs_current = false;   // a load evicts the begun job of its own level
  bool stage_first = false;    // the staged job is loaded before the missing chunks of a begun one
  bool commits_always = false; // segments are committed regardless of waiting jobs
  bool within_level = false;   // jobs of one level preempt each other
};

class CutDevice {
 public:
  static constexpr std::size_t max_tasks = 10, max_levels = 4;
  static constexpr int none = -1;

  struct Flight {
    int task = none; // the task that owns the chunk
    int left = 0;
    bool out = false;
    friend bool operator==(const Flight&, const Flight&) = default;
  };
  struct Flights {
    std::array<Flight, 3> list{};
    int count = 0;
  };
  struct Counts {
    std::uint64_t preemptions = 0, restores = 0, stalls = 0;
  };
  /// The choices that the rule leaves open.
  struct Choices {
    virtual ~Choices() = default;
    virtual int length_of_segment(int task, int segment) = 0;
    virtual int length_of_copy(int most) = 0;
    /// Returns the victim, a task whose bit is set in `tasks`.
    virtual int victim(const CutDevice& device, unsigned tasks) = 0;
    virtual void began([[maybe_unused]] int task, [[maybe_unused]] int segment) {}
  };

  CutDevice(const CutSet& set, const RuleFaults& faults);

  /// Makes `chunks` chunks of a task resident before anything begins.
  void fill(int task, int chunks) { resident_[at(task)] = static_cast<std::int8_t>(chunks); }

  /// Requests a job. Within a class, smaller `urgency` goes first, then the lower index.
  void request(int task, long long urgency);
  /// Begins everything that the rule begins now.
  void settle(Choices& choices);

  /// Returns the time until something ends, at least 0, or -1 if nothing is under way.
  [[nodiscard]] int next_end() const;
  void advance(int time);
  /// True if the operation has had its time and may end.
  [[nodiscard]] bool segment_is_due() const { return running_ != none && left_ == 0; }
  [[nodiscard]] bool copy_is_due(bool out) const;
  /// Ends the segment and begins the one committed after it. Returns the task whose job ended with it, or `none`.
  int end_segment(Choices& choices);
  void end_copy(bool out);

  [[nodiscard]] bool unfinished(int task) const { return pending_[at(task)]; }
  [[nodiscard]] int running() const { return running_; }
  [[nodiscard]] int current(unsigned level) const { return current_[level]; }
  [[nodiscard]] int staged(unsigned level) const { return staged_[level]; }
  [[nodiscard]] int resident(int task) const { return resident_[at(task)]; }
  [[nodiscard]] const Counts& counts() const { return counts_; }

  /// Adds every part of the state that can make a difference later, except the order of urgencies.
  template <class Add> void describe(const Add& add) const;

 private:
  static std::size_t at(int task) { return static_cast<std::size_t>(task); }
  [[nodiscard]] const CutTask& task(int index) const { return set_->tasks[at(index)]; }
  [[nodiscard]] int tasks() const { return static_cast<int>(set_->tasks.size()); }
  [[nodiscard]] unsigned level_of(int index) const { return task(index).device_class; }
  [[nodiscard]] int segments(int index) const { return static_cast<int>(task(index).segments.size()); }

  [[nodiscard]] bool more_urgent(int a, int b) const;
  /// Returns the most urgent unfinished job of a class that is neither begun in its level nor staged.
  [[nodiscard]] int head(unsigned device_class, bool resident_only = false) const;
  /// Returns the smallest level, from `from`, with an unfinished job, or max_levels if there is none.
  [[nodiscard]] unsigned active(unsigned from = 1) const;
  [[nodiscard]] int missing(int index) const; // and not in flight
  [[nodiscard]] bool complete(int index) const { return resident_[at(index)] == static_cast<int>(task(index).chunks); }
  [[nodiscard]] int free_frames() const;

  /// Returns the job to execute next if the device is free. Changes current_ and staged_ accordingly.
  int choose();
  int choose_in(unsigned level);
  bool begin_next(Choices& choices);
  void begin_segment(int index, Choices& choices);
  [[nodiscard]] bool would_go_on(int index) const;
  bool stage();
  bool load(Choices& choices);
  bool load_in(unsigned level, Choices& choices);
  bool copy(int target, unsigned level, Choices& choices);
  void issue(int owner, int target, bool out, Choices& choices);
  [[nodiscard]] Flights& flights(bool out) { return set_->copy_engines > 1 && out ? outs_ : ins_; }
  [[nodiscard]] const Flights& flights(bool out) const { return set_->copy_engines > 1 && out ? outs_ : ins_; }

  const CutSet* set_;
  const RuleFaults* faults_;
  std::array<bool, max_tasks> pending_{};
  std::array<std::int8_t, max_tasks> done_{};               // completed segments
  std::array<std::int8_t, max_tasks> resident_{};           // resident chunks
  std::array<std::int8_t, max_tasks> coming_{}, leaving_{}; // chunks in flight
  std::array<long long, max_tasks> urgency_{};
  std::array<int, max_levels> current_{}, staged_{};
  int running_ = none, left_ = 0, committed_ = 0;
  Flights ins_, outs_;
  // The job whose load has paid its fixed costs.
  int loaded_for_ = none;
  bool started_ = false;
  unsigned victims_ = 0;
  Counts counts_;
};

template <class Add> void CutDevice::describe(const Add& add) const {
  for (std::size_t i = 0; i < set_->tasks.size(); ++i) {
    add(pending_[i] + 2 * done_[i]);
    add(resident_[i] + 8 * coming_[i] + 64 * leaving_[i]);
  }
  for (std::size_t level = 1; level < max_levels; ++level) {
    add(current_[level]);
    add(staged_[level]);
  }
  add(running_);
  add(left_);
  add(committed_);
  for (const Flights* flights : {&ins_, &outs_})
    for (int k = 0; k < 3; ++k) {
      const Flight& each = flights->list[static_cast<std::size_t>(k)];
      add(k < flights->count ? 1 + each.task * 2 + each.out : 0);
      add(k < flights->count ? each.left : 0);
    }
  if (set_->in_fixed + set_->out_fixed == 0) return;
  add(loaded_for_);
  add(started_);
  add(static_cast<int>(victims_ & 127U));
  add(static_cast<int>(victims_ >> 7));
}

} // namespace rtexec::test
