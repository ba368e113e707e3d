#include "rtexec/executive/placement.hpp"

#include <algorithm>
#include <set>

namespace rtexec::executive {

namespace {

// FIFO priorities: service threads above every task, so that a decision never waits for a job.
constexpr int scheduler_priority = 98;
constexpr int engine_priority = 97;
constexpr int copy_priority = 96;
constexpr int highest_task_priority = 90;

// Reservations of the service threads: the scheduler decides in microseconds; the compute engine has its core to itself.
constexpr hal::Reservation scheduler_reservation{.runtime = std::chrono::microseconds(500), .deadline = std::chrono::milliseconds(1), .period = std::chrono::milliseconds(5)};
constexpr hal::Reservation engine_reservation{.runtime = std::chrono::microseconds(9000), .deadline = std::chrono::milliseconds(10), .period = std::chrono::milliseconds(10)};
constexpr hal::Reservation copy_reservation{.runtime = std::chrono::microseconds(500), .deadline = std::chrono::milliseconds(10), .period = std::chrono::milliseconds(10)};
constexpr Duration least_runtime = std::chrono::microseconds(100);

class Placer {
 public:
  Placer(const TaskSet& tasks, const Board& board, const Plan& plan, const hal::Machine& machine)
      : tasks_(tasks), board_(board), plan_(plan), machine_(machine), online_(machine.online_cores()) {}

  Result<Placement> place() {
    const bool separate = choose_cores();
    choose_policy();
    if (policy_ == ThreadPolicy::deadline) make_partition();
    if (policy_ == ThreadPolicy::fifo) check_priorities();
    if (!separate) lacks("core " + std::to_string(compute_core_) + " runs the compute engine and CPU parts of tasks: they delay each other beyond the plan",
                         "give the tasks another core, or set compute_core in the board's file");
    if (!errors_.empty()) return fail(Errc::refused, errors_);
    set_service_threads();
    for (std::size_t i = 0; i < tasks_.tasks.size(); ++i) set_task_threads(i);
    return std::move(placement_);
  }

 private:
  /// What the machine cannot give: an error, or with allow_degraded a line of the report.
  void lacks(const std::string& what, const std::string& advice) {
    if (tasks_.executive.allow_degraded) placement_.degraded.push_back(what);
    else errors_ += (errors_.empty() ? "" : "\n") + what + "\n  " + advice + ", or accept it with allow_degraded = true in [executive]";
  }

  bool is_online(unsigned core) const { return std::ranges::find(online_, core) != online_.end(); }

  /// True when the compute engine shares its core with no task.
  bool choose_cores() {
    compute_core_ = board_.compute_core.value_or(online_.back());
    service_core_ = board_.service_core.value_or(online_.front());
    for (unsigned* core : {&compute_core_, &service_core_})
      if (!is_online(*core)) *core = fallback(*core, "board '" + board_.name + "'");
    bool separate = true;
    for (const Task& task : tasks_.tasks) {
      cores_.push_back(is_online(task.core) ? task.core : fallback(task.core, "task '" + task.name + "'"));
      separate = separate && cores_.back() != compute_core_;
    }
    return separate;
  }

  unsigned fallback(unsigned core, const std::string& who) {
    std::string available;
    for (const unsigned each : online_) available += (available.empty() ? "" : ", ") + std::to_string(each);
    lacks(who + " asks for core " + std::to_string(core) + ", which is not there for this process (cores: " + available + "); core " +
              std::to_string(online_.front()) + " is used instead",
          "choose one of these cores");
    return online_.front();
  }

  void choose_policy() {
    const ThreadPolicy asked = tasks_.executive.threads;
    std::string refusals;
    if (asked != ThreadPolicy::deadline) {
      if (const auto tried = attempt({.name = "try-fifo", .core = {}, .fifo_priority = 1, .reservation = {}}); tried) return void(policy_ = ThreadPolicy::fifo);
      else refusals = tried.error().what;
    }
    if (asked != ThreadPolicy::fifo) {
      if (const auto tried = attempt({.name = "try-deadline", .core = {}, .fifo_priority = 0, .reservation = copy_reservation}); tried) return void(policy_ = ThreadPolicy::deadline);
      else refusals += (refusals.empty() ? "" : "\n") + tried.error().what;
    }
    lacks("threads run under SCHED_OTHER, without real-time priority: " + refusals, "run `rtexec probe` for what to change");
  }

  static Result<> attempt(const hal::ThreadSettings& settings) {
    const auto thread = hal::Thread::start(settings, [] {});
    if (!thread) return std::unexpected(thread.error());
    return {};
  }

