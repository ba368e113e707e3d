// The documentation of the keys of all files that are read. It is made from the same table that validates them (`rtexec
// config`).
#pragma once

#include <span>
#include <string>

namespace rtexec {

/// One documented key.
struct KeyDoc {
  std::string table; // "[executive]", "[[task]]", ...; empty: the file's top
  std::string key;
  std::string type;     // "duration, 1us to 60min", "one of: skip, catch-up, ...", ...
  std::string unit;     // "ns, us, ms, s, min"; empty: none
  std::string fallback; // the default, or "required"
  std::string meaning;
  std::string old_key = {}; // the key's name in earlier releases; empty: it had no other
};
enum class FileKind { task_set, board, profile, daemon };
[[nodiscard]] std::span<const KeyDoc> documented_keys(FileKind kind);

} // namespace rtexec
