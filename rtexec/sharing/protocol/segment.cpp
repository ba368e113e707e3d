#include "rtexec/sharing/protocol/segment.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>

namespace rtexec::protocol {
namespace {

constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Unexpected<Error> failed(const char* what) {
  return fail(Errc::refused, std::string("shared segment: ") + what + ": " + std::strerror(errno));
}

} // namespace

Result<SharedSegment> SharedSegment::create() {
  config::Descriptor memory(::memfd_create("rtexec-client", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory.get() < 0) return failed("memfd_create");
  // Allocates the pages now. Otherwise a full file system could later end the process by SIGBUS.
  if (::fallocate(memory.get(), 0, 0, sizeof(Segment)) != 0) return failed("fallocate");
  if (::fcntl(memory.get(), F_ADD_SEALS, seals) != 0) return failed("sealing");
  void* const at = ::mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory.get(), 0);
  if (at == MAP_FAILED) return failed("mmap");
  return SharedSegment(std::move(memory), new (at) Segment);
}

Result<SharedSegment> SharedSegment::open(config::Descriptor memory) {
  struct stat status {};
  if (::fstat(memory.get(), &status) != 0) return failed("fstat");
  if (status.st_size != static_cast<off_t>(sizeof(Segment)))
    return fail(Errc::refused, "shared segment: " + std::to_string(status.st_size) + " bytes instead of " +
                                   std::to_string(sizeof(Segment)));
  if ((::fcntl(memory.get(), F_GET_SEALS) & F_SEAL_SHRINK) == 0)
    return fail(Errc::refused, "shared segment: it is not sealed against shrinking");
  void* const at = ::mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory.get(), 0);
  if (at == MAP_FAILED) return failed("mmap");
  SharedSegment segment(std::move(memory), static_cast<Segment*>(at));
  if (::mprotect(at, segment_page, PROT_READ) != 0) return failed("mprotect");
  return segment;
}

SharedSegment::~SharedSegment() {
  if (segment_ != nullptr) ::munmap(segment_, sizeof(Segment));
}

} // namespace rtexec::protocol
