// The device memory of a run: one arena for each task, the chunks in it, and the transfers that load and evict chunks.
//
// An arena is one contiguous range of addresses, divided into slots of the size of a chunk, at which physical chunks
// are mapped. Slots that are never swapped keep their chunk. Carry chunks contain the live state of a job across
// preemption between two segments. Tasks of one level (PlannedTask::device_class) map the same carry chunks, because
// only one of their jobs at a time is between two segments. If the plan shares scratch memory
// (Options::shared_scratch), the scratch of all tasks maps the same chunks, because one job executes at a time. If two
// jobs co-run, one job uses the first of these chunks, and the other job uses the last of these chunks. Swap slots
// share a pool of chunks, called frames. The scheduler core decides on loads and saves: a load assigns a frame to a
// slot, and a save frees the frame. All chunks are created during set-up and recycled afterwards.
//
// Threading: one thread makes the set-up calls. load() runs on the copy-in engine's thread, save() on the copy-out
// engine's thread, and prepare() on the compute engine's thread. These three functions may run concurrently for
// different tasks, or for different slots of a task whose constants are streamed. None of these functions allocates.
//
// A slot of streamed constants loses its frame without a save, when the frame is loaded for another slot. The slot then
// holds no contents. The slot may still map the frame, until another chunk is loaded for this slot.
//
// No job executes on memory of another job, even after failures. prepare() lets a job execute only if each slot that it
// reads maps the chunk that the slot holds. If unmapping a chunk fails, the chunk may nevertheless be assigned to
// another slot. The old mapping is removed before the old slot maps another chunk.
#pragma once

#include <rtexec/plan.hpp>
#include "hal/backing_store.hpp"
#include "hal/device_interface.hpp"
#include "policies/scheduler/device_scheduler.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"
#include <rtexec/workload.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::executive {

/// The memory of one task on a device: its arena, and the contents of its constants.
struct TaskMemory {
  std::span<const std::byte> constants;
  Arena arena;
  std::vector<SwapSlot> swap_slots;
  bool scratch_at_end = false; // true: the task maps the last chunks of the shared scratch, otherwise the first chunks
  /// The swap slots that each segment reads, by segment, if constants are streamed. Empty: all slots hold their chunks
  /// while a job executes
  std::vector<SlotRange> reads = {};
  /// The number of the group of tasks that share carry chunks. Absent: the task has carry chunks of its own
  std::optional<std::uint32_t> carry_group = {};
};

/// Returns the memory of a task that is never swapped. The task has its own chunks, except that it shares its scratch
/// with other tasks.
[[nodiscard]] TaskMemory resident_memory(const MemoryDemand& demand, std::span<const std::byte> constants, Bytes chunk);

/// The numbers of transfers so far.
struct SwapCounters {
  /// Numbers of chunks. drops: evictions of constant contents. skips: evictions of unchanged contents. Neither drops
  /// nor skips copy contents.
  std::uint64_t loads = 0, saves = 0, drops = 0, skips = 0;
};

class DeviceMemory {
 public:
  struct Options {
    std::uint32_t frames = 0;   // number of chunks that the swap slots of all tasks share
    bool shared_scratch = true; // the scratch of all tasks maps the same chunks
    /// The number of shared scratch chunks. Absent: the number of chunks of the largest scratch of a task
    std::optional<std::uint32_t> scratch_chunks = {};
    bool skip_unchanged = false;
    bool verify = false;
    bool background_copy = false; // true: background_copy() will be called, and needs spare chunks
    OpenStore open_store;         // opens the store; required if there are swap slots, or for background_copy()
  };

  /// Creates the chunks, and fills them with the constants in `tasks` and with zeros elsewhere. Writes the initial
  /// contents of the swapped chunks to the store; no swap slot holds a chunk yet. The device's copy-in engine executes
  /// all copies. `device` must outlive the returned object.
  [[nodiscard]] static Result<std::unique_ptr<DeviceMemory>> lay_out(hal::Device& device,
                                                                     std::span<const TaskMemory> tasks,
                                                                     const Options& options);
  /// Set-up. Runs `work` while every swap slot of `task` maps some chunk, with any contents. Needed for drivers that
  /// require mapped addresses as arguments.
  [[nodiscard]] Result<> with_all_slots(std::uint32_t task, const std::function<Result<>()>& work);
  /// Loads the swap slots that are resident in the scheduler's initial state `at_first`. Last step of set-up.
  [[nodiscard]] Result<> bring_in(const policies::DeviceScheduler::State& at_first);
  ~DeviceMemory();

  /// Returns the addresses of each task's memory, in the order of the tasks.
  [[nodiscard]] std::span<const Memory> addresses() const { return addresses_; }
  /// Returns the beginning of each task's fixed memory, in the order of the tasks.
  [[nodiscard]] std::span<std::byte* const> fixed() const { return fixed_; }
  /// Returns the store of swapped chunks, or null if nothing is swapped and background_copy() is not used.
  [[nodiscard]] const hal::BackingStore* store() const { return store_.get(); }
  /// Returns the numbers of transfers since reset_counters().
  [[nodiscard]] SwapCounters counters() const;
  /// Sets the counters to 0. Must be called while no transfer is in progress.
  void reset_counters() noexcept;

