// A file with the outcomes of a study, one line for each set, added as they come. With it a stopped study goes on, in
// this or another process. The first line holds the study's options, the second names the columns. Set-up and tools
// only; one thread.
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"
#include "rtexec/studies/sweep/study.hpp"

#include <filesystem>
#include <span>

namespace rtexec::study {

class OutcomeFile {
 public:
  /// Opens or makes FOLDER/outcomes.csv, and reads the known outcomes into `outcomes`. Lines of other rows and sets
  /// stay as they are: a study may get more of both. An unfinished last line is cut off. Returns bad_input if the file
  /// is of other options or broken (with the line). Returns refused if another process writes it, or it cannot be
  /// written.
  [[nodiscard]] static Result<OutcomeFile> open(const std::filesystem::path& folder, const Study& study,
                                                Outcomes& outcomes);

  /// Writes the outcomes of `items`. When this returns, the kernel has them in the file.
  [[nodiscard]] Result<> add(const Study& study, const Outcomes& outcomes, std::span<const std::size_t> items);

 private:
  explicit OutcomeFile(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] Result<> write(const std::string& text);

  std::filesystem::path path_;
  config::Descriptor file_;
};

/// Reads the study's outcomes in FOLDER/outcomes.csv into `outcomes`. Returns bad_input as OutcomeFile::open() does.
[[nodiscard]] Result<> read_outcomes(const std::filesystem::path& folder, const Study& study, Outcomes& outcomes);

} // namespace rtexec::study
