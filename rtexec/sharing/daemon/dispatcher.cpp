#include "rtexec/sharing/daemon/dispatcher.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace rtexec::daemon {
namespace {

using policies::DeviceScheduler;
using policies::Event;
using policies::Transfer;
using protocol::Entry;
using protocol::EntryKind;
using protocol::Verdict;

/// The maximum number of transfers in progress, in both directions together.
constexpr std::size_t max_flights = 2 * DeviceScheduler::transfers_per_direction;

Plan empty_plan(const DispatcherOptions& options) {
  Plan plan;
  plan.tasks.resize(options.places);
  plan.swap = SwapPlan{.policy = options.policy,
                       .frames = options.frames,
                       .copy_engines = options.copy_engines,
                       .cost = {},
                       .store = {}};
  return plan;
}

Entry entry_of(EntryKind kind) { return {.kind = static_cast<std::uint16_t>(kind)}; }

Event ended(const Transfer& transfer, bool in, bool failed, Instant now) {
  return {in ? Event::Kind::copied_in : Event::Kind::copied_out, {}, now, {}, transfer, failed};
}

bool is(const Entry& entry, EntryKind kind) { return entry.kind == static_cast<std::uint16_t>(kind); }

} // namespace

Dispatcher::Dispatcher(const DispatcherOptions& options, ClientSink& sink)
    : options_(options),
      sink_(sink),
      core_(empty_plan(options), options.frames),
      clients_(options.places),
      statistics_(options.places),
      free_frames_(options.frames),
      moves_(options.chunk) {
  flights_.reserve(max_flights);
  // This capacity is enough for all events that wait at the same time. Each event is removed before its actions cause
  // new events, and each action causes at most one event. The end of a client adds further events.
  events_.reserve(options.places + 4 * DeviceScheduler::actions_per_event);
}

// ---- clients ----

bool Dispatcher::attach(std::uint32_t place, const Contract& contract, Instant now) noexcept {
  if (place >= clients_.size() || clients_[place].presence != Presence::nobody) return false;
  now_ = now;
  if (!exchange(place, contract.task)) return false;
  const std::uint64_t number = clients_[place].number;
  clients_[place] = Client{};
  clients_[place].presence = Presence::here;
  clients_[place].contract = contract;
  clients_[place].number = number;
  statistics_[place].publish({});
  return true;
}

bool Dispatcher::change(std::uint32_t place, const Contract& contract, bool interrupt_it, Instant now) noexcept {
  if (place >= clients_.size() || clients_[place].presence != Presence::here ||
      contract.task.slots < core_.state().slots[place].size())
    return false;
  now_ = now;
  Client& client = clients_[place];
  client.next = contract;
  // A change of the client's urgency alone does not interrupt its job. The job keeps its old urgency until it ends.
  const bool grows = contract.task.slots > core_.state().slots[place].size();
  if (grows && client.stage == Stage::lingering) finish(place);
  if (interrupt_it || (grows && client.stage == Stage::requested)) interrupt(place);
  if (client.declares && client.stage == Stage::early) await_release(place);
  follow_up();
  return true;
}

void Dispatcher::hold(std::uint32_t place) noexcept {
  if (place < clients_.size()) clients_[place].declares = !clients_[place].contract.real_time;
}

void Dispatcher::resume(std::uint32_t place, Instant now) noexcept {
  if (place >= clients_.size() || !std::exchange(clients_[place].declares, false)) return;
  now_ = now;
  if (clients_[place].stage == Stage::early) await_release(place);
  follow_up();
}

/// Withdraws the job from the scheduler core. After the change of the contract, the job continues as the client's next
/// job.
void Dispatcher::interrupt(std::uint32_t place) noexcept {
  Client& client = clients_[place];
  if (client.stage == Stage::requested) {
    client.stage = Stage::none;
    feed({Event::Kind::job_withdrawn, id(place), now_});
  } else if (client.stage == Stage::granted) {
    tell(place, Verdict::waiting);
    client.ended = now_;
    finish(place);
  } else {
    return;
  }
  await_release(place);
}

