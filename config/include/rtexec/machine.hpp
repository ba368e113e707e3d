// What a plan depends on of the machine that it is for. Of this machine it is probed; that of another one is read from
// what `rtexec probe --json` wrote there, so that a laptop checks a robot's set.
#pragma once

#include <rtexec/units.hpp>

#include <string>
#include <vector>

namespace rtexec {

struct MachineFacts {
  std::string name;            // "aarch64, 4 cores, Linux 5.10.104"
  std::vector<unsigned> cores; // that a run may use, ascending; not empty
  std::string no_fifo;         // why threads may not be SCHED_FIFO; empty: they may
  std::string no_deadline;     // the same of SCHED_DEADLINE
  Bytes device_memory{0};      // free on its GPU; 0: not known
  bool here = true;            // it is this machine: what is left open can be asked
};

} // namespace rtexec
