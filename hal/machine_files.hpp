// The machine on which the executive runs: its cores, the limits of the kernel, and the files under /sys and /proc. All
// paths are under one root folder, so that a recorded tree can replace a board. Set-up code: everything here may
// allocate and block.
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

/// One finding of the probe: `ok`, or a deficiency and its remedy.
struct Finding {
  enum class Grade {
    ok,
    note,    // latency or certainty suffers; the executive still runs
    unknown, // latency or certainty may suffer, but the state cannot be read
    missing, // the kernel refuses a request of the executive: a run would be degraded
  };
  std::string subject; // "SCHED_FIFO", "memory lock", "RT throttling", "fair server", "isolated cores", ...
  Grade grade = Grade::ok;
  std::string state;  // the finding, with its value
  std::string advice; // what to change and how; empty if `grade` is `ok`
  /// Set by disturbances(): a short name of the disturbance, for a list: "real-time throttling"
  std::string brief = {};
};

/// The frequency governors that were in force before the frequencies were locked. The destructor restores them.
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
    std::filesystem::path file; // path under the machine's root
    std::string name;
  };
  std::vector<Governor> before_;
};

class Machine {
 public:
  /// `root` is "/", or a folder with a copy of a machine's /sys and /proc (a recorded tree).
  explicit Machine(std::filesystem::path root = "/");

  /// Returns the online cores that this process may use, including isolated ones, in ascending order. Never empty.
  [[nodiscard]] std::vector<unsigned> online_cores() const;
  /// Returns the online cores that taskset, a cpuset or a container withholds from this process, in ascending order.
  [[nodiscard]] std::vector<unsigned> withheld_cores() const;
  /// Returns the isolated cores (isolcpus) of online_cores(), in ascending order. The scheduler runs only threads
  /// pinned to an isolated core there.
  [[nodiscard]] std::vector<unsigned> isolated_cores() const;
  /// Returns the contents of a file ("/sys/...") under the root, without the last newline. Returns `unsupported` if the
  /// file does not exist, `refused` if it cannot be read.
  [[nodiscard]] Result<std::string> read(const std::filesystem::path& path) const;
  /// Writes `value` in one write and reads it back. Returns `refused` if the value that is read back differs from
  /// `value`.
  [[nodiscard]] Result<> write(const std::filesystem::path& path, std::string_view value) const;
  /// Writes a command to a file without reading it back. For files that do not return the written text.
  [[nodiscard]] Result<> send(const std::filesystem::path& path, std::string_view command) const;
  /// Returns the number of minor and major page faults so far of a thread of this process; 0 if the thread has ended.
  [[nodiscard]] long page_faults(int kernel_id) const;

  [[nodiscard]] std::filesystem::path under_root(const std::filesystem::path& path) const {
    return root_ / path.relative_path();
  }

  /// Finds out whether the machine offers what a run needs: real-time classes, memory lock, throttling, fair server,
  /// isolation, frequency governors, cpusets, kernel flavour, perf_event, LTTng. Uses trials and files. Leaves the
  /// machine's state unchanged. Trials are made on the running machine, even if the root (the folder under which files
  /// are read) is not "/".
  [[nodiscard]] std::vector<Finding> probe() const;

  /// Returns the finding of probe() on locking all memory of a process.
  [[nodiscard]] Finding memory_lock() const;
  /// Returns the findings of probe() on causes that stop or slow threads of any priority: hypervisor, firmware, kernel,
  /// interrupts, clocks.
  [[nodiscard]] std::vector<Finding> disturbances() const;

  /// Returns findings on the time that the kernel may withhold from FIFO threads on `core`: RT throttling, the fair
  /// server.
  [[nodiscard]] std::vector<Finding> real_time_limits(unsigned core) const;

  /// Locks the frequency of each core at its maximum (governor "performance", read back). Skips a core without cpufreq:
  /// firmware or a hypervisor controls its frequency, and probe() reports that.
  [[nodiscard]] Result<FrequencyLock> lock_frequency(std::span<const unsigned> cores) const;

  /// Makes an exclusive cpuset for each of `cores`, so that SCHED_DEADLINE threads can be pinned to these cores. Works
  /// with cgroup v1 and v2, at the top of the hierarchy. A machine has one partition at a time. First removes the
  /// partition that a killed process left. With v2, the kernel moves other programs off these cores. With v1, other
  /// programs may stay, but real-time threads preempt them.
  [[nodiscard]] Result<std::unique_ptr<CpusetPartition>> partition(const std::vector<unsigned>& cores) const;
  /// Removes the cpusets of a partition whose process was killed. Has no effect if a process holds the lock of
  /// partitions, or if the state of the lock is unknown. Returns true if it removed a cpuset. Returns an error if a
  /// cpuset could not be removed.
  Result<bool> clear_left_over_partition() const;

 private:
  std::filesystem::path root_;
};

/// Returns a line that names this machine in profiles and traces: "aarch64, 4 cores, Linux 5.10.104".
[[nodiscard]] std::string machine_name();

/// Converts a core list as the kernel writes it ("0-2,5") to numbers, and back. Returns bad_input for any other text.
[[nodiscard]] Result<std::vector<unsigned>> parse_core_list(std::string_view text);
[[nodiscard]] std::string core_list(const std::vector<unsigned>& cores);
/// Returns the value of a line "Key:   value", as in /proc/self/status and /proc/meminfo. `key` includes the colon.
[[nodiscard]] std::optional<std::string> field(std::string_view text, std::string_view key);

} // namespace rtexec::hal
