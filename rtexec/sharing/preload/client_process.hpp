// This process as a client of the daemon: its jobs and its arena (the address range of its device memory,
// client/arena.hpp). The arena is on the first device on which the process allocates memory. The ClientProcess is
// created by the first call that needs it while a context is current. The object is never destroyed, because threads
// use it until the process ends.
//
// The watch thread ends jobs after which the program does not synchronise. It ends such a job when the device is idle
// and no work was submitted for some time.
//
// Any thread. Functions return the driver's codes; nullopt means that the call must be passed on to the driver.
#pragma once

#include "rtexec/sharing/client/arena.hpp"
#include "rtexec/sharing/client/client.hpp"
#include "rtexec/sharing/preload/busy_streams.hpp"
#include "rtexec/sharing/preload/preload_memory.hpp"
#include "rtexec/sharing/preload/job_gate.hpp"
#include "rtexec/sharing/preload/pending_frees.hpp"
#include "rtexec/sharing/preload/driver_mappings.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace rtexec::preload {

class ClientProcess final : private GatedDevice {
 public:
  /// Returns the client, and creates it if needed. Returns null if the process is no client of the daemon
  /// (takes_part()), or if no context is current yet.
  [[nodiscard]] static ClientProcess* enter() noexcept;
  /// Returns the client, or null if it has not been created.
  [[nodiscard]] static ClientProcess* existing() noexcept;

  // ---- memory; nullopt: the address is not arena memory ----
  /// Allocates arena memory. If `stream` is set, the program uses the memory only in the order of this stream.
  [[nodiscard]] std::optional<hal::cuda::Code> allocate(hal::cuda::DevicePointer* pointer, std::size_t size,
                                                        std::optional<hal::cuda::Stream> stream = {}) noexcept;
  [[nodiscard]] std::optional<hal::cuda::Code> free(hal::cuda::DevicePointer pointer) noexcept;
  /// Frees memory in the order of `stream`. The space is reused only after the present work of `stream` has ended.
  [[nodiscard]] std::optional<hal::cuda::Code> free_behind(hal::cuda::DevicePointer pointer,
                                                           hal::cuda::Stream stream) noexcept;
  [[nodiscard]] std::optional<hal::cuda::Code> memory_info(std::size_t* free, std::size_t* total) noexcept;
  [[nodiscard]] std::optional<hal::cuda::Code> address_range(hal::cuda::DevicePointer* base, std::size_t* size,
                                                             hal::cuda::DevicePointer pointer) noexcept;
  [[nodiscard]] std::optional<hal::cuda::Code> attribute(void* data, int attribute,
                                                         hal::cuda::DevicePointer pointer) noexcept;
  [[nodiscard]] bool owns(hal::cuda::DevicePointer pointer) const noexcept;

  // ---- memory that the program maps itself; nullopt: pass the call on to the driver ----
  [[nodiscard]] std::optional<hal::cuda::Code> reserve_addresses(hal::cuda::DevicePointer* pointer, std::size_t size,
                                                                 std::size_t alignment,
                                                                 hal::cuda::DevicePointer wanted) noexcept;
  [[nodiscard]] std::optional<hal::cuda::Code> free_addresses(hal::cuda::DevicePointer pointer,
                                                              std::size_t size) noexcept;
  [[nodiscard]] std::optional<hal::cuda::Code> create_chunk(hal::cuda::AllocationHandle* handle, std::size_t size,
                                                            const hal::cuda::AllocationProperties* properties) noexcept;
  [[nodiscard]] std::optional<hal::cuda::Code> release_chunk(hal::cuda::AllocationHandle handle) noexcept;
  /// Returns an additional handle of the chunk that is mapped at `pointer`.
  [[nodiscard]] std::optional<hal::cuda::Code> retain_chunk(hal::cuda::AllocationHandle* handle,
                                                            hal::cuda::DevicePointer pointer) noexcept;
  [[nodiscard]] bool gave_chunk(hal::cuda::AllocationHandle handle) const noexcept;
  [[nodiscard]] std::optional<hal::cuda::Code> map_chunk(hal::cuda::DevicePointer pointer, std::size_t size,
                                                         std::size_t offset, hal::cuda::AllocationHandle handle,
                                                         unsigned long long flags) noexcept;
  [[nodiscard]] std::optional<hal::cuda::Code> unmap(hal::cuda::DevicePointer pointer, std::size_t size) noexcept;
  [[nodiscard]] std::optional<hal::cuda::Code> set_access(hal::cuda::DevicePointer pointer, std::size_t size,
                                                          const hal::cuda::AccessDescriptor* access,
                                                          std::size_t count) noexcept;

