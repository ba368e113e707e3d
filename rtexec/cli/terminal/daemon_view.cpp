#include "config/base/text.hpp"
#include "rtexec/cli/terminal/daemon_view.hpp"

#include "rtexec/cli/reports/report_text.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

namespace rtexec::command {

using daemon::ServerStatus;
using nlohmann::json;
using protocol::StatusPart;
using protocol::view;

namespace {

/// Rates of a client: increases per second since the previous status.
struct Rates {
  double jobs = 0, device = 0, in = 0, out = 0; // `device` is a share of time, `in` and `out` are bytes
};

const char* describe(protocol::Activity activity) {
  switch (activity) {
  case protocol::Activity::idle: return "idle";
  case protocol::Activity::waits: return "waits";
  case protocol::Activity::loads: return "loads";
  case protocol::Activity::runs: return "runs";
  case protocol::Activity::leaves: return "leaves";
  }
  std::unreachable();
}

struct Row {
  const StatusPart& client;
  Bytes chunk;
  std::optional<Rates> rates;
};

std::optional<Rates> rates_of(const StatusPart& client, const ServerStatus& status,
                              const std::optional<ServerStatus>& before) {
  if (!before || before->daemon.process != status.daemon.process) return std::nullopt;
  const auto old = std::ranges::find_if(before->clients, [&](const StatusPart& each) {
    return each.place == client.place && each.process == client.process && each.jobs <= client.jobs;
  });
  const double seconds = static_cast<double>(status.daemon.now_ns - before->daemon.now_ns) * 1e-9;
  if (old == before->clients.end() || seconds <= 0) return std::nullopt;
  const auto more = [&](auto member) {
    return static_cast<double>(client.*member) - static_cast<double>((*old).*member);
  };
  const double chunk = static_cast<double>(status.daemon.chunk_bytes);
  return Rates{.jobs = more(&StatusPart::jobs) / seconds,
               .device = more(&StatusPart::executed_ns) * 1e-9 / seconds,
               .in = more(&StatusPart::loaded) * chunk / seconds,
               .out = more(&StatusPart::saved) * chunk / seconds};
}

std::vector<Row> rows_of(const ServerStatus& status, const std::optional<ServerStatus>& before, TaskOrder order) {
  std::vector<Row> rows;
  for (const StatusPart& client : status.clients)
    rows.push_back({client, Bytes{status.daemon.chunk_bytes}, rates_of(client, status, before)});
  std::vector<std::size_t> by(rows.size());
  for (std::size_t i = 0; i < by.size(); ++i) by[i] = i;
  const auto closeness = [](const StatusPart& client) {
    return client.deadline_ns == 0
               ? 0.0
               : static_cast<double>(client.longest_response_ns) / static_cast<double>(client.deadline_ns);
  };
  std::ranges::stable_sort(by, std::greater<>(), [&](std::size_t i) -> double {
    switch (order) {
    case TaskOrder::as_listed: return 0;
    case TaskOrder::by_misses: return static_cast<double>(rows[i].client.missed);
    case TaskOrder::by_closeness: return closeness(rows[i].client);
    case TaskOrder::by_device: return rows[i].rates.value_or(Rates{}).device;
    }
    std::unreachable();
  });
  std::vector<Row> sorted;
  for (const std::size_t i : by) sorted.push_back(rows[i]);
  return sorted;
}

std::string time_or_none(std::int64_t ns) { return ns == 0 ? "-" : readable(Duration(ns)); }
std::string rounded(double value) { return config::fixed(value, value < 10 ? 1 : 0); }
std::string speed(double bytes) {
  return readable(Bytes{static_cast<std::uint64_t>(std::llround(std::max(bytes, 0.0)))}) + "/s";
}

/// A column of the table. The columns are listed in the order of importance, because a narrow terminal shows only the
/// first columns.
struct Column {
  const char* title;
  std::string (*cell)(const Row&);
  bool rate = false;
};
constexpr Column client_columns[] = {
    {"client", [](const Row& row) { return std::string(view(row.client.name)); }},
    {"process", [](const Row& row) { return std::to_string(row.client.process); }},
    {"now", [](const Row& row) { return std::string(describe(row.client.activity)); }},
    {"missed",
     [](const Row& row) { return row.client.declared == 0 ? std::string("-") : std::to_string(row.client.missed); }},
    {"response", [](const Row& row) { return time_or_none(row.client.longest_response_ns); }},
    {"deadline", [](const Row& row) { return time_or_none(row.client.deadline_ns); }},
    {"memory", [](const Row& row) { return readable(row.chunk * row.client.slots); }},
    {"resident", [](const Row& row) { return readable(row.chunk * row.client.resident); }},
    {"limit", [](const Row& row) { return readable(row.chunk * row.client.limit_slots); }},
    {"jobs/s", [](const Row& row) { return row.rates ? rounded(row.rates->jobs) : std::string("-"); }, true},
    {"device use",
     [](const Row& row) {
       return row.rates ? std::to_string(std::lround(100 * row.rates->device)) + " %" : std::string("-");
     },
     true},
    {"swapped in", [](const Row& row) { return row.rates ? speed(row.rates->in) : std::string("-"); }, true},
    {"out", [](const Row& row) { return row.rates ? speed(row.rates->out) : std::string("-"); }, true},
    {"jobs", [](const Row& row) { return std::to_string(row.client.jobs); }},
    {"period", [](const Row& row) { return time_or_none(row.client.period_ns); }},
    {"bound", [](const Row& row) { return time_or_none(row.client.response_bound_ns); }},
    {"WCET", [](const Row& row) { return time_or_none(row.client.wcet_ns); }},
    {"> WCET", [](const Row& row) { return std::to_string(row.client.overruns); }},
    {"longest", [](const Row& row) { return time_or_none(row.client.longest_execution_ns); }},
    {"failed", [](const Row& row) { return std::to_string(row.client.failed); }},
    {"in all", [](const Row& row) { return readable(Bytes{row.chunk.count * row.client.loaded}); }},
    {"out all", [](const Row& row) { return readable(Bytes{row.chunk.count * row.client.saved}); }},
    {"violations", [](const Row& row) { return std::to_string(row.client.violations); }},
    {"place", [](const Row& row) { return std::to_string(row.client.place); }},
    {"executable", [](const Row& row) { return std::string(view(row.client.executable)); }},
};

Table table_of(const std::vector<Row>& rows, bool rates) {
  std::vector<std::string> titles;
  for (const Column& column : client_columns)
    if (rates || !column.rate) titles.emplace_back(column.title);
  Table table(std::move(titles));
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    for (const Column& column : client_columns)
      if (rates || !column.rate) cells.push_back(column.cell(row));
    const bool bad = row.client.missed > 0;
    const bool odd = row.client.overruns + row.client.failed + row.client.violations > 0;
    table.add(std::move(cells), bad ? Tone::bad : odd ? Tone::warning : Tone::plain);
  }
  return table;
}

std::vector<std::string> above(const ServerStatus& status) {
  const auto& daemon = status.daemon;
  const Bytes chunk{daemon.chunk_bytes};
  std::uint64_t slots = 0, resident = 0;
  for (const StatusPart& client : status.clients) {
    slots += client.slots;
    resident += client.resident;
  }
  const bool shared = daemon.mode == protocol::Mode::shared_chunks;
  return {"rtexecd " + std::string(view(daemon.release)) + ", process " + std::to_string(daemon.process) + ": " +
              readable(Duration(daemon.now_ns - daemon.started_ns)) + ", " + std::to_string(status.clients.size()) +
              " of " + std::to_string(daemon.places) + " clients; " + std::to_string(daemon.came) + " came, " +
              std::to_string(daemon.refused) + " refused, " + std::to_string(daemon.expelled) + " expelled",
          "Device: " + readable(chunk * daemon.frames) + " in chunks of " + readable(chunk) +
              (shared ? ", shared" : ", each client's own") + "; clients have " + readable(Bytes{chunk.count * slots}) +
              ", " + readable(Bytes{chunk.count * resident}) + " of it there, " + readable(chunk * daemon.free_frames) +
              " are free; order " + std::string(view(daemon.order)) + ", swapped by " +
              std::string(view(daemon.policy))};
}

json to_json(const Row& row) {
  const StatusPart& client = row.client;
  const auto time = [](std::int64_t ns) { return ns == 0 ? json(nullptr) : json(ns); };
  json rates = nullptr;
  if (row.rates)
    rates = {{"jobs", row.rates->jobs},
             {"device_share", row.rates->device},
             {"in_bytes", row.rates->in},
             {"out_bytes", row.rates->out}};
  return {{"name", view(client.name)},
          {"process", client.process},
          {"place", client.place},
          {"executable", view(client.executable)},
          {"state", describe(client.activity)},
          {"declared", client.declared != 0},
          {"memory_bytes", row.chunk.count * client.slots},
          {"resident_bytes", row.chunk.count * client.resident},
          {"limit_bytes", row.chunk.count * client.limit_slots},
          {"period_ns", time(client.period_ns)},
          {"deadline_ns", time(client.deadline_ns)},
          {"wcet_ns", time(client.wcet_ns)},
          {"response_bound_ns", time(client.response_bound_ns)},
          {"jobs", client.jobs},
          {"missed", client.missed},
          {"above_wcet", client.overruns},
          {"failed", client.failed},
          {"violations", client.violations},
          {"response_ns", {{"max", client.longest_response_ns}}},
          {"execution_ns", {{"max", client.longest_execution_ns}, {"total", client.executed_ns}}},
          {"swap", {{"in_bytes", row.chunk.count * client.loaded}, {"out_bytes", row.chunk.count * client.saved}}},
          {"per_second", rates}};
}

} // namespace

