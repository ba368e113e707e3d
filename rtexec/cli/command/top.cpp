#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/terminal/daemon_view.hpp"
#include "rtexec/cli/terminal/screen.hpp"
#include "rtexec/cli/terminal/status_view.hpp"
#include "rtexec/cli/terminal/terminal.hpp"
#include "rtexec/cli/reports/report_text.hpp"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace rtexec::command {

namespace {

using executive::Snapshot;
using executive::StatusPage;

struct TopOptions {
  std::string which;
  std::string daemon; // directory; empty: shows an executive, or the usual daemon if none runs
  std::string interval = "1s";
  std::string json;
  bool once = false;
};

/// Returns the identifier "PID.NUMBER" of a run, from the name of its status page's file.
std::string id_of(const std::filesystem::path& file) {
  return file.filename().string().substr(std::string_view("rtexec.").size());
}

bool is_named(const std::filesystem::path& file, const std::string& which) {
  const std::string id = id_of(file);
  return which.empty() || id == which || id.substr(0, id.find('.')) == which;
}

[[noreturn]] void nobody(const std::string& which) {
  const std::string hint = "\n  only the user of a run (`rtexec run`) and root can see it, from its start";
  if (which.empty())
    give_up(Errc::refused, "no rtexec run is active, and no rtexecd listens in " + std::string(usual_daemon) + hint +
                               ", and only users who may connect can see a daemon (--daemon FOLDER: another one)");
  give_up(Errc::bad_input,
          "process " + which + " has no rtexec run; `rtexec top` without a number finds active runs" + hint);
}

[[noreturn]] void several(const std::vector<StatusPage>& pages) {
  std::string text = "several runs are active; choose one:";
  for (const StatusPage& page : pages) {
    const auto snapshot = page.read();
    text += "\n  rtexec top " + id_of(page.file()) + "  # ";
    if (!snapshot) text += snapshot.error().what;
    else
      text += snapshot->run.task_set.text() + ", " + std::to_string(snapshot->tasks.size()) + " tasks, for " +
              readable(snapshot->run.elapsed);
  }
  give_up(Errc::bad_input, text);
}

/// Returns the status page of the run that `which` names, or of the only run if `which` is empty. Returns nullopt if
/// `which` is empty and no run exists. Removes the pages of runs that were killed.
std::optional<StatusPage> choose(const std::string& which) {
  for (const auto& file : executive::remove_stale_pages(executive::shared_memory_folder))
    std::cerr << "rtexec: removed " << file.string() << ", left behind by a killed run\n";
  std::vector<StatusPage> pages;
  std::optional<Error> error;
  for (const auto& file : executive::status_pages(executive::shared_memory_folder)) {
    if (!is_named(file, which)) continue;
    auto page = StatusPage::open(file);
    if (page) pages.push_back(std::move(*page));
    else if (!error) error = page.error();
  }
  if (pages.size() > 1) several(pages);
  if (pages.size() == 1) return std::move(pages.front());
  if (error) throw Failed{*error};
  if (!which.empty()) nobody(which);
  return std::nullopt;
}

/// The source of the view: a run of the executive, or a daemon with its clients.
class Shown {
 public:
  virtual ~Shown() = default;
  /// Reads the status again. Returns a message if the source has ended, otherwise an empty text.
  virtual std::string update() = 0;
  [[nodiscard]] virtual std::string text(TaskOrder order, report::Room room, bool colours) const = 0;
  [[nodiscard]] virtual nlohmann::json json() const = 0;
};

class ShownRun final : public Shown {
 public:
  explicit ShownRun(StatusPage page) : page_(std::move(page)) {}

  std::string update() override {
    const bool is_last = page_.is_last(); // checked before reading, so that the last page is read
    snapshot_ = must(page_.read());
    if (snapshot_.run.ended != 0) return "The run has ended (" + snapshot_.run.stopped_by.text() + ").";
    return is_last ? "The run's process ended without a report." : "";
  }
  [[nodiscard]] std::string text(TaskOrder order, report::Room room, bool colours) const override {
    return view(snapshot_, page_.owner().process, order, room, colours);
  }
  [[nodiscard]] nlohmann::json json() const override { return to_json(snapshot_, page_.owner().process); }

 private:
  StatusPage page_;
  Snapshot snapshot_;
};

class ShownDaemon final : public Shown {
 public:
  explicit ShownDaemon(daemon::StatusReader reader) : reader_(std::move(reader)) {}

