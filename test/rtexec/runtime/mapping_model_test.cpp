// Tests that a job executes on its own latest contents or not at all, whatever fails. Random legal histories of
// transfers and executions are compared with a model that knows only which chunk each slot holds and which contents it
// must have. Then real threads are tested.
#include "rtexec/runtime/executive/device_memory.hpp"
#include "test/rtexec/runtime/device_doubles.hpp"
#include "test/rtexec/runtime/plain_device.hpp"
#include "test/rtexec/runtime/swap_sets.hpp"
#include "test/support/thread_counts.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace rtexec::test {
namespace {

using executive::DeviceMemory;
using policies::Transfer;
using Residence = policies::DeviceScheduler::Residence;
using Random = std::mt19937_64;
using Contents = std::array<std::uint64_t, PlainDevice::chunk.count / sizeof(std::uint64_t)>;

/// How often each kind of event happened.
struct Counts {
  // Jobs; repaired: their memory was not mapped as required.
  std::uint64_t executed = 0, refused = 0, repaired = 0;
  std::uint64_t loads = 0, saves = 0, failed_loads = 0, failed_saves = 0, corrupted = 0;
  // After a transfer: a mapping of a removed chunk; a chunk that is not mapped.
  std::uint64_t left_behind = 0, unmapped_residents = 0;

