// Tells a regulating executive, from any process of the machine, that the GPU works or that memory bandwidth is needed.
// While any process holds a lock, best-effort cores are limited (rtexec/docs/user-guide/bandwidth-budgets.md). The
// state is one page of shared memory; a call costs a few nanoseconds and never blocks.
//
//   auto locks = rtexec::BandwidthLocks::open();
//   { rtexec::BandwidthLock lock(*locks); run_the_critical_section(); }   // bw_lock, bw_unlock
//   { rtexec::GpuBusy busy(*locks); use_the_gpu(); }                      // gpu_busy, gpu_not_busy
//
// A change takes effect on a regulated core at its next period at the latest. The locks of a process that dies are
// released within a second.
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
  /// Fine-grained locks: held during device executions and copies, or by a caller of lock().
  std::uint32_t locks = 0;
  /// Coarse locks: held from a job's request for the device to the end of its device part.
  std::uint32_t busy = 0;
  /// The instant at which a process last released all of its fine-grained locks.
  Instant unlocked{};
  /// The instant at which a process last released all of its coarse locks.
  Instant left{};
};

/// The bandwidth locks of one process.
class RTEXEC_API BandwidthLocks {
 public:
  static constexpr std::size_t max_processes = 64;
  /// Opens the machine's page; creates it for this user and group if it does not exist. A user who may write the page
  /// can end the processes that map it, by shortening the file. Returns refused if the page cannot be used, belongs to
  /// neither this user nor root, or all places are taken. One object for each process is enough; any thread may use it.
  /// A forked child opens its own. Until the child does so or ends, it keeps the locks of its parent alive when the
  /// parent dies.
  [[nodiscard]] static Result<BandwidthLocks> open(const std::filesystem::path& folder = "/dev/shm");
  ~BandwidthLocks(); // releases all locks of this object
  BandwidthLocks(BandwidthLocks&&) noexcept;
  BandwidthLocks& operator=(BandwidthLocks&&) noexcept;

  // Calls nest. Async-signal-safe; no system call.
  void lock() noexcept;
  void unlock() noexcept;
  void gpu_busy() noexcept;
  void gpu_not_busy() noexcept;

  [[nodiscard]] BandwidthHolders holders() const noexcept;
  /// Clears the places of processes that died. Not thread-safe, and not for real-time threads.
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
