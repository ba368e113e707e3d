// Owners of what the kernel hands out, and the one way an errno becomes an Error.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/system.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace rtexec::hal {

[[nodiscard]] Bytes page_size();
[[nodiscard]] std::string errno_text(int error);

/// "WHAT failed: REASON", and on a line of its own what to do, where there is something.
[[nodiscard]] Unexpected<Error> call_failed(std::string_view what, int error, std::string_view advice = {},
                                            Errc code = Errc::refused);

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0) sys().close(number_);
  }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_ = -1;
};

/// A mapping of whole pages, unmapped with everything that was mapped over it.
class Mapping {
 public:
  Mapping() = default;
  /// `size` in whole pages. `what` names it in the error.
  [[nodiscard]] static Result<Mapping> anonymous(Bytes size, int protection, int flags, std::string_view what);
  /// Of a file from `offset`.
  [[nodiscard]] static Result<Mapping> of_file(int file, Bytes size, int protection, int flags, std::string_view what,
                                               off_t offset = 0);
  Mapping(Mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), size_(std::exchange(other.size_, Bytes{})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Mapping() { (void)unmap(); }
  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] Bytes size() const { return size_; }
  /// Once; the destructor calls it too.
  Result<> unmap();

 private:
  Mapping(std::byte* base, Bytes size) : base_(base), size_(size) {}
  std::byte* base_ = nullptr;
  Bytes size_;
};

} // namespace rtexec::hal
