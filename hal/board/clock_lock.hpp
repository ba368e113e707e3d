// Locks the clocks of a board for a run: memory first, then cores, then the GPU. Each clock is set to the highest rate
// that the power mode allows; the memory clock to its cap if it has one.
//
// Before the first change, all changes are written to a state file and synced, so that every file can be restored. The
// run restores them at its end, or if a part of the locking fails. After a crash, the next run or `rtexec restore`
// restores them. A machine has one lock at a time. Set-up code: it may allocate and block.
#pragma once

#include <rtexec/result.hpp>
#include "hal/board/board_findings.hpp"
#include "hal/linux/lock_file.hpp"
#include "hal/machine_files.hpp"
#include "hal/resources.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::hal {

/// A change of one file: its old value and the value written.
struct ClockChange {
  std::filesystem::path file; // path without the root
  std::string before, after;
};

/// A locked clock, and the file that shows its rate.
struct LockedClock {
  std::string name;
  BoardFile rate;
  std::int64_t hertz = 0;
};

class ClockLock {
 public:
  /// Locks the clocks, after restoring what a killed run left. `folder` belongs to this user alone and holds the state
  /// file and its lock. Clocks that the machine shows but cannot set stay unchanged; if it can set none, nothing is
  /// locked. Returns refused if another run holds the lock, or if a file cannot be read or written or does not read
  /// back as written. After refused, all files are as they were before.
  [[nodiscard]] static Result<ClockLock> take(const FoundHardware& hardware, const Machine& machine,
                                              const std::filesystem::path& folder = lock_folder);
  ClockLock() : machine_("/") {}
  ClockLock(ClockLock&& other) noexcept : ClockLock() { swap(other); }
  ClockLock& operator=(ClockLock&& other) noexcept {
    swap(other);
    return *this;
  }
  /// Calls restore() and drops its error: files that could not be restored stay in the state file.
  ~ClockLock();

  /// Restores the files in reverse order. Returns refused if a file cannot be restored; that file stays in the state
  /// file.
  Result<> restore();
  [[nodiscard]] const std::vector<LockedClock>& clocks() const { return clocks_; }

 private:
  explicit ClockLock(const Machine& machine) : machine_(machine) {}
  void swap(ClockLock& other) noexcept {
    std::swap(machine_, other.machine_);
    std::swap(state_, other.state_);
    std::swap(lock_, other.lock_);
    std::swap(changes_, other.changes_);
    std::swap(clocks_, other.clocks_);
  }

  Machine machine_;
  std::filesystem::path state_;
  FileDescriptor lock_;
  std::vector<ClockChange> changes_; // empty: nothing to restore
  std::vector<LockedClock> clocks_;
};

/// Restores the files that a killed run recorded in the state file of `folder`, and returns their number. Returns 0 if
/// there is no state file, or if its run still goes on. Returns refused if a file cannot be restored, which then stays
/// in the state file. Also returns refused if the file of that name is not one that a run wrote; it stays unchanged.
[[nodiscard]] Result<std::size_t> restore_clocks(const Machine& machine,
                                                 const std::filesystem::path& folder = lock_folder);

} // namespace rtexec::hal
