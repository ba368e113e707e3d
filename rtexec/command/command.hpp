// The command line: one file per subcommand. Each add_* function gives the program its subcommand with its options; the
// callback it sets runs the command and leaves the exit code.
#pragma once

#include <rtexec/result.hpp>
#include "rtexec/command/output_file.hpp"

#include <CLI/App.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rtexec::command {

void add_check(CLI::App& program, int& exit_code);
void add_run(CLI::App& program, int& exit_code);
void add_simulate(CLI::App& program, int& exit_code);
void add_sweep(CLI::App& program, int& exit_code);
void add_experiment(CLI::App& program, int& exit_code);
void add_profile(CLI::App& program, int& exit_code);
void add_calibrate(CLI::App& program, int& exit_code);
void add_model(CLI::App& program, int& exit_code);
void add_infer(CLI::App& program, int& exit_code);
void add_config(CLI::App& program, int& exit_code);
void add_probe(CLI::App& program, int& exit_code);
void add_analyze(CLI::App& program, int& exit_code);
void add_top(CLI::App& program, int& exit_code);

/// Prints "rtexec: ..." on standard error and gives the exit code of the error.
int report(const Error& error);

/// Adds the option that every command takes: --json FILE ("-" for standard output).
void add_json_option(CLI::App& command, std::string& file);
/// All that the file gets, where one was asked for.
[[nodiscard]] Result<> write_json(OutputFile& file, const nlohmann::json& json);

} // namespace rtexec::command
