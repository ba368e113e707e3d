// Where swapped chunks go: memory or a file that holds one copy of each chunk, by number.
//
// All its memory and room is taken when it is opened; load() and save() then neither allocate nor fault. Ownership: the
// store owns its copies; the Device must outlive it. Threading: save() on the copy-out engine's thread and load() on
// the copy-in engine's, both at once if they like, but never of the same chunk.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/device_interface.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace rtexec::hal {

class BackingStore {
 public:
  virtual ~BackingStore() = default;
  BackingStore(const BackingStore&) = delete;
  BackingStore& operator=(const BackingStore&) = delete;

  /// For people: "page-locked host memory", "/data/swap, unlinked, by io_uring with O_DIRECT", "/data/swap, unlinked,
  /// by polled io_uring with O_DIRECT", "/data/swap, unlinked, by pread and pwrite".
  [[nodiscard]] virtual std::string description() const = 0;
  /// What it fell back to, and why, in lines; empty where it got what it wanted.
  [[nodiscard]] virtual std::string fallback() const { return {}; }
  /// What the last io_error of load() and of save() was, and what to do; empty where there was none. Any thread.
  [[nodiscard]] virtual std::string failure() const { return {}; }
  [[nodiscard]] virtual std::size_t chunks() const = 0;

  /// Set-up: the contents of `chunk`, at most one chunk long; the rest becomes zero.
  [[nodiscard]] virtual Result<> fill(std::size_t chunk, std::span<const std::byte> contents) = 0;
  /// Says that load() of the same arguments will follow, in the order in which loads are announced; those that are not
  /// may come in between. The store may begin at once, so that transfers follow each other without a gap. On the thread
  /// of load(); never blocks.
  virtual void begin_load(std::size_t /*chunk*/, std::byte* /*window*/) noexcept {}
  /// The same of save().
  virtual void begin_save(std::size_t /*chunk*/, const std::byte* /*window*/) noexcept {}
  /// Copies `chunk` to the device, at `window`, with `beside` done meanwhile: once, whatever fails, except that a
  /// device which refuses to begin its copy may leave it undone. io_error, or what the device or `beside` says.
  [[nodiscard]] virtual Status load(std::size_t chunk, std::byte* window, Beside beside) noexcept = 0;
  /// The other way. After an error the stored copy may be torn, the device's is whole.
  [[nodiscard]] virtual Status save(std::size_t chunk, const std::byte* window, Beside beside) noexcept = 0;

 protected:
  BackingStore() = default;
};

enum class HostMemoryKind { page_locked, pageable };

/// `chunks` chunks of the device's chunk size in host memory, zeroed. out_of_memory, refused.
[[nodiscard]] Result<std::unique_ptr<BackingStore>> open_host_store(Device& device, std::size_t chunks,
                                                                    HostMemoryKind kind);

/// The same in `file`, which is made and at once unlinked: however the program ends, nothing is left of it. All of it
/// is written once, so that its room is there and a first save takes no longer than others. By io_uring with O_DIRECT
/// and registered buffers, those chunks registered that the device has by now; where the kernel or the file system
/// lacks one of these, without it, as fallback() says. Where the disk has poll queues they are polled: who loads or
/// saves then spins for it, or naps under a reservation. Where the host does not see the pool window, page-locked
/// buffers of the store (at most 32 MiB) stand in between. refused: no room, no permission; a file that is there
/// already is never overwritten. io_error.
[[nodiscard]] Result<std::unique_ptr<BackingStore>> open_file_store(Device& device, std::size_t chunks,
                                                                    const std::filesystem::path& file);
/// Whether the file can be made, and room of `size` set aside for it; it is gone again. Errors as above.
[[nodiscard]] Result<> try_file_store(const std::filesystem::path& file, Bytes size);

} // namespace rtexec::hal
