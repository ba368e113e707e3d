// The type of an option and its possible values, as encoded in the parser's type name: "FILE.toml",
// "ORDER:{edf,static-priority}", "N:1 to 9".
#pragma once

#include <CLI/Option.hpp>
#include <string>
#include <vector>

namespace rtexec::command {

struct OptionType {
  std::string name;                 // for example "ORDER"; empty: the option has no value
  std::vector<std::string> choices; // the allowed values, if there is a list of them
  std::string range;                // for example "1 to 9"
};

[[nodiscard]] OptionType type_of(const CLI::Option& option);

/// Returns the option's names as the user types them: "--output", "-o". Returns none for an argument, which has no
/// name.
[[nodiscard]] std::vector<std::string> names_of(const CLI::Option& option);

} // namespace rtexec::command
