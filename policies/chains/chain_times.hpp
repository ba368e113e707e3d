// Follows the data of a chain by stamps: told when jobs read and when their outputs appear, it says how long reactions
// took and how old data were. What counts from where to where: chain_bounds.hpp.
//
// ChainTimes follows a whole chain, for one owner that is told of everything: a simulator, or who reads a trace. Its
// pieces serve where tasks run on threads of their own: a ChainStamp travels with the data, each job copies the stamp
// of what it reads to what it writes, and the thread of the last task owns a ChainEnd.
//
// Instants of a task, and those of one that reads it, are told in their order; at one instant outputs come before what
// reads them. Pure and deterministic; allocates at construction alone. Not thread-safe.
#pragma once

#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::policies {

/// Of a job of the first task.
struct ChainStamp {
  std::uint64_t job = 0;
  Instant event{}; // that released the job
  Instant read{};
  /// Where times count from the sampling of what is read: jobs that read the same sample have the same stamp.
  [[nodiscard]] static constexpr ChainStamp of_sample(Instant sampled) noexcept {
    return {.job = static_cast<std::uint64_t>(sampled.time_since_epoch().count()), .event = sampled, .read = sampled};
  }
  friend bool operator==(const ChainStamp&, const ChainStamp&) = default;
};

/// What one output of the last task tells; absent where there is none of it.
struct ChainSamples {
  std::optional<Duration> reaction;    // of the first output that answers an event
  std::optional<Duration> age;         // of the output before, which this one replaces
  std::optional<Duration> reduced_age; // of this one
};

/// The outputs of the last task.
class ChainEnd {
 public:
  /// `triggered`: events release the first task; otherwise they come at any time, the worst of them just after a job
  /// has read. What comes before the first output is not counted.
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

  /// A job of the task at `place` in the chain reads its inputs. `event`: its nominal release.
  void reads(std::size_t place, Instant now, Instant event) noexcept {
    if (place == 0) tasks_[0].held = ChainStamp{.job = ++jobs_, .event = event, .read = now};
    else tasks_[place].held = seen(tasks_[place - 1], now);
  }
  /// A job of the first task reads what was sampled then, and times count from there.
  void reads_sample(Instant sampled) noexcept { tasks_[0].held = ChainStamp::of_sample(sampled); }
  /// The job that read last has its outputs appear at `appears`, which may be to come, after those before it.
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
    std::optional<ChainStamp> held;   // by the job under way
    std::optional<ChainStamp> output; // that is there,
    std::optional<ChainStamp> coming; // and the next one, from `appears` on
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
