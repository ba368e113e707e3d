// Transfers parts of a file from or to memory, in one direction. An io_uring (an IoRing) carries several parts at once.
// Without one, the parts are transferred one after another by pread or pwrite.
//
// Short and interrupted transfers are continued. Threading: the constructor and use() are set-up calls, from one thread
// at a time. All later calls come from one thread, except that any thread may call last_error(). After set-up no call
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
  static constexpr unsigned depth = 4; // parts under way at once

  /// `file` must outlive this object.
  FileTransfers(int file, Direction direction) : file_(file), direction_(direction) {}
  void use(std::unique_ptr<IoRing> ring) { ring_ = std::move(ring); }

  [[nodiscard]] Direction direction() const noexcept { return direction_; }

  /// Begins the transfer of `part` in one of `depth` slots. The slot must be free: no transfer was begun there, or
  /// finish() was called for it.
  void begin(unsigned slot, const FilePart& part) noexcept;
  /// Waits until no transfer is under way in `slot`. Returns io_error if the transfer that was begun there failed.
  [[nodiscard]] Status finish(unsigned slot) noexcept;
  /// Call after an error: waits until the kernel no longer touches any of the memory, and drops transfers that have not
  /// begun.
  void end() noexcept;
  /// Returns the errno of the last error, or 0.
  [[nodiscard]] int last_error() const noexcept { return last_error_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    FilePart left;       // the part still to transfer; size 0: nothing is under way
    int attempts = 0;    // consecutive attempts that transferred nothing
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