  // ---- jobs ----
  enum class Pass : std::uint8_t { entered, entered_unnamed, recorded, refused };
  /// Must be called before work is submitted to `stream`; opens a job if none is open. If the result is `entered` or
  /// `entered_unnamed`, submitted() must follow with the same arguments. `recorded` means that the stream captures the
  /// work. `refused` means that the work must not be submitted.
  [[nodiscard]] Pass submit(hal::cuda::Stream stream, bool own) noexcept;
  void submitted(Pass pass, hal::cuda::Stream stream, bool own) noexcept {
    if (pass == Pass::entered_unnamed) [[unlikely]]
      follow(stream, own);
    gate_.leave();
  }
  /// Makes all memory of the client resident until stood() is called, as submit() does before work is submitted.
  /// Returns false if the memory cannot be made resident. May open a job. The watch thread ends such a job, because the
  /// program does not synchronise after it.
  [[nodiscard]] bool stand() noexcept;
  void stood() noexcept { gate_.leave(); }
  void synchronised() noexcept { gate_.synchronised(); }
  void stream_ends(hal::cuda::Stream stream) noexcept;
  /// Called before a context other than the arena's context is destroyed. Afterwards, the streams and events of that
  /// context must not be queried.
  void other_context_ends() noexcept;
  /// Called before the arena's context is destroyed together with all its memory.
  void leave(std::string_view reason) noexcept;
  /// Called at the end of the process, before the driver shuts down. Afterwards no work is accepted, and the daemon's
  /// commands are executed without the driver.
  static void ends() noexcept;
  [[nodiscard]] bool has_left() const noexcept { return leaving_.load(std::memory_order_relaxed); }
  [[nodiscard]] hal::cuda::Context context() const noexcept { return context_; }
  [[nodiscard]] hal::cuda::Ordinal device() const noexcept { return device_; }
  [[nodiscard]] JobGate& gate() noexcept { return gate_; }
  [[nodiscard]] client::Client& client() noexcept { return *client_; }

  /// Records that the program uses `context`.
  static void notice_context(hal::cuda::Context context) noexcept {
    hal::cuda::Context first = nullptr;
    if (!first_context.compare_exchange_strong(first, context) && first != context) several_contexts.store(true);
  }
  /// Returns CU_STREAM_PER_THREAD.
  [[nodiscard]] static hal::cuda::Stream own_stream() noexcept { return reinterpret_cast<hal::cuda::Stream>(2); }
  /// Calls `begin`, which begins a capture. During this call, no thread of this library queries streams or waits for
  /// streams, because a query or a wait would invalidate the capture.
  template <class Begin> static hal::cuda::Code capture_begins(Begin&& begin) noexcept {
    const std::scoped_lock lock(recording);
    const hal::cuda::Code code = begin();
    if (code == hal::cuda::Code::success) capturing.fetch_add(1, std::memory_order_relaxed);
    return code;
  }
  static void capture_ends() noexcept;
  [[nodiscard]] static bool captures(hal::cuda::Stream stream) noexcept;

