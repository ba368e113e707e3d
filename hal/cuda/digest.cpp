#include "hal/cuda/cuda_device.hpp"
#include "hal/digest_of.hpp"

#include <algorithm>

namespace rtexec::hal {
namespace {

// Enough blocks to use all threads of a multiprocessor. All threads are needed, because each thread has few bytes in
// flight
constexpr unsigned blocks_per_multiprocessor = 8;
// Distance between the sums of two streams, and between their results, in device memory. Prevents sharing of cache
// lines
constexpr Bytes apart{256};

} // namespace

Result<> CudaDevice::find_digest_kernel() {
  const auto images = cuda::choose_images(options_.kernels, architecture_);
  const auto image = std::ranges::find(images, "digest", &cuda::KernelImage::name);
  if (image == images.end()) return {};
  auto module = load(image->data, "digest");
  if (!module) return Unexpected(module.error());
  const auto function = module->kernel("digest");
  if (!function) return Unexpected(function.error());
  digest_module_ = std::move(*module);
  digest_kernel_ = static_cast<cuda::Function>(function->function);
  return {};
}

/// Prepares digest(). Also returns success if no kernel can be loaded: the device then does not support digests, and
/// the probe reports this.
Result<> CudaDevice::ready_digests() {
  if (auto found = find_digest_kernel(); !found && found.error().code != Errc::unsupported) return found;
  if (digest_kernel_ == nullptr) return {};
  const auto sums = allocate(BufferKind::device, apart * streams_.size());
  if (!sums) return Unexpected(sums.error());
  const auto results = allocate(BufferKind::host, apart * streams_.size());
  if (!results) return Unexpected(results.error());
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const std::size_t offset = i * apart.count;
    streams_[i].sums = reinterpret_cast<cuda::DigestSums*>(sums->device + offset);
    streams_[i].result_on_device = reinterpret_cast<cuda::DigestResult*>(results->device + offset);
    streams_[i].result = reinterpret_cast<const cuda::DigestResult*>(results->host + offset);
  }
  return {};
}

Status CudaDevice::digest(const std::byte* at, Bytes size, Digest& result) noexcept {
  if (auto possible = ready(); !possible) return possible;
  if (!is_digestible(at, size)) return Unexpected(Errc::bad_input);
  if (digest_kernel_ == nullptr) return Unexpected(Errc::unsupported);
  const EngineStream& own = own_stream();
  cuda::DigestArguments arguments{at, size.count, own.sums, own.result_on_device};
  void* argument = &arguments;
  constexpr std::uint64_t bytes_of_block = 16 * cuda::digest_threads;
  const auto most = static_cast<std::uint64_t>(multiprocessors_) * blocks_per_multiprocessor;
  const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(size.count / bytes_of_block, 1, most));
  if (auto begun = check(
          driver_->launch(digest_kernel_, blocks, 1, 1, cuda::digest_threads, 1, 1, 0, own.stream, &argument, nullptr));
      !begun)
    return begun;
  if (auto done = finish(own); !done) return done;
  result = {own.result->low, own.result->high};
  return {};
}

} // namespace rtexec::hal
