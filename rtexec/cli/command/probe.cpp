#include "config/base/text.hpp"
#include "hal/board/board_findings.hpp"
#include "hal/machine_files.hpp"
#include "hal/open/open_device.hpp"
#include "rtexec/studies/bringup/gpu_clocks.hpp"
#include "rtexec/cli/options/named_board.hpp"
#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/options/output_needs.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/runtime/executive/requirements.hpp"
#include "rtexec/runtime/json/machine_json.hpp"
#include "rtexec/studies/calibration/traffic_counters.hpp"
#include <rtexec/planning.hpp>
#include "traces/recording/lttng_session.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

namespace rtexec::command {

namespace {

using hal::Finding;

struct ProbeOptions {
  std::string tasks;
  std::string root = "/";
  std::string board; // empty: the board that the device tree names
  std::string json;
};

const char* name(Finding::Grade grade) {
  switch (grade) {
  case Finding::Grade::ok: return "ok";
  case Finding::Grade::note: return "note";
  case Finding::Grade::unknown: return "unknown";
  case Finding::Grade::missing: return "missing";
  }
  return "?";
}

std::string first_line(const Error& error) { return error.what.substr(0, error.what.find('\n')); }

/// Converts an error into a finding. The error's first line becomes the problem, and the other lines become advice.
Finding absence(const Error& error, const Board& board, const std::string& subject, Finding::Grade grade) {
  const std::string state = first_line(error);
  std::string advice = error.what.substr(std::min(state.size() + 1, error.what.size()));
  std::ranges::replace(advice, '\n', ' ');
  if (board.has_driver()) {
    if (!advice.empty()) advice += ' ';
    advice += "Task sets for boards with device = \"cuda\" can be checked here, but not run.";
  }
  return {.subject = subject, .grade = grade, .state = state, .advice = advice};
}

Finding clocks_of(const hal::DeviceClocks& clocks, const std::string& subject) {
  return {.subject = subject,
          .grade = Finding::Grade::note,
          .state = "clocks: " + bringup::clocks_text(clocks),
          .advice = bringup::how_to_lock(clocks)};
}

/// Opens the device of `board` and returns findings about it. Sets `memory` to the free memory of a GPU.
std::vector<Finding> probe_device(const Board& board, const std::string& subject, Finding::Grade absent,
                                  Bytes& memory) {
  const auto device = hal::open_device(board, hal::capacity_for(board, board.chunk), board.chunk);
  if (!device) return {absence(device.error(), board, subject, absent)};
  std::vector<Finding> findings{
      {.subject = subject, .grade = Finding::Grade::ok, .state = (*device)->name(), .advice = {}}};
  if (!board.memory_is_of_host()) {
    memory = (*device)->capacity();
    findings.front().state += ", " + readable(memory) + " free in chunks of " + readable((*device)->chunk_size());
  }
  for (const std::string& found : (*device)->capabilities().findings)
    findings.push_back({.subject = subject, .grade = Finding::Grade::ok, .state = found, .advice = {}});
  if (const auto clocks = (*device)->clocks()) findings.push_back(clocks_of(*clocks, subject));
  if (!(*device)->capabilities().read_only_mapping)
    findings.push_back({.subject = subject,
                        .grade = Finding::Grade::note,
                        .state = "a write to constants is not detected",
                        .advice = {}});
  return findings;
}

constexpr std::string_view counter_subject = "bandwidth counter";
constexpr const char* other_events =
    "Budgets of memory bandwidth need an event that counts it: name another one in the board's [[counter]], or in "
    "[bandwidth] event. page-faults counts everywhere, but is only a substitute for tests: it is not memory traffic.";

Finding probe_counter(const CounterFacts& facts, const std::string& event, unsigned core) {
  const study::CounterTrial trial = study::try_counter(facts, event, core);
  Finding finding{.subject = std::string(counter_subject),
                  .grade = trial.overflows ? Finding::Grade::ok : Finding::Grade::note,
                  .state = "core " + std::to_string(core) + ", " + event + ": " + trial.what,
                  .advice = {}};
  if (!trial.counts) finding.advice = other_events;
  else if (!trial.overflows) finding.advice = "Regulation must poll it: set [bandwidth] counter = \"polling\".";
  return finding;
}

/// Tries each counter event of the board on the first core that uses it. Also tries page faults, which need no PMU
/// (performance monitoring unit).
std::vector<Finding> probe_counters(const Board& board) {
  std::vector<Finding> findings;
  std::vector<std::string> tried;
  const auto cores = hal::Machine().online_cores();
  const auto probe = [&](const CounterFacts& facts, const std::string& event, unsigned core) {
    const std::string which = event + " " + hal::core_list(facts.cores);
    if (event.empty() || std::ranges::find(tried, which) != tried.end()) return;
    tried.push_back(which);
    findings.push_back(probe_counter(facts, event, core));
  };
  for (const unsigned core : cores) {
    const CounterFacts facts = counter_of(core, board, "");
    probe(facts, facts.event, core);
    probe(facts, facts.write_event, core);
  }
  const CounterFacts pages = counter_of(cores.front(), board, "page-faults");
  probe(pages, pages.event, cores.front());
  return findings;
}

/// Probes the board that the user or the device tree names, and its device. If neither names a board, probes any GPU.
std::vector<Finding> probe_board(const ProbeOptions& options, Bytes& memory) {
  const hal::Machine machine(options.root);
  const hal::KnownBoard known = hal::identify_board(machine);
  const auto board = named_board(options.board.empty() ? known.name : options.board);
  auto findings = hal::probe_board(board, machine);
  std::ranges::move(probe_counters(board), std::back_inserter(findings));
  const std::string subject = "device of board '" + board.name + "'";
  std::ranges::move(!options.board.empty() ? probe_device(board, subject, Finding::Grade::missing, memory)
                    : known.told           ? probe_device(board, subject, Finding::Grade::note, memory)
                                           : probe_device(must(read_board("rtx")), "GPU", Finding::Grade::note, memory),
                    std::back_inserter(findings));
  return findings;
}

void print(std::ostream& out, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    out << "[" << name(finding.grade) << "] " << finding.subject << ": " << finding.state << '\n';
    for (const auto line : config::parts(finding.advice, '\n')) out << "    " << line << '\n';
  }
}

nlohmann::json to_json(const std::vector<Finding>& findings, const MachineFacts& machine) {
  nlohmann::json json = nlohmann::json::array();
  for (const Finding& finding : findings)
    json.push_back({{"subject", finding.subject},
                    {"grade", name(finding.grade)},
                    {"state", finding.state},
                    {"advice", finding.advice}});
  json.push_back({{"subject", "machine"},
                  {"grade", name(Finding::Grade::ok)},
                  {"state", machine.name},
                  {"advice", ""},
                  {"machine", rtexec::to_json(machine)}}); // input of `check --machine`
  return json;
}

Finding finding_of(const executive::Requirement& need) {
  return {.subject = need.subject,
          .grade = need.refused ? Finding::Grade::missing : Finding::Grade::ok,
          .state = need.state,
          .advice = need.advice};
}

/// Returns a finding for each requirement of a run of the set. If the set cannot be planned, `needs` is an error, and
/// only findings that do not depend on the set are returned.
std::vector<Finding> findings_for(const Result<std::vector<executive::Requirement>>& needs) {
  std::vector<Finding> findings;
  if (needs) std::ranges::transform(*needs, std::back_inserter(findings), finding_of);
  for (const Finding& finding : hal::Machine().probe())
    if (finding.subject == "LTTng" || (!needs && finding.grade == Finding::Grade::missing)) findings.push_back(finding);
  return findings;
}

/// Returns the exit code. A refusal by the machine takes precedence over a refusal because of the set itself.
int exit_code_of(const std::vector<executive::Requirement>& needs) {
  int status = 0;
  for (const executive::Requirement& need : needs)
    if (need.refused && status != exit_code(Errc::refused)) status = exit_code(*need.refused);
  return status;
}

int probe_for(const ProbeOptions& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  std::ostream& out = text_output(options.json);
  auto set = read_task_set(options.tasks);
  auto needs = set ? executive::find_needs(*set) : Unexpected(set.error());
  if (needs) std::ranges::move(find_output_needs(set->output), std::back_inserter(*needs));
  const auto findings = findings_for(needs);
  print(out, findings);
  must(write_json(json_file, to_json(findings, this_machine())));
  const int status = exit_code_of(must(needs));
  out << (status == 0 ? "Nothing is missing for rtexec run " : "Something is missing for rtexec run ") << options.tasks
      << '\n';
  return status;
}

int probe_machine(const ProbeOptions& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  auto findings = hal::Machine(options.root).probe();
  for (const std::string& session : traces::left_over_sessions())
    findings.push_back(
        {"LTTng session", Finding::Grade::note, session + ": its run was killed", "The next traced run ends it."});
  MachineFacts machine = this_machine();
  std::ranges::move(probe_board(options, machine.device_memory), std::back_inserter(findings));
  print(text_output(options.json), findings);
  must(write_json(json_file, to_json(findings, machine)));
  return 0;
}

} // namespace

void add_probe(const Command& program, int& exit_code) {
  const Command command = program.add("probe",
                                      "Show this machine's real-time settings, or with a task set the settings that "
                                      "are missing to run the set; takes seconds and measures nothing");
  const auto options = std::make_shared<ProbeOptions>();
  const Option tasks =
      command.option("task-set", options->tasks, "FILE.toml",
                     "Check whether this machine can run this set, and print commands that change missing settings; "
                     "the exit code is 5 if a setting is missing. Default: describe the machine without a task set");
  command
      .option("--root", options->root, "DIR",
              "Read the files of /sys and /proc below this folder instead of below /, as copied by `rtexec bringup "
              "--record`")
      .existing_folder()
      .excludes(tasks);
  command
      .option("--board", options->board, "BOARD",
              "Board, by name or path, whose clocks, sensors, counters and device are checked; default: the board that "
              "the device tree names; without one, any NVIDIA GPU and the event cache-misses")
      .excludes(tasks);
  command.json(options->json);
  command.on_run(
      [options, &exit_code] { exit_code = options->tasks.empty() ? probe_machine(*options) : probe_for(*options); });
}

} // namespace rtexec::command
