// The folder for the results of one run: BASE/2026-11-28T17-08-00 (UTC). The user chooses the folder BASE. BASE/latest
// is a link to it. Folders of earlier runs are kept.
#pragma once

#include <rtexec/result.hpp>

#include <filesystem>

namespace rtexec::channels {

/// The folder of one run. Not thread-safe; for set-up only.
class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path base) : base_(std::move(base)) {}

  /// Makes the folder, and points BASE/latest to it; only the first call has an effect. Returns io_error if the folder
  /// cannot be made, bad_input if BASE/latest exists and is no symbolic link.
  [[nodiscard]] Result<> make();
  /// Checks if make() would succeed, without making anything. Returns the errors of make().
  [[nodiscard]] Result<> check() const;
  /// Returns the folder of the run; empty before make().
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const std::filesystem::path& base() const { return base_; }

 private:
  std::filesystem::path base_, path_;
};

} // namespace rtexec::channels
