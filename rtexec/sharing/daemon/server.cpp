#include "rtexec/sharing/daemon/server.hpp"

#include "rtexec/sharing/daemon/listening.hpp"
#include "traces/emit.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace rtexec::daemon {
namespace {

using namespace std::chrono_literals;
using protocol::Delivery;
using protocol::Letter;

constexpr Duration to_leave = 1s; // time for a process to end after it has closed its socket
constexpr Duration between_rounds = 50ms;
constexpr Duration between_attempts = 100ms; // pause after a failed accept(), for example for lack of descriptors
// Limits of connections, observers included: in total, of one user, and of one process. `max_of_others` is the total
// above which only the daemon's own user may connect.
constexpr std::size_t max_connections = 1024, max_of_user = 512, max_of_process = 16,
                      max_of_others = max_connections - 64;

/// Returns the client's name and process number: "front (1234)".
std::string name_of(const Connection& client) {
  return client.identity.name + " (" + std::to_string(client.number) + ")";
}

Unexpected<Error> refused(const std::string& what) {
  return fail(Errc::refused, what + ": " + std::strerror(errno) + ".");
}

std::string_view why(Expelled reason) {
  switch (reason) {
  case Expelled::violations: return "it sent too many invalid messages";
  case Expelled::silent: return "it did not carry out a command in time";
  case Expelled::not_saved: return "it could not save a chunk";
  case Expelled::stuck: return "it held the device for too long";
  case Expelled::overrun: return "a job exceeded its WCET, and its on_overrun is \"stop\"";
  }
  std::unreachable();
}

std::filesystem::path executable_of(pid_t process) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe", error);
}

