// The command line, with one file for each subcommand. Each add_* function adds its subcommand and the subcommand's
// options to the program. Each add_* function also sets the callback that runs the command. A command that can complete
// with an exit code other than 0 stores it in `exit_code`.
#pragma once

#include "config/base/must.hpp"
#include "rtexec/cli/options/options.hpp"
#include "rtexec/cli/options/output_file.hpp"

#include <nlohmann/json_fwd.hpp>

namespace rtexec::command {

void add_check(const Command& program, int& exit_code);
void add_run(const Command& program, int& exit_code);
void add_simulate(const Command& program, int& exit_code);
void add_sweep(const Command& program);
void add_experiment(const Command& program);
void add_profile(const Command& program);
void add_calibrate(const Command& program);
void add_model(const Command& program);
void add_infer(const Command& program);
void add_config(const Command& program);
void add_probe(const Command& program, int& exit_code);
void add_bringup(const Command& program, int& exit_code);
void add_restore(const Command& program);
void add_analyze(const Command& program, int& exit_code);
void add_top(const Command& program);
void add_ps(const Command& program);
/// Adds the subcommand that prints shell completions for the whole program.
void add_completion(const Command& program);

/// Prints "rtexec: " and the error to standard error, without control characters that come from files. Returns the
/// exit code of the error. A command that cannot continue throws Failed, with must() or give_up().
int report(const Error& error);

/// Writes the JSON output and completes the file. Has no effect if the user requested no file.
[[nodiscard]] Result<> write_json(OutputFile& file, const nlohmann::json& json);

} // namespace rtexec::command
