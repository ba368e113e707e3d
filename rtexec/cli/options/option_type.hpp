// How an option is typed, and what its value is, as the parser's name of its type tells: "FILE.toml",
// "ORDER:{edf,static-priority}", "N:1 to 9".
#pragma once

#include <CLI/Option.hpp>
#include <string>
#include <vector>

namespace rtexec::command {

struct OptionType {
  std::string name;                 // "ORDER"; empty: it has no value
  std::vector<std::string> choices; // where it is one of these
  std::string range;                // "1 to 9"
};

[[nodiscard]] OptionType type_of(const CLI::Option& option);

/// As they are typed: "--output", "-o"; none of an argument.
[[nodiscard]] std::vector<std::string> names_of(const CLI::Option& option);

} // namespace rtexec::command
