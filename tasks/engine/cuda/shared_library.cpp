#include "tasks/engine/cuda/shared_library.hpp"

#include <dlfcn.h>

namespace rtexec::tasks::cuda {

Result<Library> Library::open(std::span<const char* const> names, const std::string& advice) {
  std::string tried;
  for (const auto* name : names) {
    if (auto* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return Library(handle, name);
    tried += (tried.empty() ? "" : ", ") + std::string(name);
  }
  return fail(Errc::unsupported, "none of " + tried + " could be opened on this machine.\n" + advice);
}

Result<void*> Library::address(const char* name) const {
  if (auto* found = ::dlsym(handle_, name)) return found;
  return fail(Errc::unsupported, name_ + " has no function " + name + ": this version of it cannot be used");
}

} // namespace rtexec::tasks::cuda
