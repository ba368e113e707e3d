#include "rtexec/runtime/executive/machine_claims.hpp"

#include "config/base/decimal.hpp"
#include "hal/board/board_findings.hpp"
#include "hal/control_groups.hpp"

#include <cmath>
#include <set>
#include <string>

namespace rtexec::executive {

Requirement MachineClaims::hold_idle_states() {
  auto idle = hal::ShallowIdle::hold();
  if (!idle && idle.error().code != Errc::unsupported) return refused("idle states", idle.error());
  if (!idle) return given("idle states", idle.error().what);
  shallow_idle_ = std::move(*idle);
  return given("idle states", "deep ones are disabled");
}

Requirement MachineClaims::take_cores(Placement& placement, hal::ClaimFor purpose, bool exclusive) {
  partition_ = std::move(placement.partition);
  const std::set<unsigned> cores = cores_of_jobs(placement);
  const std::vector<unsigned> used(cores.begin(), cores.end());
  auto claim = hal::CoreClaim::take(used, hal::ClaimFolders::of_this_user(), purpose);
  if (!claim) {
    Requirement need = refused("free cores", claim.error());
    need.indispensable = exclusive;
    return need;
  }
  claim_ = std::move(*claim);
  return given("free cores", used.empty() ? "no thread is pinned" : "no other run uses core " + hal::core_list(used));
}

std::vector<Requirement> MachineClaims::lock_clocks(const Placement& placement) {
  std::vector<Requirement> needs{lock_frequency(placement)};
  if (set_.tasks.executive.lock_clocks) needs.push_back(lock_device_clocks());
  return needs;
}

Requirement MachineClaims::lock_frequency(const Placement& placement) {
  const std::set<unsigned> cores = cores_of_jobs(placement);
  auto frequency = hal::Machine().lock_frequency(std::vector<unsigned>(cores.begin(), cores.end()));
  if (!frequency) return refused("frequency", frequency.error());
  frequency_ = std::move(*frequency);
  return given("frequency", "locked, if the kernel controls it");
}

Requirement MachineClaims::lock_device_clocks() {
  const hal::Machine machine;
  auto lock = hal::ClockLock::take(hal::find_hardware(set_.board, machine), machine);
  if (!lock) return refused("lock_clocks", lock.error());
  clock_lock_ = std::move(*lock);
  std::string state;
  for (const hal::LockedClock& clock : clock_lock_.clocks())
    state += (state.empty() ? "" : ", ") + clock.name + " at " +
             readable(Frequency{static_cast<std::uint64_t>(clock.hertz)});
  return given("lock_clocks", state.empty() ? "this machine has no clock that can be locked" : state);
}

std::optional<Requirement> MachineClaims::keep_cores_awake(const Placement& placement) {
  if (!set_.tasks.executive.keep_awake) return std::nullopt;
  const std::set<unsigned> cores = cores_of_threads(placement);
  auto awake = hal::KeepAwake::hold(std::vector<unsigned>(cores.begin(), cores.end()), partition_.get());
  if (!awake) return refused("keep_awake", awake.error());
  awake_ = std::move(*awake);
  return given("keep_awake", "the cores stay out of idle states");
}

Requirement MachineClaims::start_interference(const Placement& placement) {
  auto interference = InterferenceLoad::start(cores_of_threads(placement), partition_.get());
  if (!interference) return refused("neighbours", interference.error());
  interference_ = std::move(*interference);
  return given("neighbours", "interference load runs on the cores of the set");
}

std::optional<Requirement> right_board(const ResolvedSet& set) {
  if (set.board.identity.compatible.empty()) return std::nullopt;
  const std::string why = hal::why_not_board(set.board, hal::Machine());
  if (why.empty()) return given("board", set.board.name);
  return refused("board", {Errc::refused, why + "\n`rtexec probe` shows which board this is: name it in the set."});
}

std::optional<Requirement> enough_processor_time(const ResolvedSet& set) {
  const auto quota = hal::cpu_quota(hal::Machine());
  if (!quota) return std::nullopt;
  double used = 0; // demand of the run, in cores
  for (const Task& task : set.tasks.tasks) {
    const Wcet wcet = task.wcet.value_or(Wcet());
    const Duration on_cores = wcet.before + wcet.after + (set.board.computes_on_core() ? wcet.device : Duration(0));
    used += static_cast<double>(on_cores.count()) / static_cast<double>(task.period.count());
  }
  const auto cores = [](double number) { return config::decimal(std::round(number * 100) / 100) + " cores"; };
  const std::string state = cores(quota->cores) + " by " + quota->file.string() + "; the tasks need " + cores(used);
  if (used <= quota->cores) return given("cpu quota", state);
  return refused("cpu quota", {Errc::refused, state + "\nRaise the limit (CPUQuota= of systemd, --cpus of docker)."});
}

} // namespace rtexec::executive
