// From an output of one task to inputs of others of the same set: a sink and sources around one Latest.
#pragma once

#include <rtexec/task_set.hpp>
#include "rtexec/channels/latest.hpp"
#include "rtexec/channels/output.hpp"
#include "rtexec/channels/sink.hpp"
#include "rtexec/channels/source.hpp"

#include <memory>

namespace rtexec::channels {

/// How many of the newest values have to stay for `reader` to find the one that it is to have: under logical execution
/// time it reads as of its release, and may get to it as late as its deadline.
[[nodiscard]] std::size_t values_to_keep(Communication communication, const Task& writer, const Task& reader);

class TaskSink final : public Sink {
 public:
  /// `appears_after`: the release, and not before they are there; absent: values appear at once.
  TaskSink(std::shared_ptr<Latest> latest, Output output, std::optional<Duration> appears_after)
      : latest_(std::move(latest)), output_(output), appears_after_(appears_after) {}
  [[nodiscard]] bool put(const OutputJob& results) noexcept override;

 private:
  std::shared_ptr<Latest> latest_;
  Output output_;
  std::optional<Duration> appears_after_;
};

class TaskSource final : public Source {
 public:
  TaskSource(std::shared_ptr<Latest> latest, std::size_t reader, Communication communication)
      : latest_(std::move(latest)), reader_(reader), communication_(communication) {}
  [[nodiscard]] Expected<Sample, Errc> fetch(std::uint64_t job, Instant release, const Tensor& into) noexcept override;

 private:
  std::shared_ptr<Latest> latest_;
  std::size_t reader_;
  Communication communication_;
  std::optional<std::uint64_t> last_; // version
};

} // namespace rtexec::channels