std::string view(const ServerStatus& status, const std::optional<ServerStatus>& before, TaskOrder order,
                 report::Room room, bool colours) {
  const std::vector<Row> rows = rows_of(status, before, order);
  std::ostringstream out;
  report::use_colours(out, colours);
  const bool whole = room.lines == report::Room{}.lines;
  std::vector<std::string> head;
  for (const std::string& line : above(status))
    for (std::string& part : report::wrapped(line, room.columns)) head.push_back(std::move(part));
  room.lines = std::max<std::size_t>(room.lines, 4);
  head.resize(std::min(head.size(), room.lines - std::min(rows.size() + 1, room.lines / 2 + 1)));
  for (const std::string& line : head) out << line << '\n';
  room.lines -= head.size();
  if (rows.empty()) return out.str();
  report::limit_columns(out, room.columns);
  const Table table = table_of(rows, before.has_value());
  whole ? table.print(out) : table.print(out, room);
  return out.str();
}

json to_json(const ServerStatus& status, const std::optional<ServerStatus>& before) {
  const auto& daemon = status.daemon;
  json clients = json::array();
  for (const Row& row : rows_of(status, before, TaskOrder::as_listed)) clients.push_back(to_json(row));
  return {{"daemon",
           {{"release", view(daemon.release)},
            {"process", daemon.process},
            {"running_ns", daemon.now_ns - daemon.started_ns},
            {"order", view(daemon.order)},
            {"swap_policy", view(daemon.policy)},
            {"chunks", daemon.mode == protocol::Mode::shared_chunks ? "shared" : "separate"},
            {"chunk_bytes", daemon.chunk_bytes},
            {"capacity_bytes", daemon.chunk_bytes * daemon.frames},
            {"free_bytes", daemon.chunk_bytes * daemon.free_frames},
            {"places", daemon.places},
            {"came", daemon.came},
            {"refused", daemon.refused},
            {"expelled", daemon.expelled}}},
          {"clients", clients}};
}

} // namespace rtexec::command
