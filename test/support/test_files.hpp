// Files of a test.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace rtexec::test {

/// A new folder in the system's folder for temporary files, removed with all in it at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// An absolute path is taken under the folder.
  [[nodiscard]] std::filesystem::path operator/(const std::filesystem::path& name) const {
    return path_ / name.relative_path();
  }

 private:
  std::filesystem::path path_;
};

/// Makes the folders above the file as well.
void write_text(const std::filesystem::path& file, std::string_view text);

/// Empty when there is no such file.
[[nodiscard]] std::string read_text(const std::filesystem::path& file);

} // namespace rtexec::test
