// The device memory of a task, divided into classes. The class of memory decides the cost of swapping it.
#pragma once

#include <rtexec/units.hpp>

#include <vector>

namespace rtexec {

/// The class of a memory object, by the use of its contents. The class decides the cost of swapping the object.
enum class MemoryClass {
  constant, // never written by the device: evicted without a copy, and loaded again from the host's copy
  scratch,  // the contents are not needed between jobs: all tasks share the same chunks
  state,    // the contents must survive: copied out when evicted, and copied back in
};

/// A part of a task's memory that an inference framework would allocate as one buffer, such as a tensor.
struct MemoryObject {
  MemoryClass kind = MemoryClass::state;
  /// The offset within the memory of the object's class. Scratch objects with disjoint lifetimes may overlap.
  Bytes offset{0};
  Bytes size{0};
};

/// The memory of one task, by class. It is known after the task's workload is loaded.
struct MemoryDemand {
  /// Constants such as weights: the device never writes them.
  Bytes constant{0};
  /// Memory whose contents are not needed between jobs. The scratch memory of all tasks uses the same chunks.
  Bytes scratch{0};
  /// Memory whose contents must survive between jobs.
  Bytes state{0};
  /// Other memory that must never leave the device.
  Bytes fixed{0};
  /// Memory whose contents must survive between the segments of a job, but not between jobs. This memory never leaves
  /// the device.
  Bytes carry{0};
  /// Buffers that the workload itself allocates on the device, including managed memory. These buffers are in no chunk,
  /// but they use device capacity.
  Bytes outside{0};
  /// Host memory that the workload allocates for the device: page-locked buffers, and the workload's copy of the
  /// constants. If device and host share one memory, it uses device capacity.
  Bytes host{0};
  /// The objects in `constant`, `scratch` and `state`, as far as they are known.
  std::vector<MemoryObject> objects{};

  /// Returns the total device memory, without `host`.
  [[nodiscard]] Bytes on_device() const { return constant + scratch + state + fixed + carry + outside; }
  /// Appends an object of `size` to the memory of its class. Has no effect if `size` is 0.
  void add(MemoryClass kind, Bytes size) {
    if (size == Bytes{0}) return;
    Bytes& all = kind == MemoryClass::constant ? constant : kind == MemoryClass::scratch ? scratch : state;
    objects.push_back({kind, all, size});
    all += size;
  }
};

} // namespace rtexec
