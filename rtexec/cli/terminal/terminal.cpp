#include "rtexec/cli/terminal/terminal.hpp"

#include "rtexec/cli/text/tone.hpp"

#include <cstdlib>
#include <iostream>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace rtexec::command {

namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view{} : value;
}

} // namespace

std::optional<report::Room> terminal_of(const std::ostream& out) {
  const int stream = &out == &std::cout ? STDOUT_FILENO : &out == &std::cerr ? STDERR_FILENO : -1;
  const auto name = variable("TERM");
  if (stream < 0 || ::isatty(stream) == 0 || name.empty() || name == "dumb") return std::nullopt;
  winsize size{};
  if (::ioctl(stream, TIOCGWINSZ, &size) != 0) size = {};
  return report::Room{.columns = size.ws_col > 0 ? size.ws_col : std::size_t{80},
                      .lines = size.ws_row > 0 ? size.ws_row : std::size_t{24}};
}

void know_terminals() {
  for (std::ostream* const out : {&std::cout, &std::cerr})
    if (const auto terminal = terminal_of(*out)) {
      report::limit_columns(*out, terminal->columns);
      report::use_colours(*out, variable("NO_COLOR").empty());
    }
}

} // namespace rtexec::command
