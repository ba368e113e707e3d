// What the program says of itself: help, and what is wrong with a command line.
#pragma once

#include "rtexec/cli/options/options.hpp"

#include <CLI/App.hpp>
#include <CLI/Error.hpp>
#include <memory>
#include <string>

namespace rtexec::command {

/// Names and types of options apart from what is told of them, in lines that the terminal has room for.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> help_formatter();

/// The subcommand `help`, of all that is added to the program.
void add_help(const Command& program);

/// What an error of the parser means, and what was probably meant.
[[nodiscard]] std::string problem(const CLI::App& program, const CLI::ParseError& error);

} // namespace rtexec::command
