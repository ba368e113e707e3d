// The folder of one run, BASE/2026-11-28T17-08-00 (UTC), below a folder that the user names, and the link BASE/latest
// to it. Folders of earlier runs stay as they are.
#pragma once

#include <rtexec/result.hpp>

#include <filesystem>

namespace rtexec::channels {

/// Not thread-safe: for set-up.
class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path base) : base_(std::move(base)) {}

  /// Makes the folder, and lets BASE/latest lead to it; the first call only. io_error: the folder cannot be made.
  /// bad_input: BASE/latest is there, and is no symbolic link.
  [[nodiscard]] Result<> make();
  /// Checks what make() needs, and makes nothing. Errors are those of make().
  [[nodiscard]] Result<> check() const;
  /// Empty before make().
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const std::filesystem::path& base() const { return base_; }

 private:
  std::filesystem::path base_, path_;
};

} // namespace rtexec::channels
