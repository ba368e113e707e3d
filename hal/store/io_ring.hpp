// One io_uring with one registered file: reads and writes are begun, and then waited for.
//
// Threading: set-up from any one thread, the rest from one thread. After set-up no call allocates.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>

#include <cstddef>
#include <liburing.h>
#include <memory>
#include <span>
#include <vector>

namespace rtexec::hal {

/// How a ring learns that the disk is done.
enum class Completions {
  interrupts,
  polled, // whoever waits asks the disk's poll queue: of a file with O_DIRECT, on a disk that has one
};

/// A part of a file, and the memory that it is read to or written from.
struct FilePart {
  std::byte* at = nullptr;
  Bytes size;
  Bytes offset; // in the file
};

class IoRing {
 public:
  struct Completion {
    unsigned tag = 0;
    int result = 0; // bytes, or a negative error number
  };

  /// For `depth` parts at once. The error is the kernel's number.
  [[nodiscard]] static Expected<std::unique_ptr<IoRing>, int> open(int file, unsigned depth, Completions completions);
  ~IoRing();
  IoRing(const IoRing&) = delete;
  IoRing& operator=(const IoRing&) = delete;

  /// Once. `regions` of at most 1 GiB each are then kept ready for the kernel; other memory works too, and costs more.
  /// The error is the kernel's number, and nothing is registered.
  [[nodiscard]] Expected<void, int> register_memory(std::vector<std::span<std::byte>> regions);

  /// 0, or the kernel's error number; after an error nothing more can be begun.
  [[nodiscard]] int begin(bool write, const FilePart& part, unsigned tag) noexcept;
  /// The next of those that were begun. An error is the kernel's number, and final.
  [[nodiscard]] Expected<Completion, int> wait() noexcept;

 private:
  explicit IoRing(Completions completions) : completions_(completions) {}
  void prepare(io_uring_sqe& entry, bool write, const FilePart& part) const noexcept;
  [[nodiscard]] int submit() noexcept;
  // Until there is a completion; 0, or the kernel's error number.
  [[nodiscard]] int sleep(io_uring_cqe*& completion) noexcept;
  [[nodiscard]] int poll(io_uring_cqe*& completion) noexcept;

  Completions completions_;
  io_uring ring_{};
  std::vector<std::span<std::byte>> regions_; // registered, by number
  int error_ = 0;
};

} // namespace rtexec::hal
