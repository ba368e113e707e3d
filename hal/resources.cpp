#include "hal/resources.hpp"

#include <cerrno>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace rtexec::hal {

Bytes page_size() {
  static const Bytes size{static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};
  return size;
}

std::string errno_text(int error) { return std::generic_category().message(error); }

Unexpected<Error> call_failed(std::string_view what, int error, std::string_view advice, Errc code) {
  std::string text = std::string(what) + " failed: " + errno_text(error);
  if (!advice.empty()) text.append("\n").append(advice);
  return fail(code, std::move(text));
}

Result<Mapping> Mapping::anonymous(Bytes size, int protection, int flags, std::string_view what) {
  void* base = sys().mmap(nullptr, size.count, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (base != MAP_FAILED) return Mapping(static_cast<std::byte*>(base), size);
  const int error = errno;
  const std::string_view advice =
      error == EAGAIN
          ? "Locked memory is limited: raise it with `ulimit -l unlimited`, or give the program CAP_IPC_LOCK."
          : "Free memory, or raise vm.max_map_count if the process has very many mappings.";
  return call_failed(std::string("mapping ") + readable(size) + " for " + std::string(what), error, advice,
                     Errc::out_of_memory);
}

Result<Mapping> Mapping::of_file(int file, Bytes size, int protection, int flags, std::string_view what, off_t offset) {
  void* base = sys().mmap(nullptr, size.count, protection, flags, file, offset);
  if (base != MAP_FAILED) return Mapping(static_cast<std::byte*>(base), size);
  return call_failed("mapping " + std::string(what), errno, "", Errc::out_of_memory);
}

Result<> Mapping::unmap() {
  if (base_ == nullptr) return {};
  void* base = std::exchange(base_, nullptr);
  if (sys().munmap(base, size_.count) != 0) return call_failed("unmapping " + readable(size_), errno);
  return {};
}

} // namespace rtexec::hal
