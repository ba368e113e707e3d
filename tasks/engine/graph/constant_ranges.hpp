// Finds the range of a network's constants that each of its layers reads (Workload::constant_ranges).
#pragma once

#include <rtexec/memory.hpp>
#include <rtexec/workload.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace rtexec::tasks {

class ConstantRanges {
 public:
  /// Creates an object without recorded reads. `constants` are the objects in the image of constants. They must be
  /// sorted by offset and outlive this object.
  ConstantRanges(std::span<const MemoryObject> constants, std::size_t layers)
      : constants_(constants), ranges_(layers) {}

  /// Records that layer number `layer` reads the constant that contains the byte at `offset`.
  void read(std::size_t layer, std::size_t offset);
  [[nodiscard]] std::vector<ConstantRange> result() && { return std::move(ranges_); }

 private:
  std::span<const MemoryObject> constants_;
  std::vector<ConstantRange> ranges_;
};

} // namespace rtexec::tasks