/// Opens the memory mappings of a process. If the process later executes another program, the descriptor still refers
/// to the old address space.
config::Descriptor mappings_of(pid_t process) {
  return config::Descriptor(
      ::open(("/proc/" + std::to_string(process) + "/maps").c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

/// True if the address space of `mappings` no longer exists, so that no memory is mapped in it.
bool is_gone(const config::Descriptor& mappings) {
  char first = 0;
  return mappings.get() >= 0 && ::pread(mappings.get(), &first, 1, 0) == 0;
}

} // namespace

Server::Server(ServerOptions options)
    : options_(std::move(options)),
      admission_(options_.admission),
      by_place_(options_.dispatcher.places),
      dispatcher_(options_.dispatcher, *this),
      totals_{.started = hal::now()},
      recording_(options_.dispatcher.places) {}

Result<std::unique_ptr<Server>> Server::open(ServerOptions options) {
  options.dispatcher.frames_outlive_clients = options.mode == protocol::Mode::shared_chunks;
  std::unique_ptr<Server> server(new Server(std::move(options)));
  if (auto shared = server->share(); !shared) return Unexpected(shared.error());
  if (auto listening = server->listen(); !listening) return Unexpected(listening.error());
  if (auto awake = server->keep_awake(); !awake) return Unexpected(awake.error());
  server->recording_.begin(server->options_.settings.file.string(), server->options_.admission,
                           server->options_.dispatcher);
  if (auto started = server->start_clock(); !started) return Unexpected(started.error());
  return server;
}

Server::~Server() {
  stop();
  time_.raise();
  clock_.join();
  {
    const std::scoped_lock lock(lock_); // after this, no thread of another client uses a stopped connection
    for (auto& each : by_place_) each.store(nullptr);
  }
  for (const auto& each : connections_) each->stop();
  std::error_code error;
  if (listener_.get() >= 0) std::filesystem::remove(options_.settings.daemon.directory / "socket", error);
}

Result<> Server::share() {
  if (options_.mode != protocol::Mode::shared_chunks) return {};
  auto chunks = hal::share_chunks(options_.board, options_.dispatcher.frames, options_.admission.device.chunk);
  if (!chunks) return Unexpected(chunks.error());
  chunks_ = std::move(*chunks);
  return {};
}

Result<> Server::listen() {
  auto listener = listen_in(options_.settings.daemon.directory, options_.settings.daemon.group);
  if (!listener) return Unexpected(listener.error());
  listener_ = std::move(*listener);
  if (const std::string& at = options_.settings.daemon.metrics; !at.empty()) {
    auto metrics = Metrics::open(at);
    if (!metrics) return Unexpected(metrics.error());
    metrics_ = std::move(*metrics);
    tell("metrics at port " + std::to_string(metrics_->port()));
  }
  wakeup_ = config::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return wakeup_.get() < 0 ? refused("eventfd") : Result<>();
}

Result<> Server::keep_awake() {
  auto idle = hal::ShallowIdle::hold();
  if (idle) shallow_idle_ = std::move(*idle);
  else if (idle.error().code != Errc::unsupported) tell("degraded: " + idle.error().what);
  if (!options_.settings.daemon.keep_awake) return {};
  auto awake = hal::KeepAwake::hold(options_.admission.device.machine.cores, nullptr);
  if (!awake) return Unexpected(awake.error());
  awake_ = std::move(*awake);
  return {};
}

Result<> Server::start_clock() {
  auto clock =
      hal::Thread::start({.name = "rtexecd-time", .core = {}, .fifo_priority = options_.priority, .reservation = {}},
                         [this] { keep_time(); });
  if (!clock) return Unexpected(clock.error());
  clock_ = std::move(*clock);
  return {};
}

void Server::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  wake();
}

// ---- thread that calls run() ----

Result<> Server::run() {
  std::vector<pollfd> watched;
  while (!stopping_.load(std::memory_order_acquire)) {
    const int listener = hal::now() < listens_from_ ? -1 : listener_.get();
    watched.assign(
        {{.fd = listener, .events = POLLIN, .revents = 0}, {.fd = wakeup_.get(), .events = POLLIN, .revents = 0}});
    for (const auto& connection : connections_) {
      const short what = connection->status_from ? POLLOUT : POLLIN;
      watched.push_back({.fd = connection->gone ? -1 : connection->channel.descriptor(), .events = what, .revents = 0});
      watched.push_back({.fd = connection->process.get(), .events = POLLIN, .revents = 0});
    }
    const std::size_t connected = connections_.size(), others = watched.size();
    if (metrics_) metrics_->watch(watched, hal::now());
    if (::poll(watched.data(), watched.size(), 100) < 0 && errno != EINTR) return refused("waiting for clients");
    if (watched[1].revents != 0) {
      std::uint64_t count = 0;
      static_cast<void>(!::read(wakeup_.get(), &count, sizeof count));
    }
    for (std::size_t i = 0; i < connected; ++i) {
      Connection& connection = *connections_[i];
      if (watched[2 + 2 * i].revents != 0) connection.status_from ? tell_status(connection) : hear(connection);
      if (watched[3 + 2 * i].revents != 0) ended(connection);
    }
    look_after();
    if (watched[0].revents != 0) accept();
    if (metrics_)
      metrics_->serve(std::span(watched).subspan(others), hal::now(), [this] { return metrics_text(status()); });
    count_round();
  }
  return {};
}

/// Counts a round of the server's loop, at most every 50 ms. Takes the dispatcher's lock, so that the count stops if a
/// thread never releases this lock.
void Server::count_round() {
  if (hal::now() < next_round_) return;
  next_round_ = hal::now() + between_rounds;
  const std::scoped_lock lock(lock_);
  rounds_.fetch_add(1, std::memory_order_relaxed);
}

void Server::accept() {
  config::Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.get() < 0) listens_from_ = hal::now() + between_attempts;
  if (socket.get() < 0) return;
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return;
  config::Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, who.pid, 0)));
  if (process.get() < 0) return; // the process has ended, or the kernel is older than 5.3
  auto connection =
      std::make_unique<Connection>(protocol::Channel(std::move(socket)), std::move(process), who.pid, who.uid);
  connection->identity.executable = executable_of(who.pid);
  if (const auto excess = too_many(*connection)) return turn_away(*connection, *excess);
  connections_.push_back(std::move(connection));
}

