#include <rtexec/profiler.hpp>
#include "config/profile_file.hpp"
#include "config/base/text.hpp"
#include "rtexec/cli/command/command.hpp"
#include "rtexec/runtime/json/plan_json.hpp"
#include "rtexec/cli/terminal/progress.hpp"
#include "rtexec/cli/options/task_set_file.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/cli/reports/verdict.hpp"
#include "rtexec/studies/calibration/memory_traffic.hpp"
#include "traces/wcet/part_wcet.hpp"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace rtexec::command {

namespace {

struct ProfileArguments {
  TaskSetFile set;
  std::string output;
  ProfileOptions profile;
  std::uint64_t jobs = 0;
  double minutes = 0;
  bool add = false;
  std::string json;
};

void print(std::ostream& out, const Profile& profile, const ProfileOptions& options, Duration elapsed,
           const std::filesystem::path& file) {
  if (options.jobs) out << "Measured until each task had ended " << *options.jobs << " jobs; all jobs that ended count";
  else out << "Measured for " << readable(elapsed);
  out << (options.before ? ", and those of the profile before" : "") << ":\n";
  print_measured(out, profile.entries);
  out << "wrote " << file.string() << '\n';
}

std::uint64_t in_seconds(Duration time) { return static_cast<std::uint64_t>(time / std::chrono::seconds(1)); }

/// Returns the parts for which more executions could show longer times: "first part of 'front'".
std::vector<std::string> unsettled(const TaskSet& set, const Profile& profile, double margin) {
  std::vector<traces::MeasuredPart> parts;
  std::vector<std::string> names;
  for (const ProfileEntry& entry : profile.entries)
    for (traces::MeasuredPart& part : traces::measured_parts(entry)) {
      names.push_back(std::string(part_name(part.part)) + " part of '" + measured_name(entry, profile.entries) + "'");
      parts.push_back(std::move(part));
    }
  const auto hold = first_halves_hold(parts, {.exceedance = set.executive.wcet_exceedance, .margin = margin});
  std::vector<std::string> found;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!hold[i]) found.push_back(names[i]);
  return found;
}

void print_unsettled(std::ostream& out, const std::vector<std::string>& parts, const ProfileArguments& options) {
  if (parts.empty()) {
    out << "The WCETs derived from the first half of the executions held for the second half.\n";
    return;
  }
  std::ostringstream text, lines;
  text << "Not settled: the WCETs derived from the first half of the executions did not hold for the second half, or "
          "too few "
       << "were measured: ";
  for (std::size_t i = 0; i < std::min<std::size_t>(parts.size(), 3); ++i) text << (i == 0 ? "" : ", ") << parts[i];
  if (parts.size() > 3) text << " and " << parts.size() - 3 << " more";
  text << '.';
  print_wrapped(lines, text.str());
  out << Toned{Tone::warning, lines.view()} << "  Add more: rtexec profile " << config::shell_word(options.set.file)
      << (options.output.empty() ? "" : " -o " + config::shell_word(options.output)) << " --add --minutes 10\n";
}

void print_degraded(std::ostream& out, const Profile& profile) {
  std::set<std::string> lines;
  for (const ProfileEntry& entry : profile.entries) lines.insert(entry.degraded.begin(), entry.degraded.end());
  for (const std::string& line : lines) {
    std::ostringstream wrapped;
    print_wrapped(wrapped,
                  "Measured in a degraded run; execution times may be longer in a run that is not degraded: " + line);
    out << Toned{Tone::warning, wrapped.view()};
  }
}

/// Warns about inputs that got no new values. The profile lacks the time that jobs need for new values.
void print_unfed(std::ostream& out, const Profile& profile) {
  if (profile.unfed.empty()) return;
  std::string text = "Without new data during the measurement: ";
  for (std::size_t i = 0; i < profile.unfed.size(); ++i) text += (i == 0 ? "" : "; ") + profile.unfed[i];
  text +=
      ". Jobs read old data or none, so the WCETs lack the time for new data: profile again with cameras plugged in "
      "and senders running.";
  std::ostringstream lines;
  print_wrapped(lines, text);
  out << Toned{Tone::warning, lines.view()};
}

/// Warns about memory policies that were not measured. Planning cannot choose them for any task.
void print_unmeasured(std::ostream& out, const Profile& profile) {
  for (const std::string& line : profile.unmeasured) {
    std::ostringstream lines;
    print_wrapped(lines, "Not measured, and therefore not available to a task: " + line);
    out << Toned{Tone::warning, lines.view()};
  }
}

