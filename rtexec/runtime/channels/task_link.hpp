// Connects an output of one task to inputs of other tasks of the same set: a sink and some sources share one mailbox
// (latest_mailbox.hpp).
#pragma once

#include <rtexec/task_set.hpp>
#include "rtexec/runtime/channels/latest_mailbox.hpp"
#include "rtexec/runtime/channels/task_output.hpp"
#include "rtexec/runtime/channels/sink.hpp"
#include "rtexec/runtime/channels/source.hpp"

#include <memory>

namespace rtexec::channels {

/// Returns the number of newest values that must be kept for `reader`. Under logical execution time the reader needs
/// the value that was visible at its release, but may read it as late as its deadline.
[[nodiscard]] std::size_t values_to_keep(Communication communication, const Task& writer, const Task& reader);

class TaskSink final : public Sink {
 public:
  /// `appears_after` is the time from the release of a job until its value becomes visible. A value that does not exist
  /// by then becomes visible later. Absent: values become visible at once.
  TaskSink(std::shared_ptr<LatestMailbox> latest, Output output, std::optional<Duration> appears_after)
      : latest_(std::move(latest)), output_(output), appears_after_(appears_after) {}
  [[nodiscard]] bool put(const OutputJob& results) noexcept override;
  [[nodiscard]] bool reads(std::size_t output) const override { return output_.is_tensor(output); }

 private:
  std::shared_ptr<LatestMailbox> latest_;
  Output output_;
  std::optional<Duration> appears_after_;
};

class TaskSource : public Source {
 public:
  TaskSource(std::shared_ptr<LatestMailbox> latest, std::size_t reader, Communication communication)
      : latest_(std::move(latest)), reader_(reader), communication_(communication) {}
  [[nodiscard]] Expected<Sample, Errc> fetch(std::uint64_t job, Instant release, const Tensor& into) noexcept final;

 protected:
  /// Copies the value into the tensor. `fresh` is false if the previous call had the same value.
  virtual void take(const LatestMailbox::Value& value, bool fresh, const Tensor& into) noexcept;
  [[nodiscard]] const LatestMailbox& latest() const noexcept { return *latest_; }

 private:
  std::shared_ptr<LatestMailbox> latest_;
  std::size_t reader_;
  Communication communication_;
  std::optional<std::uint64_t> last_; // version of the value of the previous fetch()
};

// The sink and the source for values that stay on the device, in memory that outlives the workloads. Executions of the
// writing workload write their output into that memory, and executions of the reading workloads read their input from
// it. A job's output becomes visible in its last CPU part. The input of a job stays unchanged until the task's next job
// begins. Therefore executions need not wait for each other.

class DeviceSink final : public Sink {
 public:
  DeviceSink(std::shared_ptr<LatestMailbox> latest, Workload& workload, std::size_t output,
             std::optional<Duration> appears_after)
      : latest_(std::move(latest)), workload_(workload), output_(output), appears_after_(appears_after) {}
  void begin() noexcept override { workload_.give_output(output_, latest_->take().data()); }
  [[nodiscard]] bool put(const OutputJob& results) noexcept override;
  [[nodiscard]] bool reads(std::size_t) const override { return false; }

 private:
  std::shared_ptr<LatestMailbox> latest_;
  Workload& workload_;
  std::size_t output_;
  std::optional<Duration> appears_after_;
};

class DeviceSource final : public TaskSource {
 public:
  DeviceSource(std::shared_ptr<LatestMailbox> latest, std::size_t reader, Communication communication,
               Workload& workload, std::size_t input)
      : TaskSource(std::move(latest), reader, communication), workload_(workload), input_(input) {}
  /// Sets the address of the memory that jobs read before there is a value.
  [[nodiscard]] Result<> open() override;

 private:
  void take(const LatestMailbox::Value& value, bool fresh, const Tensor& into) noexcept override;

  Workload& workload_;
  std::size_t input_;
};

} // namespace rtexec::channels