  void add(const Counts& other) {
    executed += other.executed, refused += other.refused, repaired += other.repaired;
    loads += other.loads, saves += other.saves, failed_loads += other.failed_loads, failed_saves += other.failed_saves,
        corrupted += other.corrupted;
    left_behind += other.left_behind, unmapped_residents += other.unmapped_residents;
  }
};

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    const std::uint32_t tasks = 2 + below(3);
    std::uint32_t most = 0;
    for (std::uint32_t task = 0; task < tasks; ++task) most = std::max(most, add_task(task, 1 + below(5)));
    add_task(tasks, 0);
    frames_ = most + below(4);
    for (std::uint32_t frame = 0; frame < frames_; ++frame) free_.push_back(frame);
    device_ = std::make_unique<PlainDevice>(64, random_());
    const bool verify = below(2) == 0;
    const auto open_store = [](hal::Device& device, std::size_t chunks) {
      return hal::open_host_store(device, chunks, hal::HostMemoryKind::page_locked);
    };
    std::vector<executive::TaskMemory> task_memories;
    for (const Task& task : tasks_) task_memories.push_back(task.memory);
    memory_ =
        std::move(DeviceMemory::lay_out(
                      *device_, task_memories,
                      {.frames = frames_, .skip_unchanged = below(2) == 0, .verify = verify, .open_store = open_store})
                      .value());
    for (std::uint32_t task = 0; task < tasks_.size(); ++task)
      require(memory_->with_all_slots(task, [] { return Result<>(); }).has_value(), "set-up failed");
    at_first_ = before_ = device_->mappings();
    constexpr std::array failing{0u, 2u, 4u, 8u, 50u};
    device_->inject(failing[below(failing.size())], verify && below(2) == 0 ? 15 : 0);
  }

  /// Simulates one thing that the scheduler may order or an engine may report.
  void step() {
    while (!(this->*events[below(events.size())])()) {}
    check();
  }
  /// Returns the first error found, or null if there is none.
  const char* wrong() const { return wrong_; }
  const Counts& counts() const { return counts_; }

 private:
  struct Slot {
    Residence residence = Residence::missing;
    std::uint32_t frame = 0;
    std::uint64_t version = 0; // the contents that it must have
    bool holds() const { return residence == Residence::resident || residence == Residence::saving; }
  };
  struct Task {
    std::vector<std::byte> constants{};
    executive::TaskMemory memory{};
    std::vector<Slot> slots{};

    bool complete() const {
      return std::ranges::all_of(slots, [](const Slot& slot) { return slot.residence == Residence::resident; });
    }
    bool constant(std::uint32_t slot) const { return memory.swap_slots[slot].slot < memory.arena.constant; }
    std::uint32_t scratch() const { return memory.arena.slots() - 1; }
  };
  struct Flight {
    Transfer transfer;
    bool begun = false;
  };
  struct Direction {
    hal::EngineKind engine;
    std::deque<Flight> flights{};
  };
  static constexpr std::size_t max_in_flight = policies::DeviceScheduler::transfers_per_direction;

  std::uint32_t below(std::uint64_t end) { return static_cast<std::uint32_t>(random_() % end); }
  void require(bool holds, const char* what) {
    if (!holds && !wrong_) wrong_ = what;
  }

  // ---- contents ----

  static Contents contents(std::uint32_t task, std::uint32_t slot, std::uint64_t version, bool constant) {
    Contents words{};
    if (version == 0 && !constant) return words;
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = (task + 1) * 1'000'003u + (slot + 1) * 10'007u + version * 64 + i;
    return words;
  }
  Contents latest(std::uint32_t task, std::uint32_t slot) const {
    return contents(task, tasks_[task].memory.swap_slots[slot].slot, tasks_[task].slots[slot].version,
                    tasks_[task].constant(slot));
  }
  Contents found(hal::Chunk chunk) const {
    Contents words;
    std::memcpy(words.data(), device_->window(chunk), sizeof words);
    return words;
  }
  void write(hal::Chunk chunk, const Contents& words) {
    std::memcpy(device_->window(chunk), words.data(), sizeof words);
  }

  /// Adds a task with at least a chunk each of constants, state and scratch. `swapped` chunks of the first two are
  /// swapped, or all of them.
  std::uint32_t add_task(std::uint32_t number, std::uint32_t swapped) {
    Task& task = tasks_.emplace_back();
    auto& [constants, arena, swap_slots, scratch_at_end, reads, carry_group] = task.memory;
    arena = {.constant = 1 + below(3), .state = 1 + below(4), .fixed = below(2), .scratch = 1};
    for (std::uint32_t slot = 0; slot < arena.constant; ++slot) {
      const Contents words = contents(number, slot, 0, true);
      const auto bytes = std::as_bytes(std::span(words));
      task.constants.insert(task.constants.end(), bytes.begin(), bytes.end());
    }
    constants = task.constants;
    const std::uint32_t candidates = arena.constant + arena.state;
    for (std::uint32_t slot = 0, left = std::min(swapped, candidates); left > 0; ++slot)
      if (below(candidates - slot) < left)
        swap_slots.push_back({.slot = slot, .copied_out = slot >= arena.constant}), --left;
    task.slots.resize(swap_slots.size());
    return static_cast<std::uint32_t>(swap_slots.size());
  }

  // ---- possible events; false: not possible now ----

  bool stage() {
    const std::uint32_t task = below(tasks_.size());
    if (staged_ || running_ == task || in_flight()) return false;
    staged_ = task;
    return true;
  }
  bool drop() {
    if (!staged_ || in_flight() || below(8) != 0) return false;
    staged_.reset();
    return true;
  }
  /// Starts the staged job, a job of a task that never swaps, or, under rt-swap, a job with all its chunks while
  /// others' chunks are saved.
  bool start() {
    const std::uint32_t number = below(tasks_.size());
    const Task& task = tasks_[number];
    if (running_ || !task.complete() || (staged_ && staged_ != number && !task.slots.empty())) return false;
    if (staged_ == number) staged_.reset();
    before_ = device_->mappings();
    const std::uint64_t faults = device_->faults(), allocated = allocations();
    const Status prepared = device_->on(hal::EngineKind::compute, [&] { return memory_->prepare(number, 0); });
    require(allocations() == allocated, "preparing a job allocates");
    require(prepared || device_->faults() > faults, "a job was refused though nothing failed");
    require(prepared || prepared.error() == Errc::device_fault, "a job was refused for another reason");
    require_others_untouched(number);
    counts_.repaired += device_->mappings() != before_;
    ++(prepared ? counts_.executed : counts_.refused);
    if (!prepared) return true;
    running_ = number;
    require_executable();
    write(scratch(), contents(number, task.scratch(), ++executions_, false));
    return true;
  }
  bool finish() {
    if (!running_) return false;
    Task& task = tasks_[*running_];
    require_executable();
    require(found(scratch()) == contents(*running_, task.scratch(), executions_, false),
            "scratch changes while a job executes");
    for (std::uint32_t slot = 0; slot < task.slots.size(); ++slot) {
      if (task.constant(slot) || below(2) == 0) continue;
      task.slots[slot].version = below(4); // its contents may return to earlier ones
      write(*mapping(*running_, slot).chunk, latest(*running_, slot));
    }
    running_.reset();
    return true;
  }
  bool ask_save() {
    const std::uint32_t number = below(tasks_.size());
    Task& task = tasks_[number];
    if (task.slots.empty() || running_ == number || staged_ == number || out_.flights.size() == max_in_flight)
      return false;
    const std::uint32_t index = below(task.slots.size());
    Slot& slot = task.slots[index];
    if (slot.residence != Residence::resident) return false;
    slot.residence = Residence::saving;
    out_.flights.push_back({{number, index, slot.frame}});
    return true;
  }
  bool ask_load() {
    if (!staged_ || tasks_[*staged_].slots.empty() || free_.empty() || in_.flights.size() == max_in_flight)
      return false;
    const std::uint32_t index = below(tasks_[*staged_].slots.size());
    Slot& slot = tasks_[*staged_].slots[index];
    if (slot.residence != Residence::missing) return false;
    std::swap(free_[below(free_.size())], free_.back());
    slot = {.residence = Residence::loading, .frame = free_.back(), .version = slot.version};
    free_.pop_back();
    in_.flights.push_back({{*staged_, index, slot.frame}});
    return true;
  }
  /// Begins the next transfer, at most two at a time per direction.
  bool begin(Direction& direction) {
    for (std::size_t i = 0; i < std::min<std::size_t>(2, direction.flights.size()); ++i) {
      auto& [transfer, begun] = direction.flights[i];
      if (begun) continue;
      begun = true;
      device_->on(direction.engine, [&] {
        direction.engine == hal::EngineKind::copy_in ? memory_->begin_load(transfer) : memory_->begin_save(transfer);
      });
      return true;
    }
    return false;
  }
  bool begin_load() { return begin(in_); }
  bool begin_save() { return begin(out_); }
  bool end_load() {
    if (in_.flights.empty() || !in_.flights.front().begun) return false;
    const Transfer transfer = in_.flights.front().transfer;
    in_.flights.pop_front();
    Slot& slot = tasks_[transfer.task].slots[transfer.slot];
    const bool loaded = moved(transfer, hal::EngineKind::copy_in, true);
    slot.residence = loaded ? Residence::resident : Residence::missing;
    if (!loaded) free_.push_back(transfer.frame);
    ++(loaded ? counts_.loads : counts_.failed_loads);
    counts_.left_behind += !loaded && mapping(transfer.task, transfer.slot).chunk;
    return true;
  }
  bool end_save() {
    if (out_.flights.empty() || !out_.flights.front().begun) return false;
    const Transfer transfer = out_.flights.front().transfer;
    out_.flights.pop_front();
    const bool saved =
        moved(transfer, hal::EngineKind::copy_out, tasks_[transfer.task].memory.swap_slots[transfer.slot].copied_out);
    tasks_[transfer.task].slots[transfer.slot].residence = saved ? Residence::missing : Residence::resident;
    if (saved) free_.push_back(transfer.frame);
    ++(saved ? counts_.saves : counts_.failed_saves);
    counts_.unmapped_residents += !saved && !mapping(transfer.task, transfer.slot).chunk;
    return true;
  }
  static constexpr std::array events{&World::stage,    &World::drop,     &World::start,      &World::finish,
                                     &World::ask_save, &World::ask_load, &World::begin_load, &World::begin_save,
                                     &World::end_load, &World::end_save};

  bool in_flight() const { return !in_.flights.empty() || !out_.flights.empty(); }

  /// Moves a chunk. Returns true if that succeeded.
  bool moved(const Transfer& transfer, hal::EngineKind engine, bool copies) {
    before_ = device_->mappings();
    const std::uint64_t faults = device_->faults(), flips = device_->flips(), allocated = allocations();
    const auto outcome = device_->on(
        engine, [&] { return engine == hal::EngineKind::copy_in ? memory_->load(transfer) : memory_->save(transfer); });
    require(allocations() == allocated, "a transfer allocates");
    require_others_untouched(transfer.task);
    if (outcome) {
      require(device_->flips() == flips, "a bit that changed on its way was not noticed");
      require(copies || *outcome == Bytes{0}, "constants are copied out");
      return true;
    }
    require(device_->faults() > faults, "a transfer failed though nothing failed");
    const bool corrupted = outcome.error() == Errc::corrupted;
    counts_.corrupted += corrupted;
    require(corrupted ? device_->flips() > flips : outcome.error() == Errc::device_fault,
            "a transfer failed for another reason");
    return false;
  }

  // ---- invariants ----

  const PlainDevice::Mapping& mapping(std::uint32_t task, std::uint32_t slot) const {
    return device_->mappings()[task][tasks_[task].memory.swap_slots[slot].slot];
  }
  hal::Chunk scratch() const { return *at_first_[0][tasks_[0].scratch()].chunk; }
  /// Returns the chunk of a slot's frame. Frames are the first chunks of a device.
  static hal::Chunk chunk_of(const Slot& slot) { return hal::Chunk(slot.frame); }

  void require_others_untouched(std::uint32_t task) {
    for (std::uint32_t other = 0; other < tasks_.size(); ++other)
      require(other == task || device_->mappings()[other] == before_[other], "mappings of another task have changed");
  }
  void require_executable() {
    const Task& task = tasks_[*running_];
    for (std::uint32_t slot = 0; slot < task.slots.size(); ++slot) {
      const auto& [chunk, access, unmapping_failed] = mapping(*running_, slot);
      if (!chunk || unmapping_failed) return require(false, "a job executes on memory that is not mapped");
      require(access == (task.constant(slot) ? hal::Access::read : hal::Access::read_write),
              "memory of a job has the wrong access");
      require(found(*chunk) == latest(*running_, slot), "a job does not find its latest contents");
    }
  }
  void check() {
    // The number of arenas that map each chunk, except mappings that a failed unmapping left behind.
    std::array<int, 64> arenas{};
    for (std::uint32_t task = 0; task < tasks_.size(); ++task) {
      auto mappings = device_->mappings()[task];
      for (const auto& each : mappings)
        if (each.chunk && each.chunk != scratch() && !each.unmapping_failed) ++arenas[index(*each.chunk)];
      for (std::uint32_t slot = 0; slot < tasks_[task].slots.size(); ++slot) {
        check(task, slot);
        mappings[tasks_[task].memory.swap_slots[slot].slot] = {};
      }
      require(mappings == at_first_[task], "memory that is not swapped is not where it was");
    }
    require(std::ranges::max(arenas) <= 1, "a chunk is mapped in two arenas");
  }
  void check(std::uint32_t task, std::uint32_t index) {
    const Slot& slot = tasks_[task].slots[index];
    const auto& [chunk, access, unmapping_failed] = mapping(task, index);
    require(!chunk || unmapping_failed || (slot.holds() && *chunk == chunk_of(slot)),
            "a slot maps a chunk that it does not hold");
    if (slot.holds()) require(found(chunk_of(slot)) == latest(task, index), "a chunk has lost its contents");
  }

  Random random_;
  std::deque<Task> tasks_;
  std::uint32_t frames_ = 0;
  std::vector<std::uint32_t> free_;
  std::unique_ptr<PlainDevice> device_;
  std::unique_ptr<DeviceMemory> memory_;
  PlainDevice::Table at_first_, before_;
  std::optional<std::uint32_t> running_, staged_;
  Direction in_{.engine = hal::EngineKind::copy_in}, out_{.engine = hal::EngineKind::copy_out};
  std::uint64_t executions_ = 0;
  const char* wrong_ = nullptr;
  Counts counts_;
};

