#include "rtexec/runtime/executive/placement.hpp"

#include "policies/bounds/reservations.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace rtexec::executive {

namespace {

void add_core(std::set<unsigned>& cores, const hal::ThreadSettings& thread) {
  if (thread.core) cores.insert(*thread.core);
}

// FIFO priorities. The scheduler and the compute engine have higher priorities than all tasks, so that a decision never
// waits for a job.
constexpr int scheduler_priority = 98;
// The priority of the copy engines is below the priorities of CPU parts, because copy engines of a host device use the
// CPU for long times
constexpr int copy_priority = 1;
constexpr int highest_task_priority = 90;
/// The maximum number of real-time tasks of one core. Each task has its own priority above the copy engines.
constexpr int max_on_core = highest_task_priority - copy_priority;

hal::Reservation implicit(const CpuReservation& planned) {
  return {.runtime = planned.runtime, .deadline = planned.window, .period = planned.window};
}

class Placer {
 public:
  Placer(const ResolvedSet& set, const Plan& plan, const hal::Machine& machine)
      : set_(set), tasks_(set.tasks), board_(set.board), plan_(plan), machine_(machine), online_(set.machine.cores) {}

  Placement place() {
    const bool separate = choose_cores();
    choose_policy();
    if (policy_ == ThreadPolicy::deadline) make_partition();
    if (policy_ == ThreadPolicy::fifo) check_priorities();
    const std::string core = "core " + std::to_string(compute_core_);
    if (!separate)
      lacks("compute core",
            core +
                " runs the compute engine and CPU parts of tasks, which then delay each other by more than the plan "
                "charges",
            "Give the tasks another core, or set compute_core in the board's file.");
    if (compute_core_ == service_core_ && starves())
      lacks("service core",
            core +
                " runs the compute engine, the scheduler and the copy engines, which then delay each other by more "
                "than the plan charges",
            "Give them different cores: compute_core and service_core in the board's file.");
    set_service_threads();
    for (std::size_t i = 0; i < tasks_.tasks.size(); ++i) set_task_threads(i);
    return std::move(placement_);
  }

 private:
  void lacks(const std::string& subject, const std::string& state, const std::string& advice) {
    placement_.needs.push_back({.subject = subject, .state = state, .refused = Errc::refused, .advice = advice});
  }

  bool is_online(unsigned core) const { return std::ranges::find(online_, core) != online_.end(); }

  /// Chooses the core of each thread. Returns true if no task uses the core of the compute engine.
  bool choose_cores() {
    placement_.needs = absent_cores(set_, plan_);
    const auto usable = [this](unsigned core) { return is_online(core) ? core : online_.front(); };
    compute_core_ = usable(set_.compute_core);
    service_core_ = usable(set_.service_core);
    for (const PlannedTask& task : plan_.tasks) cores_.push_back(usable(task.core));
    if (placement_.needs.empty())
      placement_.needs.push_back(given("cores", hal::core_list(used_cores()) + " available"));
    return std::ranges::find(cores_, compute_core_) == cores_.end();
  }

  std::vector<unsigned> used_cores() const {
    std::set<unsigned> used(cores_.begin(), cores_.end());
    used.insert({compute_core_, service_core_});
    return {used.begin(), used.end()};
  }

  /// True if the scheduler and the copy engines would get too little time on the core of the compute engine.
  bool starves() const {
    if (plan_.services) return true;
    return plan_.swap && (board_.computes_on_core() || tasks_.device.completion == Completion::spin);
  }

