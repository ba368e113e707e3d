// Clocks of a board that stand still for a run: of its memory, its cores and its GPU, in this order, each at the
// highest that the power mode allows (or the cap of the memory's). What is changed is written to a state file and
// synced before the first change, so that everything comes back: at the end, after a part that failed, and after a
// crash by the next run or `rtexec restore`. One lock at a time on a machine. Set-up code: it may allocate and block.
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

/// What one file read, and what it was given instead.
struct ClockChange {
  std::filesystem::path file; // without the root
  std::string before, after;
};

/// A clock that stands still, and where to see that it does.
struct LockedClock {
  std::string name;
  BoardFile rate;
  std::int64_t hertz = 0;
};

class ClockLock {
 public:
  /// Restores first what a killed run left. `folder` is this user's alone: of the state file and its lock. Clocks that
  /// the machine only shows stay as they are; where there are no others nothing is locked. refused: another run holds
  /// the lock, a file may not be read or written or does not read back as written; all is as it was then.
  [[nodiscard]] static Result<ClockLock> take(const FoundHardware& hardware, const Machine& machine,
                                              const std::filesystem::path& folder = lock_folder);
  ClockLock() : machine_("/") {}
  ClockLock(ClockLock&& other) noexcept : ClockLock() { swap(other); }
  ClockLock& operator=(ClockLock&& other) noexcept {
    swap(other);
    return *this;
  }
  /// restore(), which then has nobody to tell: what it could not restore stays in the state file.
  ~ClockLock();

  /// In reverse. refused: some file could not be, and stays in the state file.
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
  std::vector<ClockChange> changes_; // none: nothing to restore
  std::vector<LockedClock> clocks_;
};

/// What a killed run left in the state file of `folder`: how many files were given back; 0 where there is none, or its
/// run goes on. refused: some file could not be, and stays in the state file; or what is in the state file's place was
/// written by no run, and stays as it is.
[[nodiscard]] Result<std::size_t> restore_clocks(const Machine& machine,
                                                 const std::filesystem::path& folder = lock_folder);

} // namespace rtexec::hal
