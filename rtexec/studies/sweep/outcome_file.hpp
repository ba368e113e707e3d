// A file with the outcomes of a study, one line per task set. Outcomes are added as they are computed. A study that was
// stopped continues from this file, in this or another process. The first line of the file holds the study's options,
// and the second line names the columns. Set-up and tools only; one thread.
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"
#include "rtexec/studies/sweep/study.hpp"

#include <filesystem>
#include <span>

namespace rtexec::study {

class OutcomeFile {
 public:
  /// Opens or creates FOLDER/outcomes.csv, and reads the known outcomes into `outcomes`. Lines of rows and sets that
  /// the study does not have are kept, since a later study may have them. An unfinished last line is removed. Returns
  /// bad_input if the file belongs to other options, or if a line is malformed. Returns refused if another process
  /// writes the file, or if the file cannot be written.
  [[nodiscard]] static Result<OutcomeFile> open(const std::filesystem::path& folder, const Study& study,
                                                Outcomes& outcomes);

  /// Writes the outcomes of `items`. When the function returns, the kernel has the data, but the data may not be on the
  /// disk yet.
  [[nodiscard]] Result<> add(const Study& study, const Outcomes& outcomes, std::span<const std::size_t> items);

 private:
  explicit OutcomeFile(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] Result<> write(const std::string& text);

  std::filesystem::path path_;
  config::Descriptor file_;
};

/// Reads outcomes in FOLDER/outcomes.csv into `outcomes`, without writing. Returns bad_input if the file belongs to
/// other options, or if a line is malformed.
[[nodiscard]] Result<> read_outcomes(const std::filesystem::path& folder, const Study& study, Outcomes& outcomes);

} // namespace rtexec::study