TEST(MappingModel, JobExecutesOnLatestContentsOrIsRefusedUnderRandomFaults) {
  constexpr int events = 500'000, events_of_a_world = 1'500;
  Counts seen;
  for (std::uint64_t seed = 1; seed <= events / events_of_a_world; ++seed) {
    World world(seed);
    for (int event = 0; event < events_of_a_world; ++event) {
      world.step();
      ASSERT_EQ(world.wrong(), nullptr) << world.wrong() << ": seed " << seed << ", event " << event;
    }
    seen.add(world.counts());
  }
  // Checks that each kind of event happened often enough.
  EXPECT_GE(std::min({seen.executed, seen.loads, seen.saves}), 10'000u);
  EXPECT_GE(std::min({seen.failed_loads, seen.failed_saves}), 1'000u);
  EXPECT_GE(std::min({seen.refused, seen.repaired, seen.corrupted, seen.left_behind, seen.unmapped_residents}), 100u);
}

// ---- real threads ----

class MappingFaults : public testing::TestWithParam<SwapPolicy> {};
INSTANTIATE_TEST_SUITE_P(Rules, MappingFaults, testing::ValuesIn(rules),
                         [](const auto& policy) { return name_of(policy.param); });

TEST_P(MappingFaults, CombinedWithStoreFaultsFailJobsButLoseNoData) {
  const auto device = std::make_shared<DeviceState>();
  const auto store = std::make_shared<StoreOrders>();
  HashingTasks hashing = two_tasks();
  executive::Setup setup = hashing.setup();
  setup.open_device = opener(device);
  setup.open_store = store_opener(store);
  Executive executive = made(swapping_set(hashing.tasks, endless, GetParam(), small_chunk * 6), std::move(setup));
  begun(executive);
  const auto let_fail = [&](std::atomic<int>& transfers, std::atomic<int>& mappings) {
    const std::size_t executed = hashing.executions();
    run_until(executive, [&] { return hashing.executions() > executed + 3; });
    transfers.store(10);
    mappings.store(15);
    run_until(executive, [&] { return transfers.load() == 0 && mappings.load() == 0; });
  };
  let_fail(store->failing_saves, device->failing_maps);
  let_fail(store->failing_loads, device->failing_unmaps);
  const std::size_t executed = hashing.executions();
  run_until(executive, [&] { return hashing.executions() > executed + 5; });
  const Report report = executive.stop();
  EXPECT_GT(hashing.executions(), executed + 5);
  EXPECT_GT(failed_jobs(report), 5u);
  EXPECT_FALSE(report.device_fault);
  expect_balanced(report);
  EXPECT_TRUE(hashing.all_as_expected());
}

} // namespace
} // namespace rtexec::test
