#include "rtexec/executive/loaded_set.hpp"

#include "config/reader.hpp"
#include "hal/machine.hpp"
#include "policies/admission.hpp"

#include <algorithm>
#include <dlfcn.h>

namespace rtexec::executive {

namespace {

std::filesystem::path own_file() {
  Dl_info info{};
  const auto here = reinterpret_cast<void*>(&board_folders);
  std::error_code ignored;
  if (dladdr(here, &info) == 0 || info.dli_fname == nullptr) return std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path file = info.dli_fname;
  // A program started through PATH is known to the loader by its bare name.
  if (!file.has_parent_path()) return std::filesystem::read_symlink("/proc/self/exe", ignored);
  return std::filesystem::canonical(file, ignored);
}

bool needs_profile(const TaskSet& tasks) {
  return std::ranges::any_of(tasks.tasks, [](const Task& task) { return !task.wcet; });
}

} // namespace

std::vector<std::filesystem::path> board_folders() {
  const auto folder = own_file().parent_path();
  return {folder / "../share/rtexec/boards", "boards"};
}

Result<LoadedSet> load(TaskSet tasks, Workloads given) {
  if (const auto valid = validate(tasks); !valid) return std::unexpected(valid.error());
  const auto folders = board_folders();
  auto board = read_board(tasks.board, folders);
  if (!board) return std::unexpected(board.error());

  // Admission must know which core the compute engine takes: it refuses real-time CPU parts there.
  if (!board->compute_core) board->compute_core = hal::Machine().online_cores().back();

  LoadedSet set{.tasks = std::move(tasks), .board = std::move(*board), .workloads = {}, .memory = {}, .fingerprints = {}};
  std::string errors;
  for (const Task& task : set.tasks.tasks) {
    auto own = given.extract(task.name);
    auto workload = own ? Result<std::unique_ptr<tasks::Workload>>(std::move(own.mapped())) : tasks::make_workload(task);
    if (!workload) {
      errors += (errors.empty() ? "" : "\n") + workload.error().what;
      continue;
    }
    set.memory.push_back((*workload)->memory());
    set.fingerprints.push_back((*workload)->fingerprint());
    set.workloads.push_back(std::move(*workload));
  }
  for (const auto& [name, _] : given)
    errors += (errors.empty() ? "" : "\n") + ("a workload was given for task '" + name + "', which the task set does not have");
  if (!errors.empty()) return fail(Errc::bad_input, errors);
  return set;
}

Result<Plan> make_plan(LoadedSet& set) {
  if (needs_profile(set.tasks)) {
    const auto profile = read_profile(set.tasks.executive.profile);
    if (!profile) return std::unexpected(profile.error());
    if (const auto applied = apply_profile(set.tasks, *profile, set.fingerprints); !applied) return std::unexpected(applied.error());
  }
  return policies::make_plan(set.tasks, set.board, set.memory);
}

} // namespace rtexec::executive
