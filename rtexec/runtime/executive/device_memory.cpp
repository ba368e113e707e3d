#include "rtexec/runtime/executive/device_memory.hpp"

#include <algorithm>

namespace rtexec::executive {

namespace {

std::uint32_t chunks_for(Bytes size, Bytes chunk) {
  return static_cast<std::uint32_t>(round_up(size, chunk).count / chunk.count);
}

/// Returns the part of `contents` that chunk number `index` contains.
std::span<const std::byte> part_of(std::span<const std::byte> contents, std::size_t index, Bytes chunk) {
  const std::size_t begin = std::min(index * chunk.count, contents.size());
  return contents.subspan(begin, std::min<std::size_t>(chunk.count, contents.size() - begin));
}

std::uint32_t first_scratch(const Arena& arena) { return arena.constant + arena.state + arena.fixed; }

std::uint32_t first_carry(const Arena& arena) { return first_scratch(arena) + arena.scratch; }

hal::Access access_of(const Arena& arena, std::uint32_t slot) {
  return slot < arena.constant ? hal::Access::read : hal::Access::read_write;
}

Unexpected<Error> mapping_failed(const hal::Device& device, std::size_t slot, Errc error) {
  return fail(error, "device '" + device.name() + "': mapping slot " + std::to_string(slot) +
                         " of an arena failed: " + name(error));
}

/// Returns a callback that calls `work`. `work` must outlive the callback.
template <class Work> hal::DuringCopy during(const Work& work) noexcept {
  return {[](void* self) noexcept -> Status { return (*static_cast<const Work*>(self))(); }, const_cast<Work*>(&work)};
}

void increment(std::atomic<std::uint64_t>& counter) noexcept { counter.fetch_add(1, std::memory_order_relaxed); }

} // namespace

TaskMemory resident_memory(const MemoryDemand& demand, std::span<const std::byte> constants, Bytes chunk) {
  return {.constants = constants,
          .arena = {.constant = chunks_for(demand.constant, chunk),
                    .state = chunks_for(demand.state, chunk),
                    .fixed = chunks_for(demand.fixed, chunk),
                    .scratch = chunks_for(demand.scratch, chunk),
                    .carry = chunks_for(demand.carry, chunk)},
          .swap_slots = {}};
}

// ---- set-up ----

Result<std::unique_ptr<DeviceMemory>> DeviceMemory::lay_out(hal::Device& device, std::span<const TaskMemory> tasks,
                                                            const Options& options) {
  std::unique_ptr<DeviceMemory> memory(new DeviceMemory(device, options));
  if (auto created = memory->create_pool(tasks); !created) return Unexpected(created.error());
  for (const TaskMemory& task : tasks)
    if (auto added = memory->add(task); !added) return Unexpected(added.error());
  if (auto noted = memory->note_digests(); !noted) return Unexpected(noted.error());
  return memory;
}

DeviceMemory::~DeviceMemory() {
  if (spare_) static_cast<void>(device_.free(*spare_));
}

/// Creates the store, and the chunks that several tasks share.
Result<> DeviceMemory::create_pool(std::span<const TaskMemory> tasks) {
  std::size_t swapped = 0;
  std::uint32_t scratch = 0;
  for (const TaskMemory& task : tasks) {
    swapped += task.swap_slots.size();
    if (options_.shared_scratch) scratch = std::max(scratch, task.arena.scratch);
  }
  scratch = options_.scratch_chunks.value_or(scratch);
  for (const auto& [chunks, count] : {std::pair(&frames_, options_.frames), std::pair(&scratch_, scratch)}) {
    auto created = device_.create_chunks(count);
    if (!created) return Unexpected(created.error());
    *chunks = std::move(*created);
  }
  if (swapped == 0 && !options_.background_copy) return {};
  holders_.resize(frames_.size());
  digests_.resize(swapped);
  torn_.resize(swapped);
  if (swapped > 0 && !device_.capabilities().remap_under_load)
    return fail(Errc::refused,
                "device '" + device_.name() +
                    "': its mappings cannot change while it computes, so chunks cannot be swapped during a job; " +
                    "use fewer or smaller networks, with [swap] policy = \"none\"");
  auto store = options_.open_store(device_, swapped + (options_.background_copy ? 2 : 0));
  if (!store) return Unexpected(store.error());
  store_ = std::move(*store);
  if (!options_.background_copy) return {};
  auto spare = device_.allocate(BufferKind::device, device_.chunk_size() * 2);
  if (!spare) return Unexpected(spare.error());
  spare_ = *spare;
  return {};
}

/// Reserves the addresses of the task's arena, records its swap slots, and maps chunks at the other slots.
Result<> DeviceMemory::add(const TaskMemory& task) {
  first_.push_back(places_.size());
  reads_.push_back(task.reads);
  const Arena& arena = task.arena;
  if (arena.slots() == 0) return addresses_.emplace_back(), fixed_.push_back(nullptr), Result<>();
  const std::size_t chunk = device_.chunk_size().count;
  const auto range = device_.reserve(device_.chunk_size() * arena.slots());
  if (!range) return Unexpected(range.error());
  addresses_.push_back({.constant = range->base,
                        .scratch = range->base + first_scratch(arena) * chunk,
                        .state = range->base + arena.constant * chunk,
                        .carry = range->base + first_carry(arena) * chunk});
  fixed_.push_back(range->base + (arena.constant + arena.state) * chunk);
  for (std::uint32_t index = 0; index < task.swap_slots.size(); ++index) {
    const SwapSlot& slot = task.swap_slots[index];
    places_.push_back(
        {.range = *range, .slot = slot.slot, .access = access_of(arena, slot.slot), .copied_out = slot.copied_out});
    if (auto filled = fill_store(task, index); !filled) return filled;
  }
  return give_chunks(task, *range);
}

/// Maps a chunk at every slot of the arena that is not swapped.
Result<> DeviceMemory::give_chunks(const TaskMemory& task, hal::AddressRange range) {
  const Arena& arena = task.arena;
  std::vector<bool> swapped(arena.slots());
  for (const SwapSlot& slot : task.swap_slots) swapped[slot.slot] = true;
  const std::size_t shared_from = task.scratch_at_end ? scratch_.size() - arena.scratch : 0;
  for (std::uint32_t slot = 0; slot < arena.slots(); ++slot) {
    if (swapped[slot]) continue;
    const bool shared =
        options_.shared_scratch && slot >= first_scratch(arena) && slot < first_scratch(arena) + arena.scratch;
    const bool carried = slot >= first_carry(arena) && slot < first_carry(arena) + arena.carry;
    const auto chunk = shared    ? Result<hal::Chunk>(scratch_[shared_from + slot - first_scratch(arena)])
                       : carried ? carry_chunk(task, slot - first_carry(arena))
                                 : create_chunk();
    if (!chunk) return Unexpected(chunk.error());
    if (slot < arena.constant)
      if (auto filled = upload(part_of(task.constants, slot, device_.chunk_size()), *chunk); !filled) return filled;
    if (const auto mapped = device_.map(range, slot, *chunk, access_of(arena, slot)); !mapped)
      return mapping_failed(device_, slot, mapped.error());
  }
  return {};
}

Result<hal::Chunk> DeviceMemory::carry_chunk(const TaskMemory& task, std::uint32_t index) {
  if (!task.carry_group) return create_chunk();
  std::vector<hal::Chunk>& chunks = carry_[*task.carry_group];
  while (chunks.size() <= index) {
    const auto created = create_chunk();
    if (!created) return created;
    chunks.push_back(*created);
  }
  return chunks[index];
}

Result<hal::Chunk> DeviceMemory::create_chunk() {
  const auto created = device_.create_chunks(1);
  if (!created) return Unexpected(created.error());
  return created->front();
}

Result<> DeviceMemory::upload(std::span<const std::byte> contents, hal::Chunk chunk) {
  const auto copy = [&]() noexcept {
    return device_.copy(device_.window(chunk), contents.data(), Bytes{contents.size()});
  };
  const Status copied = device_.engine(hal::EngineKind::copy_in).call(copy).outcome;
  if (copied) return {};
  return fail(copied.error(), "device '" + device_.name() + "': copying " + readable(Bytes{contents.size()}) +
                                  " to it failed: " + name(copied.error()));
}

Result<> DeviceMemory::fill_store(const TaskMemory& task, std::uint32_t index) {
  const std::uint32_t slot = task.swap_slots[index].slot;
  if (slot >= task.arena.constant) return {}; // recurrent state begins as zeros, and the store is initially zero
  return store_->fill(first_.back() + index, part_of(task.constants, slot, device_.chunk_size()));
}

/// Computes and stores the digest of every copy in the store, for which each copy is loaded into a frame.
Result<> DeviceMemory::note_digests() {
  if (!keeps_digests() || places_.empty()) return {};
  const auto note = [&]() noexcept -> Status {
    std::byte* const at = device_.window(frames_.front());
    for (std::size_t number = 0; number < places_.size(); ++number) {
      if (auto loaded = store_->load(number, at, {}); !loaded) return loaded;
      if (auto known = device_.digest(at, device_.chunk_size(), digests_[number]); !known) return known;
    }
    return {};
  };
  const Status outcome = device_.engine(hal::EngineKind::copy_in).call(note).outcome;
  if (outcome) return {};
  return fail(outcome.error(),
              "device '" + device_.name() +
                  "': computing the digests of swapped chunks ([swap] verify, skip_unchanged) failed: " +
                  name(outcome.error()));
}

Result<> DeviceMemory::with_all_slots(std::uint32_t task, const std::function<Result<>()>& work) {
  const std::span slots = slots_of(task);
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (const auto mapped = map(slots[i], frames_[i % frames_.size()]); !mapped)
      return mapping_failed(device_, slots[i].slot, mapped.error());
  Result<> outcome = work();
  for (SlotPlace& place : slots)
    if (const auto unmapped = unmap(place); !unmapped && outcome)
      outcome = mapping_failed(device_, place.slot, unmapped.error());
  return outcome;
}

Result<> DeviceMemory::bring_in(const policies::DeviceScheduler::State& state) {
  Status outcome;
  const auto fill = [&]() noexcept -> Status {
    for (std::uint32_t task = 0; task < first_.size(); ++task)
      for (std::uint32_t slot = 0; slot < state.slots[task].size(); ++slot)
        if (state.slots[task][slot].residence == policies::DeviceScheduler::Residence::resident)
          if (const auto loaded = load({task, slot, state.slots[task][slot].frame}); !loaded)
            return Unexpected(loaded.error());
    return {};
  };
  if (!places_.empty()) outcome = device_.engine(hal::EngineKind::copy_in).call(fill).outcome;
  if (outcome) return {};
  return fail(outcome.error(),
              "loading the first chunks from " + store_->description() + " failed: " + name(outcome.error()));
}

// ---- moving chunks ----

std::span<DeviceMemory::SlotPlace> DeviceMemory::slots_of(std::uint32_t task) noexcept {
  const std::size_t end = task + 1 < first_.size() ? first_[task + 1] : places_.size();
  return std::span(places_).subspan(first_[task], end - first_[task]);
}

/// Maps `chunk` at the slot. If another chunk may be mapped there, unmaps it first.
Status DeviceMemory::map(SlotPlace& place, hal::Chunk chunk) noexcept {
  if (place.mapped == chunk) return {};
  if (const Status unmapped = unmap(place); !unmapped) return unmapped;
  const Status mapped = device_.map(place.range, place.slot, chunk, place.access);
  if (mapped) place.mapped = chunk;
  return mapped;
}

Status DeviceMemory::unmap(SlotPlace& place) noexcept {
  if (!place.mapped && !place.left_behind) return {};
  const Status unmapped = device_.unmap(place.range, place.slot);
  place.mapped.reset();
  place.left_behind = !unmapped;
  return unmapped;
}

bool DeviceMemory::holds_all(std::span<const SlotPlace> slots) noexcept {
  return std::ranges::all_of(slots, [](const SlotPlace& each) { return each.holds.has_value(); });
}

/// Maps all chunks that the slots of a task hold. Has no effect while mapping must wait for copies out (see load()).
Status DeviceMemory::map_held(std::span<SlotPlace> slots) noexcept {
  if (!holds_all(slots) && copies_out_.load(std::memory_order_relaxed) != 0) return {};
  for (SlotPlace& each : slots)
    if (each.holds)
      if (const Status mapped = map(each, *each.holds); !mapped) return mapped;
  return {};
}

void DeviceMemory::begin_load(const policies::Transfer& transfer) noexcept {
  store_->begin_load(number(transfer), device_.window(frames_[transfer.frame]));
}

/// Announces the copy to the store. Does not announce the copy if digests are kept, because save() then computes the
/// digest first, and may find that no copy is needed.
void DeviceMemory::begin_save(const policies::Transfer& transfer) noexcept {
  if (!places_[number(transfer)].copied_out) return;
  copies_out_.fetch_add(1, std::memory_order_relaxed);
  if (!keeps_digests()) store_->begin_save(number(transfer), device_.window(frames_[transfer.frame]));
}

Expected<Bytes, Errc> DeviceMemory::load(const policies::Transfer& transfer) noexcept {
  SlotPlace& place = places_[number(transfer)];
  hold(transfer);
  const auto mapping = [&]() noexcept { return map_loaded(transfer); };
  const Status outcome = fill(transfer, during(mapping));
  if (outcome) return increment(loads_), device_.chunk_size();
  place.holds.reset();
  static_cast<void>(unmap(place));
  return Unexpected(outcome.error());
}

/// Records that the transfer's slot holds the transfer's frame. If another slot is recorded as the holder of this
/// frame, removes that record.
void DeviceMemory::hold(const policies::Transfer& transfer) noexcept {
  auto& holder = holders_[transfer.frame];
  if (holder && places_[*holder].holds == frames_[transfer.frame]) places_[*holder].holds.reset();
  holder = number(transfer);
  places_[*holder].holds = frames_[transfer.frame];
}

/// Maps the chunks that were loaded for the task. If the task's constants are streamed, maps only the slot of this
/// transfer, because a job may be using the other slots.
Status DeviceMemory::map_loaded(const policies::Transfer& transfer) noexcept {
  if (reads_[transfer.task].empty()) return map_held(slots_of(transfer.task));
  return map(places_[number(transfer)], frames_[transfer.frame]);
}

Status DeviceMemory::fill(const policies::Transfer& transfer, hal::DuringCopy during) noexcept {
  std::byte* const window = device_.window(frames_[transfer.frame]);
  if (const Status loaded = store_->load(number(transfer), window, during); !loaded || !options_.verify) return loaded;
  hal::Digest found;
  if (const Status known = device_.digest(window, device_.chunk_size(), found); !known) return known;
  return found == digests_[number(transfer)] ? Status() : Unexpected(Errc::corrupted);
}

Expected<Bytes, Errc> DeviceMemory::save(const policies::Transfer& transfer) noexcept {
  SlotPlace& place = places_[number(transfer)];
  bool copied = false;
  const Status saved = place.copied_out ? save_contents(place, number(transfer), copied) : unmap(place);
  if (place.copied_out) copies_out_.fetch_sub(1, std::memory_order_relaxed);
  if (!saved) return static_cast<void>(map(place, *place.holds)), Unexpected(saved.error());
  place.holds.reset();
  increment(copied ? saves_ : place.copied_out ? skips_ : drops_);
  return copied ? device_.chunk_size() : Bytes{0};
}

/// Unmaps the slot and copies its contents to the store, unless they are unchanged. Sets `copied` to true if the
/// contents were copied. Computes the digest before the copy, so that the digest describes the contents that the task
/// wrote.
Status DeviceMemory::save_contents(SlotPlace& place, std::size_t number, bool& copied) noexcept {
  const std::byte* const window = device_.window(*place.holds);
  hal::Digest digest;
  if (keeps_digests())
    if (const Status known = device_.digest(window, device_.chunk_size(), digest); !known) return known;
  copied = !options_.skip_unchanged || torn_[number] || digest != digests_[number];
  if (!copied) return unmap(place);
  const auto unmapping = [&]() noexcept { return unmap(place); };
  const Status saved = store_->save(number, window, during(unmapping));
  torn_[number] = !saved;
  if (saved) digests_[number] = digest;
  return saved;
}

Status DeviceMemory::prepare(std::uint32_t task, std::uint32_t segment) noexcept {
  std::span slots = slots_of(task);
  if (const auto& reads = reads_[task]; !reads.empty())
    slots = slots.subspan(reads[segment].begin, reads[segment].size());
  return holds_all(slots) ? map_held(slots) : Unexpected(Errc::device_fault);
}

DeviceMemory::Spare DeviceMemory::spare(bool out) const noexcept {
  return {.number = places_.size() + (out ? 1 : 0), .window = spare_->device + (out ? device_.chunk_size().count : 0)};
}

void DeviceMemory::begin_background_copy(bool out) noexcept {
  const auto [number, window] = spare(out);
  if (out) return store_->begin_save(number, window);
  store_->begin_load(number, window);
}

Status DeviceMemory::background_copy(bool out) noexcept {
  const auto [number, window] = spare(out);
  return out ? store_->save(number, window, {}) : store_->load(number, window, {});
}

void DeviceMemory::reset_counters() noexcept {
  for (std::atomic<std::uint64_t>* counter : {&loads_, &saves_, &drops_, &skips_}) counter->store(0);
}

SwapCounters DeviceMemory::counters() const {
  return {.loads = loads_.load(std::memory_order_relaxed),
          .saves = saves_.load(std::memory_order_relaxed),
          .drops = drops_.load(std::memory_order_relaxed),
          .skips = skips_.load(std::memory_order_relaxed)};
}

} // namespace rtexec::executive