  std::string update() override {
    auto status = reader_.read();
    if (!status && status.error().code == Errc::cancelled) return status.error().what + ".";
    before_ = std::exchange(status_, must(std::move(status)));
    return {};
  }
  [[nodiscard]] std::string text(TaskOrder order, report::Room room, bool colours) const override {
    return status_ ? view(*status_, before_, order, room, colours) : std::string();
  }
  [[nodiscard]] nlohmann::json json() const override { return status_ ? to_json(*status_, before_) : nullptr; }

 private:
  daemon::StatusReader reader_;
  std::optional<daemon::ServerStatus> status_, before_;
};

/// Prints the complete view. On a terminal, the view has the terminal's width.
void print_view(std::ostream& out, const Shown& shown, TaskOrder order) {
  report::Room room;
  if (const auto terminal = terminal_of(out)) room.columns = terminal->columns;
  out << shown.text(order, room, report::has_colours(out));
}

/// Shows the view until its source ends or the user quits.
class Viewer {
 public:
  Viewer(Shown& shown, Duration interval) : shown_(shown), interval_(interval) {}

  /// Redraws the view on a terminal until the end.
  void watch() {
    std::string end;
    {
      Screen screen;
      for (bool quit = false; !quit && (end = shown_.update()).empty();) {
        report::Room room = Screen::room();
        --room.lines; // a line for the help on keys
        screen.show(shown_.text(order_, room, report::has_colours(std::cout)) + keys);
        quit = !stays(screen);
      }
    }
    if (!end.empty()) print(end);
  }

  /// Prints one view after the other, if there is no terminal.
  void list() {
    for (;;) {
      const std::string end = shown_.update();
      print(end);
      if (!end.empty() || !std::cout) return;
      hal::sleep_until(hal::now() + interval_);
    }
  }

 private:
  void print(const std::string& end) const {
    print_view(std::cout, shown_, order_);
    std::cout << end << std::endl;
  }

  static constexpr const char* keys = "q: quit, s: sort\n";

  /// Waits until the next update. Returns false if the user quits.
  bool stays(Screen& screen) {
    const Screen::Event event = screen.wait(interval_);
    if (event == Screen::Event::sort) order_ = next(order_);
    return event != Screen::Event::quit;
  }

  Shown& shown_;
  Duration interval_;
  TaskOrder order_ = TaskOrder::as_listed;
};

void show_once(Shown& shown, const TopOptions& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  const std::string end = shown.update();
  std::ostream& out = text_output(options.json);
  print_view(out, shown, TaskOrder::as_listed);
  if (!end.empty()) out << end << '\n';
  must(write_json(json_file, shown.json()));
}

std::unique_ptr<Shown> find(const TopOptions& options) {
  if (options.daemon.empty())
    if (auto page = choose(options.which)) return std::make_unique<ShownRun>(std::move(*page));
  auto daemon = daemon::StatusReader::connect(options.daemon.empty() ? usual_daemon : options.daemon);
  if (!daemon && daemon.error().code == Errc::cancelled && options.daemon.empty()) nobody({});
  return std::make_unique<ShownDaemon>(must(std::move(daemon)));
}

void top(const TopOptions& options) {
  const Duration interval = value_of("--interval", options.interval, parse_duration);
  if (interval < std::chrono::milliseconds(10) || interval > std::chrono::hours(1))
    give_up(Errc::bad_input, "--interval " + options.interval + ": from 10ms to 1h");
  const std::unique_ptr<Shown> shown = find(options);
  if (options.once) return show_once(*shown, options);
  Viewer viewer(*shown, interval);
  if (terminal_of(std::cout)) viewer.watch();
  else viewer.list();
}

} // namespace

void add_top(const Command& program) {
  const Command command = program.add(
      "top",
      "Show the tasks, device and deadline misses of a running task set, or the clients of the daemon rtexecd, live");
  const auto options = std::make_shared<TopOptions>();
  const Option which =
      command.option("which", options->which, "PID",
                     "Process that runs the task set; PID.NUMBER if the process has several executives. Default: the "
                     "only run on this machine, or if there is none the daemon");
  command
      .option("--daemon", options->daemon, "FOLDER",
              std::string("Show the clients of the daemon rtexecd whose socket is in this folder, the [daemon] "
                          "directory of its file (default: ") +
                  usual_daemon + ")")
      .not_empty()
      .excludes(which);
  const Option once = command.flag("--once", options->once, "Print the current state once and exit");
  command
      .option("--interval", options->interval, "DURATION",
              "Time between two updates of the view, from 10ms to 1h; a run updates its figures twice a second")
      .default_shown();
  command.json(options->json).needs(once);
  command.on_run([options] { top(*options); });
}

} // namespace rtexec::command
