// Opens a shared library at run time: the first library that exists among several names. The library is never closed.
#pragma once

#include <rtexec/result.hpp>

#include <span>
#include <string>

namespace rtexec::tasks::cuda {

class Library {
 public:
  /// Opens the library. Returns unsupported if none of `names` is installed; `advice` is appended to the message.
  [[nodiscard]] static Result<Library> open(std::span<const char* const> names, const std::string& advice);
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Looks up the function `name`. Returns unsupported if the library does not have it.
  template <class Function> [[nodiscard]] Result<> find(Function*& function, const char* name) const {
    const auto found = address(name);
    if (!found) return Unexpected(found.error());
    function = reinterpret_cast<Function*>(*found);
    return {};
  }

 private:
  Library(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  [[nodiscard]] Result<void*> address(const char* name) const;
  void* handle_;
  std::string name_;
};

} // namespace rtexec::tasks::cuda