void Dispatcher::ending(std::uint32_t place, Instant now) noexcept {
  if (place >= clients_.size() || !occupied(place) || clients_[place].presence == Presence::gone) return;
  now_ = now;
  withdraw(place);
  clients_[place].presence = Presence::ending;
  // A load in progress writes to its frame until the driver has ended the load. Therefore the frame is not free yet. A
  // save only reads its frame.
  if (options_.frames_outlive_clients && clients_[place].stage != Stage::granted) {
    clients_[place].freed = true;
    reclaim_copies(place, false);
  }
  follow_up();
}

void Dispatcher::died(std::uint32_t place, Instant now) noexcept {
  if (place >= clients_.size() || !occupied(place) || clients_[place].presence == Presence::gone) return;
  now_ = now;
  clients_[place].freed = true;
  withdraw(place);
  clients_[place].presence = Presence::gone;
  if (std::exchange(clients_[place].stage, Stage::none) == Stage::granted) {
    clients_[place].record.cancelled(now_);
    feed({Event::Kind::execution_done, id(place), now_});
  }
  clients_[place].record.aborted(now_, deadline_of(clients_[place]));
  reclaim_copies(place, true);
  follow_up();
}

/// Withdraws the client's job from the scheduler core, or prevents the job from entering the core. Has no effect if the
/// job holds the device.
void Dispatcher::withdraw(std::uint32_t place) noexcept {
  Client& client = clients_[place];
  if (client.stage == Stage::lingering) finish(place);
  client.next.reset();
  if (client.stage == Stage::granted) return;
  client.record.aborted(now_, deadline_of(client));
  if (std::exchange(client.stage, Stage::none) == Stage::requested) feed({Event::Kind::job_withdrawn, id(place), now_});
}

/// Ends the transfers of an ended client, so that other clients get its frames and none of their jobs fails. The saves
/// in progress count as done. If `loads` is true, the loads in progress count as failed; otherwise they remain in
/// progress.
void Dispatcher::reclaim_copies(std::uint32_t place, bool loads) noexcept {
  for (std::size_t i = flights_.size(); i-- > 0;) {
    if (i >= flights_.size() || flights_[i].transfer.task != place || (flights_[i].in && !loads)) continue;
    const Flight flight = flights_[i];
    flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(i));
    moves_.moved(flight.recorded, flight.since, now_, now_, true);
    feed(ended(flight.transfer, flight.in, flight.in, now_));
  }
}

void Dispatcher::expel(std::uint32_t place, Expelled why) noexcept {
  if (clients_[place].presence != Presence::here) return;
  clients_[place].presence = Presence::ending;
  withdraw(place);
  sink_.expel(place, why);
}

// ---- entries of clients ----

void Dispatcher::take(std::uint32_t place, const Entry& entry, Instant now) noexcept {
  if (place >= clients_.size() || clients_[place].presence != Presence::here) return;
  now_ = now;
  if (is(entry, EntryKind::request)) ask(place, entry);
  else if (is(entry, EntryKind::done)) end(place, entry);
  else if (is(entry, EntryKind::loaded) || is(entry, EntryKind::saved)) answered(place, entry);
  else violated(place);
  follow_up();
}

void Dispatcher::violated(std::uint32_t place) noexcept {
  if (++clients_[place].statistics.violations > options_.max_violations) expel(place, Expelled::violations);
}

void Dispatcher::ask(std::uint32_t place, const Entry& entry) noexcept {
  Client& client = clients_[place];
  if ((client.stage != Stage::none && client.stage != Stage::lingering) || entry.job <= client.job ||
      entry.job >= protocol::max_jobs)
    return violated(place);
  client.job = entry.job;
  if (client.stage == Stage::lingering) {
    client.stage = Stage::granted;
    return tell(place, Verdict::granted);
  }
  tell(place, Verdict::waiting);
  await_release(place);
}

void Dispatcher::await_release(std::uint32_t place) noexcept {
  Client& client = clients_[place];
  client.release = client.contract.real_time ? std::max(now_, client.earliest) : now_;
  client.stage = Stage::early;
  if (client.release <= now_ && !held(client)) release(place);
}

/// Releases the due jobs. The most urgent job is released first, because an idle device starts the first job that it
/// gets.
void Dispatcher::release_due() noexcept {
  const auto urgency = [](const Client& client) {
    return std::pair(client.contract.task.rank, client.release + client.contract.task.device_done_by);
  };
  for (;;) {
    Client* first = nullptr;
    for (Client& client : clients_)
      if (client.stage == Stage::early && client.release <= now_ && !held(client) &&
          (first == nullptr || urgency(client) < urgency(*first)))
        first = &client;
    if (first == nullptr) return;
    release(static_cast<std::uint32_t>(first - clients_.data()));
  }
}

