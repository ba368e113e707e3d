// The keys of the daemon's settings file.
#include "config/daemon_settings.hpp"

#include "config/toml_readers.hpp"
#include "config/schema.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>

namespace rtexec::config {
namespace {

using namespace std::chrono_literals;

constexpr unsigned max_places = 256;
constexpr Duration shortest_period = 100us;
constexpr int lowest_priority = 1;
constexpr int highest_priority = 99;

std::vector<Key<DaemonSettings>> top_keys() {
  return {key<DaemonSettings>("board", text(), "the board: the name of a built-in board, or the path of a board file",
                              &DaemonSettings::board)};
}

std::vector<Key<DaemonOptions>> option_keys() {
  using D = DaemonOptions;
  return {
      key<D>("directory", path(),
             "folder of the daemon's socket. The daemon creates it with mode 0700, or 0750 if group is given",
             &D::directory),
      optional_text<D>("group", "none: only the user who runs the daemon may connect",
                       "Unix group whose members may connect as clients, in addition to the user who runs the daemon",
                       &D::group),
      optional_text<D>("metrics", "none: no statistics are published",
                       "address, such as \"127.0.0.1:9464\", on which Prometheus reads statistics of the clients by "
                       "HTTP. Anyone who can connect to it sees the clients' names, limits and deadline misses",
                       &D::metrics),
      key<D>("places", integer<unsigned>(1, max_places),
             "maximum number of clients that are connected at the same time", &D::places),
      key<D>("order", one_of<Order>(),
             "order in which jobs get the device: edf: earliest deadline first; static-priority: the client with the "
             "highest priority first. Clients without a deadline come last",
             &D::order),
      key<D>("priorities", one_of<PriorityAssignment>(),
             "how priorities are assigned with order = \"static-priority\": rate-monotonic: the shorter period is more "
             "urgent; deadline-monotonic: the shorter deadline is more urgent; explicit: each client declares its "
             "priority; audsley: by Audsley's search",
             &D::priorities),
      key<D>("chunks", one_of<ChunkSharing>(),
             "how clients get physical device memory: shared: the daemon allocates all chunks once and passes them "
             "from client to client without clearing, so clients may see each other's data; separate: each client "
             "allocates and frees its own chunks; auto: shared if the driver supports it, otherwise separate",
             &D::chunks),
      key<D>("best_effort_wcet", duration(1us, longest_interval),
             "maximum execution time of a job of a client without a deadline; such a job blocks all other clients. A "
             "longer job is counted, and other clients may miss promised deadlines",
             &D::best_effort_wcet),
      renamed("patience",
              key<D>("command_timeout", duration(1ms, longest_interval),
                     "maximum time in which a client must answer a command of the daemon; after it the daemon ends the "
                     "client. A client that hangs thus delays the others once, by at most this time",
                     &D::command_timeout)),
      key<D>("stuck_after", duration(1ms, longest_interval),
             "maximum time for which a client may hold the device beyond its WCET while other clients wait; after it "
             "the daemon ends the client. With on_overrun = \"stop\" the daemon ends it immediately",
             &D::stuck_after),
      key<D>("keep_awake", boolean(),
             "true: keep the machine's cores out of idle states. Clients get the device faster, especially in a "
             "virtual machine, and the machine uses more power",
             &D::keep_awake),
  };
}

std::vector<Key<DeviceOptions>> device_keys() {
  using D = DeviceOptions;
  return {key<D>("capacity", pages(), "all memory of the board's device",
                 "device memory that all clients together may use; a multiple of the chunk size", &D::capacity),
          key<D>("chunk", word_or("auto", pages()),
                 "chunk size: the unit in which physical device memory is allocated and swapped; auto: the chunk size "
                 "of the board file",
                 &D::chunk)};
}

constexpr auto policies = std::to_array<Spelling<SwapPolicy>>({{spelling(SwapPolicy::pipelined), SwapPolicy::pipelined},
                                                               {spelling(SwapPolicy::serial), SwapPolicy::serial},
                                                               {spelling(SwapPolicy::rt_swap), SwapPolicy::rt_swap},
                                                               {spelling(SwapPolicy::none), SwapPolicy::none}});

std::vector<Key<DaemonSettings>> swap_keys() {
  return {
      key<DaemonSettings>("policy", one_of<SwapPolicy>(policies),
                          "how clients share device memory that is too small for all of them: pipelined: the memory of "
                          "the next job is loaded while a job executes; serial: memory is loaded only for the most "
                          "urgent job; rt-swap: RT-Swap as published (RTSS 2023); none: all memory must fit",
                          &DaemonSettings::swap)};
}

/// Makes a key of ClientRule::declaration, which the daemon uses in place of a client's own declaration.
template <class T, class Member>
Key<ClientRule> declared(std::string_view name, const Type<T>& type, std::string_view fallback,
                         std::string_view meaning, Member member) {
  return key<ClientRule>(
      name, type, fallback, meaning,
      [=](const ClientRule& rule) -> std::optional<T> {
        if (!rule.declaration) return std::nullopt;
        return std::invoke(member, *rule.declaration);
      },
      [=](ClientRule& rule, const T& value) {
        if (!rule.declaration) rule.declaration.emplace();
        std::invoke(member, *rule.declaration) = value;
      });
}

std::vector<Key<ClientRule>> client_keys() {
  using C = ClientRule;
  using D = ClientDeclaration;
  return {
      optional_text<C>("name", "any name",
                       "the rule applies to processes whose environment variable RTEXEC_CLIENT has this value. If "
                       "several rules match a process, the first one applies",
                       &C::name),
      key<C>("executable", path(), "any program",
             "the rule applies to processes that execute this file: the target of /proc/PID/exe, an absolute path",
             &C::executable),
      key<C>(
          "memory", bytes(), "all device memory", "maximum device memory of each process to which the rule applies",
          [](const C& rule) { return rule.memory; }, [](C& rule, Bytes value) { rule.memory = value; }),
      declared("period", period(shortest_period, longest_interval),
               "the process's own declaration; without one the client is best-effort, without a deadline",
               "minimum time between the releases of two jobs, or the maximum frequency (\"30Hz\")", &D::period),
      declared(
          "deadline", duration(1ns, longest_interval), "the period",
          "relative deadline: maximum time from the release of a job to its end; a job is released by its request, "
          "at the earliest a period after the previous release; needs period",
          &D::deadline),
      declared("wcet", duration(1ns, longest_interval), "the process's own declaration; required if period is given",
               "worst-case execution time of a job that executes alone on the device with its memory already loaded",
               &D::wcet),
      declared("gap", duration(0ns, longest_interval), "0ns",
               "maximum pause within a job: if the program submits new work within this time after it has synchronised "
               "with the device, the work belongs to the same job. The job holds the device during the pause, and the "
               "pause counts as execution time (wcet)",
               &D::gap),
      declared("priority", integer<int>(lowest_priority, highest_priority),
               "none; required with priorities = \"explicit\"",
               "static priority of the client; a larger number is more urgent. Only with order = \"static-priority\" "
               "and priorities = \"explicit\" in [daemon]",
               &D::priority),
      declared("on_overrun", one_of<OnWcetExceeded>(), toml_string(spelling(OnWcetExceeded::tell)),
               "reaction to a job that takes longer than its wcet: tell: it is counted, without a further reaction; "
               "skip-next: the client's next job is also released one period later; stop: the daemon ends the process",
               &D::on_overrun),
  };
}

void complete_client(const Table& given, const KeyPath& place, ClientRule& client, Report& report) {
  const auto at = [&](std::string_view key) { return KeyPath{.table = place.table, .index = place.index, .key = key}; };
  const bool periodic = find(given, "period") != nullptr;
  for (const std::string_view key : {"deadline", "wcet", "gap", "priority", "on_overrun"})
    if (find(given, key) != nullptr && !periodic)
      report.relation({at(key), at("period")}, std::string(key) + ": needs a period too");
  if (periodic && find(given, "wcet") == nullptr)
    report.relation({at("period"), at("wcet")}, "period: needs wcet too; without it no deadline can be promised");
  if (periodic && client.declaration && find(given, "deadline") == nullptr)
    client.declaration->deadline = client.declaration->period;
}

void check_priority(const ClientRule& client, const DaemonOptions& daemon, const Rules& rules, Report& report) {
  const KeyPath assigned{.table = "daemon", .index = 0, .key = "priorities"};
  const bool is_explicit =
      daemon.order == Order::static_priority && daemon.priorities == PriorityAssignment::explicit_priorities;
  const auto& priority = client.declaration->priority;
  if (is_explicit && !priority)
    report.relation({rules.of("priority"), assigned}, "priority: priorities = \"explicit\" needs one");
  if (!is_explicit && priority)
    report.relation({rules.of("priority"), assigned}, "priority = " + std::to_string(*priority) +
                                                          ": only with order = \"static-priority\" and priorities = "
                                                          "\"explicit\" in [daemon]");
}

bool is_client_name(std::string_view name) {
  return name.size() <= longest_client_name &&
         std::ranges::all_of(name, [](char each) { return ' ' <= each && each <= '~'; });
}

/// True if `before`, an earlier rule, applies to every client to which `rule` applies.
bool hides(const ClientRule& before, const ClientRule& rule) {
  return (before.name.empty() || before.name == rule.name) &&
         (before.executable.empty() || before.executable == rule.executable);
}

void check_order(const std::vector<ClientRule>& clients, std::size_t index, Report& report) {
  const auto begin = clients.begin(), rule = begin + static_cast<std::ptrdiff_t>(index);
  const auto before = std::find_if(begin, rule, [&](const ClientRule& each) { return hides(each, *rule); });
  if (before == rule) return;
  const KeyPath here{.table = "client", .index = index, .key = rule->name.empty() ? "executable" : "name"};
  report.relation({here}, "it applies to no process: client " + std::to_string(before - begin + 1) +
                              " comes first and matches all of them");
}

void check_client(const ClientRule& client, const Rules& rules) {
  if (!is_client_name(client.name))
    rules.broken({"name"}, "name: RTEXEC_CLIENT has at most " + std::to_string(longest_client_name) +
                               " characters, of printable ASCII");
  if (!client.executable.empty() && !client.executable.is_absolute())
    broken(rules, {"executable"}, client.executable, "must be an absolute path, which begins with /");
  if (!client.declaration) return;
  const auto& [period, deadline, wcet, gap, priority, on_overrun] = *client.declaration;
  if (deadline > period)
    broken(rules, {"deadline", "period"}, deadline, "longer than the period, " + rtexec::to_string(period));
  if (wcet > deadline)
    broken(rules, {"wcet", "deadline", "period"}, wcet, "longer than the deadline, " + rtexec::to_string(deadline));
}

const Schema<DaemonSettings>& daemon_schema() {
  static const Schema<DaemonSettings> instance = schema<DaemonSettings>({
      table<DaemonSettings>("", std::identity{}, top_keys()),
      table<DaemonSettings>("daemon", &DaemonSettings::daemon, option_keys()),
      table<DaemonSettings>("device", &DaemonSettings::device, device_keys()),
      table<DaemonSettings>(
          "device.swap_cost", [](auto& settings) -> auto& { return settings.device.swap_cost; },
          swap_cost_keys<SwapCostOptions>("the board's value for the chunk size in use")),
      table<DaemonSettings>("swap", std::identity{}, swap_keys()),
      list<DaemonSettings>("client", &DaemonSettings::clients, &ClientRule::name, client_keys(), complete_client),
  });
  return instance;
}

} // namespace

Result<DaemonSettings> parse_daemon_settings(std::string_view toml, const std::filesystem::path& file) {
  return parse(daemon_schema(), toml, file, [](DaemonSettings& settings, Report& report) {
    settings.warnings = report.warnings();
    const std::filesystem::path folder = settings.file.parent_path();
    if (is_board_path(settings.board)) settings.board = (folder / settings.board).lexically_normal().string();
    settings.daemon.directory = (folder / settings.daemon.directory).lexically_normal();
    for (std::size_t i = 0; i < settings.clients.size(); ++i) {
      const config::ClientRule& client = settings.clients[i];
      const Rules rules(report, "client", i);
      check_client(client, rules);
      check_order(settings.clients, i, report);
      if (client.declaration) check_priority(client, settings.daemon, rules, report);
    }
  });
}

Result<DaemonSettings> read_daemon_settings(const std::filesystem::path& file) {
  return read_toml(file, Content::daemon, parse_daemon_settings);
}

std::span<const KeyDoc> daemon_keys() { return daemon_schema().docs; }

} // namespace rtexec::config