/// Refuses a connection, and reads its pending messages. If the messages were unread, closing the socket would reset
/// the connection, and the client could not read the reason.
void Server::turn_away(Connection& connection, const std::string& why) {
  refuse(connection, protocol::Refusal::full, why);
  for (Letter unread; connection.channel.receive(unread) == Delivery::done;) {}
}

/// Returns the reason for a refusal if a limit of connections is reached, otherwise nullopt.
std::optional<std::string> Server::too_many(const Connection& connection) const {
  const auto count = [this](auto of) { return static_cast<std::size_t>(std::ranges::count_if(connections_, of)); };
  const auto told = [](const std::string& who, std::size_t limit) {
    return who + " has " + std::to_string(limit) + " connections to rtexecd, the maximum: close some first.";
  };
  if (count([&](const auto& each) { return each->number == connection.number; }) >= max_of_process)
    return told("Process " + std::to_string(connection.number), max_of_process);
  if (count([&](const auto& each) { return each->user == connection.user; }) >= max_of_user)
    return told("User " + std::to_string(connection.user), max_of_user);
  const std::size_t limit = connection.user == ::geteuid() ? max_connections : max_of_others;
  return connections_.size() >= limit ? std::optional(told("All together", limit)) : std::nullopt;
}

/// Writes a log line, unless the limit of lines caused by this user is reached. Returns false if the line was omitted.
bool Server::tell(const Connection& connection, const std::string& text) {
  const auto left_out = lines_.ask(connection.user, hal::now());
  if (!left_out) return false;
  if (*left_out > 0)
    tell("user " + std::to_string(connection.user) + ": " + std::to_string(*left_out) + " lines were left out");
  tell(text);
  return true;
}

void Server::hear(Connection& connection) {
  Letter letter;
  switch (connection.channel.receive(letter)) {
  case Delivery::done: return answer(connection, letter);
  case Delivery::nothing: return;
  case Delivery::refused:
    refuse(connection, protocol::Refusal::order, "The message is not valid in this version.");
    [[fallthrough]];
  case Delivery::closed: return closed(connection);
  }
}

void Server::answer(Connection& connection, const Letter& letter) {
  const auto said = [&]<protocol::Message M>(auto function) {
    const auto message = protocol::read<M>(letter.bytes());
    if (message) (this->*function)(connection, *message);
    return message.has_value();
  };
  const auto header = protocol::header_of(letter.bytes());
  if (header && header->version != protocol::version)
    return refuse(connection, protocol::Refusal::other_version,
                  "rtexecd speaks version " + std::to_string(protocol::version) + " of the protocol, the library " +
                      std::to_string(header->version) + ": install both from one release.");
  if (protocol::read<protocol::Status>(letter.bytes())) {
    connection.status_from = 0;
    return tell_status(connection);
  }
  if (said.operator()<protocol::Hello>(&Server::hello) || said.operator()<protocol::Declare>(&Server::declare) ||
      said.operator()<protocol::Grow>(&Server::grow) || said.operator()<protocol::NeedFrame>(&Server::need_frame))
    return;
  refuse(connection, protocol::Refusal::order, "The message is not one of a client.");
}

void Server::refuse(Connection& connection, protocol::Refusal code, const std::string& why) {
  static_cast<void>(connection.channel.send(
      protocol::Refused{.header = {}, .code = code, .reserved = 0, .text = protocol::text<400>(why)}));
}

/// True if a refusal must be logged. A client that retries after "later" is refused many times, but only its first
/// refusal is logged.
bool Server::to_be_logged(Connection& connection, const Refusal& refusal) {
  const bool again = refusal.code == protocol::Refusal::later;
  return !std::exchange(connection.asks_again, again) || !again;
}

