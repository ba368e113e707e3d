// Which file of a machine a board's path means (BoardPath), and what it reads. All under the machine's root. Set-up
// code.
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
  std::filesystem::path file;  // "/sys/...", without the root
  std::filesystem::path times; // of which the value is the product; empty: it is that of `file`
  std::int64_t factor = 1;     // of the value's unit
  friend bool operator==(const BoardFile&, const BoardFile&) = default;
};

/// The first that is there; one that is there and may not be read is.
[[nodiscard]] std::optional<BoardFile> find_file(const BoardPaths& paths, const Machine& machine);
/// What "#" can be in the first of `paths` for which there are files, ascending.
[[nodiscard]] std::vector<unsigned> numbers_in(const BoardPaths& paths, const Machine& machine);
/// All files that `paths` may mean, whatever their conditions say, and those that tell which one is meant.
[[nodiscard]] std::vector<std::filesystem::path> files_of(const BoardPaths& paths, const Machine& machine);
/// All of this name, in which "*" is any text and "#" a number; folders too.
[[nodiscard]] std::vector<std::filesystem::path> files_like(const std::filesystem::path& pattern,
                                                            const Machine& machine);
/// `number` for each "#".
[[nodiscard]] std::string with_number(std::string text, unsigned number);
[[nodiscard]] BoardPaths with_number(BoardPaths paths, unsigned number);

/// The file's number, or the greatest of several, in the unit of its kind. refused: it may not be read, has none now
/// (sensors of parts that sleep answer EAGAIN), or is no number.
[[nodiscard]] Result<std::int64_t> read_value(const BoardFile& file, const Machine& machine);

} // namespace rtexec::hal
