#include "hal/cuda/cuda_shared_chunks.hpp"

#include "hal/cuda/driver.hpp"

#include <optional>

namespace rtexec::hal {
namespace {

using cuda::Code;

class Maker {
 public:
  Maker(const cuda::Driver& driver, cuda::Ordinal device, Bytes chunk)
      : driver_(driver), device_(device), chunk_(chunk) {
    properties_.location.id = device;
    properties_.requested_handle_types = cuda::file_descriptor_handle;
  }
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;
  ~Maker() {
    if (!entered_) return;
    (void)driver_.context_set_current(nullptr);
    (void)driver_.context_release(device_);
  }

  Result<> check_size() {
    std::size_t granularity = 0;
    if (const auto told = checked(driver_.granularity(&granularity, &properties_, 0), "asking for the size of chunks");
        !told)
      return told;
    if (chunk_.count > 0 && chunk_.count % granularity == 0) return {};
    return fail(Errc::bad_input, "A chunk of " + to_string(chunk_) + " is not a multiple of " +
                                     to_string(Bytes{granularity}) + ", the driver's granularity.");
  }

  Result<FileDescriptor> make() {
    cuda::AllocationHandle handle = 0;
    Code made = driver_.create(&handle, chunk_.count, &properties_, 0);
    if (made == Code::invalid_context && !entered_) { // this driver creates chunks only with a context
      if (const auto entered = enter(); !entered) return Unexpected(entered.error());
      made = driver_.create(&handle, chunk_.count, &properties_, 0);
    }
    if (const auto created = checked(made, "creating a chunk of " + readable(chunk_) + " to be handed on"); !created)
      return Unexpected(created.error());
    int file = -1;
    const auto exported = checked(driver_.export_handle(&file, handle, cuda::file_descriptor_handle, 0),
                                  "exporting a chunk of " + readable(chunk_));
    (void)driver_.release(handle); // the exported descriptor keeps the chunk alive
    if (!exported) return Unexpected(exported.error());
    return FileDescriptor(file);
  }

  [[nodiscard]] Result<> checked(Code code, const std::string& what) const {
    if (code == Code::success) return {};
    const Errc kind = code == Code::out_of_memory                                  ? Errc::out_of_memory
                      : code == Code::not_supported || code == Code::not_permitted ? Errc::unsupported
                                                                                   : Errc::refused;
    return fail(kind, what + " failed: " + cuda::describe(driver_, code) + ".");
  }

 private:
  Result<> enter() {
    cuda::Context context = nullptr;
    if (const auto retained = checked(driver_.context_retain(&context, device_), "opening the device's context");
        !retained)
      return retained;
    entered_ = true;
    return checked(driver_.context_set_current(context), "entering the device's context");
  }

  const cuda::Driver& driver_;
  cuda::Ordinal device_;
  Bytes chunk_;
  cuda::AllocationProperties properties_;
  bool entered_ = false;
};

} // namespace

Result<SharedChunks> share_cuda_chunks(int ordinal, std::size_t count, Bytes chunk) {
  const auto opened = cuda::open_driver();
  if (!opened) return Unexpected(opened.error());
  const cuda::Driver& driver = **opened;
  if (driver.export_handle == nullptr)
    return fail(Errc::unsupported,
                "This NVIDIA driver cannot export chunks (cuMemExportToShareableHandle): set chunks = \"separate\" in "
                "[daemon].");
  cuda::Ordinal device = 0;
  Maker maker(driver, ordinal, chunk);
  if (const auto ready = maker.checked(driver.init(0), "starting the NVIDIA driver"); !ready)
    return Unexpected(ready.error());
  if (const auto found = maker.checked(driver.device_get(&device, ordinal), "GPU " + std::to_string(ordinal)); !found)
    return Unexpected(found.error());
  if (const auto fits = maker.check_size(); !fits) return Unexpected(fits.error());
  std::vector<FileDescriptor> descriptors;
  for (std::size_t i = 0; i < count; ++i) {
    auto made = maker.make();
    if (!made) return Unexpected(made.error());
    descriptors.push_back(std::move(*made));
  }
  return SharedChunks(chunk, std::move(descriptors));
}

} // namespace rtexec::hal
