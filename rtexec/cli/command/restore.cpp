#include "hal/board/clock_lock.hpp"
#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/reports/report_text.hpp"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace rtexec::command {

namespace {

void restore(const std::string& json) {
  OutputFile json_file = must(OutputFile::open(json));
  const std::size_t files = must(hal::restore_clocks(hal::Machine()));
  std::ostream& out = text_output(json);
  if (files == 0) out << "Nothing to restore: no killed run has left clocks locked\n";
  else out << "Clocks: " << files << (files == 1 ? " file is" : " files are") << " as before the killed run\n";
  must(write_json(json_file, {{"clock_files", files}}));
}

} // namespace

void add_restore(const Command& program) {
  const Command command =
      program.add("restore", "Restore the clocks of this machine that a killed run has left locked");
  const auto json = std::make_shared<std::string>();
  command.json(*json);
  command.on_run([json] { restore(*json); });
}

} // namespace rtexec::command
