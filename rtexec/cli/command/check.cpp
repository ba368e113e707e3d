#include "config/profile_file.hpp"
#include "config/base/text.hpp"
#include "hal/board/board_findings.hpp"
#include "hal/machine_files.hpp"
#include "policies/admission/comparison.hpp"
#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/command/headroom.hpp"
#include "rtexec/cli/options/output_needs.hpp"
#include "rtexec/runtime/json/plan_json.hpp"
#include "rtexec/cli/options/task_set_file.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/cli/reports/verdict.hpp"
#include "rtexec/runtime/executive/requirements.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

namespace rtexec::command {

namespace {

struct CheckOptions {
  TaskSetFile set;
  std::string machine;
  std::string wcet;
  std::string json;
  std::vector<std::string> tests;
  bool headroom = false;
  bool explain = false;
};

/// Replaces the tasks' execution times in the set by the times of a profile.
void take_wcets(TaskSet& set, const std::filesystem::path& file) {
  const auto profile = must(read_profile(file));
  set.executive.profile = file;
  for (Task& task : set.tasks) {
    if (!task.wcet) continue; // planning itself takes this WCET from the profile, if the workload is the same
    const ProfileEntry* const entry = entry_of(profile, task.name, task.memory_policy);
    if (entry == nullptr) give_up(Errc::bad_input, file.string() + ": error: task '" + task.name + "': no measurement");
    task.wcet = entry->wcet;
  }
}

/// Plans the set again, but permits segments and streaming even to tasks that forbid them. Returns nullopt if the set
/// is already proved, if no task forbids segments or streaming, or if planning fails.
std::optional<PlannedSet> divided(const PlannedSet& whole, TaskSet set) {
  const auto forbids = [](const Task& task) { return task.segments == 1 || task.constants == Constants::whole; };
  if (whole.plan.proved || std::ranges::none_of(set.tasks, forbids)) return std::nullopt;
  for (Task& task : set.tasks) {
    if (task.segments == 1) task.segments.reset();
    if (task.constants == Constants::whole) task.constants = Constants::automatic;
  }
  auto planned = plan(std::move(set), whole.machine);
  return planned ? std::optional(std::move(*planned)) : std::nullopt;
}

nlohmann::json segments_json(const PlannedSet& whole, const std::optional<PlannedSet>& divided) {
  if (!divided) return nullptr;
  const SegmentCost cost = segment_cost(whole, *divided);
  return {{"proved", divided->plan.proved}, {"device_time", cost.time}, {"device_bytes", cost.memory.count}};
}

/// Checks whether this machine fulfils all requirements of `rtexec run`, in the order in which `rtexec run` checks
/// them. If the plan is for another machine, checks only whether that machine has the cores that the plan uses.
executive::Inquiry inquire(const CheckOptions& options, const TaskSet& set) {
  if (!options.machine.empty()) {
    executive::Inquiry elsewhere{.planned = plan_on(options.machine, set), .startable = {}, .needs = {}};
    elsewhere.needs = executive::absent_cores(elsewhere.planned, elsewhere.planned.plan);
    if (!elsewhere.planned.plan.proved) elsewhere.startable = fail(Errc::not_proved, "the set is not proved");
    elsewhere.not_asked = "the plan is for '" + elsewhere.planned.machine.name + "' (--machine)";
    return elsewhere;
  }
  auto here = must(executive::inquire(set));
  auto outputs = find_output_needs(set.output);
  here.needs.insert(here.needs.begin(), std::make_move_iterator(outputs.begin()),
                    std::make_move_iterator(outputs.end()));
  return here;
}

/// Returns the error with which `rtexec run` would end before its first job. If the plan is for another machine, each
/// feature that the machine is known to lack is an error, even if the set allows degraded runs.
Result<> refusal_of(const executive::Inquiry& inquiry) {
  if (!inquiry.startable) return inquiry.startable;
  const bool allow_degraded = inquiry.not_asked.empty() && inquiry.planned.tasks.executive.allow_degraded;
  return executive::refusal_of(inquiry.needs, allow_degraded);
}

/// Prints the known facts about the machine, and the refusal with the text that `run` would print.
void print_machine(std::ostream& out, const executive::Inquiry& inquiry) {
  if (!inquiry.not_asked.empty()) print_wrapped(out, "This machine was not checked for a run: " + inquiry.not_asked);
  const Board& board = inquiry.planned.board;
  if (inquiry.not_asked.empty() && !board.identity.compatible.empty() && !hal::identify_board(hal::Machine()).told)
    print_wrapped(out, "No device tree says that this machine is board '" + board.name +
                           "'; the following applies to this machine");
  const auto refusal = refusal_of(inquiry);
  if (refusal || refusal.error().code == Errc::not_proved) return;
  out << "`rtexec run` is refused (exit code " << exit_code(refusal.error().code) << "):\n";
  for (const auto line : config::parts(refusal.error().what, '\n'))
    print_wrapped(out, "  " + std::string(line), "    ");
}

nlohmann::json needs_json(const executive::Inquiry& inquiry) {
  nlohmann::json needs = nlohmann::json::array();
  for (const executive::Requirement& need : inquiry.needs)
    needs.push_back({{"subject", need.subject}, {"state", need.state}, {"given", !need.refused}});
  return needs;
}

int check(const CheckOptions& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  TaskSet set = read(options.set);
  if (!options.wcet.empty()) take_wcets(set, options.wcet);
  const auto inquiry = inquire(options, set);
  const PlannedSet& planned = inquiry.planned;
  const auto refusal = refusal_of(inquiry);
  const auto in_segments = divided(planned, std::move(set));
  std::ostream& out = text_output(options.json);
  std::vector<TestVerdict> comparison = policies::compare_device_tests(planned.plan, planned);
  if (!options.tests.empty())
    std::erase_if(comparison, [&](const TestVerdict& test) {
      return std::ranges::find(options.tests, test.name()) == options.tests.end();
    });
  const auto lacks = executive::degradations(inquiry.needs);
  print_verdict_and_way(out, planned,
                        {.asked = inquiry.not_asked.empty(), .refused = !refusal.has_value(), .degraded = lacks},
                        in_segments);
  print_machine(out, inquiry);
  if (options.explain) print_plan(out, planned, planned.plan);
  if (options.explain || !options.tests.empty()) print_comparison(out, comparison);
  else out << "Every test with its formula and numbers: --explain\n";
  nlohmann::json told = to_json(planned, planned.plan, comparison);
  told["machine_lacks"] = lacks;
  told["machine_needs"] = needs_json(inquiry);
  told["in_segments"] = segments_json(planned, in_segments);
  if (options.headroom) {
    const policies::Sensitivity room = find_headroom(planned);
    print_headroom(out, room);
    told["headroom"] = to_json(room);
  }
  must(write_json(json_file, told));
  return refusal ? 0 : exit_code(refusal.error().code);
}

} // namespace

void add_check(const Command& program, int& exit_code) {
  const Command command =
      program.add("check", "Check whether every deadline can be promised, and whether this machine can run the set");
  const auto options = std::make_shared<CheckOptions>();
  add_task_set(command, options->set);
  add_machine_option(command, options->machine);
  command.option("--wcet", options->wcet, "FILE",
                 "Take the execution times from this profile, which `rtexec profile` or `rtexec analyze --to-toml` "
                 "wrote, instead of from the task set and its profile");
  command.json(options->json);
  command
      .option("--tests", options->tests, "NAME,...",
              "Schedulability tests of the device alone whose results are shown in addition to the verdict (default: "
              "all tests for the order)")
      .separated_by(',')
      .one_of({"theorem1", "baker", "demand", "rta", "pipelined"});
  command.flag("--explain", options->explain,
               "Also print each test with its formula and numbers, and the complete plan");
  command.flag("--headroom", options->headroom,
               "Also print by how much execution times, periods, device memory and copy costs may change while the set "
               "stays proved, or must change so that it is proved");
  command.on_run([options, &exit_code] { exit_code = check(*options); });
}

} // namespace rtexec::command
