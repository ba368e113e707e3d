// The memory of one array under a memory policy: D has it twice, in page-locked host memory and on the device, and
// copies; M has it once, in managed memory, whose pages move to who touches them; H has it once, in host memory that
// the device reads and writes in place. D/H has what D has, and is used in place as well. What nobody but kernels sees
// is on the device alone under each.
//
// It owns its buffers and gives them back to the device, which outlives it. Made and ended during set-up.
#pragma once

#include <rtexec/device.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include "tasks/loads/benchmarks/benchmark.hpp"

#include <optional>
#include <utility>

namespace rtexec::tasks {

/// Of buffers: managed memory counts as the device's, since all of it may be there.
struct Footprint {
  Bytes host;
  Bytes device;
  [[nodiscard]] Bytes total() const { return host + device; }
  friend bool operator==(const Footprint&, const Footprint&) = default;
};

struct ArrayCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  Bytes size;
};

class SharedArray {
 public:
  /// Automatic means D. Errors name the array. out_of_memory: also managed memory beyond what is free on the device.
  [[nodiscard]] static Result<SharedArray> make(Device& device, MemoryPolicy policy,
                                                const benchmark::ArrayDemand& demand);
  [[nodiscard]] static Footprint footprint(MemoryPolicy policy, const benchmark::ArrayDemand& demand);
  SharedArray(SharedArray&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        direction_(other.direction_),
        on_host_(std::exchange(other.on_host_, {})),
        on_device_(std::exchange(other.on_device_, {})) {}
  SharedArray& operator=(SharedArray&&) = delete;
  ~SharedArray();

  /// Of D/H: the array as kernels see it in place, under H. It has no memory of its own, and must not outlive this one.
  [[nodiscard]] SharedArray in_place() const noexcept;

  /// Null where the host does not see it.
  [[nodiscard]] std::byte* host() const noexcept { return on_host_.size == Bytes{0} ? on_device_.host : on_host_.host; }
  [[nodiscard]] std::byte* device() const noexcept { return on_device_.device; }
  [[nodiscard]] Bytes size() const noexcept { return on_device_.size; }
  /// What kernels see.
  [[nodiscard]] const Buffer& buffer() const noexcept { return on_device_; }
  [[nodiscard]] benchmark::Direction direction() const noexcept { return direction_; }

  // What the policy moves before a job's first kernel and behind its last one; absent: nothing, pages move by
  // themselves
  [[nodiscard]] std::optional<ArrayCopy> copy_in() const noexcept;
  [[nodiscard]] std::optional<ArrayCopy> copy_out() const noexcept;

 private:
  SharedArray(Device* device, benchmark::Direction direction) : device_(device), direction_(direction) {}

  Device* device_; // null: the memory is another one's
  benchmark::Direction direction_;
  Buffer on_host_, on_device_; // the first one only under D and D/H
};

} // namespace rtexec::tasks
