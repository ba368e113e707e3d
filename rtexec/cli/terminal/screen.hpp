// The whole terminal, for as long as it lives: a view that is drawn anew, keys without echo, and the signals that would
// leave the terminal as it is. The destructor gives back what was there. One at a time, from one thread, without other
// threads that take these signals.
#pragma once

#include <rtexec/units.hpp>
#include "hal/resources.hpp"
#include "rtexec/cli/text/columns.hpp"

#include <csignal>
#include <string>
#include <termios.h>

namespace rtexec::command {

class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  [[nodiscard]] static report::Room room();
  /// As much of the text as has room.
  void show(const std::string& text);

  enum class Event { none, quit, sort, redraw };
  /// What the user wants, or the terminal; `none` after this time.
  Event wait(Duration at_most);

 private:
  void enter();
  void leave();
  Event key();
  Event signal();
  void pause();

  hal::FileDescriptor signals_;
  sigset_t before_{};
  termios modes_{};
  bool keys_; // standard input is a terminal, too
};

} // namespace rtexec::command