void Dispatcher::release(std::uint32_t place) noexcept {
  Client& client = clients_[place];
  take_change(place);
  set_terms(client);
  // A pending change must take effect first. follow_up() then requests the job.
  if (client.next) client.stage = Stage::leaving;
  else request(place);
}

void Dispatcher::set_terms(Client& client) noexcept {
  const Contract& contract = client.contract;
  client.deadline = client.release + contract.task.device_done_by;
  client.earliest = client.release + contract.period;
  client.record.released(client.contract.recorded_task, client.release, now_, deadline_of(client), client.deadline);
}

void Dispatcher::request(std::uint32_t place) noexcept {
  Client& client = clients_[place];
  client.stage = Stage::requested;
  client.delays = true;
  ++client.number;
  feed({Event::Kind::job_requested, id(place), now_, client.deadline});
}

void Dispatcher::grant(std::uint32_t place) noexcept {
  Client& client = clients_[place];
  client.stage = Stage::granted;
  client.granted = now_;
  client.hurried.reset();
  client.record.granted(now_);
  tell(place, Verdict::granted);
}

void Dispatcher::end(std::uint32_t place, const Entry& entry) noexcept {
  Client& client = clients_[place];
  if (client.stage != Stage::granted || entry.job != client.job) return violated(place);
  client.ended = now_;
  client.lingers_until = std::min(now_ + client.contract.gap, client.granted + client.contract.wcet);
  if (client.lingers_until > now_) client.stage = Stage::lingering;
  else finish(place);
}

/// Ends the job and releases the device to other clients. The job's response time is measured until `Client::ended`.
void Dispatcher::finish(std::uint32_t place) noexcept {
  Client& client = clients_[place];
  client.stage = Stage::none;
  account(client);
  client.record.ended(client.release, client.ended, deadline_of(client), client.contract.real_time);
  feed({Event::Kind::execution_done, id(place), now_});
}

Instant Dispatcher::deadline_of(const Client& client) noexcept {
  const Contract& contract = client.contract;
  return client.release + (contract.real_time ? contract.deadline : contract.task.device_done_by);
}

void Dispatcher::account(Client& client) noexcept {
  ++client.statistics.jobs;
  const Contract& contract = client.contract;
  const Duration response = client.ended - client.release, execution = client.ended - client.granted;
  client.statistics.longest_execution = std::max(client.statistics.longest_execution, execution);
  client.statistics.executed += execution;
  client.statistics.longest_response = std::max(client.statistics.longest_response, response);
  if (contract.real_time && response > contract.deadline) ++client.statistics.missed;
  if (execution <= contract.wcet) return;
  ++client.statistics.overruns;
  if (contract.on_overrun == OnWcetExceeded::skip_next) client.earliest += contract.period;
}

void Dispatcher::tell(std::uint32_t place, Verdict verdict) noexcept {
  sink_.verdict(place, {clients_[place].job, verdict});
}

void Dispatcher::answered(std::uint32_t place, const Entry& entry) noexcept {
  const bool in = is(entry, EntryKind::loaded);
  const auto flight = std::ranges::find_if(flights_, [&](const Flight& each) {
    return each.in == in && each.transfer == Transfer{place, entry.slot, entry.frame};
  });
  if (flight == flights_.end() || entry.status > static_cast<std::uint16_t>(protocol::Outcome::failed))
    return violated(place);
  const bool failed = entry.status == static_cast<std::uint16_t>(protocol::Outcome::failed);
  // A slot whose save failed is still mapped. Therefore its frame must not be assigned to another slot until the
  // client's process has ended.
  if (failed && !in) return expel(place, Expelled::not_saved);
  const Flight done = *flight;
  flights_.erase(flight);
  moves_.moved(done.recorded, done.since, Instant(Duration(entry.time_ns)), now_, failed);
  if (!failed) ++(in ? clients_[place].statistics.loaded : clients_[place].statistics.saved);
  feed(ended(done.transfer, in, failed, now_));
}

