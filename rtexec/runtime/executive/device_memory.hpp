// Device memory of a run: one arena for each task, the chunks in it, and what moves them.
//
// An arena is one contiguous range of addresses. Slots that are never swapped keep their chunk; the carry of tasks of
// one level is the same chunks, since only one of their jobs is between two segments; scratch of all tasks is the same
// chunks where the plan says so, since one job executes at a time, or, of two that execute beside each other, the one
// has the first of them and the other one the last; swap slots get their chunks from the pool of frames, and give them
// back, as the scheduler core decides. Every chunk is created here and recycled from then on.
//
// Threading: set-up from one thread; load() on the copy-in engine's thread, save() on the copy-out engine's and
// prepare() on the compute engine's, at the same time if they are of different tasks, or of different slots of a
// stream. None of them allocates.
//
// A stream gives a frame back without a save: from the load on that it is used for next, the slot that had it holds
// nothing, though it may still map it until something else is loaded there.
//
// Whatever fails, no job executes on memory that is not its own: prepare() lets it execute only once each slot that it
// reads maps the chunk that it holds. A chunk may come to another slot though its unmapping has failed; what that left
// behind is unmapped before its slot maps anything again.
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
  bool scratch_at_end = false; // of the shared chunks it has the last ones
  /// By segment: the swap slots that it reads. Empty: all, where all hold their chunks while a job executes
  std::vector<SlotRange> reads = {};
  /// Those of one group share their carry. Absent: it has its own
  std::optional<std::uint32_t> carry_group = {};
};

/// Returns the memory of a task that is never swapped: chunks of its own, and scratch shared with others.
[[nodiscard]] TaskMemory resident_memory(const MemoryDemand& demand, std::span<const std::byte> constants, Bytes chunk);

/// What swapping has moved so far.
struct SwapCounters {
  std::uint64_t loads = 0, saves = 0, drops = 0, skips = 0; // chunks; a drop or a skip copies nothing out
};

class DeviceMemory {
 public:
  struct Options {
    std::uint32_t frames = 0;   // for the swap slots of all tasks
    bool shared_scratch = true; // the scratch of all tasks is the same chunks,
    /// so many. Absent: as many as the largest has
    std::optional<std::uint32_t> scratch_chunks = {};
    bool skip_unchanged = false;
    bool verify = false;
    bool exercise = false; // exercise() will be called
    OpenStore open_store;  // where there are swap slots, or for exercise()
  };

  /// Creates the chunks and fills them: constants from `tasks`, zero elsewhere. Swap slots are filled in the
  /// store, and hold no chunk yet. Contents travel over the device's copy-in engine. `device` outlives it.
  [[nodiscard]] static Result<std::unique_ptr<DeviceMemory>> lay_out(hal::Device& device,
                                                                     std::span<const TaskMemory> tasks,
                                                                     const Options& options);
  /// Set-up: every swap slot of `task` holds some chunk, of any contents, while `work` runs: what a driver is told of
  /// must be there.
  [[nodiscard]] Result<> with_all_slots(std::uint32_t task, const std::function<Result<>()>& work);
  /// Brings in the swap slots that `at_first` calls resident: the end of set-up.
  [[nodiscard]] Result<> bring_in(const policies::DeviceScheduler::State& at_first);
  ~DeviceMemory();

  /// Returns the addresses of each task, in their order.
  [[nodiscard]] std::span<const Memory> addresses() const { return addresses_; }
  /// Returns the begin of the fixed memory of each task.
  [[nodiscard]] std::span<std::byte* const> fixed() const { return fixed_; }
  /// Null where nothing is swapped or exercised.
  [[nodiscard]] const hal::BackingStore* store() const { return store_.get(); }
  /// Since reset_counters().
  [[nodiscard]] SwapCounters counters() const;
  /// While nothing moves.
  void reset_counters() noexcept;

  /// Announce load() or save() of `transfer`, on the same thread and in the same order: the copy may begin. Each is
  /// announced.
  void begin_load(const policies::Transfer& transfer) noexcept;
  void begin_save(const policies::Transfer& transfer) noexcept;
  /// Fills the frame from the store, and maps it where its slot is: beside the copy, or, while contents are copied out,
  /// at the latest with the last slot that its task misses, since a GPU may change a mapping only in the gaps of its
  /// copies out (1 ms on an H200, not 40 us). After an error the slot holds nothing, and is unmapped if that can be.
  /// Returns the bytes copied; io_error, corrupted, or what the device says.
  [[nodiscard]] Expected<Bytes, Errc> load(const policies::Transfer& transfer) noexcept;
  /// Unmaps the slot and copies the frame out, where that is needed; after an error the slot holds its chunk, and maps
  /// it again if that can be. Returns the bytes copied.
  [[nodiscard]] Expected<Bytes, Errc> save(const policies::Transfer& transfer) noexcept;
  /// Before a segment of a job of `task` executes, and only then: maps what an error left unmapped. The job must not
  /// execute after an error: device_fault, a slot holds no chunk; or what the device says.
  [[nodiscard]] Status prepare(std::uint32_t task, std::uint32_t segment) noexcept;
  /// Copies a chunk that belongs to nobody, to keep the copy engine of that direction busy; announced as load() and
  /// save() are.
  void begin_exercise(bool out) noexcept;
  [[nodiscard]] Status exercise(bool out) noexcept;

 private:
  struct SlotPlace {
    hal::AddressRange range;
    std::size_t slot = 0;
    hal::Access access = hal::Access::read_write;
    bool copied_out = true;
    std::optional<hal::Chunk> holds{};  // its contents are there
    std::optional<hal::Chunk> mapped{}; // by it, for certain
    bool left_behind = false;           // a mapping whose unmapping failed: it may still stand
  };
  /// A chunk that belongs to nobody, and its copy in the store.
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
  std::vector<std::optional<std::size_t>> holders_; // by frame: the place whose chunk came last
  std::vector<hal::Digest> digests_;                // of the stored copies, where they are kept
  std::vector<char> torn_;                          // stored copies whose last save failed
  std::atomic<unsigned> copies_out_{0};             // announced, not ended
  std::atomic<std::uint64_t> loads_{0}, saves_{0}, drops_{0}, skips_{0};
};

} // namespace rtexec::executive
