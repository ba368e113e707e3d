// A workload with a configured execution time and memory that computes nothing. It is used for experiments with
// schedules.
//
// Each part of a job spins for 95 % of its WCET by CLOCK_MONOTONIC. The remaining 5 % is for the overhead of the part
// (a context switch, a cache miss, the clock itself), so that a run does not exceed its WCETs. Preemption is not
// compensated: a preempted part ends at the same instant as an undisturbed part.
//
// The device part may have layers, each with a share of the WCET, and may be cut after any layer but the last. If the
// part is cut, it also has live state across preemption (`carry`) in addition to its footprint. Each segment checks the
// words that the previous segment wrote to `carry`, and writes new words. Checking and writing end at the latest after
// half of the time of the segment's first layer.
//
// The swappable memory is one object of the task's memory class (constant, state or scratch). The rest of the footprint
// is fixed and never accessed. On the host device the device part visits one word of each 4 KiB page in turn, as many
// words as its time allows. The next job continues after the last visited word. A word of constants must be equal to
// the word in the image of constants. A word of state must identify its task, its position and its number of visits;
// the visit then stores the next number. These checks detect memory that was lost, is old, or belongs to another task.
// Scratch is only written.
//
// On a GPU the device part occupies the compute engine for its time. The part writes one byte to each chunk of its
// state or scratch, and to each chunk of its `carry`. These writes take at most half of its time. An access to a
// missing chunk is a fault. The contents of memory are not checked on a GPU.
#pragma once

#include <rtexec/task_set.hpp>
#include "hal/cuda/cuda_device.hpp"
#include "tasks/base/constant_image.hpp"
#include <rtexec/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

class SyntheticWorkload final : public Workload {
 public:
  /// Makes the workload. `task` must have a WCET, and a footprint of at least its swappable memory. Returns
  /// out_of_memory or refused if the image of its constants cannot be made.
  [[nodiscard]] static Result<std::unique_ptr<SyntheticWorkload>> make(const Task& task, DeviceKind kind);

  [[nodiscard]] MemoryDemand memory() const override { return demand(is_cut()); }
  /// Returns a pattern that is derived from the task's name and occupies little memory.
  [[nodiscard]] std::span<const std::byte> constants() const override { return image_.bytes(); }
  [[nodiscard]] std::string fingerprint() const override;
  [[nodiscard]] std::span<const std::string> layers() const override { return layers_; }
  [[nodiscard]] std::vector<LiveRange> live_ranges() const override;
  /// Returns an equal share of the constants for each layer.
  [[nodiscard]] std::vector<ConstantRange> constant_ranges() const override;
  [[nodiscard]] Result<> cut(std::span<const std::uint32_t> after) override;
  [[nodiscard]] Result<MemoryDemand> memory_if_cut(std::span<const std::uint32_t> after) const override {
    return demand(!after.empty());
  }
  [[nodiscard]] Result<> bind(Device& device, const Memory& memory) override;
  void observe(const LayerObserver& observer) override {
    if (!layers_.empty()) observer_ = observer;
  }

  [[nodiscard]] Status before(std::uint64_t job) noexcept override;
  /// Returns corrupted if a word has a wrong value. The word is not changed, and the next job begins with this word.
  [[nodiscard]] Status execute() noexcept override;
  [[nodiscard]] Status execute_segment(std::uint32_t segment) noexcept override;
  [[nodiscard]] Status after(std::uint64_t job) noexcept override;

 private:
  /// The range of words that a layer visits in turn, and the next word that it visits.
  struct Part {
    std::size_t begin = 0, end = 0;
    std::size_t next = 0;
  };

  SyntheticWorkload(const Task& task, DeviceKind kind);
  [[nodiscard]] std::vector<Part> parts() const;
  [[nodiscard]] bool is_cut() const noexcept { return segment_ends_.size() > 1; }
  [[nodiscard]] MemoryDemand demand(bool cut) const;
  [[nodiscard]] Status execute_layer(std::size_t layer, std::optional<std::uint32_t> begins) noexcept;
  [[nodiscard]] Status pass_carry(std::uint32_t segment, Instant end) noexcept;
  [[nodiscard]] std::uint64_t carried(std::size_t word) const noexcept;
  [[nodiscard]] Status visit_words(std::size_t layer, Instant end) noexcept;
  [[nodiscard]] bool visit(std::size_t word) noexcept;
  [[nodiscard]] std::uint64_t contents(std::size_t word) const noexcept;
  [[nodiscard]] Status write_chunks(Instant end) noexcept;
  [[nodiscard]] Status write_chunks(std::byte* begin, Bytes size, Instant end) noexcept;

  Wcet wcet_;
  Bytes swappable_;
  Bytes fixed_;
  MemoryClass class_;
  std::uint64_t identity_; // hash of the task's name; it is a part of every word that the task writes
  DeviceKind kind_;
  std::vector<Duration> times_;     // times of the layers; a single time if there are no layers
  std::vector<std::string> layers_; // names of the layers
  Bytes live_;
  std::vector<std::size_t> segment_ends_; // for each segment, the number of the first layer after it
  ConstantImage image_;
  Memory memory_;
  LayerObserver observer_;

  // Members for the host device
  std::vector<Part> parts_;           // a part for each layer if the class is constant; otherwise a single part
  std::vector<std::uint32_t> visits_; // number of visits of each word; only for state
  std::size_t carry_words_ = 0;       // number of words that the previous segment wrote to `carry`
  std::uint64_t passes_ = 0;          // number of executed segments

  hal::CudaDevice* gpu_ = nullptr;
  std::uint8_t executions_ = 0; // number of executed layers, modulo 256; this value is written to memory on a GPU
};

} // namespace rtexec::tasks
