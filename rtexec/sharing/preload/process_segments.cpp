// Memory that the program maps itself with cuMemMap. Its chunks use slots, like objects of the arena.
#include "rtexec/sharing/preload/entered.hpp"
#include "rtexec/sharing/preload/preloaded_library.hpp"
#include "rtexec/sharing/preload/client_process.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace rtexec::preload {

using hal::cuda::AllocationHandle;
using hal::cuda::AllocationProperties;
using hal::cuda::Code;
using hal::cuda::DevicePointer;

namespace {

constexpr int fabric_handle = 8; // CU_MEM_HANDLE_TYPE_FABRIC

/// True if the chunk has the properties of the arena's memory. A chunk that can be exported by file descriptor
/// qualifies too; only the export is refused. Frameworks create all chunks as exportable, but rarely export a chunk.
bool is_plain(const AllocationProperties& properties) noexcept {
  return properties.type == 1 && properties.location.type == 1 &&
         (properties.requested_handle_types & ~hal::cuda::file_descriptor_handle) == 0 &&
         properties.flags.compression == 0 && properties.flags.usage == 0;
}

} // namespace

std::optional<Code> ClientProcess::reserve_addresses(DevicePointer* pointer, std::size_t size, std::size_t alignment,
                                                     DevicePointer wanted) noexcept {
  if (pointer == nullptr || size == 0 || size % granularity_ != 0 || wanted != 0 || !on_device()) return {};
  const Uncaptured uncaptured(driver_);
  const std::scoped_lock lock(mutex_);
  const std::size_t whole = segments_->whole(size);
  if (whole < size) return {};
  DevicePointer begin = 0;
  if (const Code code = driver_.address_reserve(&begin, whole, alignment, 0, 0); code != Code::success) return code;
  try {
    segments_->add_range({begin, size});
  } catch (const std::exception&) {
    (void)driver_.address_free(begin, whole);
    return Code::out_of_memory;
  }
  maps_itself_.store(true, std::memory_order_release);
  *pointer = begin;
  return Code::success;
}

std::optional<Code> ClientProcess::free_addresses(DevicePointer pointer, std::size_t size) noexcept {
  if (!maps_itself_.load(std::memory_order_acquire)) return {};
  const std::scoped_lock lock(mutex_);
  const auto code = segments_->remove_range(pointer, size);
  if (code == Code::success) memory_.retire(pointer, segments_->whole(size));
  return code;
}

/// Maps all slots at their assigned addresses. Called while the client holds the device.
bool ClientProcess::settle() noexcept {
  const Entered entered(driver_, context_);
  return memory_.settle();
}

std::optional<Code> ClientProcess::create_chunk(AllocationHandle* handle, std::size_t size,
                                                const AllocationProperties* properties) noexcept {
  if (handle == nullptr || properties == nullptr || properties->location.type != 1 ||
      properties->location.id != device_)
    return {};
  // Some programs try fabric handles first, and use handles of another type after this refusal.
  if (properties->requested_handle_types == fabric_handle) return Code::not_supported;
  if (!is_plain(*properties)) return {};
  if (size == 0 || size % granularity_ != 0) return Code::invalid_value;
  const Uncaptured uncaptured(driver_);
  try {
    const std::scoped_lock lock(mutex_);
    reclaim();
    if (size > memory_size_ || segments_->bytes() + arena_->used().count + size > memory_size_)
      return Code::out_of_memory;
    if (const auto room = make_room(size); !room) {
      say_once(Occasion::refused, room.error().what);
      return Code::out_of_memory;
    }
    *handle = segments_->create(size);
    return Code::success;
  } catch (const std::exception&) { return Code::out_of_memory; }
}

/// Acquires the slots for a chunk of `size` bytes when the program calls cuMemCreate, not when it maps the chunk by
/// cuMemMap. The reason is that programs handle a failure of cuMemCreate, but not a failure of cuMemMap. A place is a
/// part of a reserved address range, of the size of one slot (driver_mappings.hpp). Acquires no slot if the chunk fits
/// into the unused bytes of places that already have a slot.
Result<> ClientProcess::make_room(std::size_t size) {
  const std::size_t slot = arena_->slot_size().count;
  const std::size_t to_map = segments_->bytes_to_map() + size;
  if (to_map <= segments_->room()) return {};
  const std::size_t needed = (to_map + slot - 1) / slot;
  if (needed <= spare_slots()) return {};
  take_back_unused();
  const auto more = static_cast<std::uint32_t>(needed - unused_slots_.size());
  const std::uint32_t before = granted_;
  if (auto grown = grow(granted_ + more); !grown) return grown;
  for (std::uint32_t i = 0; i < more; ++i) unused_slots_.push_back(before + i);
  return {};
}

