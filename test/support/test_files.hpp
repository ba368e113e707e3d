// Scratch folders and small files for tests.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace rtexec::test {

/// A new folder in the system's folder for temporary files. The destructor removes it with its contents.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Returns the path of `name` in the folder. An absolute `name` is taken relative to the folder.
  [[nodiscard]] std::filesystem::path operator/(const std::filesystem::path& name) const {
    return path_ / name.relative_path();
  }

 private:
  std::filesystem::path path_;
};

/// Writes the file. Creates missing parent folders.
void write_text(const std::filesystem::path& file, std::string_view text);

/// Returns the file's text, or an empty string if the file does not exist.
[[nodiscard]] std::string read_text(const std::filesystem::path& file);

} // namespace rtexec::test
