// A workload that takes the time and the memory that it was told to, and computes nothing: for experiments with
// schedules.
//
// Each part of a job spins for 95 % of its WCET by CLOCK_MONOTONIC, so that what surrounds it (a switch, a cache miss,
// the clock itself) fits into the rest and a run keeps what was promised. Preemption is not compensated: a preempted
// part ends at the same instant as an undisturbed one.
//
// The device part may have layers, each of a share of the WCET, and be cut behind any but the last. Beside its
// footprint it then has a carry: each segment compares what the one before left there, as much as half of its first
// layer's time allows, and leaves other words.
//
// Its swappable memory is one object of the task's class; the rest of its footprint is fixed and never touched. On the
// host device the device part visits one word of each 4 KiB in turn, as many as its time allows, and the next job goes
// on from there. Constants are compared with their image. A word of state must say which word of which task it is and
// how often it was visited, and is set to the next count. So memory that was lost, is old, or belongs elsewhere is
// noticed. Scratch is only written. On a GPU it occupies the compute engine for its time, and writes one byte in each
// chunk of its state or scratch, and of its carry, as many as half of its time allows: an access to a chunk that is
// missing is a fault. Nothing is compared there.
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
  /// `task` has a wcet, and a footprint of at least what is swappable. out_of_memory, refused: no image of its
  /// constants could be made.
  [[nodiscard]] static Result<std::unique_ptr<SyntheticWorkload>> make(const Task& task, DeviceKind kind);

  [[nodiscard]] MemoryDemand memory() const override { return demand(is_cut()); }
  /// A pattern that follows from the task's name, in little memory.
  [[nodiscard]] std::span<const std::byte> constants() const override { return image_.bytes(); }
  [[nodiscard]] std::string fingerprint() const override;
  [[nodiscard]] std::span<const std::string> layers() const override { return layers_; }
  [[nodiscard]] std::vector<LiveRange> live_ranges() const override;
  /// Equal parts of them.
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
  /// corrupted: a word is not what it must be. It is left as it is, and the next job begins with it.
  [[nodiscard]] Status execute() noexcept override;
  [[nodiscard]] Status execute_segment(std::uint32_t segment) noexcept override;
  [[nodiscard]] Status after(std::uint64_t job) noexcept override;

 private:
  /// Words that a layer visits, in turn.
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
  std::uint64_t identity_; // of the task, in the contents of its memory
  DeviceKind kind_;
  std::vector<Duration> times_;     // of the layers; one where there are none
  std::vector<std::string> layers_; // their names
  Bytes live_;
  std::vector<std::size_t> segment_ends_; // the layer behind each
  ConstantImage image_;
  Memory memory_;
  LayerObserver observer_;

  // On the host device.
  std::vector<Part> parts_;           // by layer, of constants; else one
  std::vector<std::uint32_t> visits_; // by word; of state only
  std::size_t carry_words_ = 0;       // that the segment before left
  std::uint64_t passes_ = 0;          // of segments

  hal::CudaDevice* gpu_ = nullptr;
  std::uint8_t executions_ = 0; // of layers, on it: the byte that is written
};

} // namespace rtexec::tasks
