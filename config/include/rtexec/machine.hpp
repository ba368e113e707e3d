// What a plan depends on of the machine that it is for. Of this machine it is probed; that of another one is read from
// what `rtexec probe --json` wrote there, so that a laptop checks a robot's set.
#pragma once

#include <rtexec/units.hpp>

#include <string>
#include <vector>

namespace rtexec {

struct MachineFacts {
  /// The machine in words: "aarch64, 4 cores, Linux 5.10.104".
  std::string name;
  /// The cores that a run may use, ascending. There is at least one.
  std::vector<unsigned> cores;
  /// Why threads may not be SCHED_FIFO. Empty: they may.
  std::string no_fifo;
  /// Why threads may not be SCHED_DEADLINE. Empty: they may.
  std::string no_deadline;
  /// What is free on its GPU. 0: not known.
  Bytes device_memory{0};
  /// Whether it is this machine, so that what is left open can be asked.
  bool here = true;
};

} // namespace rtexec
