#include "rtexec/sharing/preload/preload_memory.hpp"

#include <new>
#include <string>
#include <sys/mman.h>
#include <utility>

namespace rtexec::preload {
namespace {

using hal::cuda::AllocationHandle;
using hal::cuda::AllocationProperties;
using hal::cuda::Code;

Result<> checked(Code code, const char* what) {
  if (code == Code::success) return {};
  return fail(code == Code::out_of_memory ? Errc::out_of_memory : Errc::refused,
              std::string(what) + " failed with CUDA's error " + std::to_string(static_cast<int>(code)) + ".");
}
Unexpected<Errc> device_fault() { return Unexpected(Errc::device_fault); }

} // namespace

/// Makes the device's context current on this thread until the thread ends. Called only by threads of this library,
/// which use no other context.
bool DeviceMemory::enter() const noexcept {
  thread_local bool relaxed = false; // true: this thread's calls and the program's captures do not disturb each other
  if (int mode = capture_relaxed; !std::exchange(relaxed, true) && driver_.exchange_capture_mode != nullptr)
    (void)driver_.exchange_capture_mode(&mode);
  hal::cuda::Context current = nullptr;
  if (driver_.context_current(&current) == Code::success && current == context_) return true;
  return driver_.context_set_current(context_) == Code::success;
}

Result<Bytes> DeviceMemory::granularity() const {
  AllocationProperties properties{};
  properties.location.id = device_;
  properties.requested_handle_types = hal::cuda::file_descriptor_handle;
  std::size_t size = 0;
  if (auto told = checked(driver_.granularity(&size, &properties, 0), "asking for the size of chunks"); !told)
    return Unexpected(told.error());
  return Bytes{size};
}

Result<> DeviceMemory::reserve(std::uint32_t slots, Bytes chunk) {
  chunk_ = chunk;
  slots_ = std::vector<Slot>(slots);
  if (auto opened = open(loads_); !opened) return opened;
  if (auto opened = open(saves_); !opened) return opened;
  return checked(driver_.address_reserve(&base_, slots * chunk.count, 0, 0, 0), "reserving addresses of the device");
}

Result<> DeviceMemory::open(Lane& lane) const {
  if (auto made = checked(driver_.stream_create(&lane.stream, hal::cuda::stream_non_blocking), "creating a stream");
      !made)
    return made;
  for (auto& event : lane.ended) {
    const unsigned flags = hal::cuda::event_blocking_sync | hal::cuda::event_disable_timing;
    if (auto made = checked(driver_.event_create(&event, flags), "creating an event"); !made) return made;
  }
  return {};
}

Result<> DeviceMemory::prepare(std::uint32_t slots) {
  for (std::uint32_t i = 0; i < slots && i < slots_.size(); ++i) {
    if (slots_[i].host != nullptr) continue;
    void* memory =
        ::mmap(nullptr, chunk_.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
      return fail(Errc::out_of_memory, "No host memory for a chunk of " + readable(chunk_) + ".");
    if (auto locked = checked(driver_.register_host(memory, chunk_.count, hal::cuda::host_register_portable),
                              "locking host memory");
        !locked) {
      ::munmap(memory, chunk_.count);
      return locked;
    }
    (void)::madvise(memory, chunk_.count, MADV_DONTFORK); // prevents a fork from copying these page-locked pages
    slots_[i].host = static_cast<std::byte*>(memory);
  }
  return {};
}

Result<> DeviceMemory::adopt(std::uint32_t frame, config::Descriptor chunk) {
  const std::scoped_lock lock(moving_);
  if (ended_) return {};
  if (driver_.import_handle == nullptr) return fail(Errc::unsupported, "The driver cannot import chunks.");
  if (!enter()) return fail(Errc::refused, "The device's context no longer exists.");
  AllocationHandle handle = 0;
  auto* descriptor = reinterpret_cast<void*>(static_cast<std::intptr_t>(chunk.get()));
  if (auto taken =
          checked(driver_.import_handle(&handle, descriptor, hal::cuda::file_descriptor_handle), "importing a chunk");
      !taken)
    return taken;
  if (frame >= frames_.size()) frames_.resize(frame + 1);
  frames_[frame] = handle;
  return {};
}

Result<> DeviceMemory::forget_frames() {
  bool saved = true;
  if (const std::scoped_lock lock(moving_); ended_) return {};
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].stands) saved = begin_save(slot).has_value() && finish_save().has_value() && saved;
  }
  for (const auto handle : frames_) {
    if (handle != 0) (void)driver_.release(handle);
  }
  frames_.clear();
  if (saved) return {};
  return fail(Errc::device_fault, "The device's memory could not be saved.");
}

