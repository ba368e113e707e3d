#include "hal/host/host_shared_chunks.hpp"

#include "hal/system.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>

namespace rtexec::hal {
namespace {

/// Seals that fix the file's size. Every client gets the file: if one client could shrink the file, another client's
/// access would raise SIGBUS and end that client.
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Result<FileDescriptor> make_file(Bytes chunk) {
  FileDescriptor file(sys().memfd_create("rtexec-chunk", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.number() < 0)
    return call_failed("memfd_create for a chunk", errno, "Needs a free file descriptor (`ulimit -n`).");
  const auto size = static_cast<off_t>(chunk.count);
  if (sys().ftruncate(file.number(), size) != 0 || sys().fallocate(file.number(), 0, 0, size) != 0)
    return call_failed("allocating a chunk of " + readable(chunk), errno, "Ask for less capacity, or free memory.",
                       Errc::out_of_memory);
  if (::fcntl(file.number(), F_ADD_SEALS, seals) != 0) return call_failed("sealing a chunk", errno);
  return file;
}

} // namespace

Result<SharedChunks> share_host_chunks(std::size_t count, Bytes chunk) {
  if (chunk.count == 0 || chunk.count % page_size().count != 0)
    return fail(Errc::bad_input, "A chunk of " + to_string(chunk) + " is not a multiple of the page size, " +
                                     to_string(page_size()) + ".");
  std::vector<FileDescriptor> files;
  for (std::size_t i = 0; i < count; ++i) {
    auto file = make_file(chunk);
    if (!file) return Unexpected(file.error());
    files.push_back(std::move(*file));
  }
  return SharedChunks(chunk, std::move(files));
}

} // namespace rtexec::hal
