// Messages of the program about itself: help, and errors of the command line.
#pragma once

#include "rtexec/cli/options/options.hpp"

#include <CLI/App.hpp>
#include <CLI/Error.hpp>
#include <memory>
#include <string>

namespace rtexec::command {

/// Returns a formatter for help. The formatter prints options and their types in one column, and their descriptions in
/// a second column. The lines fit the terminal.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> help_formatter();

/// Adds the subcommand `help`, which explains any command of the program.
void add_help(const Command& program);

/// Returns a text that explains an error of the parser. The text suggests the probable spelling.
[[nodiscard]] std::string problem(const CLI::App& program, const CLI::ParseError& error);

} // namespace rtexec::command