  /// Chooses the scheduling class of the plan if the machine grants this class, and SCHED_OTHER otherwise.
  void choose_policy() {
    const ThreadPolicy planned = plan_.services ? ThreadPolicy::deadline : ThreadPolicy::fifo;
    const bool reserved = planned == ThreadPolicy::deadline;
    const std::string name = reserved ? "SCHED_DEADLINE" : "SCHED_FIFO";
    const std::string& refusal = reserved ? set_.machine.no_deadline : set_.machine.no_fifo;
    if (refusal.empty()) {
      policy_ = planned;
      placement_.needs.push_back(given(name, "allowed"));
    } else {
      placement_.needs.push_back(refused(name, {Errc::refused, refusal}));
      placement_.needs.back().instead = "threads run under SCHED_OTHER, without real-time priority";
    }
    if (policy_ == ThreadPolicy::deadline && hal::tick() > Duration(policies::longest_tick))
      lacks("kernel tick",
            "the kernel enforces reservations every " + to_string(hal::tick()) + "; the plan needs at most " +
                to_string(Duration(policies::longest_tick)),
            "Use a kernel with CONFIG_HZ of 250 or more.");
  }

  /// Adds a refused requirement for each real-time task that shares its FIFO priority with another task of its core.
  /// Admission assumes that each real-time task has its own priority.
  void check_priorities() {
    for (std::size_t i = 0; i < tasks_.tasks.size(); ++i) {
      if (!is_real_time(i) || rank_on_core(i) < max_on_core) continue;
      lacks("priorities",
            "task '" + tasks_.tasks[i].name + "': core " + std::to_string(cores_[i]) + " has more than " +
                std::to_string(max_on_core) + " real-time tasks, more than the kernel has priorities",
            "Move some of them to another core.");
      placement_.needs.back().indispensable = true;
    }
  }

  bool is_real_time(std::size_t index) const { return tasks_.tasks[index].criticality == Criticality::real_time; }

  void make_partition() {
    auto partition = machine_.partition(used_cores());
    if (partition) {
      placement_.partition = std::move(*partition);
      return placement_.needs.push_back(given("cpusets", "each core is a partition of its own"));
    }
    placement_.needs.push_back(refused("cpusets", partition.error()));
    placement_.needs.back().instead = "SCHED_DEADLINE threads are not pinned to their cores";
  }

  /// Returns the settings of a thread in the chosen class. If the chosen class is SCHED_DEADLINE and `reservation` is
  /// absent, the thread gets SCHED_OTHER.
  hal::ThreadSettings settings(const std::string& name, unsigned core, int priority,
                               const std::optional<CpuReservation>& reservation) const {
    hal::ThreadSettings result{.name = name, .core = core, .fifo_priority = 0, .reservation = {}};
    if (policy_ == ThreadPolicy::fifo) result.fifo_priority = priority;
    if (policy_ == ThreadPolicy::deadline) {
      if (reservation) result.reservation = implicit(*reservation);
      result.partition = placement_.partition.get();
      if (result.partition == nullptr) result.core.reset();
    }
    return result;
  }

  void set_service_threads() {
    const auto reservation = [&](CpuReservation ServiceReservations::*thread) {
      return plan_.services ? std::optional((*plan_.services).*thread) : std::nullopt;
    };
    const auto copying = plan_.services ? plan_.services->copy : std::nullopt;
    placement_.scheduler =
        settings("scheduler", service_core_, scheduler_priority, reservation(&ServiceReservations::scheduler));
    placement_.compute =
        settings("compute", compute_core_, engine_priority, reservation(&ServiceReservations::compute));
    placement_.compute.stack = Bytes{8 << 20};
    if (plan_.co_runs()) share_compute_core();
    placement_.copy_in = settings("copy-in", service_core_, copy_priority, copying);
    placement_.copy_out = settings("copy-out", service_core_, copy_priority, copying);
  }

  /// Places the second compute engine on the core of the first compute engine, with the same priority. The second
  /// engine executes while the first engine waits.
  void share_compute_core() {
    placement_.secondary_compute = settings("beside", compute_core_, engine_priority, std::nullopt);
    placement_.secondary_compute->stack = placement_.compute.stack;
    if (policy_ == ThreadPolicy::deadline)
      lacks("second compute engine", "it has no reservation: the plan has none for two concurrent jobs",
            "Set threads = \"fifo\" in [executive], or co_run = false in [device].");
  }

