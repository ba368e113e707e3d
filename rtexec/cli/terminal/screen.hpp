// Controls the whole terminal while the object lives. A Screen shows a view that is redrawn, and reads keys without
// echo. It handles the signals that would end the process without restoring the terminal. The destructor restores the
// terminal. Only one object may exist at a time, used by one thread. Other threads must block these signals.
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
  /// Shows as many lines of the text as fit, from the beginning.
  void show(const std::string& text);

  enum class Event { none, quit, sort, redraw };
  /// Waits for a key, a signal or a new size of the terminal. Returns `none` after `at_most`.
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
  bool keys_; // true: standard input is a terminal, too
};

} // namespace rtexec::command
