// The facts of a machine that a plan depends on. For the machine that this program runs on they are probed. For another
// machine they are read from a file that `rtexec probe --json` wrote there. So a laptop can check a robot's task set.
#pragma once

#include <rtexec/units.hpp>

#include <string>
#include <vector>

namespace rtexec {

/// An assumption about a machine on which promises rely, and what is known about the assumption.
struct Condition {
  enum class Standing {
    holds,
    against,
    unknown,
  };
  /// The assumption in words: "execution times hold".
  std::string supposed;
  Standing standing = Standing::unknown;
  /// The evidence for or against it, or the missing knowledge, in words.
  std::string known;
};

struct MachineFacts {
  /// The machine in words: "aarch64, 4 cores, Linux 5.10.104".
  std::string name;
  /// The cores that a run may use, ascending. There is at least one.
  std::vector<unsigned> cores;
  /// Online cores that taskset, a cpuset or a container withholds from this process, ascending.
  std::vector<unsigned> withheld;
  /// The members of `cores` that are isolated (isolcpus), ascending.
  std::vector<unsigned> isolated;
  /// The reason why threads may not be SCHED_FIFO. Empty: they may.
  std::string no_fifo;
  /// The reason why threads may not be SCHED_DEADLINE. Empty: they may.
  std::string no_deadline;
  /// The reason why memory may not be locked. Empty: it may.
  std::string no_memory_lock;
  /// Conditions that can stop or slow real-time threads on this machine in spite of their scheduling class. Empty: none
  /// is known.
  std::vector<Condition> disturbances;
  /// The free memory of the machine's GPU. 0: not known.
  Bytes device_memory{0};
  /// True if this is the machine that the process runs on, so that settings that are still open can be probed.
  bool here = true;
};

} // namespace rtexec
