#include "tasks/loads/traffic/generator.hpp"

#include <cerrno>
#include <sys/mman.h>

namespace rtexec::tasks {

Result<std::unique_ptr<PageGenerator>> PageGenerator::make(Bytes buffer) {
  if (buffer == Bytes{0})
    return fail(Errc::bad_input, "a generator of page faults needs a buffer of at least one page");
  auto memory = hal::Mapping::anonymous(round_up(buffer, hal::page_size()), PROT_READ | PROT_WRITE, MAP_NORESERVE,
                                        "pages to touch");
  if (!memory) return Unexpected(memory.error());
  // A fault on a huge page would map many pages at once. A kernel without huge pages rejects this advice.
  if (::madvise(memory->base(), memory->size().count, MADV_NOHUGEPAGE) != 0 && errno != EINVAL)
    return hal::call_failed("keeping " + readable(memory->size()) + " of pages small", errno);
  std::unique_ptr<PageGenerator> generator(new PageGenerator(std::move(*memory)));
  if (generator->give_back()) return generator;
  return hal::call_failed("giving pages back to the kernel", errno, "Count another event than page faults.");
}

/// Returns the pages to the kernel. Pages that the process locked (mlockall) are unlocked first.
bool PageGenerator::give_back() noexcept {
  std::byte* const base = memory_.base();
  const auto size = memory_.size().count;
  if (::madvise(base, size, MADV_DONTNEED) == 0) return true;
  return errno == EINVAL && hal::sys().munlock(base, size) == 0 && ::madvise(base, size, MADV_DONTNEED) == 0;
}

Bytes PageGenerator::run(Bytes bytes) noexcept {
  const auto page = unit().count;
  const auto pages = bytes.count / page;
  for (std::uint64_t i = 0; i < pages; ++i) {
    if (next_ == memory_.size().count) {
      if (!give_back()) return {i * page};
      next_ = 0;
    }
    *reinterpret_cast<volatile std::uint32_t*>(memory_.base() + next_) = 1;
    next_ += page;
  }
  return {pages * page};
}

} // namespace rtexec::tasks
