#include <rtexec/profiler.hpp>
#include "config/profile.hpp"
#include "rtexec/command/command.hpp"
#include "rtexec/json/json.hpp"
#include "rtexec/command/progress.hpp"
#include "rtexec/command/task_set_file.hpp"
#include "rtexec/command/text.hpp"
#include "rtexec/command/verdict.hpp"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace rtexec::command {

namespace {

struct Options {
  TaskSetFile set;
  std::string output;
  ProfileOptions profile;
  bool add = false;
  std::string json;
};

void print(std::ostream& out, const Profile& profile, const ProfileOptions& options,
           const std::filesystem::path& file) {
  out << "Measured until each task had ended " << options.jobs << " jobs; all jobs that ended by then count"
      << (options.before ? ", and those of the profile before" : "") << ":\n";
  print_measured(out, profile.entries);
  out << "wrote " << file.string() << '\n';
}

void profile(const Options& options) {
  const TaskSet set = read(options.set);
  const std::filesystem::path file =
      options.output.empty() ? set.executive.profile : std::filesystem::path(options.output);
  OutputFile json_file = must(OutputFile::open(options.json));
  ProfileOptions measuring = options.profile;
  if (options.add) measuring.before = must(read_profile(file));
  auto profile_file = must(OutputFile::open(file));
  const StopRequest stop;

  std::ostream& out = text_output(options.json);
  Progress progress(&stop);
  const ProfileObserver observer{
      .tuning = [&](const std::string& task, std::size_t done,
                    std::size_t wanted) { return progress("tuning " + task, done, wanted, "layers"); },
      .measuring = [&](std::uint64_t done,
                       std::uint64_t wanted) { return progress("measuring", done, wanted, "jobs of each task"); }};
  const auto measured = must(rtexec::profile(set, measuring, observer));
  const auto toml = must(profile_toml(measured, file));
  must(profile_file.write(toml));
  print(out, measured, measuring, file);

  nlohmann::json entries = nlohmann::json::array();
  for (const ProfileEntry& entry : measured.entries) entries.push_back(rtexec::to_json(entry));
  const nlohmann::json json = {{"machine", measured.machine},
                               {"device", measured.device},
                               {"file", file.string()},
                               {"jobs_asked", options.profile.jobs},
                               {"tasks", entries}};
  must(write_json(json_file, json));
}

} // namespace

void add_profile(const Command& program) {
  const Command command = program.add(
      "profile", "Tune each task on the device, measure its WCETs and write both where check and run read them");
  const auto options = std::make_shared<Options>();
  add_task_set(command, options->set);
  command.option("-o,--output", options->output, "FILE.toml", "The profile (default: the one that the task set names)");
  command
      .option("--jobs", options->profile.jobs, "N",
              "Jobs of each task, at least: all tasks run until the rarest has ended so many, and all that ended count")
      .default_shown()
      .within(1, 1000000);
  command
      .option("--margin", options->profile.margin, "FACTOR",
              "WCET is at least the longest execution observed times this")
      .default_shown()
      .within(1.0, 100.0);
  command.flag("--add", options->add,
               "Add to what the profile holds already: its executions count, and its tuning stays");
  command.json(options->json);
  command.on_run([options] { profile(*options); });
}

} // namespace rtexec::command
