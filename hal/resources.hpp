// Owners of kernel resources, and the function that makes an Error of an errno.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "config/base/errno_text.hpp"
#include "hal/system.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace rtexec::hal {

[[nodiscard]] Bytes page_size();
using config::errno_text;

/// Returns the error "WHAT failed: REASON". If there is a remedy, it follows on a line of its own.
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

/// A mapping of whole pages. unmap() also unmaps everything that was later mapped into its addresses.
class Mapping {
 public:
  Mapping() = default;
  /// Maps anonymous memory of `size`, in whole pages. The error contains `what`, the name of the mapping.
  [[nodiscard]] static Result<Mapping> anonymous(Bytes size, int protection, int flags, std::string_view what);
  /// Maps a file from `offset`.
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
  /// Unmaps the pages. A second call has no effect; the destructor calls it too.
  Result<> unmap();

 private:
  Mapping(std::byte* base, Bytes size) : base_(base), size_(size) {}
  std::byte* base_ = nullptr;
  Bytes size_;
};

} // namespace rtexec::hal
