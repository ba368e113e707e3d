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

/// Both directions.
constexpr std::size_t most_flights = 2 * DeviceScheduler::transfers_per_direction;

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

Dispatcher::Dispatcher(const DispatcherOptions& options, Outlet& outlet)
    : options_(options),
      outlet_(outlet),
      core_(empty_plan(options), options.frames),
      places_(options.places),
      figures_(options.places),
      free_frames_(options.frames),
      moves_(options.chunk) {
  flights_.reserve(most_flights);
  // At most one for each action of the event before, which is taken out first, and those of one death
  events_.reserve(options.places + 4 * DeviceScheduler::actions_per_event);
}

// ---- who is there ----

bool Dispatcher::attach(std::uint32_t place, const Tenancy& tenancy, Instant now) noexcept {
  if (place >= places_.size() || places_[place].presence != Presence::nobody) return false;
  now_ = now;
  if (!exchange(place, tenancy.tenant)) return false;
  const std::uint64_t number = places_[place].number;
  places_[place] = Place{};
  places_[place].presence = Presence::here;
  places_[place].tenancy = tenancy;
  places_[place].number = number;
  figures_[place].publish({});
  return true;
}

bool Dispatcher::change(std::uint32_t place, const Tenancy& tenancy, bool interrupt_it, Instant now) noexcept {
  if (place >= places_.size() || places_[place].presence != Presence::here ||
      tenancy.tenant.slots < core_.state().slots[place].size())
    return false;
  now_ = now;
  Place& at = places_[place];
  at.next = tenancy;
  // Where only its order among others is to change, its job has it until it ends
  const bool grows = tenancy.tenant.slots > core_.state().slots[place].size();
  if (grows && at.stage == Stage::lingering) finish(place);
  if (interrupt_it || (grows && at.stage == Stage::requested)) interrupt(place);
  if (at.declares && at.stage == Stage::early) await_release(place);
  follow_up();
  return true;
}

void Dispatcher::hold(std::uint32_t place) noexcept {
  if (place < places_.size()) places_[place].declares = !places_[place].tenancy.contract.real_time;
}

void Dispatcher::resume(std::uint32_t place, Instant now) noexcept {
  if (place >= places_.size() || !std::exchange(places_[place].declares, false)) return;
  now_ = now;
  if (places_[place].stage == Stage::early) await_release(place);
  follow_up();
}

/// Takes the job out of the core, to go on as the client's next one when the change has come about.
void Dispatcher::interrupt(std::uint32_t place) noexcept {
  Place& at = places_[place];
  if (at.stage == Stage::requested) {
    at.stage = Stage::none;
    feed({Event::Kind::job_withdrawn, id(place), now_});
  } else if (at.stage == Stage::granted) {
    tell(place, Verdict::waiting);
    at.ended = now_;
    finish(place);
  } else {
    return;
  }
  await_release(place);
}

void Dispatcher::ending(std::uint32_t place, Instant now) noexcept {
  if (place >= places_.size() || !occupied(place) || places_[place].presence == Presence::gone) return;
  now_ = now;
  withdraw(place);
  places_[place].presence = Presence::ending;
  // A load that is under way writes to its frame until the driver has ended it; what is saved is only read
  if (options_.frames_outlive_clients && places_[place].stage != Stage::granted) {
    places_[place].freed = true;
    bury(place, false);
  }
  follow_up();
}

void Dispatcher::died(std::uint32_t place, Instant now) noexcept {
  if (place >= places_.size() || !occupied(place) || places_[place].presence == Presence::gone) return;
  now_ = now;
  places_[place].freed = true;
  withdraw(place);
  places_[place].presence = Presence::gone;
  if (std::exchange(places_[place].stage, Stage::none) == Stage::granted) {
    places_[place].record.cancelled(now_);
    feed({Event::Kind::execution_done, id(place), now_});
  }
  places_[place].record.aborted(now_, deadline_of(places_[place]));
  bury(place, true);
  follow_up();
}

/// No job of the client is in the core any more, or will be, but for one that has the device.
void Dispatcher::withdraw(std::uint32_t place) noexcept {
  Place& at = places_[place];
  if (at.stage == Stage::lingering) finish(place);
  at.next.reset();
  if (at.stage == Stage::granted) return;
  at.record.aborted(now_, deadline_of(at));
  if (std::exchange(at.stage, Stage::none) == Stage::requested) feed({Event::Kind::job_withdrawn, id(place), now_});
}