 private:
  ClientProcess(const RealDriver& driver, hal::cuda::Context context, hal::cuda::Ordinal device);
  [[nodiscard]] static ClientProcess* make() noexcept;
  [[nodiscard]] Result<> connect();
  [[nodiscard]] bool on_device() const noexcept;
  [[nodiscard]] Result<> grow(std::uint32_t slots);
  [[nodiscard]] bool settle() noexcept;
  [[nodiscard]] std::optional<client::Arena::Block> standing_space(Bytes size, std::optional<hal::cuda::Stream> stream,
                                                                   std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool await_a_free(std::unique_lock<std::mutex>& lock) noexcept;
  void reclaim() noexcept { pending_.reclaim(driver_, *arena_); }
  void watch() noexcept;
  void await_job() noexcept;
  void hurry() noexcept {
    hurried_.store(true);
    opened_.raise();
  }
  void follow(hal::cuda::Stream stream, bool own) noexcept;
  [[nodiscard]] bool in_context() const noexcept;
  [[nodiscard]] hal::cuda::Code synchronize() noexcept;
  [[nodiscard]] bool stop() noexcept;
  [[nodiscard]] std::optional<client::Arena::Block> block_of(hal::cuda::DevicePointer pointer) const noexcept;
  /// Returns the object of the arena, or the program's own mapping, that contains `pointer`.
  [[nodiscard]] std::optional<Segments::Range> object_of(hal::cuda::DevicePointer pointer) const noexcept;
  [[nodiscard]] bool in_arena(hal::cuda::DevicePointer pointer) const noexcept {
    return pointer - memory_.base() < memory_size_;
  }

  // Slots
  using Addresses = std::vector<hal::cuda::DevicePointer>;
  [[nodiscard]] Addresses addresses_of(client::Arena::Block block) const;
  [[nodiscard]] std::size_t lacking(const Addresses& addresses) const noexcept;
  [[nodiscard]] std::size_t spare_slots() const noexcept;
  [[nodiscard]] Result<> provide(const Addresses& addresses);
  [[nodiscard]] Result<> make_room(std::size_t size);
  void take_back_unused();
  void give_back(hal::cuda::DevicePointer address) noexcept;

  // Implements GatedDevice
  bool begin() noexcept override;
  void end() noexcept override;
  bool holds() noexcept override;
  bool idle() noexcept override;
  void wait_until_idle() noexcept override;

  static inline constinit std::atomic<hal::cuda::Context> first_context{nullptr};
  static inline constinit std::atomic<bool> several_contexts{false};
  static inline constinit std::atomic<int> capturing{0}; // number of captures of all threads that have not ended
  /// Held while streams are queried or awaited. Locked after all other mutexes.
  static inline constinit std::mutex recording;

  const RealDriver& driver_;
  hal::cuda::Context context_;
  hal::cuda::Ordinal device_;
  DeviceMemory memory_;
  std::unique_ptr<client::Client> client_;
  std::size_t memory_size_ = 0; // size of the arena's address range, in bytes
  std::size_t granularity_ = 0; // granularity of the driver's chunks, in bytes
  BusyStreams busy_;
  JobGate gate_;
  std::atomic<bool> hurried_{false}; // true: other clients wait for the end of the open job
  std::atomic<bool> leaving_{false};
  std::atomic<bool> watch_sleeps_{false};
  hal::Signal opened_;       // raised when a job begins, or when other clients wait
  hal::Thread watch_;        // ends jobs after which the program does not synchronise
  mutable std::mutex mutex_; // guards the following members; locked before the gate's mutex
  std::optional<client::Arena> arena_;
  std::optional<Segments> segments_;
  std::atomic<bool> maps_itself_{false}; // true: the program maps chunks itself
  std::uint32_t granted_ = 0;            // number of slots from the daemon
  std::map<hal::cuda::DevicePointer, std::uint32_t> slot_at_;
  std::vector<std::uint32_t> unused_slots_; // granted slots without an address
  PendingFrees pending_;
};

} // namespace rtexec::preload
