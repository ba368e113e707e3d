// The device memory of a run: one arena for each task, the chunks in it, and the transfers that move them.
//
// An arena is one contiguous range of addresses. Slots that are never swapped keep their chunk. Tasks of one level map
// the same carry chunks, because only one of their jobs is between two segments. If the plan says so, the scratch of
// all tasks maps the same chunks, because one job executes at a time. Of two jobs that co-run, one uses the first
// scratch chunks and the other one the last. Swap slots get their chunks from the pool of frames, and return them, as
// the scheduler core decides. All chunks are created during set-up and recycled afterwards.
//
// Threading: one thread makes the set-up calls. load() runs on the copy-in engine's thread, save() on the copy-out
// engine's, and prepare() on the compute engine's. They may run concurrently for different tasks, or for different
// slots of a stream. None of them allocates.
//
// A stream returns a frame without a save. From the frame's next load on, its previous slot holds no contents, though
// it may still map the frame until another chunk is loaded there.
//
// After any failure, no job executes on memory that is not its own: prepare() lets a job execute only if each slot that
// it reads maps the chunk that it holds. A chunk may move to another slot although its unmapping failed. The old
// mapping is removed before its slot maps another chunk.
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
  bool scratch_at_end = false; // true: it maps the last of the shared chunks
  /// The swap slots that each segment reads, by segment. Empty: all slots, which all hold their chunks while a job
  /// executes
  std::vector<SlotRange> reads = {};
  /// Tasks of one group share their carry chunks. Absent: the task has its own
  std::optional<std::uint32_t> carry_group = {};
};

/// Returns the memory of a task that is never swapped: chunks of its own, and scratch shared with others.
[[nodiscard]] TaskMemory resident_memory(const MemoryDemand& demand, std::span<const std::byte> constants, Bytes chunk);

/// The transfers so far.
struct SwapCounters {
  std::uint64_t loads = 0, saves = 0, drops = 0, skips = 0; // chunks; a drop or a skip copies no contents out
};

class DeviceMemory {
 public:
  struct Options {
    std::uint32_t frames = 0;   // shared by the swap slots of all tasks
    bool shared_scratch = true; // the scratch of all tasks maps the same chunks
    /// The number of shared scratch chunks. Absent: that of the task with the largest scratch
    std::optional<std::uint32_t> scratch_chunks = {};
    bool skip_unchanged = false;
    bool verify = false;
    bool exercise = false; // true if exercise() will be called
    OpenStore open_store;  // needed for swap slots, and for exercise()
  };

  /// Creates the chunks and fills them: constants from `tasks`, zeros elsewhere. Swap slots are filled in the store,
  /// and hold no chunk yet. Contents are copied by the device's copy-in engine. `device` outlives this.
  [[nodiscard]] static Result<std::unique_ptr<DeviceMemory>> lay_out(hal::Device& device,
                                                                     std::span<const TaskMemory> tasks,
                                                                     const Options& options);
  /// Set-up. Runs `work` while every swap slot of `task` holds some chunk, with any contents. A driver requires that
  /// the addresses passed to it are mapped.
  [[nodiscard]] Result<> with_all_slots(std::uint32_t task, const std::function<Result<>()>& work);
  /// Loads the swap slots that `at_first` lists as resident; the last step of set-up.
  [[nodiscard]] Result<> bring_in(const policies::DeviceScheduler::State& at_first);
  ~DeviceMemory();

  /// Returns the addresses of each task, in their order.
  [[nodiscard]] std::span<const Memory> addresses() const { return addresses_; }
  /// Returns the beginning of the fixed memory of each task.
  [[nodiscard]] std::span<std::byte* const> fixed() const { return fixed_; }
  /// Returns null if nothing is swapped and exercise() is not used.
  [[nodiscard]] const hal::BackingStore* store() const { return store_.get(); }
  /// Returns the counters since reset_counters().
  [[nodiscard]] SwapCounters counters() const;
  /// Must be called while no transfer is in progress.
  void reset_counters() noexcept;

  /// Announce each load() or save() of `transfer`, on the same thread and in the same order. The copy may begin.
  void begin_load(const policies::Transfer& transfer) noexcept;
  void begin_save(const policies::Transfer& transfer) noexcept;
  /// Fills the frame from the store, and maps it at its slot. Mapping happens during the copy. While contents are
  /// copied out, it is delayed, at the latest until the last slot that the task lacks. The reason: a GPU may change a
  /// mapping only in the gaps of its copies out (1 ms on an H200, instead of 40 us). After an error the slot holds no
  /// chunk, and is unmapped if possible. Returns the bytes copied; io_error, corrupted, or an error of the device.
  [[nodiscard]] Expected<Bytes, Errc> load(const policies::Transfer& transfer) noexcept;
  /// Unmaps the slot and copies the frame out, if it must be. After an error the slot holds its chunk, and maps it
  /// again if possible. Returns the bytes copied.
  [[nodiscard]] Expected<Bytes, Errc> save(const policies::Transfer& transfer) noexcept;
  /// Maps slots that an error left unmapped. Called just before a segment of a job of `task` executes. If it fails, the
  /// job must not execute. Returns device_fault if a slot holds no chunk, or an error of the device.
  [[nodiscard]] Status prepare(std::uint32_t task, std::uint32_t segment) noexcept;
  /// Copies a spare chunk, to keep the copy engine of that direction busy. Must be announced by begin_exercise(), as
  /// load() and save() must be by their functions.
  void begin_exercise(bool out) noexcept;
  [[nodiscard]] Status exercise(bool out) noexcept;

 private:
  struct SlotPlace {
    hal::AddressRange range;
    std::size_t slot = 0;
    hal::Access access = hal::Access::read_write;
    bool copied_out = true;
    std::optional<hal::Chunk> holds{};  // the chunk whose contents are here
    std::optional<hal::Chunk> mapped{}; // the chunk that is surely mapped here
    bool left_behind = false;           // true: unmapping failed, so the old mapping may still exist
  };
  /// A chunk that belongs to no task, and its copy in the store.
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
  [[nodiscard]] Status fill(const policies::Transfer& transfer, hal::Beside beside) noexcept;
  [[nodiscard]] Status save_contents(SlotPlace& place, std::size_t number, bool& copied) noexcept;
  [[nodiscard]] bool keeps_digests() const noexcept { return options_.skip_unchanged || options_.verify; }

  hal::Device& device_;
  Options options_;
  std::unique_ptr<hal::BackingStore> store_;
  std::vector<hal::Chunk> frames_, scratch_;
  std::map<std::uint32_t, std::vector<hal::Chunk>> carry_; // by group
  std::optional<Buffer> spare_;                            // for exercise(): a chunk for each direction
  std::vector<Memory> addresses_;
  std::vector<std::byte*> fixed_;
  std::vector<SlotPlace> places_;                   // of all swap slots, task after task
  std::vector<std::size_t> first_;                  // by task: its first swap slot
  std::vector<std::vector<SlotRange>> reads_;       // by task
  std::vector<std::optional<std::size_t>> holders_; // by frame: the place into which it was last loaded
  std::vector<hal::Digest> digests_;                // digests of the stored copies, if they are kept
  std::vector<char> torn_;                          // flags of the stored copies whose last save failed
  std::atomic<unsigned> copies_out_{0};             // number of copies announced and not ended
  std::atomic<std::uint64_t> loads_{0}, saves_{0}, drops_{0}, skips_{0};
};

} // namespace rtexec::executive