// ---- the core ----

/// Passes an event to the scheduler core and executes the resulting actions. If the actions cause further events, these
/// events wait until all actions are executed.
void Dispatcher::feed(const Event& event) noexcept {
  assert(events_.size() < events_.capacity());
  events_.push_back(event);
  if (feeding_) return;
  feeding_ = true;
  while (!events_.empty()) {
    const Event next = events_.front();
    events_.erase(events_.begin());
    for (const Action& action : core_.on(next)) obey(action);
  }
  feeding_ = false;
}

bool Dispatcher::exchange(std::uint32_t place, const DeviceScheduler::TaskParameters& with) noexcept {
  const auto actions = core_.exchange(place, with);
  if (!actions.empty() && actions.front().kind == Action::Kind::refuse) return false;
  feeding_ = true; // events caused by these actions are handled after them
  for (const Action& action : actions) obey(action);
  feeding_ = false;
  if (!events_.empty()) {
    const Event first = events_.front();
    events_.erase(events_.begin());
    feed(first);
  }
  return true;
}

void Dispatcher::obey(const Action& action) noexcept {
  const std::uint32_t place = action.job.task;
  Client& client = clients_[place];
  switch (action.kind) {
  case Action::Kind::start_execution:
    assert(client.stage == Stage::requested && client.presence == Presence::here);
    return grant(place);
  case Action::Kind::copy_in: return order(action, true);
  case Action::Kind::copy_out: return order(action, false);
  case Action::Kind::drop: return; // the job was withdrawn; follow_up() continues the change or the client's end
  case Action::Kind::fail:
    if (client.stage != Stage::requested) return;
    client.stage = Stage::none;
    ++client.statistics.failed;
    client.record.failed(now_, deadline_of(client));
    return tell(place, Verdict::failed);
  case Action::Kind::refuse: assert(!"the scheduler got an impossible event"); return;
  }
}

void Dispatcher::order(const Action& action, bool in) noexcept {
  const auto& [place, slot, frame] = action.transfer;
  if (clients_[place].freed) return feed(ended(action.transfer, in, in, now_));
  assert(flights_.size() < max_flights);
  Action recorded = action;
  recorded.job = clients_[action.job.task].record.job();
  recorded.transfer.task = clients_[place].contract.recorded_task;
  flights_.push_back({action.transfer, in, action.job, now_, recorded});
  Entry entry = entry_of(in ? EntryKind::load : EntryKind::save);
  entry.slot = slot;
  entry.frame = frame;
  entry.time_ns = now_.time_since_epoch().count();
  sink_.command(place, entry);
}

/// Applies a pending change of the contract if the scheduler core allows the change. Returns true if the change was
/// applied.
bool Dispatcher::take_change(std::uint32_t place) noexcept {
  Client& client = clients_[place];
  if (!client.next || !exchange(place, client.next->task)) return false;
  const bool declares = client.next->real_time && !client.contract.real_time;
  if (declares) client.declares = false;
  const Instant before = deadline_of(client);
  client.contract = *client.next;
  client.next.reset();
  if (declares && client.stage == Stage::leaving) { // the first job after the client has declared itself
    client.record.aborted(now_, before);
    client.release = now_;
    set_terms(client);
  }
  sink_.changed(place);
  return true;
}

/// Does the work that had to wait for the scheduler core: changes contracts, and frees the places of ended clients. If
/// other clients wait for the device, asks the client that holds the device to hurry (EntryKind::hurry).
void Dispatcher::follow_up() noexcept {
  for (bool again = true; again;) {
    again = false;
    for (std::uint32_t place = 0; place < clients_.size(); ++place) {
      Client& client = clients_[place];
      if (client.presence == Presence::gone && exchange(place, {})) {
        client.presence = Presence::nobody;
        sink_.vacant(place);
        again = true;
      } else if (take_change(place)) {
        if (client.stage == Stage::leaving) request(place);
        again = true;
      }
    }
  }
  hurry_holder();
  look_for_quiet();
  free_frames_.store(static_cast<std::uint32_t>(core_.state().free.size()), std::memory_order_relaxed);
  for (std::uint32_t place = 0; place < clients_.size(); ++place)
    if (clients_[place].presence != Presence::nobody) publish(place);
}

