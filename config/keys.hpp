// The documentation of the keys of all files (`rtexec config`). The table that validates the keys also generates it.
#pragma once

#include <span>
#include <string>

namespace rtexec {

/// One documented key.
struct KeyDoc {
  std::string table; // "[executive]", "[[task]]", ...; empty: top level of the file
  std::string key;
  std::string type;     // "duration, 1us to 60min", "one of: skip, catch-up, ...", ...
  std::string unit;     // "ns, us, ms, s, min"; empty: no unit
  std::string fallback; // the default, or "required"
  std::string meaning;
  std::string old_key = {}; // the key's name in earlier releases; empty: the name has not changed
};
enum class FileKind { task_set, board, profile, daemon };
[[nodiscard]] std::span<const KeyDoc> documented_keys(FileKind kind);

} // namespace rtexec
