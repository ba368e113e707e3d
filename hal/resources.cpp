#include "hal/resources.hpp"

#include "hal/mapping_advice.hpp"

#include <cerrno>
#include <sys/mman.h>
#include <sys/resource.h>
#include <optional>
#include <unistd.h>

namespace rtexec::hal {

Bytes page_size() {
  static const Bytes size{static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};
  return size;
}
namespace {

/// Returns the limit of this process for `resource`, or nullopt if it is unknown or unlimited.
std::optional<std::uint64_t> limit_of(decltype(RLIMIT_AS) resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

} // namespace

Unexpected<Error> call_failed(std::string_view what, int error, std::string_view advice, Errc code) {
  std::string text = std::string(what) + " failed: " + errno_text(error);
  if (error != EMFILE && !advice.empty()) text.append("\n").append(advice);
  return fail(code, std::move(text));
}

std::string mapping_advice(int error, Bytes size) {
  if (error == EAGAIN)
    return "Locked memory is limited: raise it with `ulimit -l unlimited`, or give the program CAP_IPC_LOCK.";
  if (error != ENOMEM) return {};
  if (const auto space = limit_of(RLIMIT_AS))
    return "The address space of this process is limited to " + readable(Bytes{*space}) +
           ": raise it with `ulimit -v unlimited`.";
  return "Free memory for " + readable(size) + ", or raise vm.max_map_count if the process has very many mappings.";
}

Result<Mapping> Mapping::anonymous(Bytes size, int protection, int flags, std::string_view what) {
  void* base = sys().mmap(nullptr, size.count, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (base != MAP_FAILED) return Mapping(static_cast<std::byte*>(base), size);
  const int error = errno;
  return call_failed(std::string("mapping ") + readable(size) + " for " + std::string(what), error,
                     mapping_advice(error, size), Errc::out_of_memory);
}

Result<Mapping> Mapping::of_file(int file, Bytes size, int protection, int flags, std::string_view what, off_t offset) {
  void* base = sys().mmap(nullptr, size.count, protection, flags, file, offset);
  if (base != MAP_FAILED) return Mapping(static_cast<std::byte*>(base), size);
  const int error = errno;
  return call_failed("mapping " + std::string(what), error, mapping_advice(error, size), Errc::out_of_memory);
}

Result<> Mapping::unmap() {
  if (base_ == nullptr) return {};
  void* base = std::exchange(base_, nullptr);
  if (sys().munmap(base, size_.count) != 0) return call_failed("unmapping " + readable(size_), errno);
  return {};
}

} // namespace rtexec::hal
