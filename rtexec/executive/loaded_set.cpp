#include "rtexec/executive/loaded_set.hpp"

#include "hal/machine.hpp"
#include "policies/admission.hpp"
#include "rtexec/executive/placement.hpp"

#include <algorithm>

namespace rtexec::executive {

namespace {

/// The tasks that give no WCET: "'front', 'rear'".
std::string unmeasured(const TaskSet& tasks) {
  std::string names;
  for (const Task& task : tasks.tasks)
    if (!task.wcet) names += (names.empty() ? "'" : ", '") + task.name + "'";
  return names;
}

} // namespace

Result<LoadedSet> load(TaskSet tasks, Workloads given) {
  if (const auto valid = validate(tasks); !valid) return std::unexpected(valid.error());
  auto board = read_board(tasks.board, builtin_boards());
  if (!board) return std::unexpected(board.error());

  // What is promised depends on the scheduling class that the threads will get.
  tasks.executive.threads = available_policy(tasks.executive.threads);
  // And on the cores that the executive's own threads take.
  const auto cores = hal::Machine().online_cores();
  if (!board->compute_core) board->compute_core = cores.back();
  if (!board->service_core) board->service_core = cores.front();

  LoadedSet set{.tasks = std::move(tasks), .board = std::move(*board), .workloads = {}, .memory = {}, .fingerprints = {}};
  std::string errors;
  const auto complain = [&](const std::string& what) { errors += (errors.empty() ? "" : "\n") + what; };
  for (const Task& task : set.tasks.tasks) {
    auto own = given.extract(task.name);
    auto workload = own ? Result<std::unique_ptr<tasks::Workload>>(std::move(own.mapped())) : tasks::make_workload(task);
    if (!workload) {
      complain(workload.error().what);
      continue;
    }
    if (!*workload || (*workload)->constants().size() != (*workload)->memory().constant.count) {
      complain("task '" + task.name +
               "': " + (*workload ? "its workload's constants() and memory().constant differ in size" : "no workload was given"));
      continue;
    }
    set.memory.push_back((*workload)->memory());
    set.fingerprints.push_back((*workload)->fingerprint());
    set.workloads.push_back(std::move(*workload));
  }
  for (const auto& [name, _] : given) complain("a workload was given for task '" + name + "', which the task set does not have");
  if (!errors.empty()) return fail(Errc::bad_input, errors);
  return set;
}

Result<Plan> make_plan(LoadedSet& set) {
  if (const std::string names = unmeasured(set.tasks); !names.empty()) {
    const auto& file = set.tasks.executive.profile;
    if (std::error_code error; !std::filesystem::exists(file, error))
      return fail(Errc::bad_input, "no execution times are known of task " + names + ": no wcet is given, and there is no profile " +
                                       file.string() + "; measure them on this machine with `rtexec profile " + set.tasks.file.string() +
                                       "`");
    const auto profile = read_profile(file);
    if (!profile) return std::unexpected(profile.error());
    if (const auto applied = apply_profile(set.tasks, *profile, set.fingerprints); !applied) return std::unexpected(applied.error());
  }
  return policies::make_plan(set.tasks, set.board, set.memory);
}

} // namespace rtexec::executive