  /// The next two functions announce a load() or save(). Each load() and each save() of a transfer must be announced,
  /// by the thread that will execute it, and in the order of execution. The copy may begin at once.
  void begin_load(const policies::Transfer& transfer) noexcept;
  void begin_save(const policies::Transfer& transfer) noexcept;
  /// Fills the frame of the transfer from the store, and maps the frame at its slot. Normally, the frame is mapped
  /// during the copy. While other contents are copied out, mapping is delayed, at most until the last missing slot of
  /// the task is loaded. The reason is that a GPU may change a mapping only between its copies out: on an H200, mapping
  /// then takes 1 ms instead of 40 us. After an error the slot holds no chunk, and is unmapped if possible. Returns the
  /// number of bytes copied, or io_error, corrupted, or an error of the device.
  [[nodiscard]] Expected<Bytes, Errc> load(const policies::Transfer& transfer) noexcept;
  /// Unmaps the slot, and copies its frame to the store unless the contents are constant or unchanged. After an error
  /// the slot still holds its chunk, and the chunk is mapped again if possible. Returns the number of bytes copied.
  [[nodiscard]] Expected<Bytes, Errc> save(const policies::Transfer& transfer) noexcept;
  /// Maps slots that an error left unmapped. Called just before a segment of a job of `task` executes. If this fails,
  /// the job must not execute. Returns device_fault if a slot holds no chunk, or an error of the device.
  [[nodiscard]] Status prepare(std::uint32_t task, std::uint32_t segment) noexcept;
  /// Copies a spare chunk to the store if `out` is true, or from the store if `out` is false, to keep that copy engine
  /// busy. Each call must be announced by begin_background_copy(), as begin_load() announces load().
  void begin_background_copy(bool out) noexcept;
  [[nodiscard]] Status background_copy(bool out) noexcept;

 private:
  struct SlotPlace {
    hal::AddressRange range;
    std::size_t slot = 0;
    hal::Access access = hal::Access::read_write;
    bool copied_out = true;
    std::optional<hal::Chunk> holds{};  // the chunk with the contents of this slot
    std::optional<hal::Chunk> mapped{}; // the chunk that is certainly mapped at this slot
    bool left_behind = false;           // true: unmapping failed, so the slot's old mapping may still exist
  };
  /// A spare chunk for background_copy(), which belongs to no task, and the number of its copy in the store.
  struct Spare {
    std::size_t number;
    std::byte* window;
  };

  DeviceMemory(hal::Device& device, const Options& options) : device_(device), options_(options) {}
  [[nodiscard]] Result<> create_pool(std::span<const TaskMemory> tasks);
  [[nodiscard]] Result<> add(const TaskMemory& task);
  [[nodiscard]] Result<> give_chunks(const TaskMemory& task, hal::AddressRange range);
  [[nodiscard]] Result<hal::Chunk> create_chunk();
  [[nodiscard]] Result<hal::Chunk> carry_chunk(const TaskMemory& task, std::uint32_t index);
  [[nodiscard]] Result<> upload(std::span<const std::byte> contents, hal::Chunk chunk);
  [[nodiscard]] Result<> fill_store(const TaskMemory& task, std::uint32_t index);
  [[nodiscard]] Result<> note_digests();

  [[nodiscard]] std::size_t number(const policies::Transfer& transfer) const noexcept {
    return first_[transfer.task] + transfer.slot;
  }
  [[nodiscard]] std::span<SlotPlace> slots_of(std::uint32_t task) noexcept;
  [[nodiscard]] Status map(SlotPlace& place, hal::Chunk chunk) noexcept;
  [[nodiscard]] Status unmap(SlotPlace& place) noexcept;
  [[nodiscard]] static bool holds_all(std::span<const SlotPlace> slots) noexcept;
  [[nodiscard]] Status map_held(std::span<SlotPlace> slots) noexcept;
  [[nodiscard]] Status map_loaded(const policies::Transfer& transfer) noexcept;
  void hold(const policies::Transfer& transfer) noexcept;
  [[nodiscard]] Spare spare(bool out) const noexcept;
  [[nodiscard]] Status fill(const policies::Transfer& transfer, hal::DuringCopy during) noexcept;
  [[nodiscard]] Status save_contents(SlotPlace& place, std::size_t number, bool& copied) noexcept;
  [[nodiscard]] bool keeps_digests() const noexcept { return options_.skip_unchanged || options_.verify; }

  hal::Device& device_;
  Options options_;
  std::unique_ptr<hal::BackingStore> store_;
  std::vector<hal::Chunk> frames_, scratch_;
  std::map<std::uint32_t, std::vector<hal::Chunk>> carry_; // by TaskMemory::carry_group
  std::optional<Buffer> spare_;                            // for background_copy(): a chunk for each direction
  std::vector<Memory> addresses_;
  std::vector<std::byte*> fixed_;
  std::vector<SlotPlace> places_;             // the swap slots of all tasks, task after task
  std::vector<std::size_t> first_;            // by task: the index of its first swap slot in `places_`
  std::vector<std::vector<SlotRange>> reads_; // by task
  /// By frame: the index in `places_` of the swap slot whose contents were last loaded into the frame.
  std::vector<std::optional<std::size_t>> holders_;
  std::vector<hal::Digest> digests_;    // digests of the stored copies; empty if they are not needed
  std::vector<char> torn_;              // by swap slot: not 0 if the last save of its stored copy failed
  std::atomic<unsigned> copies_out_{0}; // number of copies out that are announced and have not ended
  std::atomic<std::uint64_t> loads_{0}, saves_{0}, drops_{0}, skips_{0};
};

} // namespace rtexec::executive