  /// Returns the number of tasks on the same core that are more urgent than task `index`.
  int rank_on_core(std::size_t index) const {
    int rank = 0;
    for (std::size_t i = 0; i < tasks_.tasks.size(); ++i)
      if (cores_[i] == cores_[index] && plan_.tasks[i].core_rank < plan_.tasks[index].core_rank) ++rank;
    return rank;
  }

  void set_task_threads(std::size_t index) {
    const std::string& name = tasks_.tasks[index].name;
    const PlannedTask& plan = plan_.tasks[index];
    const int priority = is_real_time(index) ? highest_task_priority - rank_on_core(index) : 0;
    placement_.release.push_back(settings(name, cores_[index], priority, plan.before_reservation));
    placement_.completion.push_back(settings(name + ".after", cores_[index], priority, plan.after_reservation));
  }

  const ResolvedSet& set_;
  const TaskSet& tasks_;
  const Board& board_;
  const Plan& plan_;
  const hal::Machine& machine_;
  const std::vector<unsigned> online_;
  /// `automatic` means SCHED_OTHER, which is used if the machine does not grant the planned class.
  ThreadPolicy policy_ = ThreadPolicy::automatic;
  unsigned compute_core_ = 0, service_core_ = 0;
  std::vector<unsigned> cores_; // cores of the CPU parts, by task
  Placement placement_;
};

} // namespace

Placement place_threads(const ResolvedSet& set, const Plan& plan, const hal::Machine& machine) {
  return Placer(set, plan, machine).place();
}

Duration longest_window(const Placement& placement) {
  Duration longest{0};
  const auto consider = [&](const hal::ThreadSettings& thread) {
    if (thread.reservation) longest = std::max(longest, thread.reservation->period);
  };
  for (const auto* thread : {&placement.scheduler, &placement.compute, &placement.copy_in, &placement.copy_out})
    consider(*thread);
  std::ranges::for_each(placement.release, consider);
  std::ranges::for_each(placement.completion, consider);
  return longest;
}

Duration max_not_executed(const Placement& placement, const Board& board) {
  if (!board.computes_on_core()) return 2 * board.dispatch + board.platform_stall;
  const auto core = placement.compute.core;
  const auto shares = [&](const hal::ThreadSettings& thread) { return !thread.core || thread.core == core; };
  const bool shared = !core || shares(placement.scheduler) || shares(placement.copy_in) || shares(placement.copy_out) ||
                      std::ranges::any_of(placement.release, shares) ||
                      std::ranges::any_of(placement.completion, shares);
  return shared ? Duration(0) : Duration::max();
}

SchedulingClass scheduling_of(const hal::ThreadSettings& settings) {
  using enum SchedulingClass::Kind;
  if (settings.fifo_priority > 0) return {.kind = fifo, .priority = settings.fifo_priority};
  if (const auto& given = settings.reservation)
    return {.kind = deadline, .reservation = {.runtime = given->runtime, .window = given->period}};
  return {};
}

std::set<unsigned> serving_cores(const Placement& placement, const std::vector<Task>& tasks) {
  std::set<unsigned> cores;
  for (const auto* service : {&placement.scheduler, &placement.compute, &placement.copy_in, &placement.copy_out})
    add_core(cores, *service);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].real_time()) continue;
    add_core(cores, placement.release[i]);
    add_core(cores, placement.completion[i]);
  }
  return cores;
}

std::set<unsigned> cores_of_jobs(const Placement& placement) {
  std::set<unsigned> cores;
  add_core(cores, placement.compute);
  for (const auto* threads : {&placement.release, &placement.completion})
    for (const hal::ThreadSettings& thread : *threads) add_core(cores, thread);
  return cores;
}

std::set<unsigned> cores_of_threads(const Placement& placement) {
  std::set<unsigned> cores = cores_of_jobs(placement);
  for (const auto* service : {&placement.scheduler, &placement.copy_in, &placement.copy_out}) add_core(cores, *service);
  return cores;
}

} // namespace rtexec::executive
