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
  return {
      key<DaemonSettings>("board", text(), "the board: a file of boards/, by name or path", &DaemonSettings::board)};
}

std::vector<Key<DaemonOptions>> option_keys() {
  using D = DaemonOptions;
  return {
      key<D>("directory", path(), "folder of the daemon's socket; created with mode 0700, or 0750 with a group",
             &D::directory),
      optional_text<D>("group", "only the user who runs the daemon", "whose members may connect too", &D::group),
      optional_text<D>("metrics", "off",
                       "address on which Prometheus reads statistics of the clients by HTTP, such as "
                       "\"127.0.0.1:9464\"; anyone who can connect to it sees the clients' names, limits and misses",
                       &D::metrics),
      key<D>("places", integer<unsigned>(1, max_places), "how many clients can be connected at once", &D::places),
      key<D>("order", one_of<Order>(),
             "order of jobs: earliest deadline first, or by the clients' priorities; those without a deadline last",
             &D::order),
      key<D>("priorities", one_of<PriorityAssignment>(),
             "with order = \"static-priority\"; explicit: each declaration of a client has its priority",
             &D::priorities),
      key<D>("chunks", one_of<ChunkSharing>(),
             "how clients get physical memory: shared: chunks are allocated once and passed on without clearing, for "
             "clients that may see each other's data; separate: each client allocates and frees its own; auto: shared "
             "if the driver supports it",
             &D::chunks),
      key<D>("best_effort_wcet", duration(1us, longest_interval),
             "the longest permitted job of a client without a deadline, which blocks all others; a longer one is "
             "counted and may break promises",
             &D::best_effort_wcet),
      renamed("patience",
              key<D>("command_timeout", duration(1ms, longest_interval),
                     "time limit of a client for one command; the daemon then ends the client. A client that hangs "
                     "delays the others by at most this time, once",
                     &D::command_timeout)),
      key<D>("stuck_after", duration(1ms, longest_interval),
             "how long a client may hold the device beyond its WCET while others wait; the daemon then ends it; with "
             "on_overrun = \"stop\" at once",
             &D::stuck_after),
      key<D>("keep_awake", boolean(),
             "keep the machine's cores out of idle states: grants are faster, especially in a virtual machine, at the "
             "cost of power",
             &D::keep_awake),
  };
}

std::vector<Key<DeviceOptions>> device_keys() {
  using D = DeviceOptions;
  return {key<D>("capacity", pages(), "the board's whole memory",
                 "device memory of all clients together, in whole chunks", &D::capacity),
          key<D>("chunk", word_or("auto", pages()), "unit of physical device memory; auto: the board's", &D::chunk)};
}

constexpr auto policies = std::to_array<Spelling<SwapPolicy>>({{spelling(SwapPolicy::pipelined), SwapPolicy::pipelined},
                                                               {spelling(SwapPolicy::serial), SwapPolicy::serial},
                                                               {spelling(SwapPolicy::rt_swap), SwapPolicy::rt_swap},
                                                               {spelling(SwapPolicy::none), SwapPolicy::none}});

std::vector<Key<DaemonSettings>> swap_keys() {
  return {key<DaemonSettings>("policy", one_of<SwapPolicy>(policies),
                              "how clients share device memory that is too small for all of them",
                              &DaemonSettings::swap)};
}

/// Makes a key of ClientRule::declaration, the declaration that the daemon makes for a client.
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
      optional_text<C>("name", "any",
                       "value of RTEXEC_CLIENT of the processes to which this rule applies; if several rules match, "
                       "the first applies",
                       &C::name),
      key<C>("executable", path(), "any", "the program to which this rule applies: the target of /proc/PID/exe",
             &C::executable),
      key<C>(
          "memory", bytes(), "all of the device", "maximum device memory of one such process",
          [](const C& rule) { return rule.memory; }, [](C& rule, Bytes value) { rule.memory = value; }),
      declared("period", period(shortest_period, longest_interval),
               "as the process declares; best-effort without a declaration", "minimum distance between two jobs",
               &D::period),
      declared("deadline", duration(1ns, longest_interval), "the period", "of a job, from its request", &D::deadline),
      declared("wcet", duration(1ns, longest_interval), "as the process declares; required with a period",
               "worst-case execution time of a job on the device, alone, with its memory there", &D::wcet),
      declared("gap", duration(0ns, longest_interval), "0ns",
               "a job continues if the program submits its next work within this time after it has synchronised; it "
               "holds the device meanwhile, and such pauses count towards its wcet",
               &D::gap),
      declared("priority", integer<int>(lowest_priority, highest_priority), "none",
               "with priorities = \"explicit\" in [daemon]; larger is more urgent", &D::priority),
      declared("on_overrun", one_of<OnWcetExceeded>(), toml_string(spelling(OnWcetExceeded::tell)),
               "reaction to a job that takes longer than its wcet: it is counted; skip-next: the next one is also "
               "released a period later; stop: the process is ended",
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

/// Returns true if every client that `rule` applies to is taken by the earlier rule `before`.
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
          swap_cost_keys<SwapCostOptions>("the board's")),
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
