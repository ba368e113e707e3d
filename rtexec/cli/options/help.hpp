// Messages of the program about itself: help, and errors of the command line.
#pragma once

#include "rtexec/cli/options/options.hpp"

#include <CLI/App.hpp>
#include <CLI/Error.hpp>
#include <memory>
#include <string>

namespace rtexec::command {

/// Returns a formatter that prints options and their types in a column beside their descriptions, in lines that fit the
/// terminal.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> help_formatter();

/// Adds the subcommand `help` for everything in the program.
void add_help(const Command& program);

/// Explains an error of the parser, and suggests the probable spelling.
[[nodiscard]] std::string problem(const CLI::App& program, const CLI::ParseError& error);

} // namespace rtexec::command
