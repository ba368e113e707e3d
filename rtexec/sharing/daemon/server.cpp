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
using protocol::Kind;
using protocol::Letter;

constexpr Duration to_leave = 1s; // for a process whose socket is closed
constexpr Duration between_rounds = 50ms;
constexpr Duration between_attempts = 100ms; // to take who comes, where there is no descriptor for him
// Connections, those of observers too: in all, of one user, of one process, and of all but the daemon's user
constexpr std::size_t max_peers = 1024, max_of_user = 512, max_of_process = 16, max_of_others = max_peers - 64;

Unexpected<Error> refused(const std::string& what) {
  return fail(Errc::refused, what + ": " + std::strerror(errno) + ".");
}

std::string_view why(Expelled reason) {
  switch (reason) {
  case Expelled::violations: return "it said what was not possible, too often";
  case Expelled::silent: return "it did not carry out a command in time";
  case Expelled::not_saved: return "it could not save a chunk";
  case Expelled::stuck: return "it held the device for too long";
  case Expelled::overrun: return "a job exceeded its WCET, and its on_overrun is stop";
  }
  std::unreachable();
}

std::filesystem::path executable_of(pid_t process) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe", error);
}

/// Of the address space that the process has now, whatever it executes later.
config::Descriptor mappings_of(pid_t process) {
  return config::Descriptor(
      ::open(("/proc/" + std::to_string(process) + "/maps").c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

/// Nothing is mapped any more in an address space that nobody has.
bool is_gone(const config::Descriptor& mappings) {
  char first = 0;
  return mappings.get() >= 0 && ::pread(mappings.get(), &first, 1, 0) == 0;
}

} // namespace

Server::Server(ServerOptions options)
    : options_(std::move(options)),
      clients_(options_.terms),
      told_(options_.dispatcher.places),
      dispatcher_(options_.dispatcher, *this),
      totals_{.started = hal::now()},
      recording_(options_.dispatcher.places) {}

Result<std::unique_ptr<Server>> Server::open(ServerOptions options) {
  options.dispatcher.frames_outlive_clients = options.mode == protocol::Mode::shared_chunks;
  std::unique_ptr<Server> server(new Server(std::move(options)));
  if (auto shared = server->share(); !shared) return Unexpected(shared.error());
  if (auto listening = server->listen(); !listening) return Unexpected(listening.error());
  if (auto awake = server->keep_awake(); !awake) return Unexpected(awake.error());
  server->recording_.begin(server->options_.settings.file.string(), server->options_.terms,
                           server->options_.dispatcher);
  if (auto started = server->start_clock(); !started) return Unexpected(started.error());
  return server;
}

Server::~Server() {
  stop();
  time_.raise();
  clock_.join();
  {
    const std::scoped_lock lock(lock_); // sessions that go on meanwhile reach none that has ended
    for (Told& each : told_) each.session.store(nullptr);
  }
  for (const auto& peer : peers_) peer->session.reset();
  std::error_code error;
  if (listener_.get() >= 0) std::filesystem::remove(options_.settings.daemon.directory / "socket", error);
}

Result<> Server::share() {
  if (options_.mode != protocol::Mode::shared_chunks) return {};
  auto chunks = hal::share_chunks(options_.board, options_.dispatcher.frames, options_.terms.device.chunk);
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
  auto awake = hal::KeepAwake::hold(options_.terms.device.machine.cores, nullptr);
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

// ---- the caller's thread ----

Result<> Server::run() {
  std::vector<pollfd> watched;
  while (!stopping_.load(std::memory_order_acquire)) {
    const int listener = hal::now() < listens_from_ ? -1 : listener_.get();
    watched.assign(
        {{.fd = listener, .events = POLLIN, .revents = 0}, {.fd = wakeup_.get(), .events = POLLIN, .revents = 0}});
    for (const auto& peer : peers_) {
      const short what = peer->told_up_to ? POLLOUT : POLLIN;
      watched.push_back({.fd = peer->gone ? -1 : peer->channel.descriptor(), .events = what, .revents = 0});
      watched.push_back({.fd = peer->process.get(), .events = POLLIN, .revents = 0});
    }
    const std::size_t peers = peers_.size(), others = watched.size();
    if (metrics_) metrics_->watch(watched, hal::now());
    if (::poll(watched.data(), watched.size(), 100) < 0 && errno != EINTR) return refused("waiting for clients");
    if (watched[1].revents != 0) {
      std::uint64_t count = 0;
      static_cast<void>(!::read(wakeup_.get(), &count, sizeof count));
    }
    for (std::size_t i = 0; i < peers; ++i) {
      Peer& peer = *peers_[i];
      if (watched[2 + 2 * i].revents != 0) peer.told_up_to ? tell_status(peer) : hear(peer);
      if (watched[3 + 2 * i].revents != 0) ended(peer);
    }
    look_after();
    if (watched[0].revents != 0) accept();
    if (metrics_)
      metrics_->serve(std::span(watched).subspan(others), hal::now(), [this] { return metrics_text(status()); });
    count_round();
  }
  return {};
}

/// Who holds the dispatcher for good ends it. However much is asked, the lock is taken no more often.
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
  if (process.get() < 0) return; // it has ended, or the kernel is older than 5.3
  Peer peer{.channel = protocol::Channel(std::move(socket)),
            .process = std::move(process),
            .number = who.pid,
            .user = who.uid,
            .executable = executable_of(who.pid)};
  if (const auto excess = too_many(peer)) return turn_away(peer, *excess);
  peers_.push_back(std::make_unique<Peer>(std::move(peer)));
}

/// A socket that is closed with unread messages resets the connection, and the other side never reads why.
void Server::turn_away(Peer& peer, const std::string& why) {
  refuse(peer, protocol::Refusal::full, why);
  for (Letter unread; peer.channel.receive(unread) == Delivery::done;) {}
}

/// Why no room is left for the connection; nullopt: there is room.
std::optional<std::string> Server::too_many(const Peer& peer) const {
  const auto count = [this](auto of) { return static_cast<std::size_t>(std::ranges::count_if(peers_, of)); };
  const auto told = [](const std::string& who, std::size_t limit) {
    return who + " has " + std::to_string(limit) + " connections to rtexecd already: close some first.";
  };
  if (count([&](const auto& each) { return each->number == peer.number; }) >= max_of_process)
    return told("Process " + std::to_string(peer.number), max_of_process);
  if (count([&](const auto& each) { return each->user == peer.user; }) >= max_of_user)
    return told("User " + std::to_string(peer.user), max_of_user);
  const std::size_t limit = peer.user == ::geteuid() ? max_peers : max_of_others;
  return peers_.size() >= limit ? std::optional(told("All together", limit)) : std::nullopt;
}

/// A line for the log, unless the clients of its user have caused too many. False: it was left out.
bool Server::tell(const Peer& peer, const std::string& text) {
  const auto left_out = lines_.ask(peer.user, hal::now());
  if (!left_out) return false;
  if (*left_out > 0)
    tell("user " + std::to_string(peer.user) + ": " + std::to_string(*left_out) + " lines were left out");
  tell(text);
  return true;
}

void Server::hear(Peer& peer) {
  Letter letter;
  switch (peer.channel.receive(letter)) {
  case Delivery::done: return answer(peer, letter);
  case Delivery::nothing: return;
  case Delivery::refused:
    refuse(peer, protocol::Refusal::order, "The message is none of this version.");
    [[fallthrough]];
  case Delivery::closed: return closed(peer);
  }
}

void Server::answer(Peer& peer, const Letter& letter) {
  const auto said = [&]<protocol::Message M>(auto function) {
    const auto message = protocol::read<M>(letter.bytes());
    if (message) (this->*function)(peer, *message);
    return message.has_value();
  };
  const auto header = protocol::header_of(letter.bytes());
  if (header && header->version != protocol::version)
    return refuse(peer, protocol::Refusal::other_version,
                  "rtexecd speaks version " + std::to_string(protocol::version) + " of the protocol, the library " +
                      std::to_string(header->version) + ": take both from one release.");
  if (protocol::read<protocol::Status>(letter.bytes())) {
    peer.told_up_to = 0;
    return tell_status(peer);
  }
  if (said.operator()<protocol::Hello>(&Server::hello) || said.operator()<protocol::Declare>(&Server::declare) ||
      said.operator()<protocol::Grow>(&Server::grow) || said.operator()<protocol::NeedFrame>(&Server::need_frame))
    return;
  refuse(peer, protocol::Refusal::order, "The message is none that a client sends.");
}

void Server::refuse(Peer& peer, protocol::Refusal code, const std::string& why) {
  static_cast<void>(peer.channel.send(
      protocol::Refused{.header = {}, .code = code, .reserved = 0, .text = protocol::text<400>(why)}));
}

/// Who is to ask again is refused many times, which is told once.
bool Server::to_be_told(Peer& peer, const Refusal& refusal) {
  const bool again = refusal.code == protocol::Refusal::later;
  return !std::exchange(peer.asks_again, again) || !again;
}

void Server::look_for_quiet() {
  drive([&] {
    dispatcher_.tick(hal::now()); // one that nothing has happened at
    if (std::exchange(quiet_, dispatcher_.quiet_instants()) != dispatcher_.quiet_instants()) clients_.quiet();
  });
}

void Server::hello(Peer& peer, const protocol::Hello& said) {
  if (peer.place) return refuse(peer, protocol::Refusal::order, "This connection is a client already.");
  if (const auto obstacle = unsupported(said)) return refuse(peer, protocol::Refusal::unsupported, *obstacle);
  peer.name = protocol::view(said.name);
  look_for_quiet();
  const auto place = clients_.connect({peer.name, peer.executable}, said.slots);
  if (!place) {
    if (to_be_told(peer, place.error())) {
      ++totals_.refused;
      if (tell(peer, peer.name + " (" + std::to_string(peer.number) + ") is refused: " + place.error().text))
        recording_.changed({}, peer.number, peer.name, "refused: " + place.error().text, hal::now());
    }
    return refuse(peer, place.error().code, place.error().text);
  }
  if (const auto begun = begin_session(peer, *place); !begun) {
    clients_.leave(*place, false);
    apply_changes({}); // others have heard of nothing else
    return refuse(peer, protocol::Refusal::not_allowed, begun.error().what);
  }
  apply_changes({});
  const Delivery welcomed = welcome(peer);
  ++totals_.came;
  recording_.changed(*place, peer.number, peer.name, "came", hal::now());
  tell(peer, peer.name + " (" + std::to_string(peer.number) + ") is client " + std::to_string(*place));
  if (welcomed != Delivery::done) closed(peer);
}

/// What its driver, or the memory that it has already, does not go with.
std::optional<std::string> Server::unsupported(const protocol::Hello& said) const {
  const std::uint64_t chunk = options_.terms.device.chunk.count;
  if (chunk % said.granularity != 0)
    return "chunk = \"" + to_string(Bytes{chunk}) + "\" is no multiple of " + to_string(Bytes{said.granularity}) +
           ", which the client's driver has.";
  if (said.chunk_bytes != 0 && said.chunk_bytes != chunk)
    return "chunk = \"" + to_string(Bytes{chunk}) + "\", but the client's memory is in chunks of " +
           to_string(Bytes{said.chunk_bytes}) + " since it started: start it again.";
  if (options_.mode == protocol::Mode::shared_chunks && said.can_export == 0)
    return "The client's driver takes no chunks of others: chunks = \"separate\" in [daemon] does without.";
  return {};
}

Result<> Server::begin_session(Peer& peer, std::uint32_t place) {
  auto segment = protocol::SharedSegment::create();
  if (!segment) return Unexpected(segment.error());
  auto session = Session::start(
      place, std::move(*segment),
      {.name = "rtexecd-" + std::to_string(place), .core = {}, .fifo_priority = options_.priority, .reservation = {}},
      *this);
  if (!session) return Unexpected(session.error());
  peer.session = std::move(*session);
  peer.address_space = mappings_of(peer.number);
  peer.place = place;
  told_[place].process.store(peer.process.get());
  told_[place].session.store(peer.session.get());
  return {};
}

Delivery Server::welcome(Peer& peer) {
  const Clients::Client& client = *clients_.at(*peer.place);
  return peer.channel.send(protocol::Welcome{.header = {},
                                             .chunk_bytes = options_.terms.device.chunk.count,
                                             .place = *peer.place,
                                             .frames = options_.dispatcher.frames,
                                             .limit_slots = client.limit,
                                             .mode = options_.mode,
                                             .declared = client.declared_by_rule ? 1U : 0U,
                                             .agent_priority = static_cast<std::uint32_t>(options_.priority),
                                             .awake = options_.settings.daemon.keep_awake ? 1U : 0U,
                                             .reserved = 0},
                           peer.session->segment_descriptor());
}

void Server::declare(Peer& peer, const protocol::Declare& said) {
  if (!peer.place) return refuse(peer, protocol::Refusal::order, "Hello comes first.");
  bool delays = false;
  drive([&] {
    dispatcher_.hold(*peer.place);
    delays = dispatcher_.delays(*peer.place);
  });
  look_for_quiet();
  const auto declared = clients_.declare(*peer.place, declaration_of(said), delays);
  if (!declared) {
    drive([&] { dispatcher_.resume(*peer.place, hal::now()); });
    if (to_be_told(peer, declared.error())) {
      ++totals_.refused;
      if (tell(peer, peer.name + " is refused: " + declared.error().text))
        recording_.changed(peer.place, peer.number, peer.name, "refused: " + declared.error().text, hal::now());
    }
    return refuse(peer, declared.error().code, declared.error().text);
  }
  apply_changes({});
  recording_.changed(peer.place, peer.number, peer.name, "declared", hal::now());
  const Duration deadline(said.deadline_ns);
  const Duration bound = clients_.at(*peer.place)->response_bound.value_or(deadline);
  tell(peer, peer.name + " is promised to end within " + readable(bound) + " of " + readable(deadline) +
                 ", with jobs of at most " + readable(Duration(said.wcet_ns)) + " every " +
                 readable(Duration(said.period_ns)));
  static_cast<void>(peer.channel.send(protocol::Declared{.header = {}, .response_bound_ns = bound.count()}));
}

void Server::grow(Peer& peer, const protocol::Grow& said) {
  if (!peer.place || peer.growing) return refuse(peer, protocol::Refusal::order, "Not now.");
  const bool more = said.slots != clients_.at(*peer.place)->slots;
  look_for_quiet();
  const auto grown = clients_.grow(*peer.place, said.slots);
  if (!grown) {
    if (to_be_told(peer, grown.error())) tell(peer, peer.name + " is refused more memory: " + grown.error().text);
    return refuse(peer, grown.error().code, grown.error().text);
  }
  if (!more)
    return static_cast<void>(peer.channel.send(protocol::Grown{.header = {}, .slots = said.slots, .reserved = 0}));
  peer.growing = said.slots;
  // Not what the dispatcher knows: the end of the client's job may still be on its way here
  apply_changes(said.holds == 1 ? peer.place : std::nullopt);
}

void Server::need_frame(Peer& peer, const protocol::NeedFrame& said) {
  if (!peer.place || !chunks_ || said.frame >= chunks_->count())
    return refuse(peer, protocol::Refusal::order, "There is no such frame.");
  static_cast<void>(peer.channel.send(protocol::Frame{.header = {}, .frame = said.frame, .reserved = 0},
                                      chunks_->descriptor(said.frame)));
}

/// As much as its socket takes; the rest once that takes more.
void Server::tell_status(Peer& peer) {
  for (std::uint32_t& place = *peer.told_up_to; place < clients_.places(); ++place) {
    const Clients::Client* client = clients_.at(place);
    const Peer* process = at(place);
    if (client == nullptr || process == nullptr) continue;
    switch (peer.channel.send(part_of(*client, place, process->number, dispatcher_.figures(place)))) {
    case Delivery::nothing: return;
    case Delivery::done: break;
    default: peer.told_up_to.reset(); return closed(peer);
    }
  }
  if (peer.channel.send(end_of(totals_, options_.terms, options_.mode, dispatcher_.free_frames())) == Delivery::nothing)
    return;
  peer.told_up_to.reset();
}

/// What of the clients' terms has changed goes to the dispatcher; `interrupted` has synchronised.
void Server::apply_changes(std::optional<std::uint32_t> interrupted) {
  const auto changes = clients_.take_changes();
  std::vector<Tenancy> tenancies;
  for (const std::uint32_t place : changes) {
    const Clients::Client& client = *clients_.at(place);
    tenancies.push_back(client.tenancy);
    tenancies.back().traced_as = recording_.task_of(place, client, options_.terms.best_effort_wcet);
  }
  drive([&] {
    const Instant now = hal::now();
    quiet_ = dispatcher_.quiet_instants(); // none before these changes is one after them
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const std::uint32_t place = changes[i];
      const Tenancy& tenancy = tenancies[i];
      if (told_[place].vacant.load()) continue; // it has gone, which look_after() tells clients_
      if (!dispatcher_.occupied(place)) static_cast<void>(dispatcher_.attach(place, tenancy, now));
      else {
        told_[place].changed.store(false); // of a change before this one
        static_cast<void>(dispatcher_.change(place, tenancy, place == interrupted, now));
      }
    }
  });
}

ServerStatus Server::status() {
  ServerStatus status{.daemon = end_of(totals_, options_.terms, options_.mode, dispatcher_.free_frames()),
                      .clients = {}};
  for (std::uint32_t place = 0; place < clients_.places(); ++place) {
    const Peer* process = at(place);
    if (const Clients::Client* client = clients_.at(place); client != nullptr && process != nullptr)
      status.clients.push_back(part_of(*client, place, process->number, dispatcher_.figures(place)));
  }
  return status;
}

Server::Peer* Server::at(std::uint32_t place) {
  const auto peer = std::ranges::find_if(peers_, [&](const auto& each) { return each->place == place; });
  return peer == peers_.end() ? nullptr : peer->get();
}

/// A process that ends closes its socket first. One that lives on without is no client any more: it is ended, unless it
/// has executed another program, and with its address space has let go of all that it had, or had nothing.
void Server::closed(Peer& peer) {
  peer.gone = true;
  peer.leave_by = hal::now() + (peer.place ? to_leave : Duration(0));
}

void Server::ended(Peer& peer) {
  peer.gone = true;
  peer.process = {};
  peer.leave_by.reset();
  if (!peer.place) return;
  Dispatcher::Counts counts;
  drive([&] {
    counts = dispatcher_.counts(*peer.place);
    dispatcher_.died(*peer.place, hal::now());
  });
  recording_.changed(peer.place, peer.number, peer.name, "ended", hal::now());
  tell(peer, peer.name + " (" + std::to_string(peer.number) + ") has ended: " + std::to_string(counts.jobs) +
                 " jobs, " + std::to_string(counts.missed) + " too late, " + std::to_string(counts.overruns) +
                 " overran, " + std::to_string(counts.failed) + " failed, longest response " +
                 readable(counts.longest_response));
}

void Server::turn_out(Peer& peer) {
  if (is_gone(peer.address_space)) {
    tell(peer, peer.name + " (" + std::to_string(peer.number) + ") has executed another program");
    return ended(peer);
  }
  const auto activity = dispatcher_.figures(*peer.place).activity;
  if (clients_.at(*peer.place)->slots == 0 && activity == protocol::Activity::idle) return ended(peer);
  tell(peer, peer.name + " has closed its connection and lives on: it is ended");
  ::syscall(SYS_pidfd_send_signal, peer.process.get(), SIGKILL, nullptr, 0);
  peer.leave_by.reset();
}

/// What the dispatcher has told since, and who is to leave.
void Server::look_after() {
  for (const auto& each : peers_) {
    Peer& peer = *each;
    if (peer.leave_by && hal::now() >= *peer.leave_by && peer.place) turn_out(peer);
    if (!peer.place) continue;
    Told& told = told_[*peer.place];
    if (const int reason = told.expelled.exchange(-1); reason >= 0) expelled(peer, static_cast<Expelled>(reason));
    if (const std::int64_t since = told.ending.exchange(0); since != 0 && !peer.gone) {
      tell(peer, peer.name + " (" + std::to_string(peer.number) + ") is ending, at " + std::to_string(since) +
                     " ns of CLOCK_MONOTONIC");
      closed(peer);
    }
    if (told.changed.exchange(false) && peer.growing) {
      static_cast<void>(
          peer.channel.send(protocol::Grown{.header = {}, .slots = *std::exchange(peer.growing, {}), .reserved = 0}));
    }
    if (told.vacant.exchange(false)) vacate(peer);
  }
  std::erase_if(peers_, [](const auto& peer) { return peer->gone && !peer->place; });
}

void Server::expelled(Peer& peer, Expelled reason) {
  ++totals_.expelled;
  const std::string text(why(reason));
  recording_.changed(peer.place, peer.number, peer.name, "expelled: " + text, hal::now());
  tell(peer, peer.name + " is ended: " + text);
}

/// Nothing of its client is left in the dispatcher.
void Server::vacate(Peer& peer) {
  Told& told = told_[*peer.place];
  look_for_quiet();
  bool delays = false;
  {
    const std::scoped_lock lock(lock_); // nobody in the dispatcher speaks of it any more
    told.session.store(nullptr);
    told.process.store(-1);
    delays = dispatcher_.delays(*peer.place);
  }
  peer.session.reset();
  told.ending.store(0);
  clients_.leave(*peer.place, delays);
  peer.place.reset();
  apply_changes({});
}

// ---- outlet: under the lock, on any thread ----

void Server::command(std::uint32_t place, const protocol::Entry& entry) noexcept {
  // One that takes no commands answers none, and is expelled for its silence.
  if (Session* session = told_[place].session.load()) static_cast<void>(session->command(entry));
}

void Server::verdict(std::uint32_t place, protocol::JobVerdict verdict) noexcept {
  if (Session* session = told_[place].session.load()) session->verdict(verdict);
}

void Server::changed(std::uint32_t place) noexcept {
  told_[place].changed.store(true);
  to_tell_ = true;
}

void Server::expel(std::uint32_t place, Expelled why) noexcept {
  told_[place].expelled.store(static_cast<int>(why));
  to_tell_ = true;
  if (const int process = told_[place].process.load(); process >= 0)
    ::syscall(SYS_pidfd_send_signal, process, SIGKILL, nullptr, 0);
}

void Server::vacant(std::uint32_t place) noexcept {
  told_[place].vacant.store(true);
  to_tell_ = true;
}

// ---- sessions and time ----

void Server::said(std::uint32_t place, const protocol::Entry& entry) noexcept {
  drive([&] { dispatcher_.take(place, entry, hal::now()); });
}

void Server::broken(std::uint32_t place) noexcept {
  drive([&] {
    for (std::uint32_t i = 0; i <= options_.dispatcher.most_violations; ++i) dispatcher_.violated(place);
  });
}

void Server::ending(std::uint32_t place) noexcept {
  drive([&] {
    const Instant now = hal::now();
    told_[place].ending.store(now.time_since_epoch().count());
    to_tell_ = true;
    dispatcher_.ending(place, now);
  });
}

/// A function of the dispatcher; then whoever has to know of it is woken.
template <class Function> void Server::drive(Function function) noexcept {
  bool sooner = false, tell = false;
  {
    const std::scoped_lock lock(lock_);
    function();
    const auto next = dispatcher_.next_tick();
    sooner = next && next->time_since_epoch().count() < due_;
    tell = std::exchange(to_tell_, false);
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
    if (due_ == INT64_MAX) time_.wait(seen); // only this thread writes it
    else time_.wait_until(seen, Instant(Duration(due_)));
  }
}

void Server::wake() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wakeup_.get(), &one, sizeof one));
}

} // namespace rtexec::daemon
