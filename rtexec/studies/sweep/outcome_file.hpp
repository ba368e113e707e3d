// The outcomes of a study in a file, one line for each set, added as they come: what lets a study that was stopped go
// on, in this or another process. The first line holds the study's options, the second names the columns. Set-up and
// tools only; of one thread.
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"
#include "rtexec/studies/sweep/study.hpp"

#include <filesystem>
#include <span>

namespace rtexec::study {

class OutcomeFile {
 public:
  /// Opens FOLDER/outcomes.csv or makes both, and reads what is known into `outcomes`. Lines of other rows and sets
  /// stay as they are: a study may get more of both. A last line that was not finished is cut off. bad_input: the file
  /// is of other options, or is broken (a line is named). refused: another process writes it, or it cannot be written.
  [[nodiscard]] static Result<OutcomeFile> open(const std::filesystem::path& folder, const Study& study,
                                                Outcomes& outcomes);

  /// They are in the file, as the kernel has it, when this returns.
  [[nodiscard]] Result<> add(const Study& study, const Outcomes& outcomes, std::span<const std::size_t> items);

 private:
  explicit OutcomeFile(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] Result<> write(const std::string& text);

  std::filesystem::path path_;
  config::Descriptor file_;
};

/// Reads what FOLDER/outcomes.csv has of the study into `outcomes`. bad_input: as of OutcomeFile::open().
[[nodiscard]] Result<> read_outcomes(const std::filesystem::path& folder, const Study& study, Outcomes& outcomes);

} // namespace rtexec::study
