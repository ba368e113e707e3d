// The command line: one file per subcommand. Each add_* function gives the program its subcommand with its options; the
// callback it sets runs the command, and leaves the exit code where a command that ran to its end may have another one
// than 0.
#pragma once

#include "config/must.hpp"
#include "rtexec/command/output_file.hpp"

#include <CLI/App.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rtexec::command {

void add_check(CLI::App& program, int& exit_code);
void add_run(CLI::App& program, int& exit_code);
void add_simulate(CLI::App& program, int& exit_code);
void add_sweep(CLI::App& program);
void add_experiment(CLI::App& program);
void add_profile(CLI::App& program);
void add_calibrate(CLI::App& program);
void add_model(CLI::App& program);
void add_infer(CLI::App& program);
void add_config(CLI::App& program);
void add_probe(CLI::App& program, int& exit_code);
void add_analyze(CLI::App& program, int& exit_code);
void add_top(CLI::App& program);
/// Of all that is added to the program.
void add_completion(CLI::App& program);

/// Prints "rtexec: ..." on standard error, without control characters that came from files, and gives the exit code of
/// the error. A command that cannot go on throws Failed, by must() or give_up(), and ends so.
int report(const Error& error);

/// Adds an option with a value, which help calls `type`.
template <class Value>
CLI::Option* option(CLI::App& command, const std::string& names, Value& value, const std::string& type,
                    const std::string& help) {
  return command.add_option(names, value, help)->type_name(type);
}

/// Adds the option that every command takes: --json FILE ("-" for standard output).
void add_json_option(CLI::App& command, std::string& file);
/// All that the file gets, where one was asked for.
[[nodiscard]] Result<> write_json(OutputFile& file, const nlohmann::json& json);

} // namespace rtexec::command
