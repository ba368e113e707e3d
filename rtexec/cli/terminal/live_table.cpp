#include "rtexec/cli/terminal/live_table.hpp"

#include "rtexec/cli/terminal/terminal.hpp"
#include "rtexec/cli/reports/report_text.hpp"

#include <algorithm>
#include <ostream>
#include <sstream>
#include <utility>

namespace rtexec::command {

namespace {

/// Returns the table. Its columns are in the order of importance, because a narrow terminal shows only the first
/// columns.
Table table_of(const Report& progress) {
  Table table(
      {"task", "missed", "response", "deadline", "max/deadline", "> WCET", "p50", "released", "completed", "skipped"});
  for (const TaskReport& task : progress.tasks)
    table.add(
        {task.name, std::to_string(task.missed), readable(task.response.max), readable(task.deadline),
         bar(task.response.max, task.deadline), std::to_string(task.above_wcet.all()), readable(task.response.p50),
         std::to_string(task.released), std::to_string(task.completed), std::to_string(task.skipped)},
        tone_of(task.missed, task.above_wcet));
  return table;
}

std::vector<Reactions> reactions_of(const Report& progress) {
  std::vector<Reactions> all;
  for (const ChainReport& chain : progress.chains)
    all.push_back({.chain = chain.name,
                   .longest = chain.reaction.times.max,
                   .bound = chain.reaction.bound,
                   .count = chain.reaction.count,
                   .above = chain.reaction.violations});
  return all;
}

/// Returns the size available for the table, without the two lines for the title and the cursor.
report::Room beside_title(report::Room all) {
  return {.columns = all.columns, .lines = all.lines - std::min<std::size_t>(all.lines, 2)};
}

/// Returns the codes that move the cursor to the beginning of the last table and erase it.
std::string drawn_over(std::size_t lines) { return lines > 0 ? "\r\033[" + std::to_string(lines) + "A\033[J" : ""; }

/// Returns the terminal codes that are needed after the terminal's size has changed, because the position of the last
/// table is then unknown. All visible lines scroll off the screen, and the next table begins at the top.
std::string scrolled_away(std::size_t lines) {
  return "\033[" + std::to_string(lines) + ";1H" + std::string(lines, '\n') + "\033[H";
}

} // namespace

LiveTable::LiveTable(std::ostream& out) : out_(out), terminal_(terminal_of(out)) {}

LiveTable::~LiveTable() {
  if (terminal_) out_ << "\r\033[J" << std::flush; // erases the echo of a key, for example "^C"
}

void LiveTable::show(const Report& progress, std::optional<Duration> duration) {
  std::ostringstream text;
  report::use_colours(text, report::has_colours(out_));
  const auto before = std::exchange(terminal_, terminal_of(out_));
  const report::Room room = terminal_.value_or(report::Room{});
  text << report::cut(readable(progress.elapsed) + (duration ? " of " + readable(*duration) : "") +
                          "; longest responses and their median",
                      room.columns)
       << '\n';
  table_of(progress).print(text, beside_title(room));
  print_below(text, reactions_of(progress), progress.tasks.size(), beside_title(room));

  if (terminal_) out_ << (terminal_ == before ? drawn_over(lines_) : scrolled_away(terminal_->lines));
  out_ << text.str() << std::flush;
  lines_ = static_cast<std::size_t>(std::ranges::count(text.str(), '\n'));
}

void LiveTable::make_room() {
  if (terminal_) out_ << drawn_over(std::exchange(lines_, 0)) << std::flush;
}

} // namespace rtexec::command
