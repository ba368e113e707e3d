#include "rtexec/command/live_table.hpp"

#include "rtexec/command/text.hpp"

#include <algorithm>
#include <ostream>
#include <sstream>

namespace rtexec::command {

void LiveTable::show(const Report& progress, std::optional<Duration> duration) {
  std::ostringstream text;
  text << readable(progress.elapsed) << (duration ? " of " + readable(*duration) : "") << '\n';
  Table table(
      {"task", "released", "completed", "missed", "skipped", "response p50", "max", "deadline", "max/deadline"});
  for (const TaskReport& task : progress.tasks)
    table.add({task.name, std::to_string(task.released), std::to_string(task.completed), std::to_string(task.missed),
               std::to_string(task.skipped), readable(task.response.p50), readable(task.response.max),
               readable(task.deadline), bar(task.response.max, task.deadline)});
  table.print(text);

  const std::string shown = text.str();
  if (terminal_ && lines_ > 0) out_ << "\033[" << lines_ << "A\033[J";
  out_ << shown << std::flush;
  lines_ = static_cast<std::size_t>(std::ranges::count(shown, '\n'));
}

} // namespace rtexec::command
