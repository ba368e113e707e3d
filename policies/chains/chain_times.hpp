// Follows the data of a chain by stamps: from the instants at which jobs read and outputs appear, it computes how long
// reactions took and how old data were. Definitions: chain_bounds.hpp.
//
// ChainTimes follows a whole chain for one owner that reports everything: a simulator, or a reader of traces. Tasks
// that run on threads of their own use ChainStamp and ChainEnd. A ChainStamp travels with the data: each job copies the
// stamp of what it reads to what it writes. The thread of the last task owns a ChainEnd.
//
// The reads and outputs of a task, and those of a task that reads its outputs, must be reported in the order of their
// instants. At the same instant, outputs come before the jobs that read them. Pure and deterministic; allocates at
// construction alone. Not thread-safe.
#pragma once

#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::policies {

/// The stamp of a job of the first task.
struct ChainStamp {
  std::uint64_t job = 0;
  Instant event{}; // the event that released the job
  Instant read{};
  /// Returns a stamp for times that count from the sampling of the input: jobs that read the same sample have the same
  /// stamp.
  [[nodiscard]] static constexpr ChainStamp of_sample(Instant sampled) noexcept {
    return {.job = static_cast<std::uint64_t>(sampled.time_since_epoch().count()), .event = sampled, .read = sampled};
  }
  friend bool operator==(const ChainStamp&, const ChainStamp&) = default;
};

/// The times that one output of the last task gives. A time is absent if the output gives none.
struct ChainSamples {
  std::optional<Duration> reaction;    // of the first output that answers an event
  std::optional<Duration> age;         // of the previous output, which this one replaces
  std::optional<Duration> reduced_age; // of this output
};

/// Computes the times of the outputs of the last task.
class ChainEnd {
 public:
  /// `triggered`: events release the first task. Otherwise events may come at any time, and the worst of them come just
  /// after a job has read. Events before the first output are not counted.
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

  /// Reports that a job of the task at `place` in the chain reads its inputs. `event`: its nominal release.
  void reads(std::size_t place, Instant now, Instant event) noexcept {
    if (place == 0) tasks_[0].held = ChainStamp{.job = ++jobs_, .event = event, .read = now};
    else tasks_[place].held = seen(tasks_[place - 1], now);
  }
  /// Reports that a job of the first task reads input sampled at `sampled`, from which times count.
  void reads_sample(Instant sampled) noexcept { tasks_[0].held = ChainStamp::of_sample(sampled); }
  /// Reports that the outputs of the job that read last appear at `appears`, possibly in the future, and after earlier
  /// ones.
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
    std::optional<ChainStamp> held;   // the stamp of the job under way
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
