// Resolves the paths in a board's description (BoardPath) to files of a machine, and reads the values in these files.
// All paths are under the machine's root. Set-up code.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "hal/machine_files.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::hal {

struct BoardFile {
  std::filesystem::path file; // path without the root, for example "/sys/..."
  /// A second file, if the value is the product of the numbers in both files; empty if `file` alone holds the value
  std::filesystem::path times;
  std::int64_t factor = 1; // converts the file's number to the unit of its kind of clock or sensor
  friend bool operator==(const BoardFile&, const BoardFile&) = default;
};

/// Returns the first file of `paths` that exists. A file that exists but may not be read counts as existing.
[[nodiscard]] std::optional<BoardFile> find_file(const BoardPaths& paths, const Machine& machine);
/// Finds the first of `paths` that matches files of the machine. Returns the numbers that "#" stands for in the
/// matching files, in ascending order.
[[nodiscard]] std::vector<unsigned> numbers_in(const BoardPaths& paths, const Machine& machine);
/// Returns every file that `paths` can refer to, including alternatives whose condition does not hold now, and the
/// files that the conditions read.
[[nodiscard]] std::vector<std::filesystem::path> files_of(const BoardPaths& paths, const Machine& machine);
/// Returns all files and folders that match `pattern`, in which "*" stands for any text and "#" for a number.
[[nodiscard]] std::vector<std::filesystem::path> files_like(const std::filesystem::path& pattern,
                                                            const Machine& machine);
/// Replaces each "#" by `number`.
[[nodiscard]] std::string with_number(std::string text, unsigned number);
[[nodiscard]] BoardPaths with_number(BoardPaths paths, unsigned number);

/// Returns the number in the file, in the unit of its kind of clock or sensor; the greatest number if the file holds
/// several. Returns refused if the file may not be read, has no value now (sensors of sleeping components return
/// EAGAIN), or holds no number.
[[nodiscard]] Result<std::int64_t> read_value(const BoardFile& file, const Machine& machine);

} // namespace rtexec::hal
