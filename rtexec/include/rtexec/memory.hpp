// What device memory of a task is made of: by class, because that decides what swapping it costs.
#pragma once

#include <rtexec/units.hpp>

#include <vector>

namespace rtexec {

/// What a memory object holds decides what swapping it costs.
enum class MemoryClass {
  constant, // never written by the device: dropped, and loaded again
  scratch,  // dead between jobs: all tasks share the same chunks
  state,    // copied out and back
};

/// A piece of a task's memory that a framework would allocate by itself.
struct MemoryObject {
  MemoryClass kind = MemoryClass::state;
  /// Where the object begins within the memory of its class. Scratch objects may overlap, since they do not live at the
  /// same time.
  Bytes offset{0};
  Bytes size{0};
};

/// Memory of one task, by class; known once its workload is loaded.
struct MemoryDemand {
  /// Weights: the device never writes them.
  Bytes constant{0};
  /// What is dead between jobs: all tasks' scratch maps the same chunks.
  Bytes scratch{0};
  /// What must survive between jobs.
  Bytes state{0};
  /// What may never leave the device, beside the above.
  Bytes fixed{0};
  /// What must survive between the segments of a job, and is dead between jobs. It never leaves the device.
  Bytes carry{0};
  /// Buffers that the workload allocates on the device itself, managed memory among them: they lie in no chunk, and
  /// take of its capacity.
  Bytes outside{0};
  /// Memory of the host that the workload takes on the device's behalf, page-locked buffers and what it keeps of its
  /// constants: it takes of the capacity where device and host share one memory.
  Bytes host{0};
  /// What constant, scratch and state are made of, as far as it is known.
  std::vector<MemoryObject> objects{};

  /// Of the device.
  [[nodiscard]] Bytes on_device() const { return constant + scratch + state + fixed + carry + outside; }
  /// One object of `size` behind what there is of its class; none where the size is 0.
  void add(MemoryClass kind, Bytes size) {
    if (size == Bytes{0}) return;
    Bytes& all = kind == MemoryClass::constant ? constant : kind == MemoryClass::scratch ? scratch : state;
    objects.push_back({kind, all, size});
    all += size;
  }
};

} // namespace rtexec
