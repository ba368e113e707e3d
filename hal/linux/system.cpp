#include "hal/system.hpp"

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <liburing.h>
#include <linux/mount.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rtexec::hal {
namespace {

// Converts the result of a call that returns an error number: returns 0 for 0; otherwise sets errno and returns -1
int as_errno(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

// Converts the result of a liburing function. For a negative error number, sets errno and returns -1
int as_result(int result) { return result >= 0 ? result : as_errno(-result); }

int close_after(int result, int file) {
  const int error = errno;
  if (file >= 0) ::close(file);
  errno = error;
  return result;
}

/// Mounts a tmpfs without a mount point. Only a tmpfs of one's own can use huge pages independently of the machine's
/// setting for memory files.
int mount_huge_pages() {
  const auto context = static_cast<int>(::syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC));
  if (context < 0) return -1;
  const auto set = [&](const char* key, const char* value) {
    return ::syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, key, value, 0) == 0;
  };
  int mount = -1;
  if (set("huge", "within_size") && set("size", "0") && // 0: no limit
      ::syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0)
    mount = static_cast<int>(::syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  return close_after(mount, context);
}

int huge_page_file() {
  const int mount = mount_huge_pages();
  if (mount < 0) return -1;
  return close_after(::openat(mount, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), mount);
}

constexpr System real{
    .sched_setattr =
        [](pid_t thread, const SchedulingAttributes* attributes, unsigned flags) {
          return static_cast<int>(::syscall(SYS_sched_setattr, thread, attributes, flags));
        },
    .sched_getattr =
        [](pid_t thread, SchedulingAttributes* attributes, unsigned size, unsigned flags) {
          return static_cast<int>(::syscall(SYS_sched_getattr, thread, attributes, size, flags));
        },
    .sched_setaffinity = [](pid_t thread, std::size_t size,
                            const cpu_set_t* cores) { return ::sched_setaffinity(thread, size, cores); },
    .sched_getaffinity = [](pid_t thread, std::size_t size,
                            cpu_set_t* cores) { return ::sched_getaffinity(thread, size, cores); },
    .set_thread_name = [](const char* name) { return ::prctl(PR_SET_NAME, name); },
    .get_thread_name = [](char* name) { return ::prctl(PR_GET_NAME, name); },
    .thread_create = [](pthread_t* thread, const pthread_attr_t* attributes, void* (*entry)(void*),
                        void* argument) { return as_errno(::pthread_create(thread, attributes, entry, argument)); },
    .mlockall = [](int flags) { return ::mlockall(flags); },
    // mlock and munlock are called by number, because sanitizers replace the functions
    .mlock = [](const void* address,
                std::size_t size) { return static_cast<int>(::syscall(SYS_mlock, address, size)); },
    .munlock = [](const void* address,
                  std::size_t size) { return static_cast<int>(::syscall(SYS_munlock, address, size)); },
    .mmap = [](void* address, std::size_t size, int protection, int flags, int file,
               off_t offset) { return ::mmap(address, size, protection, flags, file, offset); },
    .munmap = [](void* address, std::size_t size) { return ::munmap(address, size); },
    .mprotect = [](void* address, std::size_t size, int protection) { return ::mprotect(address, size, protection); },
    .madvise = [](void* address, std::size_t size, int advice) { return ::madvise(address, size, advice); },
    .mincore = [](void* address, std::size_t size,
                  unsigned char* resident) { return ::mincore(address, size, resident); },
    .memfd_create = [](const char* name, unsigned flags) { return ::memfd_create(name, flags); },
    .huge_page_file = huge_page_file,
    .ftruncate = [](int file, off_t size) { return ::ftruncate(file, size); },
    .fallocate = [](int file, int mode, off_t offset, off_t size) { return ::fallocate(file, mode, offset, size); },
    .open = [](const char* path, int flags) { return ::open(path, flags); },
    .read = [](int file, void* to, std::size_t size) { return ::read(file, to, size); },
    .write = [](int file, const void* from, std::size_t size) { return ::write(file, from, size); },
    .create = [](const char* path, int flags, mode_t mode) { return ::open(path, flags | O_CREAT, mode); },
    .pread = [](int file, void* to, std::size_t size, off_t offset) { return ::pread(file, to, size, offset); },
    .pwrite = [](int file, const void* from, std::size_t size,
                 off_t offset) { return ::pwrite(file, from, size, offset); },
    .set_status_flags = [](int file, int flags) { return ::fcntl(file, F_SETFL, flags); },
    .fstat = [](int file, struct stat* status) { return ::fstat(file, status); },
    .flock = [](int file, int operation) { return ::flock(file, operation); },
    .unlink = [](const char* path) { return ::unlink(path); },
    .close = [](int file) { return ::close(file); },
    .mkdir = [](const char* path, mode_t mode) { return ::mkdir(path, mode); },
    .rmdir = [](const char* path) { return ::rmdir(path); },
    .ring_open = [](unsigned entries, io_uring* ring,
                    unsigned flags) { return as_result(::io_uring_queue_init(entries, ring, flags)); },
    .ring_close = [](io_uring* ring) { ::io_uring_queue_exit(ring); },
    .ring_register_file = [](io_uring* ring, int file) { return as_result(::io_uring_register_files(ring, &file, 1)); },
    .ring_register_buffers =
        [](io_uring* ring, const iovec* buffers, unsigned count) {
          return as_result(::io_uring_register_buffers(ring, buffers, count));
        },
    .ring_submit = [](io_uring* ring) { return as_result(::io_uring_submit(ring)); },
    .ring_wait = [](io_uring* ring,
                    io_uring_cqe** completion) { return as_result(::io_uring_wait_cqe(ring, completion)); },
    .ring_poll = [](io_uring* ring,
                    io_uring_cqe** completion) { return as_result(::io_uring_peek_cqe(ring, completion)); },
    .perf_event_open =
        [](perf_event_attr* attributes, pid_t thread, int core, unsigned long flags) {
          return static_cast<int>(::syscall(SYS_perf_event_open, attributes, thread, core, -1, flags));
        },
    .perf_event_control = [](int counter, unsigned long request,
                             const std::uint64_t* argument) { return ::ioctl(counter, request, argument); },
    .signal_owner =
        [](int counter, int signal, pid_t thread) {
          const f_owner_ex owner{.type = F_OWNER_TID, .pid = thread};
          if (::fcntl(counter, F_SETOWN_EX, &owner) != 0 || ::fcntl(counter, F_SETSIG, signal) != 0) return -1;
          const int flags = ::fcntl(counter, F_GETFL);
          return flags < 0 ? -1 : ::fcntl(counter, F_SETFL, flags | O_ASYNC);
        },
    .device_control = [](int file, unsigned long request, void* argument) { return ::ioctl(file, request, argument); },
    .eventfd = [](unsigned value, int flags) { return ::eventfd(value, flags); },
    .ppoll = [](pollfd* files, std::size_t count,
                const timespec* timeout) { return ::ppoll(files, count, timeout, nullptr); },
    .clock_nanosleep =
        [](clockid_t clock, int flags, const timespec* request, timespec* remaining) {
          return as_errno(::clock_nanosleep(clock, flags, request, remaining));
        },
};

std::atomic<const System*> in_force{&real};

} // namespace

const System& linux_system() noexcept { return real; }
const System& sys() noexcept { return *in_force.load(std::memory_order_acquire); }

SystemOverride::SystemOverride(const System& replacement) noexcept : previous_(in_force.exchange(&replacement)) {}
SystemOverride::~SystemOverride() { in_force.store(previous_); }

} // namespace rtexec::hal
