#include "hal/linux/partition.hpp"
#include "hal/linux/probe.hpp"

#include "config/base/decimal.hpp"
#include "hal/control_groups.hpp"
#include "hal/kernel.hpp"
#include "hal/resources.hpp"
#include "hal/stolen_time.hpp"
#include "hal/system.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <span>

namespace rtexec::hal {
namespace {

constexpr const char* mount_debugfs = "mount -t debugfs none /sys/kernel/debug";

Finding cores(const Machine& machine) {
  const auto usable = machine.online_cores();
  const std::string state = core_list(usable) + " (" + std::to_string(usable.size()) + ")";
  if (usable.size() > 1) return ok("cores", state);
  return note(
      "cores", state,
      "With one core, tasks, scheduler and engines delay each other: allow more cores (taskset, --cpuset-cpus).");
}

Finding rt_throttling(const Machine& machine) {
  const auto runtime = machine.read("/proc/sys/kernel/sched_rt_runtime_us");
  const auto period = machine.read("/proc/sys/kernel/sched_rt_period_us");
  if (!runtime || !period) return ok("RT throttling", "this kernel has none");
  if (*runtime == "-1" || *runtime == *period) return ok("RT throttling", "off");
  const auto config = KernelConfig::of(machine);
  if (has_fair_server(machine) && config && !config->has("RT_GROUP_SCHED"))
    return ok("RT throttling", "this kernel has none but its fair server; SCHED_DEADLINE is admitted within " +
                                   *runtime + " us of every " + *period + " us");
  return note("RT throttling",
              *runtime + " us of every " + *period +
                  " us for real-time threads; SCHED_DEADLINE is admitted within the same share",
              "sysctl -w kernel.sched_rt_runtime_us=-1 lifts it; a real-time thread that never sleeps then keeps its "
              "core for good.",
              "real-time throttling");
}

Finding fair_server_of(std::span<const unsigned> cores, const Machine& machine) {
  const char* subject = "fair server";
  const char* brief = "the kernel's fair server";
  std::string taxed;
  bool found = false, refused = false;
  for (const unsigned core : cores) {
    const auto runtime = machine.read("/sys/kernel/debug/sched/fair_server/cpu" + std::to_string(core) + "/runtime");
    refused |= !runtime && runtime.error().code == Errc::refused;
    if (!runtime) continue;
    found = true;
    if (*runtime != "0")
      taxed += (taxed.empty() ? "" : ", ") + ("core " + std::to_string(core) + ": " + *runtime + " ns");
  }
  if (found && taxed.empty()) return ok(subject, "off");
  if (found) {
    return note(subject, "ordinary threads may take from SCHED_FIFO, each period: " + taxed,
                "echo 0 > /sys/kernel/debug/sched/fair_server/cpuN/runtime for the cores of real-time tasks.", brief);
  }
  if (!has_fair_server(machine)) return ok(subject, "not in this kernel (since 6.12)");
  return unknown(subject, "cannot be read; by default it takes 50 ms of every second from SCHED_FIFO on a busy core",
                 refused ? "Ask as root, on a kernel that was booted without lockdown."
                         : std::string("As root: ") + mount_debugfs + ", and ask again.",
                 brief);
}

Finding fair_server(const Machine& machine) { return fair_server_of(machine.online_cores(), machine); }

Finding preemption(const Machine& machine) {
  const char* subject = "preemption";
  const Preemption found = preemption_of(machine);
  if (found.model == "PREEMPT_RT") return ok(subject, found.model);
  const char* advice = "A PREEMPT_RT kernel bounds latencies (Debian: linux-image-rt-amd64 or -arm64).";
  const char* brief = "a kernel without PREEMPT_RT";
  if (found.model == "full") return note(subject, found.model, advice, brief);
  return note(subject,
              found.model.empty() ? std::string("the model in force cannot be read: ") + mount_debugfs
                                  : found.model + " (" + found.told + ")",
              std::string(advice) +
                  " Until then: echo full > /sys/kernel/debug/sched/preempt, or boot with preempt=full, where the "
                  "kernel has PREEMPT_DYNAMIC.",
              brief);
}

Finding isolation(const Machine& machine) {
  const auto isolated = machine.read("/sys/devices/system/cpu/isolated").value_or("");
  const auto tickless = machine.read("/sys/devices/system/cpu/nohz_full").value_or("");
  const bool is_tickless = !tickless.empty() && tickless.find("null") == tickless.npos;
  const std::string state =
      "isolated: " + (isolated.empty() ? "none" : isolated) + "; tickless: " + (is_tickless ? tickless : "none");
  if (!isolated.empty() && is_tickless) return ok("isolated cores", state);
  auto cores = machine.online_cores();
  const char* brief = "cores that are not isolated";
  if (cores.size() < 2) return note("isolated cores", state, "A single core cannot be isolated.", brief);
  cores.erase(cores.begin());
  const std::string list = core_list(cores);
  return note("isolated cores", state,
              "Boot with isolcpus=" + list + " nohz_full=" + list + " rcu_nocbs=" + list +
                  " to keep other work off the cores of real-time tasks.",
              brief);
}

Finding frequency(const Machine& machine) {
  std::string others;
  bool found = false;
  for (const unsigned core : machine.online_cores()) {
    const auto governor =
        machine.read("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/scaling_governor");
    if (!governor) continue;
    found = true;
    if (*governor != "performance")
      others += (others.empty() ? "core " : ", core ") + std::to_string(core) + ": " + *governor;
  }
  if (!found)
    return unknown("frequency", "no cpufreq here: firmware or a hypervisor decides",
                   "Fix the frequency in the firmware or on the host, where it matters.", "the cores' frequency");
  if (others.empty()) return ok("frequency", "governor performance on every core");
  return note("frequency", others,
              "Execution times vary with the load, but in a run, which sets performance where it may. As root, one of:"
              "\n  cpupower frequency-set -g performance"
              "\n  echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
}

Finding cpusets(const Machine& machine) {
  const auto mount = find_cpusets(machine);
  if (!mount)
    return note("cpusets", "none",
                "Pinned SCHED_DEADLINE threads need them: mount -t cgroup2 none /sys/fs/cgroup, with CONFIG_CPUSETS.");
  std::string state = "cgroup v" + std::to_string(mount->version) + " at " + mount->top.string();
  const bool unbalanced =
      mount->version == 1 && machine.read(mount->top / "cpuset.sched_load_balance").value_or("1") == "0";
  if (!unbalanced) return ok("cpusets", state);
  return note(
      "cpusets", state + "; the top does not balance load: a partition is in force, or was left by a killed process",
      "The next run clears what a killed one left. By hand, if none is in use: rmdir " +
          (mount->top / "rtexec-*").string() + "; echo 1 > " + (mount->top / "cpuset.sched_load_balance").string());
}

Finding memory_limit_of_groups(const Machine& machine) {
  const auto limit = memory_limit(machine);
  if (!limit) return ok("memory limit", "no control group sets one");
  return note(
      "memory limit",
      readable(limit->limit) + ", of which " + readable(limit->left) + " are left (" + limit->file.string() + ")",
      "A process that takes more is killed. `rtexec check` compares what a set needs; raise the limit where it "
      "is refused (MemoryMax= of systemd, --memory of docker).");
}

Finding cpu_quota_of_groups(const Machine& machine) {
  const auto quota = cpu_quota(machine);
  if (!quota) return ok("cpu quota", "no control group sets one");
  return note(
      "cpu quota", config::decimal(quota->cores) + " cores (" + quota->file.string() + ")",
      "Threads that take more wait for the next period. `rtexec check` compares what a set uses; raise the quota "
      "where it is refused (CPUQuota= of systemd, --cpus of docker).");
}

Finding swap(const Machine& machine) {
  const std::string swaps = machine.read("/proc/swaps").value_or("");
  if (std::ranges::count(swaps, '\n') == 0) return ok("swap", "off");
  return note("swap", "on", "swapoff -a; memory that is locked stays, but the files of programs may be paged.");
}

Finding transparent_hugepages(const Machine& machine) {
  const auto text = machine.read("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::string mode = text ? in_force(*text) : "not in this kernel";
  if (mode != "always") return ok("transparent huge pages", mode);
  return note(
      "transparent huge pages", mode,
      "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled: compaction otherwise stalls threads at odd times.");
}

Finding smt(const Machine& machine) {
  if (machine.read("/sys/devices/system/cpu/smt/active").value_or("0") != "1") return ok("SMT", "off");
  std::vector<std::string> groups;
  for (const unsigned core : machine.online_cores()) {
    const auto siblings =
        machine.read("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/topology/thread_siblings_list");
    if (siblings && std::ranges::find(groups, *siblings) == groups.end()) groups.push_back(*siblings);
  }
  std::string state = "on; siblings:";
  for (const auto& group : groups) state += " {" + group + "}";
  return note("SMT", state,
              "echo off > /sys/devices/system/cpu/smt/control, or leave the siblings of real-time cores idle.",
              "work on SMT siblings");
}

Finding clock_source(const Machine& machine) {
  const std::string folder = "/sys/devices/system/clocksource/clocksource0/";
  const std::string current = machine.read(folder + "current_clocksource").value_or("unknown");
  if (current == "tsc" || current == "arch_sys_counter" || current == "kvm-clock") return ok("clock source", current);
  return note("clock source",
              current + " (available: " + machine.read(folder + "available_clocksource").value_or("unknown") + ")",
              "Reading the time may cost a system call or a microsecond; on x86, boot with clocksource=tsc "
              "tsc=reliable where the TSC is sound.");
}

/// Returns the stolen time since the machine started, summed over all cores.
std::optional<Duration> stolen(const Machine& machine) {
  return steal_of(field(machine.read("/proc/stat").value_or(""), "cpu ").value_or(""));
}

bool virtual_machine(const Machine& machine) {
  const std::string cpuinfo = machine.read("/proc/cpuinfo").value_or("");
  const std::string flags = " " + field(cpuinfo, "flags").value_or("") + " ";
  return flags.find(" hypervisor ") != flags.npos;
}

Finding hypervisor(const Machine& machine) {
  if (!virtual_machine(machine)) return ok("hypervisor", "none shows");
  const auto taken = stolen(machine);
  const std::string steal = taken ? ", which took " + readable(*taken) + " so far" : "";
  return note("hypervisor", "this is a virtual machine: the host may stop it for milliseconds" + steal,
              "Pin the virtual cores on the host, or measure on the board itself.",
              "a virtual machine's host" + (taken ? " (took " + readable(*taken) + " so far)" : ""));
}

/// Reports system management interrupts (SMIs). In an SMI the firmware stops all cores of an x86 machine without the
/// kernel's knowledge. MSR_SMI_COUNT counts SMIs.
Finding system_management(const Machine& machine) {
  const char* subject = "SMIs";
  const std::string vendor = field(machine.read("/proc/cpuinfo").value_or(""), "vendor_id").value_or("");
  if (virtual_machine(machine)) return ok(subject, "only on the host, if any");
  if (vendor.find("GenuineIntel") == vendor.npos) return ok(subject, "no core counts them");
  constexpr off_t smi_count = 0x34;
  const FileDescriptor file(sys().open(machine.under_root("/dev/cpu/0/msr").c_str(), O_RDONLY | O_CLOEXEC));
  std::uint64_t count = 0;
  if (file.number() < 0 || sys().pread(file.number(), &count, sizeof count, smi_count) != sizeof count)
    return unknown(subject, "cannot be read: the firmware may stop all cores unnoticed",
                   "As root: modprobe msr, and probe again.", "SMIs of the firmware");
  if (count == 0) return ok(subject, "none since the start");
  return note(subject, std::to_string(count) + " since the start: the firmware stops all cores",
              "Turn off power capping, USB legacy support and the like in the firmware's setup.",
              "SMIs of the firmware (" + std::to_string(count) + " so far)");
}

} // namespace

std::vector<Finding> findings_by_reading(const Machine& machine) {
  std::vector<Finding> findings;
  for (const auto look :
       {cores, memory_limit_of_groups, cpu_quota_of_groups, rt_throttling, fair_server, preemption, isolation,
        frequency, cpusets, swap, transparent_hugepages, smt, clock_source, hypervisor, system_management}) {
    findings.push_back(look(machine));
  }
  return findings;
}

Finding Machine::memory_lock() const { return hal::memory_lock(); }

std::vector<Finding> Machine::disturbances() const {
  std::vector<Finding> findings;
  for (const auto look :
       {hypervisor, system_management, rt_throttling, fair_server, preemption, isolation, frequency, smt})
    if (Finding found = look(*this); found.grade == Finding::Grade::ok || !found.brief.empty())
      findings.push_back(std::move(found));
  return findings;
}

std::vector<Finding> Machine::real_time_limits(unsigned core) const {
  return {rt_throttling(*this), fair_server_of(std::array{core}, *this)};
}

std::vector<Finding> Machine::probe() const {
  auto findings = findings_by_trying();
  for (auto& finding : findings_by_reading(*this)) findings.push_back(std::move(finding));
  return findings;
}

} // namespace rtexec::hal