/// What was ordered of a client that is no more has ended: others get its frames, and do not fail.
void Dispatcher::bury(std::uint32_t place, bool loads) noexcept {
  for (std::size_t i = flights_.size(); i-- > 0;) {
    if (i >= flights_.size() || flights_[i].transfer.task != place || (flights_[i].in && !loads)) continue;
    const Flight flight = flights_[i];
    flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(i));
    moves_.moved(flight.recorded, flight.since, now_, now_, true);
    feed(ended(flight.transfer, flight.in, flight.in, now_));
  }
}

void Dispatcher::expel(std::uint32_t place, Expelled why) noexcept {
  if (places_[place].presence != Presence::here) return;
  places_[place].presence = Presence::ending;
  withdraw(place);
  outlet_.expel(place, why);
}

// ---- what they say ----

void Dispatcher::take(std::uint32_t place, const Entry& entry, Instant now) noexcept {
  if (place >= places_.size() || places_[place].presence != Presence::here) return;
  now_ = now;
  if (is(entry, EntryKind::request)) ask(place, entry);
  else if (is(entry, EntryKind::done)) end(place, entry);
  else if (is(entry, EntryKind::loaded) || is(entry, EntryKind::saved)) answered(place, entry);
  else violated(place);
  follow_up();
}

void Dispatcher::violated(std::uint32_t place) noexcept {
  if (++places_[place].counts.violations > options_.most_violations) expel(place, Expelled::violations);
}

void Dispatcher::ask(std::uint32_t place, const Entry& entry) noexcept {
  Place& at = places_[place];
  if ((at.stage != Stage::none && at.stage != Stage::lingering) || entry.job <= at.job ||
      entry.job >= protocol::most_jobs)
    return violated(place);
  at.job = entry.job;
  if (at.stage == Stage::lingering) {
    at.stage = Stage::granted;
    return tell(place, Verdict::granted);
  }
  tell(place, Verdict::waiting);
  await_release(place);
}

void Dispatcher::await_release(std::uint32_t place) noexcept {
  Place& at = places_[place];
  at.release = at.tenancy.contract.real_time ? std::max(now_, at.earliest) : now_;
  at.stage = Stage::early;
  if (at.release <= now_ && !held(at)) release(place);
}

/// The most urgent first: an idle device starts what it is told first.
void Dispatcher::release_due() noexcept {
  const auto urgency = [](const Place& at) {
    return std::pair(at.tenancy.tenant.rank, at.release + at.tenancy.contract.order_by);
  };
  for (;;) {
    Place* first = nullptr;
    for (Place& at : places_)
      if (at.stage == Stage::early && at.release <= now_ && !held(at) &&
          (first == nullptr || urgency(at) < urgency(*first)))
        first = &at;
    if (first == nullptr) return;
    release(static_cast<std::uint32_t>(first - places_.data()));
  }
}

void Dispatcher::release(std::uint32_t place) noexcept {
  Place& at = places_[place];
  take_change(place);
  set_terms(at);
  // A change stands in the way, and lets it go on
  if (at.next) at.stage = Stage::leaving;
  else request(place);
}

void Dispatcher::set_terms(Place& at) noexcept {
  const Contract& contract = at.tenancy.contract;
  at.deadline = at.release + contract.order_by;
  at.earliest = at.release + contract.period;
  at.record.released(at.tenancy.traced_as, at.release, now_, deadline_of(at), at.deadline);
}

void Dispatcher::request(std::uint32_t place) noexcept {
  Place& at = places_[place];
  at.stage = Stage::requested;
  at.delays = true;
  ++at.number;
  feed({Event::Kind::job_requested, id(place), now_, at.deadline});
}

void Dispatcher::grant(std::uint32_t place) noexcept {
  Place& at = places_[place];
  at.stage = Stage::granted;
  at.granted = now_;
  at.hurried.reset();
  at.record.granted(now_);
  tell(place, Verdict::granted);
}

void Dispatcher::end(std::uint32_t place, const Entry& entry) noexcept {
  Place& at = places_[place];
  if (at.stage != Stage::granted || entry.job != at.job) return violated(place);
  at.ended = now_;
  at.lingers_until = std::min(now_ + at.tenancy.contract.gap, at.granted + at.tenancy.contract.wcet);
  if (at.lingers_until > now_) at.stage = Stage::lingering;
  else finish(place);
}

/// The job has ended at `ended`, and leaves the device to others.
void Dispatcher::finish(std::uint32_t place) noexcept {
  Place& at = places_[place];
  at.stage = Stage::none;
  account(at);
  at.record.ended(at.release, at.ended, deadline_of(at), at.tenancy.contract.real_time);
  feed({Event::Kind::execution_done, id(place), now_});
}

Instant Dispatcher::deadline_of(const Place& at) noexcept {
  const Contract& contract = at.tenancy.contract;
  return at.release + (contract.real_time ? contract.deadline : contract.order_by);
}

