#include "tasks/base/constant_image.hpp"

#include "hal/mapping_advice.hpp"
#include "tasks/base/random.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace rtexec::tasks {
namespace {

constexpr const char* purpose = "the contents of constants";

Result<> protect(std::byte* begin, Bytes size, int protection) {
  if (hal::sys().mprotect(begin, size.count, protection) == 0) return {};
  return hal::call_failed("protecting " + std::string(purpose), errno);
}

Result<hal::FileDescriptor> memory_file(Bytes size) {
  hal::FileDescriptor file(hal::sys().memfd_create("rtexec-constants", MFD_CLOEXEC));
  if (file.number() < 0) return hal::call_failed("making a memory file for " + std::string(purpose), errno);
  if (hal::sys().ftruncate(file.number(), static_cast<off_t>(size.count)) == 0) return file;
  return hal::call_failed("sizing a memory file of " + readable(size) + " for " + std::string(purpose), errno, {},
                          Errc::out_of_memory);
}

/// Maps the first `size` bytes of `file` to the address `at`.
Result<> map(const hal::FileDescriptor& file, std::byte* at, Bytes size, int protection) {
  if (hal::sys().mmap(at, size.count, protection, MAP_SHARED | MAP_FIXED, file.number(), 0) != MAP_FAILED) return {};
  const int error = errno;
  return hal::call_failed("mapping " + readable(size) + " of " + purpose, error, hal::mapping_advice(error, size),
                          Errc::out_of_memory);
}

void fill(std::byte* begin, Bytes size, std::uint64_t seed) {
  Random random(seed);
  for (std::uint64_t at = 0; at < size.count; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(begin + at, &word, sizeof word);
  }
}

} // namespace

Result<ConstantImage> ConstantImage::zeros_behind(std::span<const std::byte> head, Bytes size) {
  ConstantImage image;
  if (size == Bytes{0}) return image;
  auto mapping = hal::Mapping::anonymous(round_up(size, hal::page_size()), PROT_READ, MAP_NORESERVE, purpose);
  if (!mapping) return Unexpected(mapping.error());
  image.mapping_ = std::move(*mapping);
  image.size_ = size;
  if (head.empty()) return image;
  const Bytes pages = round_up(Bytes{head.size()}, hal::page_size());
  if (const auto opened = protect(image.mapping_.base(), pages, PROT_READ | PROT_WRITE); !opened)
    return Unexpected(opened.error());
  std::memcpy(image.mapping_.base(), head.data(), head.size());
  if (const auto closed = protect(image.mapping_.base(), pages, PROT_READ); !closed) return Unexpected(closed.error());
  return image;
}

Result<ConstantImage> ConstantImage::pattern(std::uint64_t seed, Bytes size) {
  ConstantImage image;
  if (size == Bytes{0}) return image;
  if (size > max_pattern)
    return fail(Errc::bad_input, to_string(size) + " of synthetic constants are requested, but at most " +
                                     to_string(max_pattern) + " are possible; give a smaller footprint");
  const Bytes pages = round_up(size, hal::page_size());
  const Bytes period = std::min(pages, hal::page_size() * pattern_pages);
  auto mapping = hal::Mapping::anonymous(pages, PROT_NONE, MAP_NORESERVE, purpose);
  if (!mapping) return Unexpected(mapping.error());
  const auto file = memory_file(period);
  if (!file) return Unexpected(file.error());
  std::byte* const base = mapping->base();
  if (const auto mapped = map(*file, base, period, PROT_READ | PROT_WRITE); !mapped) return Unexpected(mapped.error());
  fill(base, period, seed);
  if (const auto closed = protect(base, period, PROT_READ); !closed) return Unexpected(closed.error());
  for (Bytes at = period; at < pages; at += period)
    if (const auto mapped = map(*file, base + at.count, std::min(period, pages - at), PROT_READ); !mapped)
      return Unexpected(mapped.error());
  image.mapping_ = std::move(*mapping);
  image.size_ = size;
  return image;
}

} // namespace rtexec::tasks
