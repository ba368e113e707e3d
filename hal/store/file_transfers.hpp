// Transfers parts of a file from or to memory, in one direction. With an io_uring (an IoRing), several parts are
// transferred at once. Without an io_uring, the parts are transferred one after another by pread or pwrite.
//
// Short and interrupted transfers are continued. Threading: the constructor and use() are set-up calls, from one thread
// at a time. All later calls come from one thread; only last_error() may be called by any thread. After set-up no call
// allocates.
#pragma once

#include "hal/store/io_ring.hpp"

#include <array>
#include <atomic>
#include <memory>

namespace rtexec::hal {

class FileTransfers {
 public:
  enum class Direction { read, write };
  static constexpr unsigned depth = 4; // maximum number of parts under transfer at once

  /// `file` must outlive this object.
  FileTransfers(int file, Direction direction) : file_(file), direction_(direction) {}
  void use(std::unique_ptr<IoRing> ring) { ring_ = std::move(ring); }

  [[nodiscard]] Direction direction() const noexcept { return direction_; }

  /// Begins the transfer of `part` in a slot below `depth`. The slot must be free: it was never used, or finish() was
  /// called for its last transfer.
  void begin(unsigned slot, const FilePart& part) noexcept;
  /// Waits until no transfer is under way in `slot`. Returns io_error if the last transfer in `slot` failed.
  [[nodiscard]] Status finish(unsigned slot) noexcept;
  /// Must be called after an error. Waits until the kernel no longer accesses the memory of any transfer, and drops
  /// transfers that the kernel has not begun.
  void end() noexcept;
  /// Returns the errno of the last error, or 0.
  [[nodiscard]] int last_error() const noexcept { return last_error_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    FilePart left;       // the part still to transfer; size 0: no transfer is under way
    int attempts = 0;    // consecutive attempts that transferred no byte
    bool failed = false; // the last transfer failed
  };

  void resume(unsigned slot) noexcept;
  void wait() noexcept;
  [[nodiscard]] long transfer(const FilePart& part) const noexcept;
  void account(Slot& slot, long result) noexcept;
  void give_up(Slot& slot, int error) noexcept;

  int file_;
  Direction direction_;
  std::unique_ptr<IoRing> ring_;
  std::array<Slot, depth> slots_;
  std::atomic<int> last_error_{0};
};

} // namespace rtexec::hal
