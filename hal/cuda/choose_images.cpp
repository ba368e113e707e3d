#include "hal/cuda/kernel_images.hpp"

#include <map>

namespace rtexec::hal::cuda {
namespace {

/// True if image `a` is better than image `b`: `a` is for a newer architecture. For one architecture, a cubin is better
/// than PTX.
bool better(const KernelImage& a, const KernelImage& b) {
  return a.architecture != b.architecture ? a.architecture > b.architecture : !a.ptx && b.ptx;
}

bool can_load(const KernelImage& image, int architecture) {
  return image.architecture <= architecture && (image.ptx || image.architecture / 10 == architecture / 10);
}

} // namespace

std::vector<KernelImage> choose_images(std::span<const KernelImage> images, int architecture) {
  std::map<std::string_view, KernelImage> chosen;
  for (const auto& image : images) {
    if (!can_load(image, architecture)) continue;
    const auto [found, is_new] = chosen.try_emplace(image.name, image);
    if (!is_new && better(image, found->second)) found->second = image;
  }
  std::vector<KernelImage> result;
  for (const auto& [name, image] : chosen) result.push_back(image);
  return result;
}

} // namespace rtexec::hal::cuda
