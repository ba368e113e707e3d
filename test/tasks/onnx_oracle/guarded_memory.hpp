// Memory with faulting neighbours: an access past its end, or a write after protect(), ends the test.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <system_error>

namespace rtexec::test {

class GuardedMemory {
 public:
  static constexpr std::size_t alignment = 64;

  /// Allocates `size` bytes, aligned to 64. The padding up to a multiple of 64 is readable too.
  explicit GuardedMemory(std::size_t size) : size_(size) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
    usable_ = (rounded + page - 1) / page * page;
    mapped_ = usable_ + 2 * page;
    void* map = ::mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    map_ = static_cast<std::byte*>(map);
    begin_ = map_ + page;
    allow(PROT_READ | PROT_WRITE);
    data_ = begin_ + usable_ - rounded;
    std::memset(begin_, canary, static_cast<std::size_t>(data_ - begin_));
  }
  ~GuardedMemory() { ::munmap(map_, mapped_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  void protect() { allow(PROT_READ); }
  void fill(float value) {
    for (std::size_t at = 0; at + sizeof value <= size_; at += sizeof value)
      std::memcpy(data_ + at, &value, sizeof value);
  }
  /// True if the bytes between the start of the first page and data() are unchanged.
  [[nodiscard]] bool front_untouched() const {
    for (const std::byte* at = begin_; at < data_; ++at)
      if (*at != std::byte{canary}) return false;
    return true;
  }

 private:
  static constexpr unsigned char canary = 0xa5;

  void allow(int protection) {
    if (usable_ > 0 && ::mprotect(begin_, usable_, protection) != 0)
      throw std::system_error(errno, std::generic_category(), "mprotect");
  }

  std::size_t size_, usable_ = 0, mapped_ = 0;
  std::byte *map_ = nullptr, *begin_ = nullptr, *data_ = nullptr;
};

} // namespace rtexec::test
