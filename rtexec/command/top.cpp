#include "rtexec/command/command.hpp"
#include "rtexec/command/screen.hpp"
#include "rtexec/command/status_view.hpp"
#include "rtexec/command/terminal.hpp"
#include "rtexec/command/text.hpp"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace rtexec::command {

namespace {

using executive::Snapshot;
using executive::StatusPage;

struct Options {
  std::string which;
  std::string interval = "1s";
  std::string json;
  bool once = false;
};

/// "PID.NUMBER", as the page's file is called.
std::string id_of(const std::filesystem::path& file) {
  return file.filename().string().substr(std::string_view("rtexec.").size());
}

bool is_named(const std::filesystem::path& file, const std::string& which) {
  const std::string id = id_of(file);
  return which.empty() || id == which || id.substr(0, id.find('.')) == which;
}

[[noreturn]] void nobody(const std::string& which) {
  const std::string hint = "\n  a run is shown from its start (`rtexec run`), to its user and to root";
  if (which.empty()) give_up(Errc::refused, "no executive is running" + hint);
  give_up(Errc::bad_input,
          "process " + which + " runs no executive: `rtexec top` without a number finds those that run" + hint);
}

[[noreturn]] void several(const std::vector<StatusPage>& pages) {
  std::string text = "several executives are running; choose one:";
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

/// The one that was asked for, or the only one. Those of runs that were killed are removed.
StatusPage choose(const std::string& which) {
  for (const auto& file : executive::remove_stale_pages(executive::shared_memory_folder))
    std::cerr << "rtexec: removed " << file.string() << ", which a run that was killed left behind\n";
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
  nobody(which);
}

/// How it ended; empty: it goes on.
std::string end_of(const Snapshot& snapshot, bool is_last) {
  if (snapshot.run.ended != 0) return "The run has ended (" + snapshot.run.stopped_by.text() + ").";
  return is_last ? "The run's process is gone, without a report." : "";
}

/// All of it, as wide as the terminal where there is one.
void print_view(std::ostream& out, const Snapshot& snapshot, unsigned process, TaskOrder order) {
  report::Room room;
  if (const auto terminal = terminal_of(out)) room.columns = terminal->columns;
  out << view(snapshot, process, order, room, report::has_colours(out));
}

/// Shows a run until it ends or the user wants no more.
class Viewer {
 public:
  Viewer(const StatusPage& page, Duration interval) : page_(page), interval_(interval) {}

  /// On a terminal, all of it.
  void watch() {
    std::string end;
    {
      Screen screen;
      for (bool quit = false; !quit && (end = update()).empty();) {
        report::Room room = Screen::room();
        --room.lines; // of the keys
        screen.show(view(snapshot_, page_.owner().process, order_, room, report::has_colours(std::cout)) + keys);
        quit = !stays(screen);
      }
    }
    if (!end.empty()) print(end);
  }

  /// Elsewhere: one after the other.
  void list() {
    for (;;) {
      const std::string end = update();
      print(end);
      if (!end.empty() || !std::cout) return;
      hal::sleep_until(hal::now() + interval_);
    }
  }

 private:
  void print(const std::string& end) const {
    print_view(std::cout, snapshot_, page_.owner().process, order_);
    std::cout << end << std::endl;
  }

  static constexpr const char* keys = "q: quit, s: sort\n";

  /// How the run ended, if it did.
  std::string update() {
    const bool is_last = page_.is_last(); // before it is read: then what is read is the last
    snapshot_ = must(page_.read());
    return end_of(snapshot_, is_last);
  }

  /// Until the next update; false when the user wants no more.
  bool stays(Screen& screen) {
    const Screen::Event event = screen.wait(interval_);
    if (event == Screen::Event::sort) order_ = next(order_);
    return event != Screen::Event::quit;
  }

  const StatusPage& page_;
  Duration interval_;
  Snapshot snapshot_;
  TaskOrder order_ = TaskOrder::as_listed;
};

void show_once(const StatusPage& page, const Options& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  const bool is_last = page.is_last();
  const Snapshot snapshot = must(page.read());
  const std::string end = end_of(snapshot, is_last);
  std::ostream& out = text_output(options.json);
  print_view(out, snapshot, page.owner().process, TaskOrder::as_listed);
  if (!end.empty()) out << end << '\n';
  must(write_json(json_file, to_json(snapshot, page.owner().process)));
}

void top(const Options& options) {
  const Duration interval = value_of("--interval", options.interval, parse_duration);
  if (interval < std::chrono::milliseconds(10) || interval > std::chrono::hours(1))
    give_up(Errc::bad_input, "--interval " + options.interval + ": from 10ms to 1h");
  const StatusPage page = choose(options.which);
  if (options.once) return show_once(page, options);
  Viewer viewer(page, interval);
  if (terminal_of(std::cout)) viewer.watch();
  else viewer.list();
}

} // namespace

void add_top(const Command& program) {
  const Command command = program.add("top", "Show a running executive: its tasks, its device, what it missed");
  const auto options = std::make_shared<Options>();
  command.option("which", options->which, "PID",
                 "The process that runs it; where it runs several, as PID.NUMBER. Absent: the only one");
  const Option once = command.flag("--once", options->once, "Show it once, and no more");
  command
      .option("--interval", options->interval, "DURATION",
              "From one view to the next; figures are renewed twice a second")
      .default_shown();
  command.json(options->json).needs(once);
  command.on_run([options] { top(*options); });
}

} // namespace rtexec::command
