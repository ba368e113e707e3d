#include "rtexec/executive/page_faults.hpp"

#include <fstream>
#include <sstream>
#include <string>

namespace rtexec::executive {

long page_faults(int kernel_id) {
  std::ifstream file("/proc/self/task/" + std::to_string(kernel_id) + "/stat");
  std::string stat;
  if (!std::getline(file, stat)) return 0;
  // Behind the name in parentheses: state ppid pgrp session tty tpgid flags minflt cminflt majflt
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  long minor = 0, children = 0, major = 0;
  for (int i = 0; i < 7; ++i) fields >> skipped;
  fields >> minor >> children >> major;
  return minor + major;
}

} // namespace rtexec::executive
