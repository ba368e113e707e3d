// Images of constants that may be gigabytes large but contain little information. An image uses address space of its
// full size, but hardly any memory.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/resources.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace rtexec::tasks {

/// A read-only image. Locking the process's memory fills in the page tables of an image, but uses no further memory.
class ConstantImage {
 public:
  /// The number of pages of the pattern that pattern() repeats: 16 MiB with pages of 4 KiB. The number is prime. So any
  /// 4093 consecutive chunks have different contents, if the chunk size is a power of two in pages.
  static constexpr std::uint64_t pattern_pages = 4093;

  ConstantImage() = default;
  /// Returns an image that contains a copy of `head`, followed by zeros up to `size`. All pages of zeros are mapped to
  /// the kernel's zero page. Returns out_of_memory or refused on failure.
  [[nodiscard]] static Result<ConstantImage> zeros_behind(std::span<const std::byte> head, Bytes size);
  /// The maximum size of a pattern. Each repetition is a mapping, and the kernel allows 65,530 mappings in a process by
  /// default.
  static constexpr Bytes max_pattern{std::uint64_t{512} << 30};
  /// Returns an image of pseudo-random words, generated from `seed`. The words occupy pattern_pages pages of memory,
  /// which are mapped repeatedly. Returns bad_input if `size` exceeds max_pattern. Returns out_of_memory or refused if
  /// the mapping fails.
  [[nodiscard]] static Result<ConstantImage> pattern(std::uint64_t seed, Bytes size);

  [[nodiscard]] std::span<const std::byte> bytes() const { return {mapping_.base(), size_.count}; }

 private:
  hal::Mapping mapping_; // covers whole pages
  Bytes size_;
};

} // namespace rtexec::tasks
