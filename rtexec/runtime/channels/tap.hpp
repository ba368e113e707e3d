// Observes one task while it runs. Copies its input picture and the objects recognised in it, at most ten times a
// second, in the last CPU part of a job.
//
// Ownership: shared by the run, which writes by take(), and by the viewer; neither waits for the other. connect()
// allocates all memory.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/workload.hpp>
#include "rtexec/runtime/channels/latest.hpp"
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

class Tap {
 public:
  /// The mean time from one copy to the next. The last parts of all other jobs are as long as without a tap.
  static constexpr Duration interval = std::chrono::milliseconds(100);

  explicit Tap(std::string task) : task_(std::move(task)) {}

  [[nodiscard]] const std::string& task() const noexcept { return task_; }

  /// Connects the tap to the task's workload, which outlives the run. Set-up, called once. Returns bad_input if the
  /// task has no input that is a picture.
  [[nodiscard]] Result<> connect(const Task& task, const Workload& workload);
  /// Returns the input that is shown. Valid after connect().
  [[nodiscard]] std::size_t input() const noexcept { return input_; }
  /// Returns the maximum time that a copy adds to a last part: twice the longest of some trials with memory that is in
  /// no cache. It is no proved bound. Valid after connect().
  [[nodiscard]] Duration cost() const noexcept { return cost_; }
  /// True if there can be more than the picture: the task runs a detector or a classifier.
  [[nodiscard]] bool recognises() const noexcept {
    return workload_ != nullptr && workload_->recognises() != Recognition::nothing;
  }
  /// Returns the conversion from the tensor to a picture.
  [[nodiscard]] const tasks::TensorPicture& pictures() const noexcept { return *pictures_; }

  /// Copies the input and the results, if a copy is due. Called on the task's completion thread.
  void take(const OutputJob& results) noexcept;

  struct Seen {
    std::uint64_t number = 0; // number of the copy, from 1
    std::uint64_t job = 0;
    Instant sampled{}; // when the input was sampled
    Instant taken{};
    std::span<const std::byte> input;
    std::span<const Box> boxes;           // of a detector
    std::span<const RankedClass> classes; // of a classifier
  };
  /// Returns the newest copy, which stays unchanged until the next call; nullopt if there is none yet. One thread.
  [[nodiscard]] std::optional<Seen> newest() noexcept;

 private:
  /// The header before the input's values.
  struct Head {
    std::uint64_t job = 0;
    Instant taken{};
    std::size_t boxes = 0, classes = 0;
    std::array<Box, max_boxes> box{};
    std::array<RankedClass, 5> ranked{};
  };

  using Input = std::span<const std::byte>;
  using Classes = std::span<const RankedClass>;
  static void copy(const OutputJob& results, Classes classes, Input input, Instant now, Latest& to) noexcept;
  [[nodiscard]] static Duration longest_copy(std::size_t size);

  const std::string task_;
  const Workload* workload_ = nullptr;
  std::size_t input_ = 0; // its number
  std::size_t size_ = 0;  // its size in bytes
  std::optional<tasks::TensorPicture> pictures_;
  std::unique_ptr<Latest> latest_;
  Instant next_{}; // completion thread
  Duration cost_{0};
};

/// The sink that passes a task's results to the tap.
class TapSink final : public Sink {
 public:
  explicit TapSink(std::shared_ptr<Tap> tap) : tap_(std::move(tap)) {}
  [[nodiscard]] bool put(const OutputJob& results) noexcept override {
    tap_->take(results);
    return true;
  }

 private:
  const std::shared_ptr<Tap> tap_;
};

} // namespace rtexec::channels
