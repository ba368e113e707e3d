// Stores for swapped chunks: pieces of device memory, all of one size, that are copied out to make room, and back in
// later. A store holds one copy of each chunk, by chunk number, in host memory or in a file.
//
// Opening a store takes all its memory and file space. Afterwards load() and save() neither allocate nor fault.
// Ownership: the store owns its copies; the Device must outlive the store. Threading: save() runs on the copy-out
// engine's thread and load() on the copy-in engine's thread. They may run at once, but never on the same chunk.
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

  /// Returns a description for people: "page-locked host memory", "/data/swap, unlinked, by io_uring with O_DIRECT",
  /// "/data/swap, unlinked, by polled io_uring with O_DIRECT", "/data/swap, unlinked, by pread and pwrite".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Returns what the store fell back to and why, in lines. Empty if the store got everything that it requested.
  [[nodiscard]] virtual std::string fallback() const { return {}; }
  /// Returns the causes of the last io_error of load() and of save(), and what to do. Empty if there was none. Any
  /// thread.
  [[nodiscard]] virtual std::string failure() const { return {}; }
  [[nodiscard]] virtual std::size_t chunks() const = 0;

  /// Set-up: stores `contents` (at most one chunk long) as the copy of `chunk`, and zeroes the rest of the copy.
  [[nodiscard]] virtual Result<> fill(std::size_t chunk, std::span<const std::byte> contents) = 0;
  /// Announces that load() will be called with the same arguments. Announced loads are called in the order of their
  /// announcements; loads without an announcement may come in between. The store may begin the transfer at once, so
  /// that transfers follow each other without a gap. Called on the thread of load(). Never blocks.
  virtual void begin_load(std::size_t /*chunk*/, std::byte* /*window*/) noexcept {}
  /// Announces a save(), with the same rules as begin_load().
  virtual void begin_save(std::size_t /*chunk*/, const std::byte* /*window*/) noexcept {}
  /// Copies the stored `chunk` to the device address `window`. Calls `beside`, other work of the caller, once while the
  /// copy is under way, even if the copy fails. Exception: `beside` may be skipped if the device refuses to begin its
  /// copy. Returns io_error, or the error of the device or of `beside`.
  [[nodiscard]] virtual Status load(std::size_t chunk, std::byte* window, Beside beside) noexcept = 0;
  /// Copies a chunk from the device to the store, otherwise as load(). After an error the stored copy may be a mixture
  /// of old and new contents; the device's copy is intact.
  [[nodiscard]] virtual Status save(std::size_t chunk, const std::byte* window, Beside beside) noexcept = 0;

 protected:
  BackingStore() = default;
};

enum class HostMemoryKind { page_locked, pageable };

/// Opens a store of `chunks` chunks of the device's chunk size in host memory, zeroed. Errors: out_of_memory, refused.
[[nodiscard]] Result<std::unique_ptr<BackingStore>> open_host_store(Device& device, std::size_t chunks,
                                                                    HostMemoryKind kind);

/// Opens a store of `chunks` chunks in `file`. The file is created and unlinked at once, so that nothing is left of it
/// however the program ends. The whole file is written once, so that its space is allocated and a first save takes no
/// longer than others.
///
/// Transfers use io_uring with O_DIRECT and registered buffers. The store registers the chunks that the device has
/// created before this call. If the kernel or the file system lacks one of these, the store works without it, and
/// fallback() says so. If the disk has poll queues, the loading or saving thread polls them: it spins until its
/// transfer ends, or sleeps between polls if it has a SCHED_DEADLINE reservation. If the host cannot access the
/// device's pool window, transfers go through page-locked buffers of the store (at most 32 MiB).
///
/// Returns refused if space or permission is missing, or if the file exists: an existing file is never overwritten.
/// Returns io_error if a transfer fails.
[[nodiscard]] Result<std::unique_ptr<BackingStore>> open_file_store(Device& device, std::size_t chunks,
                                                                    const std::filesystem::path& file);
/// Checks that the file can be created and that `size` bytes can be allocated for it, then removes the file. Errors are
/// those of open_file_store().
[[nodiscard]] Result<> try_file_store(const std::filesystem::path& file, Bytes size);

} // namespace rtexec::hal
