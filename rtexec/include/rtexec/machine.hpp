// What a plan depends on of the machine that it is for. Of this machine it is probed; that of another one is read from
// what `rtexec probe --json` wrote there, so that a laptop checks a robot's set.
#pragma once

#include <rtexec/units.hpp>

#include <string>
#include <vector>

namespace rtexec {

/// Something that promises suppose of a machine, and what is known of it.
struct Condition {
  enum class Standing {
    holds,
    against,
    unknown,
  };
  /// In words: "execution times hold".
  std::string supposed;
  Standing standing = Standing::unknown;
  /// What holds, what speaks against it or what is not known, in words.
  std::string known;
};

struct MachineFacts {
  /// The machine in words: "aarch64, 4 cores, Linux 5.10.104".
  std::string name;
  /// The cores that a run may use, ascending. There is at least one.
  std::vector<unsigned> cores;
  /// The cores that are online, and that taskset, a cpuset or a container keeps from this process, ascending.
  std::vector<unsigned> withheld;
  /// Those of `cores` that the kernel leaves to who asks for them (isolcpus), ascending.
  std::vector<unsigned> isolated;
  /// Why threads may not be SCHED_FIFO. Empty: they may.
  std::string no_fifo;
  /// Why threads may not be SCHED_DEADLINE. Empty: they may.
  std::string no_deadline;
  /// Why memory may not be locked. Empty: it may.
  std::string no_memory_lock;
  /// What stops or slows its real-time threads all the same. Empty: not known.
  std::vector<Condition> disturbances;
  /// What is free on its GPU. 0: not known.
  Bytes device_memory{0};
  /// Whether it is this machine, so that what is left open can be asked.
  bool here = true;
};

} // namespace rtexec
