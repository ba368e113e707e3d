#include "tasks/backends/loaded_backend.hpp"

#include "config/base/text.hpp"
#include "config/c_error.hpp"
#include "config/names.hpp"
#include "tasks/backends/custom_workload.hpp"
#include "tasks/base/fingerprint.hpp"

#include <rtexec/backend.h>

#include <cstddef>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <link.h>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace rtexec::tasks {
namespace {

namespace fs = std::filesystem;

std::uint32_t device_kind(DeviceKind kind) {
  return kind == DeviceKind::host ? RTEXEC_DEVICE_HOST : RTEXEC_DEVICE_CUDA;
}

rtexec_precision precision_of(Precision precision) {
  switch (precision) {
  case Precision::fp32: return RTEXEC_FP32;
  case Precision::tf32: return RTEXEC_TF32;
  case Precision::fp16: return RTEXEC_FP16;
  }
  std::unreachable();
}

Result<> add_file(Fingerprint& fingerprint, const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(1 << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0)
    fingerprint.add(std::as_bytes(std::span(piece).first(static_cast<std::size_t>(file.gcount()))));
  if (!file.eof()) return fail(Errc::bad_input, path.string() + ": cannot be read");
  return {};
}

class LoadedBackend final : public Backend {
 public:
  /// `code` is the fingerprint of the back end's shared object.
  LoadedBackend(const rtexec_backend& backend, const Fingerprint& code) : backend_(backend), code_(code) {}

  std::span<const MemoryPolicy> memory_policies(const Task&) const override {
    return std::span(every_memory_policy).first(1);
  }

  Result<std::unique_ptr<Workload>> open(const Task& task, DeviceKind kind) const override {
    if (task.memory_policy != MemoryPolicy::device && task.memory_policy != MemoryPolicy::automatic)
      return fail(Errc::bad_input, "memory_policy: only the built-in back end supports policies other than D, not " +
                                       who() + ": leave it out");
    if (!task.constant.empty()) return fail(Errc::bad_input, "constant: only for the built-in back end, not " + who());
    if ((backend_.device_kinds & device_kind(kind)) == 0)
      return fail(Errc::unsupported,
                  who() + " does not compute on " + (kind == DeviceKind::host ? "the host" : "CUDA devices"));
    auto code = code_of(task);
    if (!code) return Unexpected(code.error());
    const std::string model = fs::absolute(task.model).string();
    std::vector<rtexec_input_shape> shapes;
    for (const auto& [input, shape] : task.shape)
      shapes.push_back(
          {.size = sizeof(rtexec_input_shape), .input = input.c_str(), .rank = shape.size(), .shape = shape.data()});
    const rtexec_model asked{.size = sizeof asked,
                             .task = task.name.c_str(),
                             .file = model.c_str(),
                             .arguments = task.arguments.c_str(),
                             .device = static_cast<rtexec_device_kind>(device_kind(kind)),
                             .precision = precision_of(task.precision),
                             .shapes = shapes.data(),
                             .shape_count = shapes.size()};
    rtexec_error error{RTEXEC_BAD_INPUT, {}};
    const rtexec_workload* const network = backend_.open(&asked, &error);
    if (network == nullptr)
      return fail(config::errc_of(error.code), model + ": " + who() + ": " + config::text_of(error, "open()"));
    return CustomWorkload::adopt(network, *code);
  }

 private:
  [[nodiscard]] std::string who() const { return "back end " + config::quoted(backend_.name); }

  /// Returns a fingerprint of all properties known here on which execution times depend: shared object, model file,
  /// shapes, precision and arguments.
  [[nodiscard]] Result<std::string> code_of(const Task& task) const {
    Fingerprint fingerprint = code_;
    if (const auto added = add_file(fingerprint, task.model); !added) return Unexpected(added.error());
    for (const auto& [input, shape] : task.shape) {
      fingerprint.add(input);
      for (const std::int64_t size : shape) fingerprint.add(std::to_string(size));
    }
    return fingerprint.add(spelling(task.precision)).add(task.arguments).text();
  }

  const rtexec_backend& backend_;
  Fingerprint code_;
};

std::string problem_of(const rtexec_backend& backend) {
  constexpr std::size_t first_size = offsetof(rtexec_backend, open) + sizeof(rtexec_backend::open);
  if (backend.size < first_size)
    return "its struct size is smaller than in any version: set size to sizeof(rtexec_backend)";
  if (backend.name == nullptr || backend.open == nullptr) return "name or open() is missing";
  if (backend.device_kinds == 0) return "device_kinds is 0: must name at least one kind of device";
  return {};
}

Result<std::unique_ptr<LoadedBackend>> load(const std::string& name) {
  const bool is_path = name.contains('/');
  const std::string library = is_path ? fs::absolute(name).string() : "librtexec-backend-" + name + ".so";
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::bad_input, "backend = " + config::quoted(name) + ": " + why);
  };
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return refuse(std::string(::dlerror()) +
                  (is_path ? ""
                           : "; install it where the dynamic linker looks (ldconfig, LD_LIBRARY_PATH), write a path as "
                             "\"./FILE.so\", or use the built-in \"rtexec\""));
  using Get = decltype(&rtexec_backend_get);
  const auto get = reinterpret_cast<Get>(::dlsym(handle, "rtexec_backend_get"));
  if (get == nullptr) return refuse(library + " does not export rtexec_backend_get(), see <rtexec/backend.h>");
  const rtexec_backend* const backend = get();
  if (backend == nullptr) return refuse(library + ": rtexec_backend_get() returned null: it cannot be used");
  if (backend->version != RTEXEC_BACKEND_VERSION)
    return fail(Errc::unsupported, "backend = " + config::quoted(name) + ": " + library + " is of version " +
                                       std::to_string(backend->version) +
                                       " of <rtexec/backend.h>, but this rtexec has version " +
                                       std::to_string(RTEXEC_BACKEND_VERSION) +
                                       (backend->version > RTEXEC_BACKEND_VERSION
                                            ? ": it needs a newer rtexec, or to be compiled against these headers"
                                            : ": compile it again"));
  if (const std::string problem = problem_of(*backend); !problem.empty()) return refuse(library + ": " + problem);
  ::link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return refuse(std::string("dlinfo: ") + ::dlerror());
  Fingerprint code;
  if (const auto added = add_file(code, map->l_name); !added) return refuse(added.error().what);
  return std::make_unique<LoadedBackend>(*backend, code);
}

} // namespace

Result<const Backend*> load_backend(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<LoadedBackend>> loaded;
  const std::lock_guard lock(mutex);
  if (const auto found = loaded.find(name); found != loaded.end()) return found->second.get();
  auto backend = load(name);
  if (!backend) return Unexpected(backend.error());
  return loaded.emplace(name, std::move(*backend)).first->second.get();
}

} // namespace rtexec::tasks
