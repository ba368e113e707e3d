#include "rtexec/preload/device_memory.hpp"

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

/// The thread's context is the device's from then on: threads of this library have no other.
bool DeviceMemory::enter() const noexcept {
  thread_local bool relaxed = false; // what the program records does not mind it, nor is it minded
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
  slots_.resize(slots);
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
    slots_[i].host = static_cast<std::byte*>(memory);
  }
  return {};
}

Result<> DeviceMemory::adopt(std::uint32_t frame, config::Descriptor chunk) {
  if (driver_.import_handle == nullptr) return fail(Errc::unsupported, "The driver takes no chunks of others.");
  if (!enter()) return fail(Errc::refused, "The device's context is gone.");
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

void DeviceMemory::vanish() noexcept {
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) empty(slot);
  for (const auto handle : frames_) {
    if (handle != 0) (void)driver_.release(handle);
  }
  frames_.clear();
}

/// Maps the frame, or a chunk of the slot's own.
bool DeviceMemory::stand(std::uint32_t slot, std::uint32_t frame) noexcept {
  AllocationHandle handle = frame < frames_.size() ? frames_[frame] : 0;
  AllocationProperties properties{};
  properties.location.id = device_;
  if (handle == 0) {
    if (driver_.create(&handle, chunk_.count, &properties, 0) != Code::success) return false;
    slots_[slot].own = handle;
  }
  const hal::cuda::AccessDescriptor access{.location = properties.location,
                                           .flags = hal::cuda::AccessFlags::read_write};
  slots_[slot].stands = driver_.map(address(slot), chunk_.count, 0, handle, 0) == Code::success;
  if (slots_[slot].stands && driver_.set_access(address(slot), chunk_.count, &access, 1) == Code::success) return true;
  empty(slot);
  return false;
}

void DeviceMemory::empty(std::uint32_t slot) noexcept {
  if (slots_[slot].stands) (void)driver_.unmap(address(slot), chunk_.count);
  if (slots_[slot].own != 0) (void)driver_.release(slots_[slot].own);
  slots_[slot].stands = false;
  slots_[slot].own = 0;
}

/// The copy that was submitted to the lane's stream last is that of `slot`.
Status DeviceMemory::queue(Lane& lane, std::uint32_t slot) noexcept {
  if (lane.count == Lane::room) return device_fault();
  const std::size_t at = (lane.first + lane.count) % Lane::room;
  if (driver_.event_record(lane.ended[at], lane.stream) != Code::success) return device_fault();
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
  if (driver_.event_synchronize(lane.ended[at]) != Code::success) return device_fault();
  return {};
}

Status DeviceMemory::begin_load(std::uint32_t slot, std::uint32_t frame) noexcept {
  if (slot >= slots_.size() || slots_[slot].stands || slots_[slot].host == nullptr || !enter())
    return Unexpected(Errc::bad_input);
  if (!stand(slot, frame)) return Unexpected(Errc::out_of_memory);
  const auto host = reinterpret_cast<hal::cuda::DevicePointer>(slots_[slot].host);
  const Code filled = slots_[slot].saved ? driver_.copy_async(address(slot), host, chunk_.count, loads_.stream)
                                         : driver_.set_bytes_async(address(slot), 0, chunk_.count, loads_.stream);
  if (filled == Code::success && queue(loads_, slot)) return {};
  empty(slot);
  return device_fault();
}

Status DeviceMemory::finish_load() noexcept {
  std::uint32_t slot = 0;
  const Status ended = await(loads_, slot);
  if (!ended) empty(slot);
  return ended;
}

Status DeviceMemory::begin_save(std::uint32_t slot) noexcept {
  if (slot >= slots_.size() || !slots_[slot].stands || !enter()) return Unexpected(Errc::bad_input);
  const auto host = reinterpret_cast<hal::cuda::DevicePointer>(slots_[slot].host);
  if (driver_.copy_async(host, address(slot), chunk_.count, saves_.stream) != Code::success) return device_fault();
  return queue(saves_, slot);
}

Status DeviceMemory::finish_save() noexcept {
  std::uint32_t slot = 0;
  const Status ended = await(saves_, slot);
  if (!ended) return ended;
  slots_[slot].saved = true;
  empty(slot);
  return {};
}

} // namespace rtexec::preload
