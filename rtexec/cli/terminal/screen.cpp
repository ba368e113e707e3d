#include "rtexec/cli/terminal/screen.hpp"

#include "rtexec/cli/terminal/terminal.hpp"

#include <array>
#include <iostream>
#include <poll.h>
#include <sstream>
#include <sys/signalfd.h>
#include <unistd.h>

namespace rtexec::command {

namespace {

// Selects the alternate screen, hides the cursor and cuts long lines
constexpr const char* enter_codes = "\033[?1049h\033[?25l\033[?7l";
constexpr const char* leave_codes = "\033[?7h\033[?25h\033[?1049l";

sigset_t watched() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) sigaddset(&signals, signal);
  return signals;
}

} // namespace

Screen::Screen() : keys_(::isatty(STDIN_FILENO) != 0 && ::tcgetattr(STDIN_FILENO, &modes_) == 0) {
  const sigset_t signals = watched();
  ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  signals_ = hal::FileDescriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  enter();
}

Screen::~Screen() {
  leave();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Screen::enter() {
  if (keys_) {
    termios modes = modes_;
    modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &modes);
  }
  std::cout << enter_codes << std::flush;
}

void Screen::leave() {
  std::cout << leave_codes << std::flush;
  if (keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &modes_);
}

report::Room Screen::room() { return terminal_of(std::cout).value_or(report::Room{.columns = 80, .lines = 24}); }

void Screen::show(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::cout << "\033[H";
  for (std::size_t left = room().lines; left > 0 && std::getline(lines, line); --left)
    std::cout << line << "\033[K" << (left > 1 ? "\r\n" : "");
  std::cout << "\033[J" << std::flush;
}

Screen::Event Screen::wait(Duration at_most) {
  std::array<pollfd, 2> sources{{{signals_.number(), POLLIN, 0}, {keys_ ? STDIN_FILENO : -1, POLLIN, 0}}};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
  if (::poll(sources.data(), sources.size(), static_cast<int>(milliseconds)) <= 0) return Event::none;
  return sources[0].revents != 0 ? signal() : key();
}

Screen::Event Screen::key() {
  char key = 0;
  if (::read(STDIN_FILENO, &key, 1) != 1) return Event::quit; // the terminal was closed
  return key == 'q' ? Event::quit : key == 's' ? Event::sort : Event::none;
}

Screen::Event Screen::signal() {
  signalfd_siginfo info{};
  if (::read(signals_.number(), &info, sizeof(info)) != sizeof(info)) return Event::none;
  if (info.ssi_signo == SIGTSTP) pause();
  return info.ssi_signo == SIGTSTP || info.ssi_signo == SIGWINCH ? Event::redraw : Event::quit;
}

/// Handles Ctrl-Z. Restores the terminal, and stops the process until the shell continues it.
void Screen::pause() {
  leave();
  ::raise(SIGSTOP);
  enter();
}

} // namespace rtexec::command
