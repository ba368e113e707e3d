#include "hal/linux/advice.hpp"

#include "config/base/text.hpp"
#include "hal/machine_files.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

namespace rtexec::hal {
namespace {

std::string limit_text(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return "unknown";
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur);
}

bool allows(int priority) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_RTPRIO, &limit) == 0 && limit.rlim_cur >= static_cast<rlim_t>(priority)) return true;
  return has_capability(CAP_SYS_NICE);
}

std::string user() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(::geteuid());
}

std::string group() {
  const struct group* entry = ::getgrgid(::getegid());
  return entry != nullptr ? entry->gr_name : std::to_string(::getegid());
}

std::string program() {
  std::array<char, 4096> path;
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : "rtexec";
}

/// Returns a command that adds a line to PAM's limits. The limit takes effect at this user's next login.
std::string limits_line(const std::string& limit) {
  return "\n  echo '" + user() + " - " + limit + "' >> /etc/security/limits.d/rtexec.conf  # then log in again";
}

/// Returns the setcap command for the capabilities of a run and `more`. One command has all capabilities, because
/// setcap replaces the previous capabilities.
std::string capability_line(const std::string& more = {}) {
  return "\n  setcap cap_sys_nice,cap_ipc_lock" + more + "+ep " + program();
}

} // namespace

bool has_capability(unsigned number) {
  const std::string text = field(Machine().read("/proc/self/status").value_or(""), "CapEff:").value_or("");
  return (config::number<std::uint64_t>(text, 16).value_or(0) >> number & 1) != 0;
}

std::string fifo_advice(int error, int priority) {
  if (error != EPERM) return "Priorities of SCHED_FIFO are 1 to 99.";
  if (allows(priority))
    return "This user may, and the kernel refuses: it groups real-time tasks (cgroup v1 cpu) and this group has no "
           "share, or the server refuses SCHED_FIFO to everyone: use threads = \"deadline\" there. As root, one of:"
           "\n  echo 950000 > /sys/fs/cgroup/cpu/GROUP/cpu.rt_runtime_us  # of the group in /proc/self/cgroup"
           "\n  sysctl -w kernel.sched_rt_runtime_us=-1  # a thread that never sleeps then keeps its core for good";
  return "Needs CAP_SYS_NICE or RLIMIT_RTPRIO >= " + std::to_string(priority) + " (now " + limit_text(RLIMIT_RTPRIO) +
         "). As root, one of:" + limits_line("rtprio 99") + capability_line() +
         "\n  LimitRTPRIO=99 in a systemd unit; --ulimit rtprio=99 or --cap-add=SYS_NICE of a container";
}

std::string deadline_advice(int error, bool pinned, bool in_partition) {
  if (error == EBUSY) {
    return "The kernel's admission is full: reservations of one root domain may take sched_rt_runtime_us / "
           "sched_rt_period_us of it. Ask for "
           "less runtime, end other SCHED_DEADLINE threads, or raise /proc/sys/kernel/sched_rt_runtime_us.";
  }
  if (error == EINVAL)
    return "Needs 1024 ns <= runtime <= deadline <= period, with the period within "
           "/proc/sys/kernel/sched_deadline_period_*_us.";
  std::string text = "Needs CAP_SYS_NICE (no limit replaces it)";
  text += has_capability(CAP_SYS_NICE)
              ? ", which is here, and that nothing keeps this process from cores of its cpuset (taskset)."
              : ". As root, one of:" + capability_line() + "\n  --cap-add=SYS_NICE of a container";
  if (pinned && !in_partition)
    text += "\nA pinned SCHED_DEADLINE thread also needs a cpuset partition of its core, see Machine::partition().";
  return text;
}

std::string memory_lock_advice(const std::string& above) {
  return "Needs CAP_IPC_LOCK or RLIMIT_MEMLOCK above " + above + " (now " + limit_text(RLIMIT_MEMLOCK) +
         " bytes). As root, one of:" + limits_line("memlock unlimited") + capability_line() +
         "\n  LimitMEMLOCK=infinity in a systemd unit; --ulimit memlock=-1 of a container";
}

std::string idle_states_advice() {
  return "As root, for this user's group:"
         "\n  echo 'KERNEL==\"cpu_dma_latency\", GROUP=\"" +
         group() +
         "\", MODE=\"0660\"' > /etc/udev/rules.d/99-rtexec.rules"
         "\n  udevadm control --reload && udevadm trigger --name-match=cpu_dma_latency";
}

std::string frequency_advice() {
  return "As root, at each start of the machine:"
         "\n  echo 'w /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor - - - - performance' > "
         "/etc/tmpfiles.d/rtexec.conf && systemd-tmpfiles --create rtexec.conf";
}

std::string partition_advice() {
  return "A cpuset is made by root alone, where the cgroup file system is mounted read-write: run as root, or use "
         "threads = \"fifo\".";
}

std::string counter_advice(int paranoid) {
  const std::string value = std::to_string(paranoid);
  return "Needs CAP_PERFMON, or kernel.perf_event_paranoid of at most " + value + " (now " +
         Machine().read("/proc/sys/kernel/perf_event_paranoid").value_or("absent") +
         "). As root, one of:" + "\n  echo kernel.perf_event_paranoid=" + value +
         " > /etc/sysctl.d/rtexec.conf && sysctl --system" + capability_line(",cap_perfmon") +
         "\n  a container's seccomp profile that allows perf_event_open";
}

std::string affinity_advice() {
  return "Name a core that is online and allowed for this process: see /sys/devices/system/cpu/online, and "
         "Cpus_allowed_list in /proc/self/status (set by taskset, cpusets, or a container's --cpuset-cpus).";
}

} // namespace rtexec::hal
