// Locks the clocks of a board for a run: the memory clock first, then the cores' clocks, then the GPU's clock. Each
// clock is set to the highest rate that the power mode allows. A memory clock with a cap is set to its cap.
//
// Before the first change, all planned changes are written to a state file and synced, so that every file can be
// restored. The run restores the files at its end, or if locking one of the clocks fails. After a crash, the next run
// or `rtexec restore` restores the files. A machine has one lock at a time. Set-up code: it may allocate and block.
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
  /// Restores the clocks that a killed run left locked, then locks the clocks. `folder` belongs to this user alone and
  /// holds the state file and its lock. Clocks that the machine shows but cannot set stay unchanged. If the machine can
  /// set no clock, no clock is locked. Returns refused if another run holds the lock. Also returns refused if a file
  /// cannot be read or written, or does not read back the written value. After refused, all files have their old
  /// values.
  [[nodiscard]] static Result<ClockLock> take(const FoundHardware& hardware, const Machine& machine,
                                              const std::filesystem::path& folder = lock_folder);
  ClockLock() : machine_("/") {}
  ClockLock(ClockLock&& other) noexcept : ClockLock() { swap(other); }
  ClockLock& operator=(ClockLock&& other) noexcept {
    swap(other);
    return *this;
  }
  /// Calls restore() and ignores its error: files that could not be restored stay in the state file.
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

/// Restores the files that a killed run recorded in the state file of `folder`, and returns the number of restored
/// files. Returns 0 if there is no state file, or if the run that wrote it is still active. Returns refused if a file
/// cannot be restored; that file then stays in the state file. Also returns refused if the state file was not written
/// by rtexec; the state file then stays unchanged.
[[nodiscard]] Result<std::size_t> restore_clocks(const Machine& machine,
                                                 const std::filesystem::path& folder = lock_folder);

} // namespace rtexec::hal
