// Measures a chain with stamps that travel with its data. From the instants at which jobs read and outputs appear, it
// computes reaction times and data ages. Definitions: chain_bounds.hpp.
//
// ChainTimes follows a whole chain for an owner that reports the reads and outputs of all tasks, such as a simulator or
// a reader of traces. If tasks run on threads of their own, they use ChainStamp and ChainEnd. A ChainStamp travels with
// the data: each job copies the stamp of the data that it reads to the data that it writes. The thread of the last task
// owns a ChainEnd.
//
// Reads and outputs must be reported in the order of their instants. This order is required only between reports of one
// task, and between reports of a task and of the task that reads its outputs. At equal instants, an output must be
// reported before the reads of it. Pure and deterministic; allocates at construction only. Not thread-safe.
#pragma once

#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::policies {

/// The stamp that a job of the first task gives to its data.
struct ChainStamp {
  std::uint64_t job = 0;
  Instant event{}; // the event that released the job
  Instant read{};
  /// Returns a stamp for the case that times count from the sampling of the input. Jobs that read the same sample get
  /// equal stamps.
  [[nodiscard]] static constexpr ChainStamp of_sample(Instant sampled) noexcept {
    return {.job = static_cast<std::uint64_t>(sampled.time_since_epoch().count()), .event = sampled, .read = sampled};
  }
  friend bool operator==(const ChainStamp&, const ChainStamp&) = default;
};

/// The times that follow from one output of the last task. A time is absent if the output does not determine it.
struct ChainSamples {
  std::optional<Duration> reaction;    // the reaction time, if this output is the first to answer an event
  std::optional<Duration> age;         // the data age of the previous output, which this output replaces
  std::optional<Duration> reduced_age; // the reduced data age of this output
};

/// Computes the reaction times and data ages from the outputs of the last task.
class ChainEnd {
 public:
  /// `triggered`: true if events release the first task. If false, events may come at any time, and the longest
  /// reaction time belongs to an event just after a job has read. Events before the first output are not counted.
  explicit ChainEnd(bool triggered) noexcept : triggered_(triggered) {}

  ChainSamples output(const ChainStamp& stamp, Instant appears) noexcept {
    ChainSamples samples{.reaction = {}, .age = {}, .reduced_age = appears - stamp.read};
    if (last_) samples.age = appears - last_->read;
    if (last_ && last_->job != stamp.job) samples.reaction = appears - (triggered_ ? stamp.event : last_->read);
    last_ = stamp;
    return samples;
  }

 private:
  bool triggered_;
  std::optional<ChainStamp> last_;
};

class ChainTimes {
 public:
  ChainTimes(std::size_t tasks, bool triggered) : tasks_(tasks), end_(triggered) {}

  /// Reports that a job of the task at index `place` in the chain reads its inputs at `now`. `event`: the job's nominal
  /// release.
  void reads(std::size_t place, Instant now, Instant event) noexcept {
    if (place == 0) tasks_[0].held = ChainStamp{.job = ++jobs_, .event = event, .read = now};
    else tasks_[place].held = seen(tasks_[place - 1], now);
  }
  /// Reports that a job of the first task reads input that was sampled at `sampled`. The times of this job's data then
  /// count from `sampled`.
  void reads_sample(Instant sampled) noexcept { tasks_[0].held = ChainStamp::of_sample(sampled); }
  /// Reports that the outputs of a job appear at `appears`. The job is the task's job that read last. `appears` may be
  /// in the future, and must be after the task's earlier outputs.
  ChainSamples writes(std::size_t place, Instant appears) noexcept {
    Task& task = tasks_[place];
    if (!task.held) return {};
    if (place + 1 == tasks_.size()) return end_.output(*task.held, appears);
    if (task.coming) task.output = task.coming;
    task.coming = task.held;
    task.appears = appears;
    return {};
  }

 private:
  struct Task {
    std::optional<ChainStamp> held;   // the stamp of the job that has read and not yet written
    std::optional<ChainStamp> output; // the stamp of the current output
    std::optional<ChainStamp> coming; // the stamp of the next output, current from `appears` on
    Instant appears{};
  };

  static const std::optional<ChainStamp>& seen(const Task& task, Instant now) noexcept {
    return task.coming && task.appears <= now ? task.coming : task.output;
  }

  std::vector<Task> tasks_;
  ChainEnd end_;
  std::uint64_t jobs_ = 0;
};

} // namespace rtexec::policies
