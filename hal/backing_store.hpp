// Stores for swapped chunks. A chunk is a piece of device memory; all chunks have one size. A chunk is copied out to a
// store to free device memory, and copied back in before its next use. A store holds one copy of each chunk, indexed by
// chunk number, in host memory or in a file.
//
// Opening a store allocates all its memory and file space. Afterwards load() and save() neither allocate nor fault.
// Ownership: the store owns its copies; the Device must outlive the store. Threading: save() runs on the copy-out
// engine's thread and load() on the copy-in engine's thread. load() and save() may run concurrently, but never on the
// same chunk.
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
  /// Returns one line for each feature that was requested but is not used: what the store uses instead, and why. Empty
  /// if the store uses every requested feature.
  [[nodiscard]] virtual std::string fallback() const { return {}; }
  /// Returns the causes of the last io_error of load() and of the last io_error of save(), with remedies. Empty if
  /// neither function has returned io_error. Any thread.
  [[nodiscard]] virtual std::string failure() const { return {}; }
  [[nodiscard]] virtual std::size_t chunks() const = 0;

  /// Set-up: stores `contents` (at most one chunk long) as the copy of `chunk`, and zeroes the rest of the copy.
  [[nodiscard]] virtual Result<> fill(std::size_t chunk, std::span<const std::byte> contents) = 0;
  /// Announces that load() will be called with the same arguments. Announced loads must be called in the order of their
  /// announcements; loads without an announcement may come in between. The store may begin the transfer at once, so
  /// that transfers follow each other without a gap. Called on the thread that calls load(). Never blocks.
  virtual void begin_load(std::size_t /*chunk*/, std::byte* /*window*/) noexcept {}
  /// Announces a save(), with the same rules as begin_load().
  virtual void begin_save(std::size_t /*chunk*/, const std::byte* /*window*/) noexcept {}
  /// Copies the stored `chunk` to the device address `window`. Calls `during`, a function of the caller, once during
  /// the copy, even if the copy fails. Exception: if the device refuses to begin the copy, `during` may be skipped.
  /// Returns io_error, or the error of the device or of `during`.
  [[nodiscard]] virtual Status load(std::size_t chunk, std::byte* window, DuringCopy during) noexcept = 0;
  /// Copies a chunk from the device address `window` to the store. Calls `during` and returns errors as load() does.
  /// After an error the stored copy may be a mixture of old and new contents; the chunk in device memory is intact.
  [[nodiscard]] virtual Status save(std::size_t chunk, const std::byte* window, DuringCopy during) noexcept = 0;

 protected:
  BackingStore() = default;
};

enum class HostMemoryKind { page_locked, pageable };

/// Opens a store of `chunks` chunks of the device's chunk size in host memory, zeroed. Errors: out_of_memory, refused.
[[nodiscard]] Result<std::unique_ptr<BackingStore>> open_host_store(Device& device, std::size_t chunks,
                                                                    HostMemoryKind kind);

/// Opens a store of `chunks` chunks in `file`. The file is created and unlinked at once, so that it disappears however
/// the program ends. The whole file is written once at opening. So its space is allocated, and the first save of a
/// chunk takes no longer than later saves.
///
/// Transfers use io_uring with O_DIRECT and registered buffers. The store registers the chunks that the device has
/// created before this call. If the kernel or the file system lacks one of these features, the store works without the
/// feature, and fallback() reports it. If the disk has poll queues, the loading or saving thread polls them: the thread
/// spins until its transfer ends. A thread with a SCHED_DEADLINE reservation sleeps between polls instead. The pool
/// window is the address range in which the device maps all chunks (device_interface.hpp). If the host cannot access
/// the pool window, transfers go through page-locked buffers of the store (at most 32 MiB).
///
/// Returns refused if space or permission is missing, or if the file exists: an existing file is never overwritten.
/// Returns io_error if a transfer fails.
[[nodiscard]] Result<std::unique_ptr<BackingStore>> open_file_store(Device& device, std::size_t chunks,
                                                                    const std::filesystem::path& file);
/// Checks that the file can be created and that `size` bytes can be allocated for the file, then removes the file.
/// Returns the errors of open_file_store().
[[nodiscard]] Result<> try_file_store(const std::filesystem::path& file, Bytes size);

} // namespace rtexec::hal