void Dispatcher::look_for_quiet() noexcept {
  if (!quiet()) return;
  ++quiet_instants_;
  for (Client& client : clients_) client.delays = in_core(client);
}

bool Dispatcher::in_core(const Client& client) noexcept {
  return client.stage != Stage::none && client.stage != Stage::early;
}

bool Dispatcher::held(const Client& client) noexcept {
  return client.declares && !(client.next && client.next->real_time);
}

bool Dispatcher::quiet() const noexcept {
  const auto promised = [this](const Client& client) {
    // A job whose release is due counts as released, even if tick() has not released it yet.
    const bool released = client.stage == Stage::early && client.release <= now_;
    return (client.contract.real_time || client.declares) && (in_core(client) || released);
  };
  const auto needless = [this](const Flight& each) {
    const Client& client = clients_[each.job.task];
    return !in_core(client) || client.number != each.job.number;
  };
  return std::ranges::none_of(clients_, promised) && std::ranges::none_of(flights_, needless);
}

void Dispatcher::publish(std::uint32_t place) noexcept {
  Client& client = clients_[place];
  client.statistics.activity = activity(place);
  if (client.statistics == client.published) return;
  client.published = client.statistics;
  statistics_[place].publish(client.published);
}

protocol::Activity Dispatcher::activity(std::uint32_t place) const noexcept {
  const Client& client = clients_[place];
  if (client.presence != Presence::here) return protocol::Activity::leaves;
  if (client.stage == Stage::none) return protocol::Activity::idle;
  if (client.stage == Stage::granted || client.stage == Stage::lingering) return protocol::Activity::runs;
  const bool loads =
      std::ranges::any_of(flights_, [&](const Flight& each) { return each.in && each.transfer.task == place; });
  return loads ? protocol::Activity::loads : protocol::Activity::waits;
}

void Dispatcher::hurry_holder() noexcept {
  const auto& state = core_.state();
  if (!state.running || !state.wanted()) return;
  const std::uint32_t place = state.running->task;
  Client& client = clients_[place];
  if (client.stage != Stage::granted || client.presence != Presence::here || client.hurried) return;
  client.hurried = now_;
  Entry entry = entry_of(EntryKind::hurry);
  entry.job = client.job;
  entry.time_ns = now_.time_since_epoch().count();
  sink_.command(place, entry);
}

// ---- time ----

/// Returns the instant until which the job may hold the device. Returns nullopt if there is no limit, because no other
/// client needs the device.
std::optional<Instant> Dispatcher::held_until(const Client& client) const noexcept {
  const Contract& contract = client.contract;
  const Instant due = client.granted + contract.wcet;
  if (contract.on_overrun == OnWcetExceeded::stop) return due;
  return client.hurried ? std::optional(std::max(due, *client.hurried) + options_.stuck_after) : std::nullopt;
}

std::optional<Instant> Dispatcher::next_tick() const noexcept {
  std::optional<Instant> next;
  const auto at_latest = [&](Instant when) { next = next ? std::min(*next, when) : when; };
  for (const Client& client : clients_) {
    if (client.presence != Presence::here) continue;
    if (client.stage == Stage::early && !held(client)) at_latest(client.release);
    if (client.stage == Stage::lingering) at_latest(client.lingers_until);
    if (client.stage != Stage::granted) continue;
    if (const auto until = held_until(client)) at_latest(*until + Duration(1));
  }
  for (const Flight& flight : flights_)
    if (clients_[flight.transfer.task].presence == Presence::here)
      at_latest(flight.since + options_.command_timeout + Duration(1));
  return next;
}

void Dispatcher::tick(Instant now) noexcept {
  now_ = now;
  release_due();
  for (std::uint32_t place = 0; place < clients_.size(); ++place) {
    const Client& client = clients_[place];
    if (client.presence != Presence::here) continue;
    if (client.stage == Stage::lingering && client.lingers_until <= now) finish(place);
    if (client.stage == Stage::granted && held_until(client).value_or(now) < now)
      expel(place, client.contract.on_overrun == OnWcetExceeded::stop ? Expelled::overrun : Expelled::stuck);
  }
  for (const Flight& flight : flights_)
    if (flight.since + options_.command_timeout < now) expel(flight.transfer.task, Expelled::silent);
  follow_up();
}

} // namespace rtexec::daemon
