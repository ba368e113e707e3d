// Reads TOML into plain structs. All errors of a file are reported at once, each with file, line, column, the offending
// value and, for a misspelt key, the nearest known one. One table of keys validates and documents (`rtexec config`).
#pragma once

#include <rtexec/board.hpp>
#include "config/profile.hpp"
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace rtexec {

/// Reads and validates a task set. Relative paths in it are resolved against its own folder; files it names must exist.
[[nodiscard]] Result<TaskSet> read_task_set(const std::filesystem::path& file);
/// The same from text; `file` names it in messages and resolves relative paths.
[[nodiscard]] Result<TaskSet> parse_task_set(std::string_view toml, const std::filesystem::path& file);

/// A board file of boards/ that the library carries in itself, so that no installation is needed to find it.
struct BuiltinBoard {
  std::string_view name; // of the file, without ".toml"
  std::string_view toml;
};

/// Reads a board by path (anything with a '/' or a ".toml" at its end), or by name from `builtin`.
[[nodiscard]] Result<Board> read_board(std::string_view name_or_path, std::span<const BuiltinBoard> builtin);
[[nodiscard]] Result<Board> parse_board(std::string_view toml, const std::filesystem::path& file);

/// Limits of values and rules between them (deadline <= period, unique names, priorities...) for task sets built in
/// code; the reader applies the same ones. Set `deadline` yourself: its default, the period, is the reader's.
[[nodiscard]] Result<> validate(const TaskSet& tasks);

/// One documented key, from the table that validates.
struct KeyDoc {
  std::string table; // "[executive]", "[[task]]", ...; empty: the file's top
  std::string key;
  std::string type;     // "duration, 1us to 60min", "one of: skip, catch-up, ...", ...
  std::string unit;     // "ns, us, ms, s, min"; empty where there is none
  std::string fallback; // the default, or "required"
  std::string meaning;
};
enum class FileKind { task_set, board, profile };
[[nodiscard]] std::span<const KeyDoc> documented_keys(FileKind kind);

} // namespace rtexec
