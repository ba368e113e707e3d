// The scheduling class of a thread of this process.
#pragma once

#include <filesystem>
#include <fstream>
#include <sched.h>
#include <string>

namespace rtexec::test {

/// Of the one that has this name; -1 where there is none.
inline int class_of(const std::string& name) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "comm");
    std::string found;
    if (std::getline(file, found) && found == name) return ::sched_getscheduler(std::stoi(entry.path().filename()));
  }
  return -1;
}

} // namespace rtexec::test
