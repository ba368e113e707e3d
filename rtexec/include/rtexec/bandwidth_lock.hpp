// Tells a regulating executive, from any process of the machine, that the GPU works or that memory bandwidth is needed:
// while anyone does, best-effort cores are limited (README: bandwidth budgets). A page in shared memory; a call costs a
// few nanoseconds and never blocks.
//
//   auto locks = rtexec::BandwidthLocks::open();
//   { rtexec::BandwidthLock lock(*locks); run_the_critical_section(); }   // bw_lock, bw_unlock
//   { rtexec::GpuBusy busy(*locks); use_the_gpu(); }                      // gpu_busy, gpu_not_busy
//
// In force on a regulated core at its next period at the latest. A process that dies gives back what it held within a
// second.
#pragma once

#include <rtexec/export.hpp>
#include <rtexec/result.hpp>
#include <rtexec/units.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace rtexec {

/// How many hold each kind now, all processes together.
struct BandwidthHolders {
  /// Fine: device executions and copies, or whatever took the lock.
  std::uint32_t locks = 0;
  /// Coarse: from a job's request for the device to the end of its device part.
  std::uint32_t busy = 0;
  /// When a process last gave back all of its locks.
  Instant unlocked{};
  /// When a process was last busy.
  Instant left{};
};

class RTEXEC_API BandwidthLocks {
 public:
  static constexpr std::size_t max_processes = 64;
  /// The page of the machine, made where there is none, for this user and group. Whoever may write it can end those who
  /// use it. refused: it cannot be used, belongs to a user who is neither this one nor root, or all places are taken.
  /// One for each process is enough; any thread may use it. A forked child opens its own; until it does, or ends, it
  /// keeps what its parent held when that dies.
  [[nodiscard]] static Result<BandwidthLocks> open(const std::filesystem::path& folder = "/dev/shm");
  ~BandwidthLocks(); // gives back what is held
  BandwidthLocks(BandwidthLocks&&) noexcept;
  BandwidthLocks& operator=(BandwidthLocks&&) noexcept;

  // Nested calls count. Async-signal-safe; no system call.
  void lock() noexcept;
  void unlock() noexcept;
  void gpu_busy() noexcept;
  void gpu_not_busy() noexcept;

  [[nodiscard]] BandwidthHolders holders() const noexcept;
  /// Clears the places of processes that died. One thread at a time; not for real-time threads.
  void forget_dead() noexcept;

 private:
  struct Page;
  struct Place;
  BandwidthLocks() = default;
  int file_ = -1; // its locks tell the living from the dead
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