void DeviceMemory::end(bool empties) noexcept {
  const std::scoped_lock lock(moving_);
  if (!std::exchange(ended_, true) && empties) vanish();
}

/// Waits for the end of the copies in progress, and then releases all chunks.
void DeviceMemory::vanish() noexcept {
  (void)driver_.stream_synchronize(loads_.stream);
  (void)driver_.stream_synchronize(saves_.stream);
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) empty(slot);
  for (const auto handle : frames_) {
    if (handle != 0) (void)driver_.release(handle);
  }
  frames_.clear();
}

void DeviceMemory::place(std::uint32_t slot, hal::cuda::DevicePointer address) noexcept {
  if (slot >= slots_.size()) return;
  slots_[slot].saved.store(false, std::memory_order_relaxed);
  slots_[slot].wanted.store(address, std::memory_order_release);
  placed_.fetch_add(1, std::memory_order_acq_rel);
}

void DeviceMemory::retire(hal::cuda::DevicePointer begin, std::size_t size) noexcept {
  const std::scoped_lock lock(settling_);
  try {
    retired_.emplace_back(begin, size);
  } catch (const std::bad_alloc&) { return; } // the range then remains reserved
  placed_.fetch_add(1, std::memory_order_acq_rel);
}

bool DeviceMemory::settle() noexcept {
  const std::scoped_lock lock(settling_);
  const std::uint64_t placed = placed_.load(std::memory_order_acquire);
  if (placed == settled_.load(std::memory_order_relaxed)) return true;
  bool all = true;
  for (Slot& slot : slots_) {
    if (slot.stands && slot.at != slot.wanted.load(std::memory_order_acquire)) unmap(slot);
  }
  for (Slot& slot : slots_) {
    if (slot.stands && slot.at == 0) all = map(slot) && all;
  }
  for (const auto& [begin, size] : retired_) (void)driver_.address_free(begin, size);
  retired_.clear();
  if (all) settled_.store(placed, std::memory_order_release);
  return all;
}

/// Maps a chunk at the slot's assigned address. If clients share chunks, maps the daemon's chunk with the number of the
/// slot's frame. Otherwise maps the slot's own chunk of this process, and creates the chunk if it does not exist. If
/// the slot has no address, maps nothing and returns true.
bool DeviceMemory::map(Slot& slot) noexcept {
  const auto address = slot.wanted.load(std::memory_order_acquire);
  if (address == 0) return true;
  AllocationHandle handle = slot.frame < frames_.size() ? frames_[slot.frame] : 0;
  if (handle == 0) handle = slot.own;
  AllocationProperties properties{};
  properties.location.id = device_;
  if (handle == 0) {
    if (driver_.create(&handle, chunk_.count, &properties, 0) != Code::success) return false;
    slot.own = handle;
  }
  const hal::cuda::AccessDescriptor access{.location = properties.location,
                                           .flags = hal::cuda::AccessFlags::read_write};
  if (driver_.map(address, chunk_.count, 0, handle, 0) != Code::success) return false;
  slot.at = address;
  if (driver_.set_access(address, chunk_.count, &access, 1) == Code::success) return true;
  unmap(slot);
  return false;
}

void DeviceMemory::unmap(Slot& slot) noexcept {
  if (slot.at != 0) (void)driver_.unmap(slot.at, chunk_.count);
  slot.at = 0;
}

/// Unmaps a slot that is still mapped at `address` though it is assigned to another address.
void DeviceMemory::clear(hal::cuda::DevicePointer address) noexcept {
  for (Slot& slot : slots_) {
    if (!slot.stands || slot.at != address || address == 0) continue;
    (void)driver_.stream_synchronize(loads_.stream);
    (void)driver_.stream_synchronize(saves_.stream);
    unmap(slot);
    placed_.fetch_add(1, std::memory_order_acq_rel);
  }
}

