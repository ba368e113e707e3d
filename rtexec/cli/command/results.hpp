// The output folder of a study.
#pragma once

#include "rtexec/cli/text/report_files.hpp"

#include <filesystem>
#include <iosfwd>
#include <vector>

namespace rtexec::command {

/// Creates the folder, or checks that it is writable, before any long work. The destructor removes the folders that it
/// created if they are empty.
class ResultFolder {
 public:
  /// Creates no folder if the path is empty. Throws Failed.
  explicit ResultFolder(const std::filesystem::path& folder);
  ~ResultFolder();
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;

 private:
  void remove_empty() const noexcept;

  std::vector<std::filesystem::path> made_; // innermost first
};

/// Writes the files; each replaces an old one atomically. Throws Failed.
void write_files(const std::filesystem::path& folder, const report::Files& files);

/// Writes the files and prints their names, unless the path is empty.
void save(const std::filesystem::path& folder, const report::Files& files, std::ostream& out);

} // namespace rtexec::command
