#include "rtexec/command/progress.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iostream>
#include <unistd.h>

namespace rtexec::command {

namespace {

std::atomic<bool> interrupted{false};

} // namespace

void stop_on_signals() {
  std::signal(SIGINT, [](int) { interrupted.store(true); });
  std::signal(SIGTERM, [](int) { interrupted.store(true); });
}

bool stop_wanted() { return interrupted.load(); }

Progress::Progress(std::ostream& out) : out_(out), terminal_(&out == &std::cout && ::isatty(STDOUT_FILENO) != 0) {}

bool Progress::operator()(const std::string& what, std::uint64_t done, std::uint64_t wanted, const std::string& unit) {
  const std::uint64_t tenth = 10 * done / std::max<std::uint64_t>(wanted, 1);
  const std::string line = what + ": " + std::to_string(done) + " of " + std::to_string(wanted) + " " + unit;
  if (terminal_) out_ << "\r[" << std::string(tenth, '#') << std::string(10 - tenth, '.') << "] " << line << std::flush;
  else if (tenth != shown_ || what != what_) out_ << line << std::endl;
  shown_ = tenth;
  what_ = what;
  if (terminal_ && done == wanted) out_ << '\n';
  return !stop_wanted();
}

} // namespace rtexec::command
