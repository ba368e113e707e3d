#include "config/profile.hpp"
#include "config/files.hpp"
#include "rtexec/command/command.hpp"
#include "rtexec/command/json.hpp"
#include "rtexec/command/task_set_file.hpp"
#include "rtexec/command/text.hpp"
#include "rtexec/executive/profiler.hpp"

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace rtexec::command {

namespace {

struct Options {
  TaskSetFile set;
  std::string output;
  executive::ProfileOptions profile;
  std::string json;
};

std::atomic<bool> interrupted{false};

/// A line of progress that is drawn over on a terminal, and printed every tenth of the way elsewhere.
class Progress {
 public:
  explicit Progress(std::ostream& out) : out_(out), terminal_(&out == &std::cout && ::isatty(STDOUT_FILENO) != 0) {}

  /// `what` is on its way: "measuring". False when the user wants it to stop.
  bool operator()(const std::string& what, std::uint64_t done, std::uint64_t wanted, const std::string& unit) {
    const std::uint64_t tenth = 10 * done / std::max<std::uint64_t>(wanted, 1);
    const std::string line = what + ": " + std::to_string(done) + " of " + std::to_string(wanted) + " " + unit;
    if (terminal_)
      out_ << "\r[" << std::string(tenth, '#') << std::string(10 - tenth, '.') << "] " << line << std::flush;
    else if (tenth != shown_ || what != what_)
      out_ << line << std::endl;
    shown_ = tenth;
    what_ = what;
    if (terminal_ && done == wanted) out_ << '\n';
    return !interrupted.load();
  }

 private:
  std::ostream& out_;
  bool terminal_;
  std::string what_;
  std::uint64_t shown_ = UINT64_MAX;
};

void print(std::ostream& out, const Profile& profile, const std::filesystem::path& file) {
  Table table({"task", "jobs", "longest before", "device", "after", "wcet before", "device", "after"});
  for (const ProfileEntry& entry : profile.entries)
    table.add({entry.task, std::to_string(entry.samples), readable(entry.observed.before), readable(entry.observed.device),
               readable(entry.observed.after), readable(entry.wcet.before), readable(entry.wcet.device), readable(entry.wcet.after)});
  table.print(out);
  out << "wrote " << file.string() << '\n';
}

int profile(const Options& options) {
  auto set = read(options.set);
  if (!set) return report(set.error());
  const std::filesystem::path file = options.output.empty() ? set->executive.profile : std::filesystem::path(options.output);
  // Before minutes of measuring, not after them.
  if (const auto writable = AtomicFile::create(file); !writable) return report(writable.error());
  std::signal(SIGINT, [](int) { interrupted.store(true); });
  std::signal(SIGTERM, [](int) { interrupted.store(true); });

  std::ostream& out = text_output(options.json);
  Progress progress(out);
  const executive::ProfileObserver observer{
      .tuning = [&](const std::string& task, std::size_t done,
                    std::size_t wanted) { return progress("tuning " + task, done, wanted, "layers"); },
      .measuring = [&](std::uint64_t done, std::uint64_t wanted) { return progress("measuring", done, wanted, "jobs of each task"); }};
  const auto measured = executive::measure(*set, options.profile, observer);
  if (!measured) return report(measured.error());
  if (const auto written = write_profile(*measured, file); !written) return report(written.error());
  print(out, *measured, file);

  nlohmann::json entries = nlohmann::json::array();
  for (const ProfileEntry& entry : measured->entries)
    entries.push_back({{"task", entry.task},
                       {"samples", entry.samples},
                       {"margin", entry.margin},
                       {"tuning", entry.tuning},
                       {"wcet", to_json(entry.wcet)},
                       {"observed", to_json(entry.observed)}});
  const nlohmann::json json = {
      {"machine", measured->machine}, {"device", measured->device}, {"file", file.string()}, {"tasks", entries}};
  if (const auto written = write_json(options.json, json); !written) return report(written.error());
  return 0;
}

} // namespace

void add_profile(CLI::App& program, int& exit_code) {
  auto* command = program.add_subcommand("profile", "Tune each task on the device, measure its WCETs and write both where check and run read them");
  const auto options = std::make_shared<Options>();
  add_task_set(*command, options->set);
  command->add_option("-o,--output", options->output, "The profile (default: the one that the task set names)")->type_name("FILE.toml");
  command->add_option("--jobs", options->profile.jobs, "Jobs of each task")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  command->add_option("--margin", options->profile.margin, "WCET is the longest execution observed times this")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 100.0))
      ->type_name("FACTOR");
  add_json_option(*command, options->json);
  command->callback([options, &exit_code] { exit_code = profile(*options); });
}

} // namespace rtexec::command
