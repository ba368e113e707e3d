// Small traced programs: this test program run again as a process of its own, with a mode instead of tests.
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

/// Runs the mode named first; the process's exit code. Modes: programs.cpp.
int run_program(const std::vector<std::string>& arguments);

/// A process that runs a mode of run_program(), in a process group of its own; killed at the end of the test if it
/// still runs. One that a call waits for in vain fails the test and is killed.
class Program {
 public:
  /// `before_exec` runs in the new process: to change its environment, user or scheduling.
  explicit Program(const std::vector<std::string>& arguments, const std::function<void()>& before_exec = {},
                   const std::filesystem::path& executable = "/proc/self/exe");
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  std::string read_line(); // that it printed next; empty at its end
  int wait();              // its exit code; 128 + signal when killed

 private:
  static constexpr Duration limit = std::chrono::minutes(5); // of a call: longer than Session waits in a row
  void give_up(const char* awaited);

  pid_t pid_ = -1;
  int output_ = -1;
};

/// Emits that many job_start events: task 0, jobs 0, 1, ...
void emit(std::uint64_t events);
/// Outside a session.
double nanoseconds_of_an_event_off();

/// Processes started as, or by, the private session daemon of process `owner`.
std::vector<pid_t> daemons_of(pid_t owner);

} // namespace rtexec::traces::test
