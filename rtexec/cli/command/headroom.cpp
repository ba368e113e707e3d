#include "config/base/text.hpp"
#include "rtexec/cli/command/headroom.hpp"

#include "rtexec/cli/terminal/progress.hpp"
#include "rtexec/cli/reports/report_text.hpp"

#include <chrono>
#include <ostream>

namespace rtexec::command {

using nlohmann::json;
using policies::Edge;
using policies::Factor;
using policies::Sensitivity;

namespace {

constexpr std::chrono::seconds progress_delay{1};

/// Returns the factor as text, exactly and without trailing zeros: "1.2345".
std::string text(Factor factor) {
  std::string result = config::fixed(factor.value(), 5);
  result.erase(result.find_last_not_of('0') + 1);
  return result.ends_with('.') ? result + '0' : result;
}
std::string text(Bytes bytes) { return readable(bytes); }

template <class Value> std::string text(const std::optional<Value>& value) { return value ? text(*value) : "-"; }

std::string reason(const Edge<Factor>& edge) { return edge.reason.empty() ? "-" : edge.reason; }

void add_row(Table& table, const std::string& who, const Edge<Factor>& wcet, const Edge<Factor>& period) {
  table.add({who, text(wcet.proved), text(wcet.not_proved), reason(wcet), text(period.proved), text(period.not_proved),
             reason(period)});
}

/// Returns a text with the limit of the proof: the last value that is proved, then the next value, which is not proved,
/// and why it is not proved. Example: "0.5 (not 0.499: task 'rear')".
template <class Value> std::string sentence(const Edge<Value>& edge) {
  if (!edge.proved) return "not even " + text(edge.not_proved) + ": " + edge.reason;
  return text(*edge.proved) +
         (edge.not_proved ? " (not " + text(*edge.not_proved) + ": " + edge.reason + ")" : ", and no search beyond");
}

json number(Factor factor) { return factor.value(); }
json number(Bytes bytes) { return bytes.count; }

template <class Value> json to_json(const Edge<Value>& edge) {
  const auto nullable = [](const std::optional<Value>& value) { return value ? number(*value) : json(nullptr); };
  return {{"proved", nullable(edge.proved)}, {"not_proved", nullable(edge.not_proved)}, {"reason", edge.reason}};
}

json to_json(const std::optional<Edge<Factor>>& edge) { return edge ? to_json(*edge) : json(nullptr); }

json by_task(const Sensitivity& room, const std::optional<Edge<Factor>>& all,
             Edge<Factor> policies::TaskSensitivity::*each) {
  if (!all) return nullptr;
  json tasks = json::object();
  for (const policies::TaskSensitivity& task : room.tasks) tasks[task.name] = to_json(task.*each);
  return {{"all", to_json(*all)}, {"by_task", tasks}};
}

} // namespace

Sensitivity find_headroom(const PlannedSet& planned) {
  Progress progress;
  const auto begin = std::chrono::steady_clock::now();
  bool shown = false;
  return policies::sensitivity(planned, planned.plan, [&](std::size_t done, std::size_t all) {
    shown = shown || (done < all && std::chrono::steady_clock::now() - begin > progress_delay);
    if (shown) static_cast<void>(progress("looking for headroom", done, all, "quantities"));
  });
}

void print_headroom(std::ostream& out, const Sensitivity& room) {
  out << "Headroom: by which factor one quantity alone can change so that the set is still proved, and the next factor "
         "that is not (steps of 0.1 %, from 0.01 to 100)\n";
  if (room.wcet && room.period) {
    Table table({"task", "wcet proved", "not proved", "limits", "period proved", "not proved", "limits"});
    for (const policies::TaskSensitivity& task : room.tasks) add_row(table, task.name, task.wcet, task.period);
    add_row(table, "(all)", *room.wcet, *room.period);
    table.print(out);
    out << "  wcet of one task: its device part, or its CPU parts if it has none; of all: every part\n";
  }
  if (room.bandwidth) out << "Copy bandwidth: " << sentence(*room.bandwidth) << '\n';
  if (room.wcet_to_prove) out << "To prove the set, all wcets by: " << sentence(*room.wcet_to_prove) << '\n';
  out << (room.wcet_to_prove ? "To prove the set, device memory: " : "Device memory: ") << sentence(room.capacity)
      << '\n';
}

json to_json(const Sensitivity& room) {
  return {{"wcet_factor", by_task(room, room.wcet, &policies::TaskSensitivity::wcet)},
          {"period_factor", by_task(room, room.period, &policies::TaskSensitivity::period)},
          {"bandwidth_factor", to_json(room.bandwidth)},
          {"wcet_factor_to_prove", to_json(room.wcet_to_prove)},
          {"capacity_bytes", to_json(room.capacity)}};
}

} // namespace rtexec::command
