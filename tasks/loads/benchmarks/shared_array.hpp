// The memory of one array under a memory policy (D: device, M: managed, H: host memory):
// - D has two buffers, page-locked host memory and device memory, and copies between them.
// - M has one buffer in managed memory, whose pages move to the processor (host or device) that accesses them.
// - H has one buffer in host memory, which the device reads and writes in place.
// - D/H has the buffers of D, and can also use the host buffer in place.
// An array that only kernels use is in device memory under every policy.
//
// The array owns its buffers and frees them; the device must outlive it. An array is made and destroyed during set-up.
#pragma once

#include <rtexec/device.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include "tasks/loads/benchmarks/benchmark.hpp"

#include <optional>
#include <utility>

namespace rtexec::tasks {

/// The total size of buffers. Managed memory counts as device memory, because all of its pages may be on the device.
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
  /// Makes an array. The policy `automatic` means D (device memory). Errors name the array. Returns out_of_memory also
  /// if managed memory exceeds the device's free memory.
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

  /// Returns a view of this array, through which kernels use the host buffer in place, as under policy H. The policy of
  /// this array must be D/H. The view owns no memory, and this array must outlive the view.
  [[nodiscard]] SharedArray in_place() const noexcept;

  /// Returns the host address, or null if the host cannot access the array.
  [[nodiscard]] std::byte* host() const noexcept { return on_host_.size == Bytes{0} ? on_device_.host : on_host_.host; }
  [[nodiscard]] std::byte* device() const noexcept { return on_device_.device; }
  [[nodiscard]] Bytes size() const noexcept { return on_device_.size; }
  /// Returns the buffer that kernels use.
  [[nodiscard]] const Buffer& buffer() const noexcept { return on_device_; }
  [[nodiscard]] benchmark::Direction direction() const noexcept { return direction_; }

  // copy_in() returns the copy that the policy makes before a job's first kernel, and copy_out() the copy after the
  // last kernel. Both return nullopt if the policy makes no such copy.
  [[nodiscard]] std::optional<ArrayCopy> copy_in() const noexcept;
  [[nodiscard]] std::optional<ArrayCopy> copy_out() const noexcept;

 private:
  SharedArray(Device* device, benchmark::Direction direction) : device_(device), direction_(direction) {}

  Device* device_; // null: another object owns the memory
  benchmark::Direction direction_;
  Buffer on_host_, on_device_; // `on_host_` exists only under policies D and D/H
};

} // namespace rtexec::tasks
