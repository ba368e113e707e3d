// The driver's own functions. The library uses these functions for its own driver calls, so that it does not intercept
// its own calls.
#pragma once

#include "hal/cuda/driver.hpp"

namespace rtexec::preload {

/// The value of CU_STREAM_CAPTURE_MODE_RELAXED.
inline constexpr int capture_relaxed = 2;
/// The value of CUDA_ERROR_DEINITIALIZED.
inline constexpr hal::cuda::Code deinitialized{4};

struct RealDriver {
  // ---- contexts ----
  hal::cuda::Code (*context_retain)(hal::cuda::Context* context, hal::cuda::Ordinal device);
  hal::cuda::Code (*context_current)(hal::cuda::Context* context);
  hal::cuda::Code (*context_set_current)(hal::cuda::Context context);
  hal::cuda::Code (*context_device)(hal::cuda::Ordinal* device);
  hal::cuda::Code (*context_synchronize)();
  /// Null if the driver has no capture modes.
  hal::cuda::Code (*exchange_capture_mode)(int* mode);
  // ---- memory ----
  hal::cuda::Code (*granularity)(std::size_t* bytes, const hal::cuda::AllocationProperties* properties, int option);
  hal::cuda::Code (*create)(hal::cuda::AllocationHandle* handle, std::size_t size,
                            const hal::cuda::AllocationProperties* properties, unsigned long long flags);
  /// Null if the driver cannot import chunks.
  hal::cuda::Code (*import_handle)(hal::cuda::AllocationHandle* handle, void* descriptor, int type);
  hal::cuda::Code (*release)(hal::cuda::AllocationHandle handle);
  hal::cuda::Code (*address_reserve)(hal::cuda::DevicePointer* pointer, std::size_t size, std::size_t alignment,
                                     hal::cuda::DevicePointer wanted, unsigned long long flags);
  hal::cuda::Code (*address_free)(hal::cuda::DevicePointer pointer, std::size_t size);
  hal::cuda::Code (*map)(hal::cuda::DevicePointer pointer, std::size_t size, std::size_t offset,
                         hal::cuda::AllocationHandle handle, unsigned long long flags);
  hal::cuda::Code (*unmap)(hal::cuda::DevicePointer pointer, std::size_t size);
  hal::cuda::Code (*set_access)(hal::cuda::DevicePointer pointer, std::size_t size,
                                const hal::cuda::AccessDescriptor* descriptors, std::size_t count);
  hal::cuda::Code (*register_host)(void* pointer, std::size_t size, unsigned flags);
  hal::cuda::Code (*unregister_host)(void* pointer);
  hal::cuda::Code (*copy_async)(hal::cuda::DevicePointer to, hal::cuda::DevicePointer from, std::size_t size,
                                hal::cuda::Stream stream);
  hal::cuda::Code (*set_bytes_async)(hal::cuda::DevicePointer to, unsigned char value, std::size_t count,
                                     hal::cuda::Stream stream);
  // ---- streams and events ----
  hal::cuda::Code (*stream_create)(hal::cuda::Stream* stream, unsigned flags);
  hal::cuda::Code (*stream_synchronize)(hal::cuda::Stream stream);
  hal::cuda::Code (*stream_query)(hal::cuda::Stream stream);
  hal::cuda::Code (*stream_is_capturing)(hal::cuda::Stream stream, int* state);
  hal::cuda::Code (*event_create)(hal::cuda::Event* event, unsigned flags);
  hal::cuda::Code (*event_destroy)(hal::cuda::Event event);
  hal::cuda::Code (*event_record)(hal::cuda::Event event, hal::cuda::Stream stream);
  hal::cuda::Code (*event_query)(hal::cuda::Event event);
  hal::cuda::Code (*event_synchronize)(hal::cuda::Event event);
};

/// Returns the functions. Requires that driver_library() has returned a library. Returns null if the driver is too old
/// for virtual memory management. Any thread.
[[nodiscard]] const RealDriver* real_driver() noexcept;

} // namespace rtexec::preload
