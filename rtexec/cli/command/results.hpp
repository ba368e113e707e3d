// The folder that a study's files go to.
#pragma once

#include "rtexec/cli/text/report_files.hpp"

#include <filesystem>
#include <iosfwd>
#include <vector>

namespace rtexec::command {

/// Is made, or found to be writable, before anything long begins, and gone again where nothing came into it.
class ResultFolder {
 public:
  /// Empty: none is made. Throws Failed.
  explicit ResultFolder(const std::filesystem::path& folder);
  ~ResultFolder();
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;

 private:
  void remove_empty() const noexcept;

  std::vector<std::filesystem::path> made_; // innermost first
};

/// Each replaced in one step. Throws Failed.
void write_files(const std::filesystem::path& folder, const report::Files& files);

/// Writes them where there is a folder, and says which.
void save(const std::filesystem::path& folder, const report::Files& files, std::ostream& out);

} // namespace rtexec::command
