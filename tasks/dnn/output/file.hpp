// Whole files: read at once, and written so that a failure leaves no half-written file behind. Set-up and tools only.
#pragma once

#include "config/result.hpp"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

/// Errors (bad_input) name the file and the reason; a file above `limit` bytes is refused.
[[nodiscard]] Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, std::size_t limit);

/// A file under a temporary name beside its own; commit() gives it its name, without that it is removed.
class AtomicFile {
 public:
  [[nodiscard]] static Result<AtomicFile> create(const std::filesystem::path& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Open for writing; owned by this object.
  [[nodiscard]] int descriptor() const { return fd_; }
  [[nodiscard]] Result<> write(std::span<const std::byte> bytes);
  /// Durable under its name when it returns; an existing file is replaced in one step.
  [[nodiscard]] Result<> commit();
  /// The error of a system call that failed with `error` (an errno) while this file was written.
  [[nodiscard]] std::unexpected<Error> failure(int error) const;

 private:
  AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int fd);

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int fd_ = -1;
};

} // namespace rtexec::tasks
