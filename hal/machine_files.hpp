// The machine under the executive: cores, what the kernel allows, and the files under /sys and /proc. All paths go
// through one root folder, so that a recorded tree stands in for a board. Set-up code: everything here may allocate and
// block.
#pragma once

#include <rtexec/result.hpp>
#include "hal/thread.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::hal {

/// One finding of the probe: `ok`, or what is missing and what to change.
struct Finding {
  enum class Grade {
    ok,
    note,    // costs latency or certainty; the executive runs
    unknown, // may do so, and cannot be read
    missing, // what the executive asks for is refused: a run would be degraded
  };
  std::string subject; // "SCHED_FIFO", "memory lock", "RT throttling", "fair server", "isolated cores", ...
  Grade grade = Grade::ok;
  std::string state;  // what was found, with the value
  std::string advice; // what to change and how; empty when ok
  /// Of disturbances(): what it is that disturbs, for a list of them: "real-time throttling"
  std::string brief = {};
};

/// The governors that were in force before frequencies were locked; the destructor gives them back.
class FrequencyLock {
 public:
  FrequencyLock() = default;
  FrequencyLock(FrequencyLock&& other) noexcept : before_(std::exchange(other.before_, {})) {}
  FrequencyLock& operator=(FrequencyLock&& other) noexcept {
    std::swap(before_, other.before_);
    return *this;
  }
  ~FrequencyLock();

 private:
  friend class Machine;
  struct Governor {
    std::filesystem::path file; // under the machine's root
    std::string name;
  };
  std::vector<Governor> before_;
};

class Machine {
 public:
  /// `root` is "/" or a recorded tree.
  explicit Machine(std::filesystem::path root = "/");

  /// Cores that are online and that this process may use, isolated ones too, ascending. Never empty.
  [[nodiscard]] std::vector<unsigned> online_cores() const;
  /// Cores that are online and that taskset, a cpuset or a container keeps from this process, ascending.
  [[nodiscard]] std::vector<unsigned> withheld_cores() const;
  /// Cores of online_cores() that the kernel leaves to who asks for them (isolcpus), ascending.
  [[nodiscard]] std::vector<unsigned> isolated_cores() const;
  /// "/sys/..." under the root, last newline cut. `unsupported` where there is no such file, `refused` otherwise.
  [[nodiscard]] Result<std::string> read(const std::filesystem::path& path) const;
  /// In one write, and read back: `refused` when the file then reads differently.
  [[nodiscard]] Result<> write(const std::filesystem::path& path, std::string_view value) const;
  /// The same for files that take commands and do not read back what was written.
  [[nodiscard]] Result<> send(const std::filesystem::path& path, std::string_view command) const;
  /// Minor and major page faults so far of a thread of this process; 0 when it has ended.
  [[nodiscard]] long page_faults(int kernel_id) const;

  [[nodiscard]] std::filesystem::path under_root(const std::filesystem::path& path) const {
    return root_ / path.relative_path();
  }

  /// Tries what can be tried, reads what can be read: real-time classes, memory lock, throttling, fair server,
  /// isolation, frequency governors, cpusets, kernel flavour, perf_event, LTTng. Leaves everything as it was. What is
  /// tried, is tried on the machine that runs, whatever the root.
  [[nodiscard]] std::vector<Finding> probe() const;

  /// The finding of probe() about locking all memory of a process.
  [[nodiscard]] Finding memory_lock() const;
  /// The findings of probe() about what stops or slows threads of any priority: hypervisor, firmware, kernel,
  /// interrupts, clocks.
  [[nodiscard]] std::vector<Finding> disturbances() const;

  /// What others may take from threads of FIFO priority on `core`: RT throttling, the fair server.
  [[nodiscard]] std::vector<Finding> real_time_limits(unsigned core) const;

  /// Locks the frequency of each core to its maximum (governor "performance", read back). A core without cpufreq has
  /// nothing to lock: firmware or a hypervisor decides there, which probe() tells.
  [[nodiscard]] Result<FrequencyLock> lock_frequency(std::span<const unsigned> cores) const;

  /// A cpuset for each of `cores` that it does not share (cgroup v1 and v2, at the top of the hierarchy), so that
  /// SCHED_DEADLINE threads can be pinned there. One at a time on a machine; what a killed process left behind is
  /// cleared first. v2: other programs leave these cores. v1: they may stay, but a real-time thread preempts them.
  [[nodiscard]] Result<std::unique_ptr<CpusetPartition>> partition(const std::vector<unsigned>& cores) const;
  /// Removes the cpusets of a partition whose process was killed: nobody holds the lock that a partition is made under.
  /// Does nothing where that cannot be known for certain. True when there were some. Errors: one could not be removed.
  Result<bool> clear_left_over_partition() const;

 private:
  std::filesystem::path root_;
};

/// This machine in a line, as profiles and traces name it: "aarch64, 4 cores, Linux 5.10.104".
[[nodiscard]] std::string machine_name();

/// "0-2,5" as the kernel writes it; bad_input for anything else. And back.
[[nodiscard]] Result<std::vector<unsigned>> parse_core_list(std::string_view text);
[[nodiscard]] std::string core_list(const std::vector<unsigned>& cores);
/// The value of a "Key:   value" line, as in /proc/self/status and /proc/meminfo; `key` includes the colon.
[[nodiscard]] std::optional<std::string> field(std::string_view text, std::string_view key);

} // namespace rtexec::hal
