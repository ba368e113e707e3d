// The command line: one file per subcommand. Each add_* function gives the program its subcommand with its options; the
// callback it sets runs the command, and leaves the exit code where a command that ran to its end may have another one
// than 0.
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
/// Of all that is added to the program.
void add_completion(const Command& program);

/// Prints "rtexec: ..." on standard error, without control characters that came from files, and gives the exit code of
/// the error. A command that cannot go on throws Failed, by must() or give_up(), and ends so.
int report(const Error& error);

/// All that the file gets, where one was asked for.
[[nodiscard]] Result<> write_json(OutputFile& file, const nlohmann::json& json);

} // namespace rtexec::command