void Server::look_for_quiet() {
  drive([&] {
    dispatcher_.tick(hal::now()); // detects a quiet instant (no promised job is unfinished) without other events
    if (std::exchange(quiet_, dispatcher_.quiet_instants()) != dispatcher_.quiet_instants()) admission_.quiet();
  });
}

void Server::hello(Connection& connection, const protocol::Hello& said) {
  if (connection.place) return refuse(connection, protocol::Refusal::order, "This connection is already a client.");
  if (const auto obstacle = unsupported(said)) return refuse(connection, protocol::Refusal::unsupported, *obstacle);
  connection.identity.name = protocol::view(said.name);
  look_for_quiet();
  const auto place = admission_.connect(connection.identity, said.slots);
  if (!place) {
    if (to_be_logged(connection, place.error())) {
      ++totals_.refused;
      if (tell(connection, name_of(connection) + " is refused: " + place.error().text))
        recording_.changed({}, connection.number, connection.identity.name, "refused: " + place.error().text,
                           hal::now());
    }
    return refuse(connection, place.error().code, place.error().text);
  }
  if (const auto begun = start_client(connection, *place); !begun) {
    admission_.leave(*place, false);
    apply_changes({}); // undoes changes of other contracts by connect()
    return refuse(connection, protocol::Refusal::not_allowed, begun.error().what);
  }
  apply_changes({});
  const Delivery welcomed = welcome(connection);
  ++totals_.came;
  recording_.changed(*place, connection.number, connection.identity.name, "came", hal::now());
  tell(connection, name_of(connection) + " is client " + std::to_string(*place));
  if (welcomed != Delivery::done) closed(connection);
}

/// Returns the reason if the client's driver or existing memory is incompatible with the daemon, otherwise nullopt.
std::optional<std::string> Server::unsupported(const protocol::Hello& said) const {
  const std::uint64_t chunk = options_.admission.device.chunk.count;
  if (chunk % said.granularity != 0)
    return "chunk = \"" + to_string(Bytes{chunk}) + "\" must be a multiple of " + to_string(Bytes{said.granularity}) +
           ", the granularity of the client's driver.";
  if (said.chunk_bytes != 0 && said.chunk_bytes != chunk)
    return "chunk = \"" + to_string(Bytes{chunk}) + "\", but the client's memory is in chunks of " +
           to_string(Bytes{said.chunk_bytes}) + " since its start: restart it.";
  if (options_.mode == protocol::Mode::shared_chunks && said.can_export == 0)
    return "The client's driver cannot import chunks: set chunks = \"separate\" in [daemon].";
  return {};
}

Result<> Server::start_client(Connection& connection, std::uint32_t place) {
  if (auto started = connection.start(place, options_.priority, *this); !started) return started;
  connection.address_space = mappings_of(connection.number);
  by_place_[place].store(&connection);
  return {};
}

Delivery Server::welcome(Connection& connection) {
  const AdmittedClient& client = *admission_.at(*connection.place);
  return connection.channel.send(protocol::Welcome{.header = {},
                                                   .chunk_bytes = options_.admission.device.chunk.count,
                                                   .place = *connection.place,
                                                   .frames = options_.dispatcher.frames,
                                                   .limit_slots = client.limit,
                                                   .mode = options_.mode,
                                                   .declared = client.declared_by_rule ? 1U : 0U,
                                                   .agent_priority = static_cast<std::uint32_t>(options_.priority),
                                                   .awake = options_.settings.daemon.keep_awake ? 1U : 0U,
                                                   .reserved = 0},
                                 connection.memory_descriptor());
}

