#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/terminal/daemon_view.hpp"
#include "rtexec/cli/terminal/terminal.hpp"
#include "rtexec/cli/reports/report_text.hpp"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace rtexec::command {

namespace {

struct PsOptions {
  std::string directory = usual_daemon;
  std::string json;
};

void ps(const PsOptions& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  daemon::StatusReader reader = must(daemon::StatusReader::connect(options.directory));
  const daemon::ServerStatus status = must(reader.read());
  std::ostream& out = text_output(options.json);
  report::Room room;
  if (const auto terminal = terminal_of(out)) room.columns = terminal->columns;
  out << view(status, {}, TaskOrder::as_listed, room, report::has_colours(out));
  must(write_json(json_file, to_json(status, {})));
}

} // namespace

void add_ps(const Command& program) {
  const Command command = program.add(
      "ps", "List the clients of the daemon rtexecd with their memory, promised bounds and deadline misses");
  const auto options = std::make_shared<PsOptions>();
  command
      .option("--daemon", options->directory, "FOLDER",
              "Folder of the daemon's socket: the [daemon] directory of its file")
      .default_shown();
  command.json(options->json);
  command.on_run([options] { ps(*options); });
}

} // namespace rtexec::command
