// The system calls of hal/, as one table of functions, so that a test can make each system call fail. Functions return
// the results of the system calls: -1 and errno (mmap: MAP_FAILED). hal/ uses this table for all calls that concern
// threads, memory or files. Futexes and the clock are called directly: these calls cannot fail on valid arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <sched.h>
#include <sys/types.h>
#include <time.h>

struct io_uring; // of liburing.h
struct io_uring_cqe;
struct iovec;
struct perf_event_attr;
struct pollfd;
struct stat;

namespace rtexec::hal {

/// `struct sched_attr` of the kernel in its first version, which glibc 2.36 does not declare.
struct SchedulingAttributes {
  std::uint32_t size = 48;
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

struct System {
  // threads
  int (*sched_setattr)(pid_t thread, const SchedulingAttributes* attributes, unsigned flags);
  int (*sched_getattr)(pid_t thread, SchedulingAttributes* attributes, unsigned size, unsigned flags);
  int (*sched_setaffinity)(pid_t thread, std::size_t size, const cpu_set_t* cores);
  int (*sched_getaffinity)(pid_t thread, std::size_t size, cpu_set_t* cores);
  int (*set_thread_name)(const char* name); // of the calling thread
  int (*get_thread_name)(char* name);       // 16 bytes
  int (*thread_create)(pthread_t* thread, const pthread_attr_t* attributes, void* (*entry)(void*), void* argument);
  // memory
  int (*mlockall)(int flags);
  int (*mlock)(const void* address, std::size_t size);
  int (*munlock)(const void* address, std::size_t size);
  void* (*mmap)(void* address, std::size_t size, int protection, int flags, int file, off_t offset);
  int (*munmap)(void* address, std::size_t size);
  int (*mprotect)(void* address, std::size_t size, int protection);
  int (*madvise)(void* address, std::size_t size, int advice);
  int (*mincore)(void* address, std::size_t size, unsigned char* resident);
  int (*memfd_create)(const char* name, unsigned flags);
  /// Creates an unnamed memory file. Huge pages back each whole huge page within its size. The file is closed on exec.
  int (*huge_page_file)();
  int (*ftruncate)(int file, off_t size);
  int (*fallocate)(int file, int mode, off_t offset, off_t size);
  // files
  int (*open)(const char* path, int flags);
  ssize_t (*read)(int file, void* to, std::size_t size);
  ssize_t (*write)(int file, const void* from, std::size_t size);
  int (*create)(const char* path, int flags, mode_t mode); // open() with O_CREAT
  ssize_t (*pread)(int file, void* to, std::size_t size, off_t offset);
  ssize_t (*pwrite)(int file, const void* from, std::size_t size, off_t offset);
  int (*set_status_flags)(int file, int flags); // fcntl(F_SETFL)
  int (*fstat)(int file, struct stat* status);
  int (*flock)(int file, int operation);
  int (*unlink)(const char* path);
  int (*close)(int file);
  int (*mkdir)(const char* path, mode_t mode);
  int (*rmdir)(const char* path);
  // io_uring, by liburing
  int (*ring_open)(unsigned entries, io_uring* ring, unsigned flags);
  void (*ring_close)(io_uring* ring);
  int (*ring_register_file)(io_uring* ring, int file);
  int (*ring_register_buffers)(io_uring* ring, const iovec* buffers, unsigned count);
  int (*ring_submit)(io_uring* ring); // returns the number of submitted entries
  int (*ring_wait)(io_uring* ring, io_uring_cqe** completion);
  int (*ring_poll)(io_uring* ring, io_uring_cqe** completion); // never waits; EAGAIN: there is no completion
  // counters
  int (*perf_event_open)(perf_event_attr* attributes, pid_t thread, int core, unsigned long flags);
  int (*perf_event_control)(int counter, unsigned long request, const std::uint64_t* argument); // ioctl
  int (*signal_owner)(int counter, int signal, pid_t thread); // fcntl: F_SETOWN_EX, F_SETSIG, O_ASYNC
  // cameras
  int (*device_control)(int file, unsigned long request, void* argument); // ioctl
  // waiting
  int (*eventfd)(unsigned value, int flags);
  int (*ppoll)(pollfd* files, std::size_t count, const timespec* timeout);
  // time
  int (*clock_nanosleep)(clockid_t clock, int flags, const timespec* request, timespec* remaining);
};

[[nodiscard]] const System& linux_system() noexcept; // the table of the real calls
[[nodiscard]] const System& sys() noexcept;          // the table in use

/// Replaces the table for the whole process while this object lives. `replacement` must outlive it.
class SystemOverride {
 public:
  explicit SystemOverride(const System& replacement) noexcept;
  ~SystemOverride();
  SystemOverride(const SystemOverride&) = delete;
  SystemOverride& operator=(const SystemOverride&) = delete;

 private:
  const System* previous_;
};

} // namespace rtexec::hal
