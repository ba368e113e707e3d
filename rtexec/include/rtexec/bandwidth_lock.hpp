// Lets a process report to an executive on the same machine that the process uses the GPU, or that it needs memory
// bandwidth. The executive must regulate memory bandwidth. While any process holds a lock, the executive limits
// best-effort cores (rtexec/docs/user-guide/bandwidth-budgets.md). The state is one page of shared memory; a call costs
// a few nanoseconds and never blocks.
//
//   auto locks = rtexec::BandwidthLocks::open();
//   { rtexec::BandwidthLock lock(*locks); run_the_critical_section(); }   // bw_lock, bw_unlock
//   { rtexec::GpuBusy busy(*locks); use_the_gpu(); }                      // gpu_busy, gpu_not_busy
//
// A change takes effect on a regulated core no later than the core's next regulation period. The locks of a process
// that dies are released within a second.
#pragma once

#include <rtexec/export.hpp>
#include <rtexec/result.hpp>
#include <rtexec/units.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace rtexec {

/// The locks that all processes together hold now.
struct BandwidthHolders {
  /// The number of fine-grained locks held. An executive holds a fine-grained lock during device executions and copies.
  /// Another program holds it from lock() to unlock().
  std::uint32_t locks = 0;
  /// The number of coarse locks held. An executive holds a coarse lock from a job's request for the device to the end
  /// of the job's device part. Another program holds it from gpu_busy() to gpu_not_busy().
  std::uint32_t busy = 0;
  /// The instant at which a process last released all of its fine-grained locks (lock()).
  Instant unlocked{};
  /// The instant at which a process last released all of its coarse locks (gpu_busy()).
  Instant left{};
};

/// The bandwidth locks of one process.
class RTEXEC_API BandwidthLocks {
 public:
  static constexpr std::size_t max_processes = 64;
  /// Opens the page of shared memory that all processes of the machine share. Creates the page for this user and group
  /// if it does not exist. A user with write permission for the page can kill the processes that map the page, by
  /// shortening its file. Returns refused if the page cannot be used, belongs to neither this user nor root, or already
  /// serves `max_processes` processes. One object for each process is enough; any thread may use it. A forked child
  /// must open its own object. Until the child has opened an object or has ended, the locks of its parent stay held
  /// even if the parent dies.
  [[nodiscard]] static Result<BandwidthLocks> open(const std::filesystem::path& folder = "/dev/shm");
  ~BandwidthLocks(); // releases all locks of this object
  BandwidthLocks(BandwidthLocks&&) noexcept;
  BandwidthLocks& operator=(BandwidthLocks&&) noexcept;

  // Calls may be nested. These functions are async-signal-safe and make no system call. lock() takes a fine-grained
  // lock, and unlock() returns it. gpu_busy() takes a coarse lock, and gpu_not_busy() returns it. BandwidthHolders
  // describes when an executive holds each kind of lock.
  void lock() noexcept;
  void unlock() noexcept;
  void gpu_busy() noexcept;
  void gpu_not_busy() noexcept;

  [[nodiscard]] BandwidthHolders holders() const noexcept;
  /// Releases the locks of processes that died. Not thread-safe, and not for real-time threads.
  void forget_dead() noexcept;

 private:
  struct Page;
  struct Place;
  BandwidthLocks() = default;
  int file_ = -1; // its file locks show which processes are alive
  Page* page_ = nullptr;
  Place* place_ = nullptr;
};

class BandwidthLock {
 public:
  explicit BandwidthLock(BandwidthLocks& locks) noexcept : locks_(locks) { locks_.lock(); }
  ~BandwidthLock() { locks_.unlock(); }
  BandwidthLock(const BandwidthLock&) = delete;
  BandwidthLock& operator=(const BandwidthLock&) = delete;

 private:
  BandwidthLocks& locks_;
};

class GpuBusy {
 public:
  explicit GpuBusy(BandwidthLocks& locks) noexcept : locks_(locks) { locks_.gpu_busy(); }
  ~GpuBusy() { locks_.gpu_not_busy(); }
  GpuBusy(const GpuBusy&) = delete;
  GpuBusy& operator=(const GpuBusy&) = delete;

 private:
  BandwidthLocks& locks_;
};

} // namespace rtexec