void Server::declare(Connection& connection, const protocol::Declare& said) {
  if (!connection.place) return refuse(connection, protocol::Refusal::order, "The first message must be Hello.");
  bool delays = false;
  drive([&] {
    dispatcher_.hold(*connection.place);
    delays = dispatcher_.delays(*connection.place);
  });
  look_for_quiet();
  const auto declared = admission_.declare(*connection.place, declaration_of(said), delays);
  if (!declared) {
    drive([&] { dispatcher_.resume(*connection.place, hal::now()); });
    if (to_be_logged(connection, declared.error())) {
      ++totals_.refused;
      if (tell(connection, connection.identity.name + " is refused: " + declared.error().text))
        recording_.changed(connection.place, connection.number, connection.identity.name,
                           "refused: " + declared.error().text, hal::now());
    }
    return refuse(connection, declared.error().code, declared.error().text);
  }
  apply_changes({});
  recording_.changed(connection.place, connection.number, connection.identity.name, "declared", hal::now());
  const Duration deadline(said.deadline_ns);
  const Duration bound = admission_.at(*connection.place)->response_bound.value_or(deadline);
  tell(connection, connection.identity.name + " is promised to end within " + readable(bound) + " of " +
                       readable(deadline) + ", with jobs of at most " + readable(Duration(said.wcet_ns)) + " every " +
                       readable(Duration(said.period_ns)));
  static_cast<void>(connection.channel.send(protocol::Declared{.header = {}, .response_bound_ns = bound.count()}));
}

void Server::grow(Connection& connection, const protocol::Grow& said) {
  if (!connection.place || connection.growing) return refuse(connection, protocol::Refusal::order, "Not now.");
  const bool more = said.slots != admission_.at(*connection.place)->slots;
  look_for_quiet();
  const auto grown = admission_.grow(*connection.place, said.slots);
  if (!grown) {
    if (to_be_logged(connection, grown.error()))
      tell(connection, connection.identity.name + " is refused more memory: " + grown.error().text);
    return refuse(connection, grown.error().code, grown.error().text);
  }
  if (!more)
    return static_cast<void>(
        connection.channel.send(protocol::Grown{.header = {}, .slots = said.slots, .reserved = 0}));
  connection.growing = said.slots;
  // Uses the client's own statement, because the dispatcher may not have seen the end of the client's job yet.
  apply_changes(said.holds == 1 ? connection.place : std::nullopt);
}

void Server::need_frame(Connection& connection, const protocol::NeedFrame& said) {
  if (!connection.place || !chunks_ || said.frame >= chunks_->count())
    return refuse(connection, protocol::Refusal::order, "No frame has this number.");
  static_cast<void>(connection.channel.send(protocol::Frame{.header = {}, .frame = said.frame, .reserved = 0},
                                            chunks_->descriptor(said.frame)));
}

/// Sends the status, one client after the other. If the socket's buffer is full, the server's loop calls this function
/// again later.
void Server::tell_status(Connection& connection) {
  for (std::uint32_t& place = *connection.status_from; place < admission_.places(); ++place) {
    const AdmittedClient* client = admission_.at(place);
    const Connection* process = at(place);
    if (client == nullptr || process == nullptr) continue;
    switch (connection.channel.send(part_of(*client, place, process->number, dispatcher_.statistics(place)))) {
    case Delivery::nothing: return;
    case Delivery::done: break;
    default: connection.status_from.reset(); return closed(connection);
    }
  }
  if (connection.channel.send(end_of(totals_, options_.admission, options_.mode, dispatcher_.free_frames())) ==
      Delivery::nothing)
    return;
  connection.status_from.reset();
}

