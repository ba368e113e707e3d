#include "config/base/errno_text.hpp"
#include "config/base/text.hpp"
#include "hal/board/board_findings.hpp"
#include "hal/core_claim.hpp"
#include "hal/thread.hpp"
#include "rtexec/studies/bringup/report_comparison.hpp"
#include "rtexec/studies/bringup/bringup_page.hpp"
#include "rtexec/studies/bringup/recorded_tree.hpp"
#include "rtexec/studies/bringup/bringup_report.hpp"
#include "rtexec/studies/bringup/tap_format.hpp"
#include "rtexec/cli/options/named_board.hpp"
#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/terminal/progress.hpp"
#include "rtexec/cli/command/results.hpp"
#include "rtexec/cli/reports/report_text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace rtexec::command {

namespace {

namespace fs = std::filesystem;
using bringup::Item;

struct BringupOptions {
  std::vector<std::string> items; // empty: all items
  std::string board;              // empty: the board that the device tree names
  std::string device, against, record, html, json;
  std::string folder = ".";
};

/// A temporary folder for backing stores and recordings. The destructor removes it.
class WorkFolder {
 public:
  explicit WorkFolder(const fs::path& parent) : path_((parent / "rtexec-bringup-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr)
      give_up(Errc::refused, parent.string() + ": cannot create a folder in it: " + config::errno_text(errno) +
                                 "\nName another one with --folder.");
  }
  ~WorkFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

bool is_read(const Item& item) { return item.takes == nullptr; }

bool is_asked(const Item& item, const std::string& wanted) {
  const std::string name = item.name;
  return name == wanted || name.starts_with(wanted + "/");
}

std::string_view group_of(const Item& item) {
  const std::string_view name = item.name;
  return name.substr(0, name.find('/'));
}

std::vector<std::string_view> names_and_groups() {
  std::vector<std::string_view> names;
  for (const Item& item : bringup::items()) {
    if (std::ranges::find(names, group_of(item)) == names.end()) names.push_back(group_of(item));
    names.emplace_back(item.name);
  }
  return names;
}

void check_asked(const std::string& wanted) {
  const auto all = bringup::items();
  if (std::ranges::any_of(all, [&](const Item& item) { return is_asked(item, wanted); })) return;
  const auto names = names_and_groups();
  const auto near = config::nearest(wanted, names);
  give_up(Errc::bad_input,
          config::quoted(wanted) + ": no item has this name; " +
              (near ? "did you mean '" + std::string(*near) + "'?" : "known: " + config::alternatives(names)));
}

std::vector<Item> asked_items(const std::vector<std::string>& wanted) {
  for (const std::string& each : wanted) check_asked(each);
  std::vector<Item> asked;
  std::ranges::copy_if(bringup::items(), std::back_inserter(asked), [&](const Item& item) {
    return wanted.empty() || std::ranges::any_of(wanted, [&](const std::string& each) { return is_asked(item, each); });
  });
  return asked;
}

/// Returns a copy of `board` whose device is replaced by the software device.
Board on_host_device(Board board) {
  const Board host = must(read_board("host"));
  board.device = DeviceKind::host;
  board.capacity = host.capacity;
  board.chunk = host.chunk;
  board.copy_engines = host.copy_engines;
  board.ordinal = 0;
  board.memory_policies = host.memory_policies;
  board.swap_costs = host.swap_costs;
  board.memory_costs = host.memory_costs;
  return board;
}

Board board_of(const BringupOptions& options, const hal::Machine& machine) {
  return named_board(options.board.empty() ? hal::identify_board(machine).name : options.board);
}

/// Updates the progress bar while an item measures. Erases the bar before a line of TAP (Test Anything Protocol) is
/// written.
class ItemProgress {
 public:
  explicit ItemProgress(const StopRequest& stop) : stop_(stop) {}

  /// Estimates the time of the items. Called once, before the first item. `subject` must outlive the last item.
  void expect(const std::vector<Item>& asked, const bringup::Subject& subject) {
    subject_ = &subject;
    for (const Item& item : asked) all_ += takes(item);
  }

  void begin(const Item& item) {
    item_ = &item;
    begun_ = hal::now();
    shown_.reset();
    (void)going_on();
  }
  void end() {
    done_ += takes(*item_);
    clear();
  }
  void clear() { progress_.erase(); }
  /// Redraws the bar. Returns false if the user wants to stop.
  bool going_on() {
    const Instant now = hal::now();
    if (drawn_by_ == ::getpid() && !is_read(*item_) && (!shown_ || now - *shown_ > redraw)) {
      shown_ = now;
      show(done_ + std::min(now - begun_, takes(*item_)));
    }
    return !stop_.asked();
  }

 private:
  static constexpr Duration redraw = std::chrono::milliseconds(250);
  [[nodiscard]] Duration takes(const Item& item) const { return is_read(item) ? Duration(0) : item.takes(*subject_); }
  void show(Duration done) {
    const auto seconds = [](Duration time) {
      return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(time).count());
    };
    (void)progress_(item_->title, seconds(done), seconds(all_) + 1, "s", all_ - done);
  }

  const StopRequest& stop_;
  const pid_t drawn_by_ = ::getpid(); // child processes of items call going_on() too, but must not draw
  Progress progress_;
  const bringup::Subject* subject_ = nullptr;
  const Item* item_ = nullptr;
  Duration all_{0}, done_{0};
  Instant begun_{};
  std::optional<Instant> shown_;
};

void tell_changes(const bringup::Comparison& comparison, bringup::TapWriter& tap) {
  tap.diagnostic("Compared with the report " + comparison.earlier +
                 (comparison.other_board ? ", another board: " : ": ") +
                 (comparison.changes.empty() ? "nothing changed" : "changed are"));
  for (const bringup::Change& change : comparison.changes) tap.diagnostic(change.item + ": " + text_of(change));
}

void tell_summary(const bringup::Report& report, bringup::TapWriter& tap) {
  using bringup::Outcome;
  tap.diagnostic(std::to_string(report.count(Outcome::passed)) + " passed, " +
                 std::to_string(report.count(Outcome::failed)) + " failed, " +
                 std::to_string(report.count(Outcome::skipped)) + " skipped");
}

/// Records the machine's files into a folder if --record is given. Returns a message about the recording, or an empty
/// text.
std::string record(const BringupOptions& options, const Board& board, const hal::Machine& machine) {
  if (options.record.empty()) return {};
  const ResultFolder guard(options.record);
  std::error_code error;
  if (!fs::is_empty(options.record, error))
    give_up(Errc::bad_input, "--record " + options.record + ": is not empty: name a new folder");
  const auto recording = must(bringup::record(board, machine, options.record));
  return "recorded " + std::to_string(recording.recorded) + " files in " + options.record + "; " +
         std::to_string(recording.unrecorded) + " could not be copied: " + bringup::unrecorded_file +
         " lists the reasons";
}

struct Results {
  bringup::Report report;
  std::optional<bringup::Comparison> comparison;
};

nlohmann::json json_of(const Results& results) {
  nlohmann::json json = to_json(results.report);
  if (results.comparison) json["against"] = to_json(*results.comparison);
  return json;
}

int exit_code_of(const Results& results) {
  if (results.comparison && results.comparison->lost()) return exit_code(Errc::missed);
  return results.report.count(bringup::Outcome::failed) > 0 ? exit_code(Errc::refused) : 0;
}

/// Checks all items, and prints each result at once.
Results ask(const bringup::Subject& subject, const std::vector<Item>& asked, ItemProgress& progress,
            const std::optional<bringup::Report>& earlier, bringup::TapWriter& tap) {
  Results results;
  results.report = bring_up(subject, asked,
                            {.begins = [&](const Item& item) { progress.begin(item); },
                             .answered =
                                 [&](const bringup::Entry& entry) {
                                   progress.end();
                                   tap.result(entry);
                                 }});
  if (!results.report.complete) {
    progress.clear();
    tap.bail_out("interrupted");
    give_up(Errc::cancelled, "the bring-up was cancelled, and wrote no report");
  }
  if (earlier) results.comparison = compare(*earlier, results.report);
  if (results.comparison) tell_changes(*results.comparison, tap);
  tell_summary(results.report, tap);
  return results;
}

/// Throws Failed (refused) if an item measures while another run of rtexec uses the machine. The item's load would
/// violate the run's proved bounds, and the run would falsify the measurement.
void check_nobody_runs(const std::vector<Item>& asked, const hal::Machine& machine) {
  if (std::ranges::all_of(asked, is_read)) return;
  const auto claim = hal::CoreClaim::take(machine.online_cores());
  if (claim) return;
  std::string groups;
  for (const Item& item : bringup::items() | std::views::filter(is_read))
    if (const std::string group(group_of(item)); !groups.contains(" " + group)) groups += " " + group;
  give_up(Errc::refused,
          claim.error().what + "\nChecks that only read can run at the same time: rtexec bringup" + groups);
}

bringup::Subject subject_of(const BringupOptions& options, const hal::Machine& machine, const WorkFolder& folder,
                            ItemProgress& progress) {
  const Board board = board_of(options, machine);
  const bool stands_in = options.device == "host" && !board.computes_on_core();
  const Board asked = stands_in ? on_host_device(board) : board;
  return {.board = asked,
          .machine = machine,
          .emulated = !hal::emulator_of(machine).empty(),
          .device_stands_in = stands_in,
          .folder = folder.path(),
          .gpu = [asked] { return hal::read_gpu(asked); },
          .going_on = [&progress] { return progress.going_on(); }};
}

int bring_up_board(const BringupOptions& options) {
  const auto asked = asked_items(options.items);
  OutputFile json_file = must(OutputFile::open(options.json)), page_file = must(OutputFile::open(options.html));
  std::optional<bringup::Report> earlier;
  if (!options.against.empty()) earlier = must(bringup::read_report(options.against));
  const StopRequest stop;
  ItemProgress progress(stop);
  const hal::Machine machine;
  check_nobody_runs(asked, machine);
  const WorkFolder folder(options.folder);
  const auto subject = subject_of(options, machine, folder, progress);
  progress.expect(asked, subject);
  const std::string recorded = record(options, subject.board, machine);
  bringup::TapWriter tap(text_output(options.json), asked.size());
  if (!recorded.empty()) tap.diagnostic(recorded);
  const Results results = ask(subject, asked, progress, earlier, tap);
  write_page(results.report, results.comparison ? &*results.comparison : nullptr, page_file.stream());
  must(page_file.finish());
  must(write_json(json_file, json_of(results)));
  return exit_code_of(results);
}

} // namespace

void add_bringup(const Command& program, int& exit_code) {
  const Command command = program.add(
      "bringup",
      "Qualify a new board: measure, item by item, whether it can keep deadlines (takes minutes; TAP output)");
  const auto options = std::make_shared<BringupOptions>();
  command.option(
      "items", options->items, "ITEM",
      "Measure only these items (such as kernel/timers) or groups of items (such as memory), named as in the output");
  command
      .option("--board", options->board, "BOARD",
              "Board, by name or path; default: the board that the device tree names, otherwise host")
      .not_empty();
  command
      .option("--device", options->device, "DEVICE",
              "host: test the software device instead of the board's device, for a machine without a GPU")
      .one_of({"host"});
  command
      .option("--folder", options->folder, "DIR",
              "Folder for temporary files, on the disk that will hold swap stores and recordings")
      .default_shown()
      .existing_folder();
  command
      .option("--against", options->against, "FILE.json",
              "Compare with this earlier report of --json; the exit code is 4 if an item fails that passed in the "
              "earlier report")
      .existing_file();
  command
      .option("--record", options->record, "DIR",
              "Also copy the kernel's files about this board into a new folder, for `rtexec probe --root DIR` on "
              "another machine")
      .not_empty();
  command.option("--html", options->html, "FILE",
                 "Write the report as an HTML page; a browser shows it without network access");
  command.json(options->json);
  command.on_run([options, &exit_code] { exit_code = bring_up_board(*options); });
}

} // namespace rtexec::command