bool DeviceMemory::stand(std::uint32_t slot, std::uint32_t frame) noexcept {
  if (unsettled()) clear(slots_[slot].wanted.load(std::memory_order_acquire));
  slots_[slot].frame = frame;
  slots_[slot].stands = map(slots_[slot]);
  if (!slots_[slot].stands) empty(slot);
  return slots_[slot].stands;
}

void DeviceMemory::empty(std::uint32_t slot) noexcept {
  unmap(slots_[slot]);
  if (slots_[slot].own != 0) (void)driver_.release(slots_[slot].own);
  slots_[slot].stands = false;
  slots_[slot].own = 0;
}

/// Adds the copy of `slot` to the copies in progress. This copy must be the last copy that was submitted to the lane's
/// stream.
Status DeviceMemory::queue(Lane& lane, std::uint32_t slot) noexcept {
  if (lane.count == Lane::room) return device_fault();
  const std::size_t at = (lane.first + lane.count) % Lane::room;
  if (!ended_ && driver_.event_record(lane.ended[at], lane.stream) != Code::success) return device_fault();
  lane.slots[at] = slot;
  ++lane.count;
  return {};
}

Status DeviceMemory::await(Lane& lane, std::uint32_t& slot) noexcept {
  if (lane.count == 0) return device_fault();
  const std::size_t at = lane.first;
  slot = lane.slots[at];
  lane.first = (lane.first + 1) % Lane::room;
  --lane.count;
  if (!ended_ && driver_.event_synchronize(lane.ended[at]) != Code::success) return device_fault();
  return {};
}

Status DeviceMemory::begin_load(std::uint32_t slot, std::uint32_t frame) noexcept {
  const std::scoped_lock lock(moving_);
  if (ended_) return Unexpected(Errc::refused);
  if (slot >= slots_.size() || slots_[slot].stands || slots_[slot].host == nullptr || !enter())
    return Unexpected(Errc::bad_input);
  if (!stand(slot, frame)) return Unexpected(Errc::out_of_memory);
  if (fill(slots_[slot]) == Code::success && queue(loads_, slot)) return {};
  empty(slot);
  return device_fault();
}

Code DeviceMemory::fill(const Slot& slot) const noexcept {
  if (slot.at == 0) return Code::success;
  const auto host = reinterpret_cast<hal::cuda::DevicePointer>(slot.host);
  return slot.saved.load(std::memory_order_relaxed) ? driver_.copy_async(slot.at, host, chunk_.count, loads_.stream)
                                                    : driver_.set_bytes_async(slot.at, 0, chunk_.count, loads_.stream);
}

Status DeviceMemory::finish_load() noexcept {
  const std::scoped_lock lock(moving_);
  std::uint32_t slot = 0;
  const Status ended = await(loads_, slot);
  if (ended_) return Unexpected(Errc::refused);
  if (!ended) empty(slot);
  return ended;
}

Status DeviceMemory::begin_save(std::uint32_t slot) noexcept {
  const std::scoped_lock lock(moving_);
  if (ended_) return queue(saves_, slot);
  if (slot >= slots_.size() || !slots_[slot].stands || !enter()) return Unexpected(Errc::bad_input);
  // If the slot is mapped at an address that is no longer assigned to it, its contents need not be saved.
  const Slot& from = slots_[slot];
  const auto host = reinterpret_cast<hal::cuda::DevicePointer>(from.host);
  if (from.at != 0 && from.at == from.wanted.load(std::memory_order_acquire) &&
      driver_.copy_async(host, from.at, chunk_.count, saves_.stream) != Code::success)
    return device_fault();
  return queue(saves_, slot);
}

Status DeviceMemory::finish_save() noexcept {
  const std::scoped_lock lock(moving_);
  std::uint32_t slot = 0;
  const Status ended = await(saves_, slot);
  if (!ended || ended_) return ended;
  const auto at = slots_[slot].at;
  slots_[slot].saved.store(at != 0 && at == slots_[slot].wanted.load(std::memory_order_acquire),
                           std::memory_order_relaxed);
  empty(slot);
  return {};
}

} // namespace rtexec::preload