/// Passes changed contracts to the dispatcher. The client at `interrupted` has no unfinished work on the device.
void Server::apply_changes(std::optional<std::uint32_t> interrupted) {
  const auto changes = admission_.take_changes();
  std::vector<Contract> contracts;
  for (const std::uint32_t place : changes) {
    const AdmittedClient& client = *admission_.at(place);
    contracts.push_back(client.contract);
    contracts.back().recorded_task = recording_.task_of(place, client, options_.admission.best_effort_wcet);
  }
  drive([&] {
    const Instant now = hal::now();
    quiet_ = dispatcher_.quiet_instants(); // quiet instants before these changes do not count
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const std::uint32_t place = changes[i];
      Connection* connection = at(place);
      if (connection == nullptr || connection->vacant.load())
        continue; // look_after() will remove the client from `admission_`
      if (!dispatcher_.occupied(place)) static_cast<void>(dispatcher_.attach(place, contracts[i], now));
      else {
        connection->changed.store(false); // cleared, since it reports an earlier change
        static_cast<void>(dispatcher_.change(place, contracts[i], place == interrupted, now));
      }
    }
  });
}

ServerStatus Server::status() {
  ServerStatus status{.daemon = end_of(totals_, options_.admission, options_.mode, dispatcher_.free_frames()),
                      .clients = {}};
  for (std::uint32_t place = 0; place < admission_.places(); ++place) {
    const Connection* process = at(place);
    if (const AdmittedClient* client = admission_.at(place); client != nullptr && process != nullptr)
      status.clients.push_back(part_of(*client, place, process->number, dispatcher_.statistics(place)));
  }
  return status;
}

/// Handles a closed socket. A process that ends closes its socket first. A process that continues without the socket is
/// no longer a client, and is killed after `to_leave`. Two kinds of processes are not killed: a process that has
/// executed another program, and so lost its address space, and a process without slots and without a job.
void Server::closed(Connection& connection) {
  connection.gone = true;
  connection.leave_by = hal::now() + (connection.place ? to_leave : Duration(0));
}

void Server::ended(Connection& connection) {
  connection.gone = true;
  connection.leave_by.reset();
  if (!connection.place) return connection.process.reset();
  ClientStatistics statistics;
  drive([&] {
    statistics = dispatcher_.statistics(*connection.place);
    dispatcher_.died(*connection.place, hal::now());
  });
  connection.process.reset(); // so that no thread can send a signal to another process of this number
  recording_.changed(connection.place, connection.number, connection.identity.name, "ended", hal::now());
  tell(connection, name_of(connection) + " has ended: " + std::to_string(statistics.jobs) + " jobs, " +
                       std::to_string(statistics.missed) + " too late, " + std::to_string(statistics.overruns) +
                       " overran, " + std::to_string(statistics.failed) + " failed, longest response " +
                       readable(statistics.longest_response));
}

void Server::turn_out(Connection& connection) {
  if (is_gone(connection.address_space)) {
    tell(connection,
         connection.identity.name + " (" + std::to_string(connection.number) + ") has executed another program");
    return ended(connection);
  }
  const auto activity = dispatcher_.statistics(*connection.place).activity;
  if (admission_.at(*connection.place)->slots == 0 && activity == protocol::Activity::idle) return ended(connection);
  tell(connection, connection.identity.name + " has closed its connection but still runs: it is killed");
  ::syscall(SYS_pidfd_send_signal, connection.process.get(), SIGKILL, nullptr, 0);
  connection.leave_by.reset();
}

/// Handles the reports of the dispatcher, and kills processes that did not end in time.
void Server::look_after() {
  for (const auto& each : connections_) {
    Connection& connection = *each;
    if (connection.leave_by && hal::now() >= *connection.leave_by && connection.place) turn_out(connection);
    if (!connection.place) continue;
    if (const int reason = connection.expelled.exchange(-1); reason >= 0)
      expelled(connection, static_cast<Expelled>(reason));
    if (const std::int64_t since = connection.ending.exchange(0); since != 0 && !connection.gone) {
      tell(connection, name_of(connection) + " is ending, at " + std::to_string(since) + " ns of CLOCK_MONOTONIC");
      closed(connection);
    }
    if (connection.changed.exchange(false) && connection.growing) {
      static_cast<void>(connection.channel.send(
          protocol::Grown{.header = {}, .slots = *std::exchange(connection.growing, {}), .reserved = 0}));
    }
    if (connection.vacant.exchange(false)) vacate(connection);
  }
  std::erase_if(connections_, [](const auto& each) { return each->gone && !each->place; });
}

