// The scheduling class of threads of this process.
#pragma once

#include <filesystem>
#include <fstream>
#include <sched.h>
#include <string>

namespace rtexec::test {

/// Returns the scheduling class of the thread of this name, or -1 if there is none.
inline int class_of(const std::string& name) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "comm");
    std::string found;
    if (std::getline(file, found) && found == name) return ::sched_getscheduler(std::stoi(entry.path().filename()));
  }
  return -1;
}

/// Raises the calling thread to SCHED_FIFO priority 70 while it lives, if the system permits it.
class Urgent {
 public:
  Urgent() { static_cast<void>(::sched_setscheduler(0, SCHED_FIFO, &priority_)); }
  ~Urgent() { static_cast<void>(::sched_setscheduler(0, SCHED_OTHER, &none_)); }
  Urgent(const Urgent&) = delete;
  Urgent& operator=(const Urgent&) = delete;

 private:
  const sched_param priority_{.sched_priority = 70}, none_{.sched_priority = 0};
};

} // namespace rtexec::test