/// Measures the profile. If the user cancels, the error says that `file` is unchanged, or that it does not exist.
Profile measure(const TaskSet& set, const ProfileOptions& options, const ProfileObserver& observer,
                const std::filesystem::path& file) {
  auto measured = rtexec::profile(set, options, observer);
  if (!measured && measured.error().code == Errc::cancelled)
    measured.error().what +=
        std::filesystem::exists(file) ? ": " + file.string() + " is unchanged" : ": nothing was written";
  return must(std::move(measured));
}

void profile(const ProfileArguments& options) {
  const TaskSet set = read(options.set);
  const std::filesystem::path file =
      options.output.empty() ? set.executive.profile : std::filesystem::path(options.output);
  OutputFile json_file = must(OutputFile::open(options.json));
  ProfileOptions measuring = options.profile;
  if (options.jobs > 0) measuring.jobs = options.jobs;
  if (options.minutes > 0)
    measuring.time =
        Duration(static_cast<Duration::rep>(options.minutes * 60 * Duration(std::chrono::seconds(1)).count()));
  if (options.add) measuring.before = must(read_profile(file));
  auto profile_file = must(OutputFile::open(file));
  const StopRequest stop;

  std::ostream& out = text_output(options.json);
  Progress progress(&stop);
  Duration elapsed{0};
  const ProfileObserver observer{
      .tuning = [&](const std::string& task, std::size_t done,
                    std::size_t wanted) { return progress("tuning " + task, done, wanted, "layers"); },
      .measuring = [&](std::uint64_t done,
                       std::uint64_t wanted) { return progress("measuring", done, wanted, "jobs of each task"); },
      .measuring_for =
          [&](Duration done, Duration wanted) {
            elapsed = done;
            return progress("measuring", in_seconds(done), in_seconds(wanted), "s", wanted - done);
          }};
  Profile measured = measure(set, measuring, observer, file);
  study::add_traffic(measured, set);
  const auto toml = must(profile_toml(with_others(measured, measuring.before.value_or(Profile{})), file));
  must(profile_file.write(toml));
  print(out, measured, measuring, elapsed, file);
  print_degraded(out, measured);
  print_unfed(out, measured);
  print_unmeasured(out, measured);
  const auto open = unsettled(set, measured, measuring.margin);
  print_unsettled(out, open, options);

  nlohmann::json entries = nlohmann::json::array();
  for (const ProfileEntry& entry : measured.entries) entries.push_back(rtexec::to_json(entry));
  const nlohmann::json json = {{"machine", measured.machine},
                               {"device", measured.device},
                               {"file", file.string()},
                               {"jobs_asked", measuring.jobs ? nlohmann::json(*measuring.jobs) : nlohmann::json()},
                               {"unsettled", open},
                               {"unfed", measured.unfed},
                               {"unmeasured", measured.unmeasured},
                               {"tasks", entries}};
  must(write_json(json_file, json));
}

} // namespace

void add_profile(const Command& program) {
  const Command command = program.add("profile",
                                      "Tune each task's kernels on the device, measure its WCETs, and write both into "
                                      "the profile that `rtexec check` and `rtexec run` read");
  const auto options = std::make_shared<ProfileArguments>();
  add_task_set(command, options->set);
  command.option("-o,--output", options->output, "FILE.toml",
                 "Profile to write (default: the task set's [executive] profile)");
  const Option jobs =
      command
          .option("--jobs", options->jobs, "N",
                  "Minimum number of jobs of each task; the measurement ends when each task has completed N jobs")
          .within(1, 1000000);
  command
      .option("--minutes", options->minutes, "N",
              "Length of the measurement in minutes (default: 35 to 60 s, until the WCETs derived from the first half "
              "of the executions hold for the second half)")
      .within(0.1, 10000.0)
      .excludes(jobs);
  command
      .option("--margin", options->profile.margin, "FACTOR",
              "Minimum ratio of each WCET to the longest observed execution time")
      .default_shown()
      .within(1.0, 100.0);
  command.flag("--add", options->add,
               "Add the measurements to those of the existing profile; its tuning and its other tasks are kept");
  command.json(options->json);
  command.on_run([options] { profile(*options); });
}

} // namespace rtexec::command
