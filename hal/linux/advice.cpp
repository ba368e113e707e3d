#include "hal/linux/advice.hpp"

#include <cerrno>
#include <string_view>
#include <sys/resource.h>

namespace rtexec::hal {
namespace {

constexpr std::string_view capability =
    "run `setcap cap_sys_nice,cap_ipc_lock+ep PROGRAM` once as root, or start a container with `--cap-add=SYS_NICE "
    "--cap-add=IPC_LOCK`";

std::string limit_text(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return "unknown";
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur);
}

} // namespace

std::string fifo_advice(int error, int priority) {
  if (error != EPERM) return "Priorities of SCHED_FIFO are 1 to 99.";
  const std::string wanted = std::to_string(priority);
  return "Needs CAP_SYS_NICE or RLIMIT_RTPRIO >= " + wanted + " (now " + limit_text(RLIMIT_RTPRIO) +
         "): " + std::string(capability) + " (or `--ulimit rtprio=99`), or raise the limit with `ulimit -r " + wanted +
         "` (a line `USER - rtprio 99` in /etc/security/limits.conf). Where the kernel groups real-time tasks (cgroup "
         "v1 `cpu`), the group "
         "needs a share: write cpu.rt_runtime_us, or lift RT throttling for all of them (sysctl -w "
         "kernel.sched_rt_runtime_us=-1; a thread that never "
         "sleeps then keeps its core for good). Some servers refuse SCHED_FIFO to everyone: use SCHED_DEADLINE there.";
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
  std::string text = "Needs CAP_SYS_NICE (no limit replaces it): " + std::string(capability) + ".";
  if (pinned && !in_partition)
    text += " A pinned SCHED_DEADLINE thread also needs a cpuset partition of its core, see Machine::partition().";
  return text;
}

std::string memory_lock_advice(const std::string& above) {
  return "Needs CAP_IPC_LOCK or RLIMIT_MEMLOCK above " + above + " (now " + limit_text(RLIMIT_MEMLOCK) +
         " bytes): " + std::string(capability) +
         " (or `--ulimit memlock=-1`), or raise the limit with `ulimit -l unlimited` (a line "
         "`USER - memlock unlimited` in /etc/security/limits.conf; LimitMEMLOCK=infinity in a systemd unit).";
}

std::string affinity_advice() {
  return "Name a core that is online and that this process may use: see /sys/devices/system/cpu/online, and "
         "Cpus_allowed_list in "
         "/proc/self/status (set by taskset, cpusets, or a container's --cpuset-cpus).";
}

} // namespace rtexec::hal
