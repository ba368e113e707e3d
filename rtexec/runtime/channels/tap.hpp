// What one task sees, for somebody who looks on while it runs: its input picture and what was recognised in it, copied
// in the last CPU part of some of its jobs, ten a second at most.
//
// Ownership: shared by the run, which writes by take(), and by whoever looks; neither waits for the other. All memory
// is taken by connect().
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
  /// From one copy to the next one, on average. The last parts of all other jobs are as long as without a tap.
  static constexpr Duration interval = std::chrono::milliseconds(100);

  explicit Tap(std::string task) : task_(std::move(task)) {}

  [[nodiscard]] const std::string& task() const noexcept { return task_; }

  /// Set-up, once: of the task's workload, which outlives the run. bad_input: it has no input that is a picture.
  [[nodiscard]] Result<> connect(const Task& task, const Workload& workload);
  /// Once it is connected: the input that is shown.
  [[nodiscard]] std::size_t input() const noexcept { return input_; }
  /// Once it is connected: what a copy adds to a last part at most. Twice the longest of some that were tried with
  /// memory that no cache has; no proof.
  [[nodiscard]] Duration cost() const noexcept { return cost_; }
  /// Whether there can be more than the picture: the task runs a detector or a classifier.
  [[nodiscard]] bool recognises() const noexcept {
    return workload_ != nullptr && workload_->recognises() != Recognition::nothing;
  }
  /// How the pictures are to be read.
  [[nodiscard]] const tasks::TensorPicture& pictures() const noexcept { return *pictures_; }

  /// Completion thread of the task.
  void take(const OutputJob& results) noexcept;

  struct Seen {
    std::uint64_t number = 0; // counts what was taken, from 1
    std::uint64_t job = 0;
    Instant sampled{}; // when the input was so
    Instant taken{};
    std::span<const std::byte> input;
    std::span<const Box> boxes;           // of a detector
    std::span<const RankedClass> classes; // of a classifier
  };
  /// One thread: the newest, which stays as it is until the next call. Absent: there is none yet.
  [[nodiscard]] std::optional<Seen> newest() noexcept;

 private:
  /// In front of the input's values.
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
  std::size_t size_ = 0;  // of that, in bytes
  std::optional<tasks::TensorPicture> pictures_;
  std::unique_ptr<Latest> latest_;
  Instant next_{}; // completion thread
  Duration cost_{0};
};

/// Beside the other sinks of the task.
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
