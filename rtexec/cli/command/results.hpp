// The output folder of a study.
#pragma once

#include "rtexec/cli/text/report_files.hpp"

#include <filesystem>
#include <iosfwd>
#include <vector>

namespace rtexec::command {

/// The folder for the results. The constructor creates the folder, or checks that it is writable, before any long work.
/// The destructor removes created folders that are still empty.
class ResultFolder {
 public:
  /// Creates the folder. Has no effect if the path is empty. Throws Failed.
  explicit ResultFolder(const std::filesystem::path& folder);
  ~ResultFolder();
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;

 private:
  void remove_empty() const noexcept;

  std::vector<std::filesystem::path> made_; // created folders, innermost first
};

/// Writes the files. Each new file replaces an existing file atomically. Throws Failed.
void write_files(const std::filesystem::path& folder, const report::Files& files);

/// Writes the files and prints their names. Has no effect if the path is empty.
void save(const std::filesystem::path& folder, const report::Files& files, std::ostream& out);

} // namespace rtexec::command
