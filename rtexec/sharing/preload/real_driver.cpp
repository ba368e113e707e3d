#include "rtexec/sharing/preload/real_driver.hpp"

#include "rtexec/sharing/preload/symbols.hpp"

namespace rtexec::preload {
namespace {

template <class Function> bool find(const char* name, Function*& function) noexcept {
  function = reinterpret_cast<Function*>(real_dlsym()(driver_library(), name));
  return function != nullptr;
}

const RealDriver* load() noexcept {
  static RealDriver driver{};
  (void)find("cuMemImportFromShareableHandle", driver.import_handle);
  (void)find("cuThreadExchangeStreamCaptureMode", driver.exchange_capture_mode);
  const bool all =
      find("cuDevicePrimaryCtxRetain", driver.context_retain) && find("cuCtxGetCurrent", driver.context_current) &&
      find("cuCtxSetCurrent", driver.context_set_current) && find("cuCtxGetDevice", driver.context_device) &&
      find("cuCtxSynchronize", driver.context_synchronize) &&
      find("cuMemGetAllocationGranularity", driver.granularity) && find("cuMemCreate", driver.create) &&
      find("cuMemRelease", driver.release) && find("cuMemAddressReserve", driver.address_reserve) &&
      find("cuMemAddressFree", driver.address_free) && find("cuMemMap", driver.map) &&
      find("cuMemUnmap", driver.unmap) && find("cuMemSetAccess", driver.set_access) &&
      find("cuMemHostRegister_v2", driver.register_host) && find("cuMemHostUnregister", driver.unregister_host) &&
      find("cuMemcpyAsync", driver.copy_async) && find("cuMemsetD8Async", driver.set_bytes_async) &&
      find("cuStreamCreate", driver.stream_create) && find("cuStreamSynchronize", driver.stream_synchronize) &&
      find("cuStreamQuery", driver.stream_query) && find("cuStreamIsCapturing", driver.stream_is_capturing) &&
      find("cuEventCreate", driver.event_create) && find("cuEventDestroy_v2", driver.event_destroy) &&
      find("cuEventRecord", driver.event_record) && find("cuEventQuery", driver.event_query) &&
      find("cuEventSynchronize", driver.event_synchronize);
  return all ? &driver : nullptr;
}

} // namespace

const RealDriver* real_driver() noexcept {
  static const RealDriver* const driver = load();
  return driver;
}

} // namespace rtexec::preload
