// What can fail at run time returns Result<T>: the value, or an Error that says what happened, where, why and what to
// do. Real-time paths use Status, which carries a code only and never allocates.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace rtexec {

enum class Errc {
  bad_input,     // a file or an argument says something impossible          (exit code 2)
  not_proved,    // admission could not promise what was asked              (exit code 3)
  missed,        // a deadline or a bound was missed                        (exit code 4)
  refused,       // the machine refused what was asked                      (exit code 5)
  out_of_memory, // a device, an arena or a fixed table is full
  unsupported,   // the board or this version cannot do it
  device_fault,  // the device, or work on it, failed
  device_lost,   // an earlier fault ended the device: nothing can run on it any more
  cancelled,     // the work was withdrawn before it ran
  io_error,      // a backing store could not be read or written
  corrupted,     // memory came back from its backing store with other contents
};

struct Error {
  Errc code;
  std::string what; // one or more full lines, ready to be shown to the user
};

template <class T = void> using Result = std::expected<T, Error>;

using Status = std::expected<void, Errc>;

[[nodiscard]] inline std::unexpected<Error> fail(Errc code, std::string what) {
  return std::unexpected(Error{code, std::move(what)});
}

/// The process exit code that the command line promises for `code`.
[[nodiscard]] int exit_code(Errc code);
[[nodiscard]] const char* name(Errc code);

} // namespace rtexec
