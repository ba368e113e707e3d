// One io_uring with one registered file. A caller begins reads and writes, and then waits for their completions.
//
// Threading: open() and register_memory() are set-up calls, from one thread at a time. All later calls come from one
// thread, which may differ from the set-up thread. After set-up no call allocates.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>

#include <cstddef>
#include <liburing.h>
#include <memory>
#include <span>
#include <vector>

namespace rtexec::hal {

/// How a ring finds out that the disk has completed a transfer.
enum class Completions {
  interrupts,
  polled, // the waiting thread polls the disk's queue; needs a file with O_DIRECT on a disk with poll queues
};

/// A part of a file, and the memory to read it to or write it from.
struct FilePart {
  std::byte* at = nullptr;
  Bytes size;
  Bytes offset; // in the file
};

class IoRing {
 public:
  struct Completion {
    unsigned tag = 0;
    int result = 0; // bytes, or a negative errno
  };

  /// Opens a ring for at most `depth` parts at once. The error is the errno.
  [[nodiscard]] static Expected<std::unique_ptr<IoRing>, int> open(int file, unsigned depth, Completions completions);
  ~IoRing();
  IoRing(const IoRing&) = delete;
  IoRing& operator=(const IoRing&) = delete;

  /// Registers memory to make its transfers cheaper. The kernel pins and maps `regions` (at most 1 GiB each) in
  /// advance. Transfers of unregistered memory work too, at a higher cost. May be called once. If the call fails, the
  /// error is the errno, and no memory is registered.
  [[nodiscard]] Expected<void, int> register_memory(std::vector<std::span<std::byte>> regions);

  /// Begins a transfer. Returns 0 or the errno. After an error no further transfer may be begun.
  [[nodiscard]] int begin(bool write, const FilePart& part, unsigned tag) noexcept;
  /// Waits for the next completion of a transfer under way. The error is the errno. After an error the ring must not be
  /// used any more.
  [[nodiscard]] Expected<Completion, int> wait() noexcept;

 private:
  explicit IoRing(Completions completions) : completions_(completions) {}
  void prepare(io_uring_sqe& entry, bool write, const FilePart& part) const noexcept;
  [[nodiscard]] int submit() noexcept;
  // Waits asleep (sleep()) or by polling (poll()) until there is a completion. Returns 0 or the errno
  [[nodiscard]] int sleep(io_uring_cqe*& completion) noexcept;
  [[nodiscard]] int poll(io_uring_cqe*& completion) noexcept;

  Completions completions_;
  io_uring ring_{};
  std::vector<std::span<std::byte>> regions_; // registered regions, by number
  int error_ = 0;
};

} // namespace rtexec::hal
