#include "config/names.hpp"
#include "config/profile.hpp"
#include "config/resolve.hpp"
#include "policies/admission.hpp"
#include "policies/comparison.hpp"
#include "rtexec/command/command.hpp"
#include "rtexec/command/headroom.hpp"
#include "rtexec/json/json.hpp"
#include "rtexec/command/task_set_file.hpp"
#include "rtexec/command/text.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

namespace rtexec::command {

namespace {

struct Options {
  TaskSetFile set;
  std::string machine;
  std::string wcet;
  std::string json;
  std::vector<std::string> tests;
  bool headroom = false;
};

/// A core that the machine does not have is worth a word, and run refuses it there.
void note_absent_cores(std::ostream& out, const PlannedSet& planned) {
  const auto& there = planned.machine.cores;
  std::string absent;
  for (const PlannedTask& task : planned.plan.tasks)
    if (std::ranges::find(there, task.core) == there.end())
      absent += (absent.empty() ? "" : ", ") + std::to_string(task.core) + " for task '" + task.name + "'";
  if (absent.empty()) return;
  out << "Note: " << (planned.machine.here ? "this machine" : "that machine") << " has no core " << absent
      << ": run refuses the set " << (planned.machine.here ? "here" : "there") << '\n';
}

/// Where the set is not proved, whether it would be with another rule to swap by.
void note_other_policies(std::ostream& out, const PlannedSet& planned) {
  const Plan& plan = planned.plan;
  if (plan.proved || !plan.swap) return;
  std::vector<MemoryDemand> memory;
  for (const PlannedTask& task : plan.tasks) memory.push_back(task.memory);
  for (const SwapPolicy policy : {SwapPolicy::pipelined, SwapPolicy::serial}) {
    TaskSet other = planned.tasks;
    if (policy == std::exchange(other.swap.policy, policy)) continue;
    const ResolvedSet set = resolve(std::move(other), planned.board, planned.machine);
    if (const auto better = policies::make_plan(set, memory); better && better->proved)
      out << "Note: it is proved with [swap] policy = \"" << spelling(policy) << "\"\n";
  }
}

/// Execution times of a profile, also for tasks of which the set gives them.
void take_wcets(TaskSet& set, const std::filesystem::path& file) {
  const auto profile = must(read_profile(file));
  set.executive.profile = file;
  for (Task& task : set.tasks) {
    if (!task.wcet) continue; // the profile's, if it is of the same workload
    const auto entry = std::ranges::find(profile.entries, task.name, &ProfileEntry::task);
    if (entry == profile.entries.end())
      give_up(Errc::bad_input, file.string() + ": error: task '" + task.name + "': it was not measured");
    task.wcet = entry->wcet;
  }
}

int check(const Options& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  TaskSet set = read(options.set);
  if (!options.wcet.empty()) take_wcets(set, options.wcet);
  const auto planned = plan_on(options.machine, std::move(set));
  std::ostream& out = text_output(options.json);
  std::vector<TestVerdict> comparison = policies::compare_device_tests(planned.plan, planned);
  if (!options.tests.empty())
    std::erase_if(comparison, [&](const TestVerdict& test) {
      return std::ranges::find(options.tests, test.name()) == options.tests.end();
    });
  print_plan(out, planned, planned.plan);
  print_comparison(out, comparison);
  note_other_policies(out, planned);
  note_absent_cores(out, planned);
  nlohmann::json told = to_json(planned.plan, comparison);
  if (options.headroom) {
    const policies::Sensitivity room = find_headroom(planned, out);
    print_headroom(out, room);
    told["headroom"] = to_json(room);
  }
  must(write_json(json_file, told));
  return planned.plan.proved ? 0 : exit_code(Errc::not_proved);
}

} // namespace

void add_check(CLI::App& program, int& exit_code) {
  auto* command = program.add_subcommand("check", "Say whether every deadline can be promised, with the numbers");
  const auto options = std::make_shared<Options>();
  add_task_set(*command, options->set);
  add_machine_option(*command, options->machine);
  option(*command, "--wcet", options->wcet, "FILE",
         "Take the execution times of this profile (of profile, or of analyze --to-toml) instead of the file's");
  add_json_option(*command, options->json);
  option(*command, "--tests", options->tests, "NAME,...",
         "Which tests of the device alone to show beside the verdict (default: all for the order)")
      ->delimiter(',')
      ->check(CLI::IsMember({"theorem1", "baker", "demand", "rta", "pipelined"}));
  command->add_flag("--headroom", options->headroom,
                    "Also by how much execution times, periods, device memory and copies may change, or must");
  command->callback([options, &exit_code] { exit_code = check(*options); });
}

} // namespace rtexec::command