  /// Admission rests on a priority of its own for each task of a core.
  void check_priorities() {
    for (std::size_t i = 0; i < tasks_.tasks.size(); ++i)
      if (is_real_time(i) && rank_on_core(i) >= highest_task_priority)
        errors_ += (errors_.empty() ? "" : "\n") + ("task '" + tasks_.tasks[i].name + "': core " + std::to_string(cores_[i]) + " has more than " +
                                                    std::to_string(highest_task_priority) + " real-time tasks, and the kernel no more priorities; move some to another core");
  }

  bool is_real_time(std::size_t index) const { return tasks_.tasks[index].criticality == Criticality::real_time; }

  void make_partition() {
    std::set<unsigned> used(cores_.begin(), cores_.end());
    used.insert({compute_core_, service_core_});
    auto partition = machine_.partition(std::vector<unsigned>(used.begin(), used.end()));
    if (partition) return void(placement_.partition = std::move(*partition));
    lacks("SCHED_DEADLINE threads are not pinned to their cores: " + partition.error().what, "run `rtexec probe` for what to change");
  }

  hal::ThreadSettings settings(const std::string& name, unsigned core, int priority, const hal::Reservation& reservation) const {
    hal::ThreadSettings result{.name = name, .core = core, .fifo_priority = 0, .reservation = {}};
    if (policy_ == ThreadPolicy::fifo) result.fifo_priority = priority;
    if (policy_ == ThreadPolicy::deadline) {
      result.reservation = reservation;
      result.partition = placement_.partition.get();
      if (result.partition == nullptr) result.core.reset();
    }
    return result;
  }

  void set_service_threads() {
    placement_.scheduler = settings("scheduler", service_core_, scheduler_priority, scheduler_reservation);
    placement_.compute = settings("compute", compute_core_, engine_priority, engine_reservation);
    placement_.compute.stack = Bytes{8 << 20};
    placement_.copy_in = settings("copy-in", service_core_, copy_priority, copy_reservation);
    placement_.copy_out = settings("copy-out", service_core_, copy_priority, copy_reservation);
  }

  /// Tasks of the same core that are more urgent.
  int rank_on_core(std::size_t index) const {
    int rank = 0;
    for (std::size_t i = 0; i < tasks_.tasks.size(); ++i)
      if (cores_[i] == cores_[index] && plan_.tasks[i].core_rank < plan_.tasks[index].core_rank) ++rank;
    return rank;
  }

  void set_task_threads(std::size_t index) {
    const Task& task = tasks_.tasks[index];
    const PlannedTask& plan = plan_.tasks[index];
    const unsigned core = cores_[index];
    const int priority = highest_task_priority - rank_on_core(index);
    const auto part = [&](Duration wcet, Duration deadline) {
      const Duration runtime = std::max(wcet + 2 * board_.context_switch, least_runtime);
      const Duration limit = std::clamp(deadline, runtime, std::max(runtime, task.period));
      return hal::Reservation{.runtime = runtime, .deadline = limit, .period = std::max(task.period, limit)};
    };
    auto release = settings(task.name, core, priority, part(plan.wcet.before, plan.ready_by - board_.release_latency));
    auto completion = settings(task.name + ".after", core, priority, part(plan.wcet.after, plan.done_by - plan.device_done_by));
    if (!is_real_time(index))
      for (hal::ThreadSettings* thread : {&release, &completion}) {
        thread->fifo_priority = 0;
        thread->reservation.reset();
      }
    placement_.release.push_back(std::move(release));
    placement_.completion.push_back(std::move(completion));
  }

  const TaskSet& tasks_;
  const Board& board_;
  const Plan& plan_;
  const hal::Machine& machine_;
  const std::vector<unsigned> online_;
  ThreadPolicy policy_ = ThreadPolicy::automatic;
  unsigned compute_core_ = 0, service_core_ = 0;
  std::vector<unsigned> cores_; // by task
  Placement placement_;
  std::string errors_;
};

} // namespace

Result<Placement> place_threads(const TaskSet& tasks, const Board& board, const Plan& plan, const hal::Machine& machine) {
  return Placer(tasks, board, plan, machine).place();
}

std::string policy_of(const hal::ThreadSettings& settings) {
  if (settings.fifo_priority > 0) return "FIFO " + std::to_string(settings.fifo_priority);
  if (settings.reservation) return "DEADLINE " + to_string(settings.reservation->runtime) + "/" + to_string(settings.reservation->period);
  return "OTHER";
}

} // namespace rtexec::executive
