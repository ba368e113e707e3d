#include "rtexec/command/progress.hpp"

#include <algorithm>
#include <iostream>
#include <unistd.h>

namespace rtexec::command {

Progress::Progress(std::ostream& out, const StopRequest* stop)
    : out_(out), stop_(stop), terminal_(&out == &std::cout && ::isatty(STDOUT_FILENO) != 0) {}

bool Progress::operator()(const std::string& what, std::uint64_t done, std::uint64_t wanted, const std::string& unit) {
  const std::uint64_t tenth = 10 * done / std::max<std::uint64_t>(wanted, 1);
  const std::string line = what + ": " + std::to_string(done) + " of " + std::to_string(wanted) + " " + unit;
  if (terminal_) out_ << "\r[" << std::string(tenth, '#') << std::string(10 - tenth, '.') << "] " << line << std::flush;
  else if (tenth != shown_ || what != what_) out_ << line << std::endl;
  shown_ = tenth;
  what_ = what;
  if (terminal_ && done == wanted) out_ << '\n';
  return stop_ == nullptr || !stop_->asked();
}

} // namespace rtexec::command
