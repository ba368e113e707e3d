// The facts of a machine on which a plan depends. The facts of this machine are probed. The facts of another machine
// are read from a file that `rtexec probe --json` wrote on that machine. So a laptop can check a robot's task set.
#pragma once

#include <rtexec/units.hpp>

#include <string>
#include <vector>

namespace rtexec {

/// An assumption about a machine, on which promises rely, and the evidence for or against it.
struct Condition {
  enum class Standing {
    holds,
    against,
    unknown,
  };
  /// The assumption, as a clause: "execution times hold".
  std::string supposed;
  Standing standing = Standing::unknown;
  /// The evidence for or against the assumption, or the missing knowledge, in words.
  std::string known;
};

struct MachineFacts {
  /// The machine's description: "aarch64, 4 cores, Linux 5.10.104".
  std::string name;
  /// The cores that a run may use, in ascending order. Never empty.
  std::vector<unsigned> cores;
  /// Online cores that taskset, a cpuset or a container withholds from this process, in ascending order.
  std::vector<unsigned> withheld;
  /// The isolated cores (isolcpus) among `cores`, in ascending order.
  std::vector<unsigned> isolated;
  /// The reason why threads may not be SCHED_FIFO. Empty: threads may be SCHED_FIFO.
  std::string no_fifo;
  /// The reason why threads may not be SCHED_DEADLINE. Empty: threads may be SCHED_DEADLINE.
  std::string no_deadline;
  /// The reason why memory may not be locked. Empty: memory may be locked.
  std::string no_memory_lock;
  /// Conditions on this machine that can stop or slow real-time threads in spite of their scheduling class. Empty: no
  /// such condition is known.
  std::vector<Condition> disturbances;
  /// The free memory of the machine's GPU. 0: unknown.
  Bytes device_memory{0};
  /// True if this is the machine on which the process runs. A plan for this machine may open the device to query its
  /// capacity; a plan for another machine uses only the facts in this struct.
  bool here = true;
};

} // namespace rtexec
