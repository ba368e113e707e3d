#include "tasks/engine/cuda/kernel_resources.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

namespace rtexec::tasks::cuda {
namespace {

namespace api = hal::cuda;

constexpr unsigned plain_shared = 48 << 10; // bytes of dynamic shared memory that need no function attribute

/// True if `image` contains the text `name`. An image contains the names of its kernels as text, both as a cubin and as
/// PTX.
bool mentions(const KernelImage& image, std::string_view name) {
  return std::string_view(static_cast<const char*>(image.data), image.size).contains(name);
}

template <class Library> Result<const Library*> opened(std::unique_ptr<Library>& library, api::Stream stream) {
  if (!library) {
    auto made = Library::open(stream);
    if (!made) return Unexpected(made.error());
    library = std::move(*made);
  }
  return library.get();
}

} // namespace

Result<std::shared_ptr<Resources>> Resources::of(hal::CudaDevice& device, std::span<const KernelImage> images) {
  static std::mutex mutex;
  static std::map<std::pair<const hal::CudaDevice*, const KernelImage*>, std::weak_ptr<Resources>> known;
  if (images.empty())
    return fail(Errc::refused,
                "this program was built without a compiler for GPU kernels, so that nothing can run on " +
                    device.name() + ": install nvcc (CUDA toolkit) or clang and build again");
  if (auto entered = device.enter(); !entered) return Unexpected(entered.error());
  const std::scoped_lock lock(mutex);
  std::erase_if(known, [](const auto& each) { return each.second.expired(); });
  auto& place = known[{&device, images.data()}];
  if (auto shared = place.lock()) return shared;
  auto chosen = api::choose_images(images, device.architecture());
  if (chosen.empty())
    return fail(Errc::refused, "this program has no GPU kernels that " + device.name() + " (sm_" +
                                   std::to_string(device.architecture()) +
                                   ") can load: build it with a compiler for that architecture");
  std::shared_ptr<Resources> made(new Resources(device, std::move(chosen)));
  place = made;
  return made;
}

Result<api::Function> Resources::function(const Launch& launch) {
  auto known = functions_.find(std::string_view(launch.name));
  if (known == functions_.end()) {
    const auto found = find(launch.name);
    if (!found) return Unexpected(found.error());
    known = functions_.emplace(launch.name, Function{*found, plain_shared}).first;
  }
  auto& [function, shared] = known->second;
  if (launch.shared > shared) {
    const auto set = device_.driver().function_set_attribute(function, api::function_max_dynamic_shared,
                                                             static_cast<int>(launch.shared));
    if (auto allowed = device_.checked(set, std::string("giving kernel ") + launch.name + " its shared memory");
        !allowed)
      return Unexpected(allowed.error());
    shared = launch.shared;
  }
  return function;
}

Result<> Resources::put(api::Function function, const Launch& launch, void* arguments,
                        std::span<api::LaunchAttribute> attributes) {
  const auto& driver = device_.driver();
  const auto stream = device_.stream(hal::EngineKind::compute);
  void* parameters[] = {arguments};
  const std::string what = std::string("launching kernel ") + launch.name;
  if (attributes.empty())
    return device_.checked(driver.launch(function, launch.grid_x, launch.grid_y, launch.grid_z, launch.threads, 1, 1,
                                         launch.shared, stream, parameters, nullptr),
                           what);
  const api::LaunchConfig config{launch.grid_x,
                                 launch.grid_y,
                                 launch.grid_z,
                                 launch.threads,
                                 1,
                                 1,
                                 launch.shared,
                                 stream,
                                 attributes.data(),
                                 static_cast<unsigned>(attributes.size())};
  return device_.checked(driver.launch_with(&config, function, parameters, nullptr), what);
}

/// Returns the kernel `name`. Searches the loaded modules, then the images, beginning with those that contain the name.
Result<api::Function> Resources::find(const char* name) {
  for (const auto& module : modules_) {
    const auto found = module.kernel(name);
    if (found) return static_cast<api::Function>(found->function);
    if (found.error().code != Errc::unsupported) return Unexpected(found.error());
  }
  std::ranges::stable_sort(images_, std::greater(), [&](const KernelImage& image) { return mentions(image, name); });
  // Modules are never unloaded, because unloading a module would end a capture.
  while (!images_.empty()) {
    auto module = device_.load(images_.front().data, std::string(images_.front().name));
    if (!module) return Unexpected(module.error());
    images_.erase(images_.begin());
    modules_.push_back(std::move(*module));
    const auto found = modules_.back().kernel(name);
    if (found) return static_cast<api::Function>(found->function);
    if (found.error().code != Errc::unsupported) return Unexpected(found.error());
  }
  return fail(Errc::refused,
              std::string("this program has no kernel ") + name + " for " + device_.name() + " (sm_" +
                  std::to_string(device_.architecture()) +
                  "): profile the task set again on this machine, or build with a compiler for its architecture");
}

Result<const Cudnn*> Resources::cudnn() { return opened(cudnn_, device_.stream(hal::EngineKind::compute)); }
Result<const Cublas*> Resources::cublas() { return opened(cublas_, device_.stream(hal::EngineKind::compute)); }

} // namespace rtexec::tasks::cuda