void Server::expelled(Connection& connection, Expelled reason) {
  ++totals_.expelled;
  const std::string text(why(reason));
  recording_.changed(connection.place, connection.number, connection.identity.name, "expelled: " + text, hal::now());
  tell(connection, connection.identity.name + " is ended: " + text);
}

/// Removes a client after the dispatcher has removed all data of the client.
void Server::vacate(Connection& connection) {
  const std::uint32_t place = *connection.place;
  look_for_quiet();
  bool delays = false;
  {
    const std::scoped_lock lock(lock_); // after this, the dispatcher makes no call for this place
    by_place_[place].store(nullptr);
    delays = dispatcher_.delays(place);
  }
  connection.stop();
  admission_.leave(place, delays);
  connection.place.reset();
  apply_changes({});
}

// ---- functions of ClientSink: called under the lock, on any thread ----

void Server::command(std::uint32_t place, const protocol::Entry& entry) noexcept {
  // A client that does not read its commands is later expelled, because it does not answer in time.
  if (Connection* connection = at(place)) static_cast<void>(connection->command(entry));
}

void Server::verdict(std::uint32_t place, protocol::JobVerdict verdict) noexcept {
  if (Connection* connection = at(place)) connection->verdict(verdict);
}

void Server::changed(std::uint32_t place) noexcept {
  if (Connection* connection = at(place)) connection->changed.store(true);
  notifies_ = true;
}

void Server::expel(std::uint32_t place, Expelled why) noexcept {
  Connection* connection = at(place);
  if (connection == nullptr) return;
  connection->expelled.store(static_cast<int>(why));
  notifies_ = true;
  ::syscall(SYS_pidfd_send_signal, connection->process.get(), SIGKILL, nullptr, 0);
}

void Server::vacant(std::uint32_t place) noexcept {
  if (Connection* connection = at(place)) connection->vacant.store(true);
  notifies_ = true;
}

// ---- functions of the clients' threads and of the clock's thread ----

void Server::said(std::uint32_t place, const protocol::Entry& entry) noexcept {
  drive([&] { dispatcher_.take(place, entry, hal::now()); });
}

void Server::broken(std::uint32_t place) noexcept {
  drive([&] {
    for (std::uint32_t i = 0; i <= options_.dispatcher.max_violations; ++i) dispatcher_.violated(place);
  });
}

void Server::ending(std::uint32_t place) noexcept {
  drive([&] {
    const Instant now = hal::now();
    if (Connection* connection = at(place)) connection->ending.store(now.time_since_epoch().count());
    notifies_ = true;
    dispatcher_.ending(place, now);
  });
}

/// Calls a function of the dispatcher under the lock. Then wakes the clock's thread and the server's thread if they
/// must react.
template <class Function> void Server::drive(Function function) noexcept {
  bool sooner = false, tell = false;
  {
    const std::scoped_lock lock(lock_);
    function();
    const auto next = dispatcher_.next_tick();
    sooner = next && next->time_since_epoch().count() < due_;
    tell = std::exchange(notifies_, false);
  }
  if (sooner) time_.raise();
  if (tell) wake();
}

void Server::keep_time() noexcept {
  traces::prepare_thread();
  while (!stopping_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = time_.value();
    drive([&] {
      dispatcher_.tick(hal::now());
      due_ = dispatcher_.next_tick().value_or(Instant::max()).time_since_epoch().count();
    });
    if (due_ == INT64_MAX) time_.wait(seen); // no lock needed, since only this thread writes `due_`
    else time_.wait_until(seen, Instant(Duration(due_)));
  }
}

void Server::wake() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wakeup_.get(), &one, sizeof one));
}

} // namespace rtexec::daemon
