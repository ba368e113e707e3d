// Small traced programs: this test program runs again as a child process, with a mode instead of tests.
#pragma once

#include <rtexec/units.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace rtexec::traces::test {

/// Runs the mode that the first argument names, and returns the process's exit code. programs.cpp lists the modes.
int run_program(const std::vector<std::string>& arguments);

/// A child process that runs a mode of run_program(), in a process group of its own. The destructor kills it if it
/// still runs. If a call waits for it in vain, the test fails and the process is killed.
class Program {
 public:
  /// `before_exec` runs in the new process, to change its environment, user or scheduling.
  explicit Program(const std::vector<std::string>& arguments, const std::function<void()>& before_exec = {},
                   const std::filesystem::path& executable = "/proc/self/exe");
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  std::string read_line(); // the next line that it printed; empty at its end
  int wait();              // waits; returns its exit code, or 128 + signal if killed

 private:
  static constexpr Duration limit = std::chrono::minutes(5); // of a call: longer than Session waits in total
  void give_up(const char* awaited);

  pid_t pid_ = -1;
  int output_ = -1;
};

/// Emits `events` job_start events: task 0, jobs 0, 1, ...
void emit(std::uint64_t events);
/// Measures the cost of an event outside a session.
double nanoseconds_of_an_event_off();

/// Returns the processes started as, or by, the private session daemon of process `owner`.
std::vector<pid_t> daemons_of(pid_t owner);

} // namespace rtexec::traces::test