void Dispatcher::account(Place& at) noexcept {
  ++at.counts.jobs;
  const Contract& contract = at.tenancy.contract;
  const Duration response = at.ended - at.release, execution = at.ended - at.granted;
  at.counts.longest_execution = std::max(at.counts.longest_execution, execution);
  at.counts.executed += execution;
  at.counts.longest_response = std::max(at.counts.longest_response, response);
  if (contract.real_time && response > contract.deadline) ++at.counts.missed;
  if (execution <= contract.wcet) return;
  ++at.counts.overruns;
  if (contract.on_overrun == OnWcetExceeded::skip_next) at.earliest += contract.period;
}

void Dispatcher::tell(std::uint32_t place, Verdict verdict) noexcept {
  outlet_.verdict(place, {places_[place].job, verdict});
}

void Dispatcher::answered(std::uint32_t place, const Entry& entry) noexcept {
  const bool in = is(entry, EntryKind::loaded);
  const auto flight = std::ranges::find_if(flights_, [&](const Flight& each) {
    return each.in == in && each.transfer == Transfer{place, entry.slot, entry.frame};
  });
  if (flight == flights_.end() || entry.status > static_cast<std::uint16_t>(protocol::Outcome::failed))
    return violated(place);
  const bool failed = entry.status == static_cast<std::uint16_t>(protocol::Outcome::failed);
  // The frame stays the client's until its process has ended
  if (failed && !in) return expel(place, Expelled::not_saved);
  const Flight done = *flight;
  flights_.erase(flight);
  moves_.moved(done.recorded, done.since, Instant(Duration(entry.time_ns)), now_, failed);
  if (!failed) ++(in ? places_[place].counts.loaded : places_[place].counts.saved);
  feed(ended(done.transfer, in, failed, now_));
}

// ---- the core ----

/// An event that an action of another one causes waits until all actions of that one are carried out.
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

bool Dispatcher::exchange(std::uint32_t place, const DeviceScheduler::Tenant& with) noexcept {
  const auto actions = core_.exchange(place, with);
  if (!actions.empty() && actions.front().kind == Action::Kind::refuse) return false;
  feeding_ = true; // what these cause comes after them
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
  Place& at = places_[place];
  switch (action.kind) {
  case Action::Kind::start_execution:
    assert(at.stage == Stage::requested && at.presence == Presence::here);
    return grant(place);
  case Action::Kind::copy_in: return order(action, true);
  case Action::Kind::copy_out: return order(action, false);
  case Action::Kind::drop: return; // for a change, or with its client: follow_up() goes on
  case Action::Kind::fail:
    if (at.stage != Stage::requested) return;
    at.stage = Stage::none;
    ++at.counts.failed;
    at.record.failed(now_, deadline_of(at));
    return tell(place, Verdict::failed);
  case Action::Kind::refuse: assert(!"the core was told what is not possible"); return;
  }
}

void Dispatcher::order(const Action& action, bool in) noexcept {
  const auto& [place, slot, frame] = action.transfer;
  if (places_[place].freed) return feed(ended(action.transfer, in, in, now_));
  assert(flights_.size() < most_flights);
  Action recorded = action;
  recorded.job = places_[action.job.task].record.job();
  recorded.transfer.task = places_[place].tenancy.traced_as;
  flights_.push_back({action.transfer, in, action.job, now_, recorded});
  Entry entry = entry_of(in ? EntryKind::load : EntryKind::save);
  entry.slot = slot;
  entry.frame = frame;
  entry.time_ns = now_.time_since_epoch().count();
  outlet_.command(place, entry);
}

/// What change() asked for, once it is possible.
bool Dispatcher::take_change(std::uint32_t place) noexcept {
  Place& at = places_[place];
  if (!at.next || !exchange(place, at.next->tenant)) return false;
  const bool declares = at.next->contract.real_time && !at.tenancy.contract.real_time;
  if (declares) at.declares = false;
  const Instant before = deadline_of(at);
  at.tenancy = *at.next;
  at.next.reset();
  if (declares && at.stage == Stage::leaving) { // a job of who has declared itself, its first
    at.record.aborted(now_, before);
    at.release = now_;
    set_terms(at);
  }
  outlet_.changed(place);
  return true;
}

