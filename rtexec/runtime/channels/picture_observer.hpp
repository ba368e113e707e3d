// A picture observer observes one task during a run, for a viewer. In the last CPU part of a job, it copies the input
// picture and the objects that the job recognised. It makes at most ten such copies a second on average.
//
// Ownership: the run and the viewer share a picture observer. The run calls take(), and the viewer calls newest().
// Neither call waits for the other. connect() allocates all memory.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/workload.hpp>
#include "rtexec/runtime/channels/latest_mailbox.hpp"
#include "rtexec/runtime/channels/task_output.hpp"
#include "rtexec/runtime/channels/sink.hpp"
#include "tasks/media/tensor_picture.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace rtexec::channels {

class PictureObserver {
 public:
  /// The mean time from one copy to the next. Jobs for which no copy is made take no longer than without a picture
  /// observer.
  static constexpr Duration interval = std::chrono::milliseconds(100);

  explicit PictureObserver(std::string task) : task_(std::move(task)) {}

  [[nodiscard]] const std::string& task() const noexcept { return task_; }

  /// Connects the picture observer to the task's workload, which must outlive the run. Set-up, called once. Returns
  /// bad_input if no input of the task is a picture.
  [[nodiscard]] Result<> connect(const Task& task, const Workload& workload);
  /// Returns the number of the input that is shown. Valid after connect().
  [[nodiscard]] std::size_t input() const noexcept { return input_; }
  /// Returns the maximum time that a copy is assumed to add to the last part of a job. The value is twice the longest
  /// of several measured copies with memory that is in no cache. The value is not a proved bound. Valid after
  /// connect().
  [[nodiscard]] Duration cost() const noexcept { return cost_; }
  /// True if the task runs a detector or a classifier, so that there are results to show in addition to the picture.
  [[nodiscard]] bool recognises() const noexcept {
    return workload_ != nullptr && workload_->recognises() != Recognition::nothing;
  }
  /// Returns the object that converts the values of the input tensor to a picture.
  [[nodiscard]] const tasks::TensorPicture& pictures() const noexcept { return *pictures_; }

  /// Copies the input and the results, if a copy is due. Called on the task's completion thread.
  void take(const OutputJob& results) noexcept;

  struct Seen {
    std::uint64_t number = 0; // number of the copy, counted from 1
    std::uint64_t job = 0;
    Instant sampled{}; // the instant at which the input was sampled
    Instant taken{};
    std::span<const std::byte> input;
    std::span<const Box> boxes;           // results of a detector
    std::span<const RankedClass> classes; // results of a classifier
  };
  /// Returns the newest copy, which stays unchanged until the next call. Returns nullopt if no copy was made yet.
  /// Called by one thread.
  [[nodiscard]] std::optional<Seen> newest() noexcept;

 private:
  /// The header of a copy; the values of the input follow it.
  struct Head {
    std::uint64_t job = 0;
    Instant taken{};
    std::size_t boxes = 0, classes = 0;
    std::array<Box, max_boxes> box{};
    std::array<RankedClass, 5> ranked{};
  };

  using Input = std::span<const std::byte>;
  using Classes = std::span<const RankedClass>;
  static void copy(const OutputJob& results, Classes classes, Input input, Instant now, LatestMailbox& to) noexcept;
  [[nodiscard]] static Duration longest_copy(std::size_t size);

  const std::string task_;
  const Workload* workload_ = nullptr;
  std::size_t input_ = 0; // the number of the input that is shown
  std::size_t size_ = 0;  // the size of that input in bytes
  std::optional<tasks::TensorPicture> pictures_;
  std::unique_ptr<LatestMailbox> latest_;
  Instant next_{}; // instant at which the next copy is due; completion thread
  Duration cost_{0};
};

/// A sink that passes the results of a task's jobs to the picture observer.
class ObserverSink final : public Sink {
 public:
  explicit ObserverSink(std::shared_ptr<PictureObserver> observer) : observer_(std::move(observer)) {}
  [[nodiscard]] bool put(const OutputJob& results) noexcept override {
    observer_->take(results);
    return true;
  }

 private:
  const std::shared_ptr<PictureObserver> observer_;
};

} // namespace rtexec::channels
