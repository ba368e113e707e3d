// Contents of constants that may be gigabytes large with little information. They take as many addresses as bytes, and
// hardly any memory.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/resources.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace rtexec::tasks {

/// A read-only image. Locking a process's memory fills in its page tables and takes no further memory.
class ConstantImage {
 public:
  /// The length of pattern(), in pages: 16 MiB with pages of 4 KiB. It is a prime number: if the size of chunks is a
  /// power of two in pages, fewer than 4093 chunks all differ.
  static constexpr std::uint64_t pattern_pages = 4093;

  ConstantImage() = default;
  /// Returns a copy of `head`, followed by zeros up to `size`. All zeros are mapped to the kernel's one zero page.
  /// Errors: out_of_memory, refused.
  [[nodiscard]] static Result<ConstantImage> zeros_behind(std::span<const std::byte> head, Bytes size);
  /// The largest pattern. Each repetition is a mapping, and the kernel's default limit allows 65,530 in a process.
  static constexpr Bytes max_pattern{std::uint64_t{512} << 30};
  /// Returns pseudo-random words from `seed`. They occupy pattern_pages pages of memory, which are mapped repeatedly.
  /// Returns bad_input if `size` exceeds max_pattern, out_of_memory, or refused.
  [[nodiscard]] static Result<ConstantImage> pattern(std::uint64_t seed, Bytes size);

  [[nodiscard]] std::span<const std::byte> bytes() const { return {mapping_.base(), size_.count}; }

 private:
  hal::Mapping mapping_; // in whole pages
  Bytes size_;
};

} // namespace rtexec::tasks
