// The command line: one file per subcommand. Each add_* function adds its subcommand and its options to the program.
// The callback that it sets runs the command. A command that can complete with an exit code other than 0 stores it in
// `exit_code`.
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
/// Adds the completion of everything in the program.
void add_completion(const Command& program);

/// Prints "rtexec: ..." to standard error, without control characters from files. Returns the exit code of the error. A
/// command that cannot continue throws Failed, by must() or give_up().
int report(const Error& error);

/// Writes the complete JSON output, if a file is wanted.
[[nodiscard]] Result<> write_json(OutputFile& file, const nlohmann::json& json);

} // namespace rtexec::command