std::optional<Code> ClientProcess::release_chunk(AllocationHandle handle) noexcept {
  if (!gave_chunk(handle)) return {};
  const std::scoped_lock lock(mutex_);
  return segments_->release(handle);
}

bool ClientProcess::gave_chunk(AllocationHandle handle) const noexcept {
  const std::scoped_lock lock(mutex_);
  return segments_->gave(handle);
}

std::optional<Code> ClientProcess::retain_chunk(AllocationHandle* handle, DevicePointer pointer) noexcept {
  if (!maps_itself_.load(std::memory_order_acquire) || handle == nullptr) return {};
  const std::scoped_lock lock(mutex_);
  const auto piece = segments_->piece_of(pointer);
  if (!piece || piece->handle == 0) return {};
  *handle = piece->handle;
  return segments_->retain(piece->handle);
}

std::optional<Code> ClientProcess::map_chunk(DevicePointer pointer, std::size_t size, std::size_t offset,
                                             AllocationHandle handle, unsigned long long flags) noexcept {
  const Uncaptured uncaptured(driver_);
  try {
    const std::scoped_lock lock(mutex_);
    const bool ours = segments_->gave(handle);
    if (!segments_->range_of(pointer)) {
      if (!ours) return {};
      say_once(Occasion::mapping,
               "a mapping was refused: a chunk can be mapped only at one address, which the driver chooses");
      return Code::not_supported;
    }
    const Code may = segments_->may_map(pointer, size, offset, ours ? handle : 0);
    if (may != Code::success) return may;
    if (!ours) {
      segments_->map(pointer, size, 0);
      const Code code = driver_.map(pointer, size, offset, handle, flags);
      std::vector<DevicePointer> none;
      if (code != Code::success) segments_->unmap(pointer, none);
      return code;
    }
    if (const auto stands = provide(segments_->places_of(pointer, size)); !stands) {
      say_once(Occasion::refused, stands.error().what);
      return Code::out_of_memory;
    }
    segments_->map(pointer, size, handle);
    return Code::success;
  } catch (const std::exception&) { return Code::out_of_memory; }
}

std::optional<Code> ClientProcess::unmap(DevicePointer pointer, std::size_t size) noexcept {
  if (!maps_itself_.load(std::memory_order_acquire)) return {};
  const Uncaptured uncaptured(driver_);
  try {
    const std::scoped_lock lock(mutex_);
    if (!segments_->range_of(pointer)) return {};
    const auto pieces = segments_->pieces_in(pointer, size);
    if (!pieces || pieces->empty()) return Code::invalid_value;
    std::vector<DevicePointer> emptied;
    for (const auto& piece : *pieces) {
      if (piece.handle == 0) (void)driver_.unmap(piece.begin, piece.size);
      segments_->unmap(piece.begin, emptied);
    }
    for (const DevicePointer address : emptied) give_back(address);
    return Code::success;
  } catch (const std::exception&) { return Code::out_of_memory; }
}

/// Handles cuMemSetAccess. A slot can be accessed only by its own device.
std::optional<Code> ClientProcess::set_access(DevicePointer pointer, std::size_t size,
                                              const hal::cuda::AccessDescriptor* access, std::size_t count) noexcept {
  if (!maps_itself_.load(std::memory_order_acquire)) return {};
  const Uncaptured uncaptured(driver_);
  try {
    const std::scoped_lock lock(mutex_);
    if (!segments_->range_of(pointer)) return {};
    const auto pieces = segments_->pieces_in(pointer, size);
    if (!pieces || pieces->empty() || access == nullptr) return Code::invalid_value;
    for (const auto& piece : *pieces) {
      if (piece.handle != 0) continue;
      if (const Code code = driver_.set_access(piece.begin, piece.size, access, count); code != Code::success)
        return code;
    }
    const bool slots = std::ranges::any_of(*pieces, [](const auto& piece) { return piece.handle != 0; });
    const auto elsewhere = [this](const auto& each) { return each.location.type != 1 || each.location.id != device_; };
    if (!slots || std::none_of(access, access + count, elsewhere)) return Code::success;
    say_once(Occasion::other_device, "other devices have no access to memory that is swapped");
    return Code::not_supported;
  } catch (const std::exception&) { return Code::out_of_memory; }
}

} // namespace rtexec::preload
