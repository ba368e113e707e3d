#include "config/base/text.hpp"
#include "hal/kernel.hpp"
#include "rtexec/studies/bringup/answers.hpp"
#include "rtexec/studies/bringup/read.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

namespace rtexec::bringup {

namespace {

namespace fs = std::filesystem;

std::optional<hal::Finding> named(const std::vector<hal::Finding>& findings, std::string_view subject) {
  const auto found = std::ranges::find(findings, subject, &hal::Finding::subject);
  return found == findings.end() ? std::nullopt : std::optional(*found);
}

bool has_controller(std::string_view list, std::string_view controller) {
  const auto controllers = config::parts(list, ',');
  return std::ranges::find(controllers, controller) != controllers.end();
}

/// Returns the mount point of the cgroup v1 controller "cpu"; empty if it is not mounted.
fs::path cpu_mount(const hal::Machine& machine) {
  std::istringstream lines(machine.read("/proc/mounts").value_or(""));
  std::string device, point, type, options, rest;
  while (lines >> device >> point >> type >> options && std::getline(lines, rest))
    if (type == "cgroup" && has_controller(options, "cpu")) return point;
  return {};
}

/// Returns the cgroup of this process for the cgroup v1 controller `controller`. If `controller` is "", returns the
/// cgroup of this process in cgroup v2.
std::optional<std::string> group_of(const hal::Machine& machine, std::string_view controller) {
  const std::string text = machine.read("/proc/self/cgroup").value_or("");
  for (const std::string_view line : config::parts(text, '\n')) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : has_controller(controllers, controller))
      return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

Answer share_in(const fs::path& mount, const std::string& group, const hal::Machine& machine) {
  const fs::path folder = mount / fs::path(group).relative_path();
  const auto runtime = machine.read(folder / "cpu.rt_runtime_us"), period = machine.read(folder / "cpu.rt_period_us");
  if (!runtime || !period)
    return skipped("the share of group " + group + " cannot be read: " + (folder / "cpu.rt_runtime_us").string());
  const std::string state = "group " + group + " of cgroup v1 may use ";
  if (*runtime != "0")
    return passed(*runtime == "-1" ? state + "all of its cores" : state + *runtime + " us of every " + *period + " us");
  return failed(state + "nothing for real-time threads",
                "As root: echo 950000 > " + (folder / "cpu.rt_runtime_us").string() +
                    "\nor leave the group: echo $$ > " + (mount / "cgroup.procs").string() +
                    "\nor build the kernel without CONFIG_RT_GROUP_SCHED.");
}

/// Returns a failed answer if `group` is below the root group of cgroup v2, because such groups have no share of
/// real-time run time.
Answer share_in_v2(const std::string& group, const hal::Machine& machine) {
  const fs::path top = "/sys/fs/cgroup";
  for (fs::path each = fs::path(group).relative_path(); !each.empty(); each = each.parent_path())
    if (machine.read(top / each / "cpu.weight"))
      return failed("group " + (fs::path("/") / each).string() + " of cgroup v2 gives real-time threads no share",
                    "Boot with rt_group_sched=0 (Linux 6.16), or leave the group: echo $$ > /sys/fs/cgroup/cgroup.procs"
                    "\nor build the kernel without CONFIG_RT_GROUP_SCHED.");
  return passed("group " + group + " of cgroup v2 counts as the top one, which has the share of all");
}

} // namespace

Answer real_time_rights(const Subject& subject) {
  std::string state, problems, advice;
  const auto findings = subject.machine.probe();
  for (const char* name : {"SCHED_FIFO", "memory lock"}) {
    const auto found = named(findings, name);
    if (!found) continue;
    const std::string line = std::string(name) + " " + found->state;
    state += (state.empty() ? "" : "; ") + line;
    if (found->grade == hal::Finding::Grade::ok) continue;
    problems += (problems.empty() ? "" : "; ") + line;
    config::add_line(advice, found->advice);
  }
  return problems.empty() ? passed(state) : failed(problems, advice);
}

Answer real_time_group(const Subject& subject) {
  const hal::Machine& machine = subject.machine;
  const auto config = hal::KernelConfig::of(machine);
  if (config && !config->has("RT_GROUP_SCHED"))
    return passed("this kernel groups no real-time threads (no CONFIG_RT_GROUP_SCHED)");
  const fs::path mount = cpu_mount(machine);
  const auto group = group_of(machine, "cpu");
  const bool groups = !mount.empty() && machine.read(mount / "cpu.rt_runtime_us").has_value();
  if (groups && group) return share_in(mount, *group, machine);
  if (!config && !mount.empty()) return passed("this kernel groups no real-time threads (no cpu.rt_runtime_us)");
  if (!config)
    return skipped("neither /proc/config.gz nor /boot/config-* shows whether the kernel has CONFIG_RT_GROUP_SCHED");
  if (const auto unified = group_of(machine, "")) return share_in_v2(*unified, machine);
  return passed("CONFIG_RT_GROUP_SCHED is there, and no cgroup: all threads have the share of the top group");
}

Answer throttling(const Subject& subject) {
  const auto found = named(subject.machine.real_time_limits(0), "RT throttling");
  return found ? answer_of(*found) : skipped("not known");
}

Answer fair_server(const Subject& subject) {
  const auto found = named(subject.machine.disturbances(), "fair server");
  return found ? answer_of(*found) : skipped("not known");
}

} // namespace rtexec::bringup
