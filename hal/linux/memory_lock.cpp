#include "hal/thread.hpp"

#include "hal/linux/advice.hpp"
#include "hal/resources.hpp"
#include "hal/machine_files.hpp"
#include "hal/system.hpp"

#include <cerrno>
#include <sys/mman.h>

namespace rtexec::hal {
namespace {

Result<> not_locked(const std::string& sign) {
  return fail(Errc::refused, "mlockall was accepted, but memory is not locked: " + sign +
                                 ".\nSanitizers and some sandboxes turn mlockall into a no-op: run without them.");
}

/// Checks that MCL_FUTURE is in force: the pages of a new mapping must be resident before they are accessed.
Result<> check_fresh_mapping() {
  auto fresh = Mapping::anonymous(page_size(), PROT_READ | PROT_WRITE, 0, "the check of locked memory");
  if (!fresh) return Unexpected(fresh.error());
  unsigned char resident = 0;
  if (sys().mincore(fresh->base(), fresh->size().count, &resident) != 0) return call_failed("mincore", errno);
  if ((resident & 1) == 0) return not_locked("a new mapping is not resident");
  return {};
}

} // namespace

Result<> lock_memory() {
  if (sys().mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    const int error = errno;
    return call_failed("locking the memory of the process", error, memory_lock_advice());
  }
  const auto status = Machine().read("/proc/self/status");
  if (!status) return Unexpected(status.error());
  const auto locked = field(*status, "VmLck:");
  if (!locked || *locked == "0 kB") return not_locked("VmLck in /proc/self/status is " + locked.value_or("missing"));
  return check_fresh_mapping();
}

} // namespace rtexec::hal