/// What had to wait for the core: changes of tenancy, places of the dead, and who holds the device while others wait.
void Dispatcher::follow_up() noexcept {
  for (bool again = true; again;) {
    again = false;
    for (std::uint32_t place = 0; place < places_.size(); ++place) {
      Place& at = places_[place];
      if (at.presence == Presence::gone && exchange(place, {})) {
        at.presence = Presence::nobody;
        outlet_.vacant(place);
        again = true;
      } else if (take_change(place)) {
        if (at.stage == Stage::leaving) request(place);
        again = true;
      }
    }
  }
  hurry_holder();
  look_for_quiet();
  free_frames_.store(static_cast<std::uint32_t>(core_.state().free.size()), std::memory_order_relaxed);
  for (std::uint32_t place = 0; place < places_.size(); ++place)
    if (places_[place].presence != Presence::nobody) publish(place);
}

void Dispatcher::look_for_quiet() noexcept {
  if (!quiet()) return;
  ++quiet_instants_;
  for (Place& at : places_) at.delays = in_core(at);
}

bool Dispatcher::in_core(const Place& at) noexcept { return at.stage != Stage::none && at.stage != Stage::early; }

bool Dispatcher::held(const Place& at) noexcept { return at.declares && !(at.next && at.next->contract.real_time); }

bool Dispatcher::quiet() const noexcept {
  const auto promised = [this](const Place& at) {
    const bool released = at.stage == Stage::early && at.release <= now_; // though the clock has not come to it
    return (at.tenancy.contract.real_time || at.declares) && (in_core(at) || released);
  };
  const auto needless = [this](const Flight& each) {
    const Place& at = places_[each.job.task];
    return !in_core(at) || at.number != each.job.number;
  };
  return std::ranges::none_of(places_, promised) && std::ranges::none_of(flights_, needless);
}

void Dispatcher::publish(std::uint32_t place) noexcept {
  const Figures figures{places_[place].counts, activity(place)};
  if (figures != std::exchange(places_[place].shown, figures)) figures_[place].publish(figures);
}

protocol::Activity Dispatcher::activity(std::uint32_t place) const noexcept {
  const Place& at = places_[place];
  if (at.presence != Presence::here) return protocol::Activity::leaves;
  if (at.stage == Stage::none) return protocol::Activity::idle;
  if (at.stage == Stage::granted || at.stage == Stage::lingering) return protocol::Activity::runs;
  const bool loads =
      std::ranges::any_of(flights_, [&](const Flight& each) { return each.in && each.transfer.task == place; });
  return loads ? protocol::Activity::loads : protocol::Activity::waits;
}

void Dispatcher::hurry_holder() noexcept {
  const auto& state = core_.state();
  if (!state.running || !state.wanted()) return;
  const std::uint32_t place = state.running->task;
  Place& at = places_[place];
  if (at.stage != Stage::granted || at.presence != Presence::here || at.hurried) return;
  at.hurried = now_;
  Entry entry = entry_of(EntryKind::hurry);
  entry.job = at.job;
  entry.time_ns = now_.time_since_epoch().count();
  outlet_.command(place, entry);
}

// ---- time ----

/// When a job that has the device has had it for too long; absent: not as long as nobody else wants it.
std::optional<Instant> Dispatcher::held_until(const Place& at) const noexcept {
  const Contract& contract = at.tenancy.contract;
  const Instant due = at.granted + contract.wcet;
  if (contract.on_overrun == OnWcetExceeded::stop) return due;
  return at.hurried ? std::optional(std::max(due, *at.hurried) + options_.stuck_after) : std::nullopt;
}

std::optional<Instant> Dispatcher::next_tick() const noexcept {
  std::optional<Instant> next;
  const auto at_latest = [&](Instant when) { next = next ? std::min(*next, when) : when; };
  for (const Place& at : places_) {
    if (at.presence != Presence::here) continue;
    if (at.stage == Stage::early && !held(at)) at_latest(at.release);
    if (at.stage == Stage::lingering) at_latest(at.lingers_until);
    if (at.stage != Stage::granted) continue;
    if (const auto until = held_until(at)) at_latest(*until + Duration(1));
  }
  for (const Flight& flight : flights_)
    if (places_[flight.transfer.task].presence == Presence::here)
      at_latest(flight.since + options_.patience + Duration(1));
  return next;
}

void Dispatcher::tick(Instant now) noexcept {
  now_ = now;
  release_due();
  for (std::uint32_t place = 0; place < places_.size(); ++place) {
    const Place& at = places_[place];
    if (at.presence != Presence::here) continue;
    if (at.stage == Stage::lingering && at.lingers_until <= now) finish(place);
    if (at.stage == Stage::granted && held_until(at).value_or(now) < now)
      expel(place, at.tenancy.contract.on_overrun == OnWcetExceeded::stop ? Expelled::overrun : Expelled::stuck);
  }
  for (const Flight& flight : flights_)
    if (flight.since + options_.patience < now) expel(flight.transfer.task, Expelled::silent);
  follow_up();
}

} // namespace rtexec::daemon
