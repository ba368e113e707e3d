// Contents of constants that may be gigabytes large and hold little information: as many addresses as bytes, and hardly
// any memory.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/resources.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace rtexec::tasks {

/// Read-only. Locking a process's memory fills in its page tables and takes no further memory.
class ConstantImage {
 public:
  /// Of pattern(): a prime number of pages, 16 MiB with pages of 4 KiB, so that fewer than 4093 chunks whose size is a
  /// power of two in pages all differ.
  static constexpr std::uint64_t pattern_pages = 4093;

  ConstantImage() = default;
  /// A copy of `head`, then zeros up to `size`, which all stand on the kernel's one page of zeros. out_of_memory,
  /// refused.
  [[nodiscard]] static Result<ConstantImage> zeros_behind(std::span<const std::byte> head, Bytes size);
  /// Each repetition of the pattern is a mapping; the kernel's default limit allows 65,530 in a process.
  static constexpr Bytes max_pattern{std::uint64_t{512} << 30};
  /// Words that follow from `seed`: pattern_pages pages of memory, again and again. bad_input: more than max_pattern.
  /// out_of_memory, refused.
  [[nodiscard]] static Result<ConstantImage> pattern(std::uint64_t seed, Bytes size);

  [[nodiscard]] std::span<const std::byte> bytes() const { return {mapping_.base(), size_.count}; }

 private:
  hal::Mapping mapping_; // whole pages
  Bytes size_;
};

} // namespace rtexec::tasks
