#include "rtexec/cli/terminal/progress.hpp"

#include "hal/thread.hpp"
#include "rtexec/cli/terminal/terminal.hpp"

#include <algorithm>
#include <iostream>
#include <utility>

namespace rtexec::command {

namespace {

constexpr std::size_t beside = 3; // columns that stay free for the terminal's "^C" and the cursor

} // namespace

Progress::Progress(const StopRequest* stop) : stop_(stop) {}

Progress::~Progress() {
  if (!drawn_) return;
  draw(); // overwrites the echo of keys: "^C"
  std::cerr << std::endl;
}

bool Progress::operator()(const std::string& what, std::uint64_t done, std::uint64_t wanted, const std::string& unit,
                          std::optional<Duration> left) {
  const std::uint64_t tenth = std::min<std::uint64_t>(10 * done / std::max<std::uint64_t>(wanted, 1), 10);
  const bool new_tenth = std::exchange(shown_, tenth) != tenth;
  const bool new_work = std::exchange(what_, what) != what;
  if (new_work) pace_ = {};
  std::string line = what + ": " + std::to_string(done) + " of " + std::to_string(wanted) + " " + unit;
  if (!left) left = pace_(hal::now(), done, wanted);
  if (left && done < wanted) line += ", " + report::rough(*left) + " left";
  if (terminal_of(std::cerr)) {
    bar_ = "[" + std::string(tenth, '#') + std::string(10 - tenth, '.') + "] " + line;
    drawn_ = done < wanted;
    draw();
    if (!drawn_) std::cerr << std::endl;
  } else if (new_tenth || new_work) {
    std::cerr << line << std::endl;
  }
  return stop_ == nullptr || !stop_->asked();
}

void Progress::erase() {
  if (std::exchange(drawn_, false)) std::cerr << "\r\033[K" << std::flush;
}

void Progress::draw() const {
  const auto terminal = terminal_of(std::cerr);
  if (!terminal) return;
  // A single write, because at Ctrl-C the terminal discards output that it has not shown. Part of a line could be
  // lost otherwise.
  const std::string line = '\r' + report::cut(bar_, terminal->columns - std::min(terminal->columns, beside)) + "\033[K";
  std::cerr << line << std::flush;
}

} // namespace rtexec::command
