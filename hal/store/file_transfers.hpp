// One direction between a file and memory, a few parts at once by io_uring. Without a ring, part after part by pread or
// pwrite.
//
// Short transfers and interrupted ones are continued. Threading: set-up from any one thread, the rest from one thread;
// last_error() from any. After set-up no call allocates.
#pragma once

#include "hal/store/io_ring.hpp"

#include <array>
#include <atomic>
#include <memory>

namespace rtexec::hal {

class FileTransfers {
 public:
  enum class Direction { read, write };
  static constexpr unsigned depth = 4; // parts at once

  /// `file` outlives it.
  FileTransfers(int file, Direction direction) : file_(file), direction_(direction) {}
  void use(std::unique_ptr<IoRing> ring) { ring_ = std::move(ring); }

  [[nodiscard]] Direction direction() const noexcept { return direction_; }

  /// Begins a part in one of `depth` slots, which is free: nothing was begun there, or it was finished.
  void begin(unsigned slot, const FilePart& part) noexcept;
  /// Waits until nothing is under way in `slot`; io_error where what was begun there failed.
  [[nodiscard]] Status finish(unsigned slot) noexcept;
  /// After an error: waits until the kernel touches none of the memory any more; what has not begun is forgotten.
  void end() noexcept;
  /// The kernel's number of the last error, or 0.
  [[nodiscard]] int last_error() const noexcept { return last_error_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    FilePart left;       // of what was begun; no size: nothing is under way
    int attempts = 0;    // in a row that moved nothing
    bool failed = false; // what was begun last
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
