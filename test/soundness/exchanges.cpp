#include "test/soundness/exchanges.hpp"

#include "rtexec/sharing/daemon/client_admission.hpp"
#include "rtexec/sharing/daemon/dispatcher.hpp"
#include "test/rtexec/studies/soundness_budget.hpp"
#include "test/support/resolved.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace rtexec::soundness {
namespace {

using daemon::AdmittedClient;
using daemon::ClientAdmission;
using daemon::Contract;
using daemon::Dispatcher;
using protocol::EntryKind;
using simulator::chance;
using simulator::draw;
using simulator::Random;

constexpr std::int64_t unit = 1000; // so long that the shortest parts on a core do not matter
constexpr std::uint32_t places = 7;
constexpr int rounds = 10;

/// The moments at which the set may change, before or after the dispatcher is notified.
enum class Moment : std::uint8_t { request, grant, load_begin, load_end, save_end, done };
constexpr auto moments = static_cast<std::int64_t>(Moment::done) + 1;

struct Armed {
  Moment at{};
  bool before = false;
  std::int64_t countdown = 0;
  Instant from{};
  bool comes = false; // a client connects, and nothing else happens
};

/// The wishes of a newcomer, except its period.
struct Wish {
  Duration wcet{0};
  std::uint32_t slots = 0;
  std::int64_t percent = 100; // deadline D in percent of T
  Duration gap{0};
  std::optional<int> priority;
};

struct Seat {
  std::uint64_t life = 0; // identifies the connected client; 0: none
  bool dying = false;     // its process will end
  bool greedy = false;    // has no declaration, but executes
  std::optional<config::ClientDeclaration> declared;
  unsigned rank = 0;
  bool excepted = false;           // jobs pending at a change may overtake its next jobs
  std::optional<Instant> passed{}; // the release of a job that may have been overtaken; it may continue within its gap
  bool restores = false;           // gets its own contract back when the change has taken effect
  bool loaded = false;             // a chunk was loaded for its job
  bool lingers = false;            // it continues within its gap
  bool renewed = false;            // its job waits for the change of its declaration
  bool held = false;               // its job waits for the answer to its declaration
  std::uint64_t unjudged = 0;      // the job whose own lateness does not count
  std::uint64_t undeclared = 0;    // the job outstanding when it declared itself
  std::optional<policies::JobId> taken_for{}; // the job for which its last chunk was taken
  // The outstanding job, or the last one.
  std::uint64_t job = 0;
  bool outstanding = false, executes = false;
  std::uint64_t execution = 0; // the number of its execution; an interruption begins a new one
  Instant release{}, due{}, earliest{}, granted{}, ends{};
  int round = 0;
  bool parked = false; // its next request comes in the next round
};

struct Move {
  std::uint32_t place = 0, slot = 0, frame = 0;
  bool in = false;
  bool first = false; // the first chunk that a victim loses for a job
};
struct Engine {
  std::deque<Move> queue;   // the first one is under way
  std::uint64_t number = 0; // of the move under way
  Instant ends{};
};

class World final : public daemon::ClientSink {
 public:
  World(const ExchangeWay& way, Mistake mistake, Random& random, const std::function<void(const std::string&)>& tell)
      : random_(random),
        way_(way),
        mistake_(mistake),
        tell_(tell),
        wishes_(random_wishes()),
        cost_(random_cost()),
        frames_(random_frames()),
        separate_(chance(random, 50)),
        clients_(admission_options()),
        dispatcher_({.places = places,
                     .frames = frames_,
                     .copy_engines = way.copy_engines,
                     .policy = way.policy,
                     .frames_outlive_clients = !separate_},
                    *this) {}

  /// Connects the clients. Returns false if too few were admitted.
  bool begin() {
    for (std::size_t i = 0; i < wishes_.size(); ++i)
      static_cast<void>(come(wishes_[i], i + 1 == wishes_.size() ? 0 : draw(random_, 20, 200)));
    return here() > 1;
  }

  Exchanged run() {
    for (int round = 0; round < rounds && result_.broken.empty(); ++round) {
      prepare();
      run_until(end_);
    }
    run_out();
    for (std::uint32_t place = 0; place < places; ++place) {
      const Seat& seat = seats_[place];
      const auto& counts = dispatcher_.statistics(place);
      if (seat.declared && seat.outstanding) broken(place, "its job does not end");
      if (counts.violations + counts.failed + counts.overruns > 0)
        broken(place, "the dispatcher counts " + std::to_string(counts.violations) + " violations, " +
                          std::to_string(counts.failed) + " failed jobs, " + std::to_string(counts.overruns) +
                          " overruns");
    }
    return result_;
  }

  // ---- sink: consequences happen after the call, at the same time ----

  void command(std::uint32_t place, const protocol::Entry& entry) noexcept override {
    if (entry.kind == static_cast<std::uint16_t>(EntryKind::hurry) || seats_[place].dying) return;
    const bool in = entry.kind == static_cast<std::uint16_t>(EntryKind::load);
    for (const Engine& each : engines_)
      if (std::ranges::find(each.queue, entry.frame, &Move::frame) != each.queue.end())
        broken(place, "a frame is given on while it is written or read");
    Engine& engine = engine_of(in);
    engine.queue.push_back({place, entry.slot, entry.frame, in, !in && begins_victim(place)});
    last_ordered_ = engine.queue.back();
    if (engine.queue.size() == 1) begin_move(in);
  }
  void verdict(std::uint32_t place, protocol::JobVerdict verdict) noexcept override {
    Seat& seat = seats_[place];
    if (verdict.verdict == protocol::Verdict::granted) execute(place);
    else if (verdict.verdict == protocol::Verdict::waiting) seat.executes = false;
    else broken(place, "a job of it failed");
  }
  void changed(std::uint32_t place) noexcept override {
    say(place, "is changed");
    if (std::exchange(seats_[place].renewed, false)) renew(place);
    if (std::exchange(seats_[place].restores, false)) later(place, now_, [this, place] { restore(place); });
  }
  void expel(std::uint32_t place, daemon::Expelled) noexcept override { broken(place, "it is expelled"); }
  void vacant(std::uint32_t place) noexcept override {
    at(now_, [this, place] { leave(place); });
  }

 private:
  // ---- the server ----

  /// Disconnects a client, or waits until its declaration is answered.
  void leave(std::uint32_t place) {
    if (asks_) return at(answered_, [this, place] { leave(place); });
    look_for_quiet();
    clients_.leave(place, dispatcher_.delays(place));
    if (mistake_ == Mistake::forgets_who_went) quiet();
    if (mistake_ != Mistake::tells_late) tell_changes({});
  }
  void look_for_quiet() {
    dispatcher_.tick(now_);
    if (std::exchange(quiet_, dispatcher_.quiet_instants()) != dispatcher_.quiet_instants()) quiet();
  }
  void quiet() {
    clients_.quiet();
    swapped_ = slots() > frames_;
  }
  [[nodiscard]] std::uint32_t slots() const {
    std::uint32_t all = 0;
    for (std::uint32_t place = 0; place < places; ++place) all += clients_.at(place) ? clients_.at(place)->slots : 0;
    return all;
  }
  /// A request that is repeated when the server says so.
  using Asked = std::function<daemon::Admitted<>()>;
  bool apply(Asked what) {
    const auto admitted = what();
    if (!admitted && admitted.error().code == protocol::Refusal::later) {
      if (again_.size() < 3) again_.push_back(std::move(what));
      return true;
    }
    if (admitted) ++result_.changes;
    return admitted.has_value();
  }
  void apply_again() {
    for (Asked& what : std::exchange(again_, {})) static_cast<void>(apply(std::move(what)));
  }
  /// Repeats a request as soon as it may be admitted, or some time later.
  void look_who_asks_again() {
    if (again_.empty() || asks_ || over_) return;
    if (quiet_ != dispatcher_.quiet_instants() ? chance(random_, 60) : chance(random_, 3)) apply_again();
  }

  // ---- the set ----

  std::vector<Wish> random_wishes() {
    std::vector<Wish> wishes(static_cast<std::size_t>(draw(random_, 2, 5)));
    longest_execution_ = draw(random_, 0, 2) == 0 ? 6 : draw(random_, 10, 60);
    max_chunks_ = draw(random_, 0, 9) == 0 ? 0 : draw(random_, 1, 8);
    for (Wish& wish : wishes) wish = random_wish();
    return wishes;
  }
  Wish random_wish() {
    return {.wcet = Duration(unit * draw(random_, 1, longest_execution_)),
            .slots = chance(random_, 25) ? 0 : static_cast<std::uint32_t>(draw(random_, 0, max_chunks_)),
            .percent = chance(random_, 50) ? 100 : draw(random_, 50, 100),
            .gap = Duration(chance(random_, 75) ? 0 : unit * draw(random_, 1, 4)),
            .priority = static_cast<int>(draw(random_, 1, 99))};
  }
  SwapCost random_cost() {
    SwapCost cost = test::random_cost(random_, chunk);
    for (Duration* each :
         {&cost.in_per_chunk, &cost.out_per_chunk, &cost.drop_per_chunk, &cost.in_fixed, &cost.out_fixed})
      *each *= unit;
    return test::charged(cost);
  }
  /// Draws the number of frames: fewer than all slots in most sets.
  std::uint32_t random_frames() {
    std::uint32_t all = 0, largest = 1;
    for (const Wish& wish : wishes_) {
      all += wish.slots;
      largest = std::max(largest, wish.slots);
    }
    if (all <= largest || chance(random_, 25)) return std::max(all, largest) + (chance(random_, 50) ? 0U : largest);
    const bool nearly = mistake_ == Mistake::tells_late || chance(random_, 50);
    return static_cast<std::uint32_t>(draw(random_, nearly ? all - 1 : largest, all - 1));
  }
  daemon::AdmissionOptions admission_options() {
    best_effort_wcet_ = Duration(unit * draw(random_, 1, std::max<std::int64_t>(1, longest_execution_ / 3)));
    Board board;
    board.name = "host";
    board.capacity = chunk * frames_;
    board.chunk = chunk;
    board.copy_engines = way_.copy_engines;
    board.memory_policies = {MemoryPolicy::device};
    board.swap_costs = {cost_};
    TaskSet set;
    set.swap.policy = way_.policy;
    set.executive.order = way_.order;
    constexpr std::array priorities{PriorityAssignment::rate_monotonic, PriorityAssignment::deadline_monotonic,
                                    PriorityAssignment::explicit_priorities};
    set.executive.priorities = priorities[static_cast<std::size_t>(draw(random_, 0, 2))];
    return {.device = test::resolved(set, board), .rules = {}, .places = places, .best_effort_wcet = best_effort_wcet_};
  }

  [[nodiscard]] std::size_t here() const {
    return static_cast<std::size_t>(std::ranges::count_if(seats_, [](const Seat& seat) { return seat.life != 0; }));
  }
  /// Returns a random place for which `fits` holds, if any.
  template <class Fits> std::optional<std::uint32_t> any(Fits fits) {
    std::vector<std::uint32_t> some;
    for (std::uint32_t place = 0; place < places; ++place)
      if (seats_[place].life != 0 && !seats_[place].dying && fits(seats_[place])) some.push_back(place);
    if (some.empty()) return std::nullopt;
    return some[static_cast<std::size_t>(draw(random_, 0, static_cast<std::int64_t>(some.size()) - 1))];
  }

  // ---- changes ----

  static config::ClientDeclaration declaration_of(const Wish& wish, Duration period) {
    return {.period = period,
            .deadline = std::max(Duration(1), period * wish.percent / 100),
            .wcet = wish.wcet,
            .gap = wish.gap,
            .priority = wish.priority};
  }
  /// Connects and declares a client in `clients`. Admission checks all others too.
  static daemon::Admitted<std::uint32_t> admitted(ClientAdmission& clients, const Wish& wish, Duration period) {
    const auto place = clients.connect({"client", {}}, wish.slots);
    if (!place) return place;
    if (auto declared = clients.declare(*place, declaration_of(wish, period), false); !declared)
      return Unexpected(declared.error());
    return place;
  }
  /// Returns a period with which the client is admitted: `scale` 16ths of its time alone, or, if `scale` is 0, the
  /// shortest one tried.
  std::optional<Duration> period_for(const Wish& wish, std::int64_t scale) {
    const Duration alone = wish.wcet + (cost_.in_per_chunk + cost_.out_per_chunk) * wish.slots + cost_.in_fixed;
    ClientAdmission everybody = clients_;
    if (chance(random_, 50)) everybody.quiet(); // then the server may ask it to try again
    const auto fits = [&](std::int64_t sixteenths) {
      ClientAdmission trial = everybody;
      return admitted(trial, wish, alone * sixteenths / 16).has_value();
    };
    if (scale > 0) return fits(scale) ? std::optional(alone * scale / 16) : std::nullopt;
    std::int64_t least = 8, most = 400;
    if (!fits(most)) return std::nullopt;
    while (most - least > std::max<std::int64_t>(1, least / 24))
      (fits((least + most) / 2) ? most : least) = (least + most) / 2;
    if (chance(random_, 30)) most += draw(random_, 0, most / 2);
    return fits(most) ? std::optional(alone * most / 16) : std::nullopt;
  }
  bool come(const Wish& wish, std::int64_t scale = 0) {
    look_for_quiet();
    const auto period = period_for(wish, scale);
    return period && apply([this, wish, period] { return come(wish, *period); });
  }
  daemon::Admitted<> come(const Wish& wish, Duration period) {
    look_for_quiet();
    ClientAdmission everybody = clients_;
    const auto place = admitted(everybody, wish, period);
    if (!place) return Unexpected(place.error());
    clients_ = std::move(everybody);
    settle_in(*place);
    seats_[*place].declared = declaration_of(wish, period);
    if (mistake_ == Mistake::released_before) before_ = seats_[*place].declared->deadline * draw(random_, 1, 50) / 100;
    tell_changes(*place);
    ask_first(*place);
    return {};
  }
  bool come_undeclared() {
    return apply([this, wish = random_wish(), greedy = chance(random_, 60)]() -> daemon::Admitted<> {
      look_for_quiet();
      const auto place = clients_.connect({"client", {}}, wish.slots);
      if (!place) return Unexpected(place.error());
      settle_in(*place);
      seats_[*place].greedy = greedy;
      tell_changes(*place);
      if (greedy) ask_first(*place);
      return {};
    });
  }
  void settle_in(std::uint32_t place) {
    Seat seat;
    seat.life = ++lives_;
    seat.job = seats_[place].job;
    seat.execution = seats_[place].execution;
    seat.round = round_;
    seats_[place] = seat;
  }
  /// Declares a client. The answer takes some time, during which its requests wait.
  bool declare() {
    const auto place = any([](const Seat& seat) { return !seat.declared; });
    if (!place || asks_) return false;
    dispatcher_.hold(*place);
    asks_ = *place;
    answered_ = now_ + (chance(random_, 60) ? Duration(0) : Duration(draw(random_, 0, longest_.count() / 4)));
    const bool delays = mistake_ != Mistake::forgets_what_it_was && dispatcher_.delays(*place);
    at(answered_, [this, place = *place, delays] { answer(place, delays); });
    return true;
  }
  void answer(std::uint32_t place, bool delays) {
    asks_.reset();
    look_for_quiet();
    const Wish wish = random_wish();
    const Duration alone = wish.wcet + (cost_.in_per_chunk + cost_.out_per_chunk) * clients_.at(place)->slots;
    for (const std::int64_t sixteenths : {20, 28, 40, 60, 100, 200, 400}) {
      const auto declaration = declaration_of(wish, alone * sixteenths / 16);
      if (!clients_.declare(place, declaration, delays)) continue;
      become(place, declaration);
      return;
    }
    seats_[place].held = false;
    dispatcher_.resume(place, now_);
  }
  void become(std::uint32_t place, const config::ClientDeclaration& declaration) {
    say(place, "has declared itself");
    Seat& seat = seats_[place];
    const bool asked = seat.greedy;
    seat.declared = declaration;
    seat.greedy = false;
    if (std::exchange(seat.held, false)) {
      renew(place);
    } else if (seat.outstanding && !seat.executes && !in_core(place)) {
      seat.renewed = true;
    } else if (seat.outstanding || seat.executes) {
      seat.undeclared = seat.job;
    }
    ++result_.changes;
    tell_changes(place);
    if (!asked) ask_first(place);
  }
  void renew(std::uint32_t place) {
    Seat& seat = seats_[place];
    seat.release = now_;
    seat.earliest = now_ + seat.declared->period;
  }
  /// Lets a client grow as far as it may, often one that executes.
  bool grow() {
    auto place = any([](const Seat& seat) { return seat.executes; });
    if (!place || chance(random_, 50)) place = any([](const Seat&) { return true; });
    if (!place) return false;
    std::uint32_t slots = clients_.at(*place)->slots + static_cast<std::uint32_t>(draw(random_, 1, 3));
    for (int more = chance(random_, 50) ? 6 : 0; more > 0 && ClientAdmission(clients_).grow(*place, slots + 1); --more)
      ++slots;
    return apply([this, place = *place, slots, life = seats_[*place].life]() -> daemon::Admitted<> {
      look_for_quiet();
      if (seats_[place].life != life || seats_[place].dying || clients_.at(place)->slots >= slots) return {};
      if (auto grown = clients_.grow(place, slots); !grown) return grown;
      tell_changes(place);
      return {};
    });
  }
  bool go() {
    const auto place = here() > 1 ? any([](const Seat&) { return true; }) : std::nullopt;
    if (!place) return false;
    Seat& seat = seats_[*place];
    say(*place, "goes");
    seat.parked = false;
    const bool works = std::ranges::any_of(engines_, [&](const Engine& each) {
      return !each.queue.empty() && each.queue.front().place == *place && each.queue.front().in;
    });
    if (mistake_ == Mistake::frames_too_early && (works || seat.executes)) {
      for (Engine& engine : engines_)
        std::erase_if(engine.queue,
                      [&](const Move& each) { return each.place == *place && &each != &engine.queue[0]; });
      if (seat.executes) executed_until_ = seat.ends;
      vacate(*place);
      dispatcher_.died(*place, now_);
    } else if (separate_ || chance(random_, 40)) {
      die(*place);
    } else {
      seat.dying = true;
      seat.outstanding = seat.executes;
      cancel(*place, [](const Move& each) { return !each.in; });
      dispatcher_.ending(*place, now_);
      Duration left = seat.executes ? seat.ends - now_ : Duration(0);
      for (const Engine& each : engines_)
        if (!each.queue.empty() && each.queue.front().place == *place) left = std::max(left, each.ends - now_);
      later(*place, now_ + (chance(random_, 50) ? left : Duration(draw(random_, 0, left.count()))),
            [this, place] { die(*place); });
    }
    return true;
  }
  void die(std::uint32_t place) {
    say(place, "has ended");
    cancel(place, [](const Move&) { return true; });
    vacate(place);
    dispatcher_.died(place, now_);
  }
  void vacate(std::uint32_t place) {
    const Seat was = seats_[place];
    seats_[place] = Seat{};
    seats_[place].job = was.job;
    seats_[place].execution = was.execution + 1;
  }

  /// Makes the first change that is possible.
  void change() {
    if (asks_ || over_) return;
    const std::int64_t first = kind_of_change();
    bool done = false;
    if (first < 4) done = come(random_wish());
    else if (first < 6) done = grow();
    else if (first < 7) done = come_undeclared();
    else if (first < 8) done = declare();
    if (done || first < 6 || !go()) return;
    ++result_.changes;
    if (chance(random_, 50)) later_change();
  }
  /// Draws a kind of change. With a mistake, it is mostly the kind that the mistake affects. Below 4: connect; then
  /// grow, connect without a declaration, declare; from 8: disconnect.
  std::int64_t kind_of_change() {
    if (chance(random_, 70)) switch (mistake_) {
      case Mistake::returns_at_once: return 4;
      case Mistake::forgets_what_it_was: return draw(random_, 6, 7);
      case Mistake::forgets_who_went:
      case Mistake::tells_late: return 8;
      default: break;
      }
    return draw(random_, 0, 9);
  }
  /// Schedules the next change. A departure with outstanding jobs is often followed soon.
  void later_change() {
    if (chance(random_, 70)) {
      armed_.push_back({.at = chance(random_, 70) ? Moment::request : Moment::grant,
                        .before = chance(random_, 30),
                        .countdown = draw(random_, 0, 6),
                        .from = now_,
                        .comes = true});
    } else {
      at(now_ + Duration(draw(random_, 0, longest_.count() / 2)), [this] { follow(); });
    }
  }
  void follow() {
    if (!asks_ && !over_) static_cast<void>(come(random_wish()));
  }

  void tell_changes(std::optional<std::uint32_t> subject) {
    swapped_ = swapped_ || slots() > frames_;
    if (subject) resident_ = !swapped_;
    const auto changes = clients_.take_changes();
    quiet_ = dispatcher_.quiet_instants();
    pending_.clear();
    for (std::uint32_t place = 0; place < places; ++place)
      if (seats_[place].life != 0 && seats_[place].outstanding) pending_.emplace_back(place, seats_[place].job);
    for (const std::uint32_t place : changes) {
      Seat& seat = seats_[place];
      const Contract& contract = clients_.at(place)->contract;
      if (seat.life == 0 || seat.dying) continue; // it left; admission is notified later
      if (way_.order == Order::static_priority && (!dispatcher_.occupied(place) || seat.rank != contract.task.rank))
        seat.excepted = true;
      seat.rank = contract.task.rank;
      if (!dispatcher_.occupied(place)) attach(place, contract);
      else if (mistake_ != Mistake::old_ranks || place == subject) tell_one(place, contract, place == subject);
    }
  }
  /// Returns the contract for the dispatcher. If the mistake is one of times, only this simulation enforces periods.
  Contract told(Contract contract) const {
    if (mistake_ == Mistake::returns_at_once || mistake_ == Mistake::released_before) contract.period = Duration(0);
    return contract;
  }
  void attach(std::uint32_t place, const Contract& contract) {
    Contract first = told(contract);
    if (contract.real_time) first.task.device_done_by -= before_;
    if (!dispatcher_.attach(place, first, now_)) broken(place, "its place is not vacant");
    say(place, "comes");
  }
  void tell_one(std::uint32_t place, const Contract& contract, bool subject) {
    Seat& seat = seats_[place];
    Contract next = told(contract);
    const bool grows = contract.task.slots > dispatcher_.state().slots[place].size();
    const bool waits = seat.outstanding && !seat.executes && in_core(place);
    const bool interrupt = subject && grows && seat.executes && (mistake_ != Mistake::none || chance(random_, 80));
    if (interrupt || (grows && waits)) {
      say(place, "grows in its job");
      if (mistake_ == Mistake::returns_at_once) return_at_once(place, next), seat.unjudged = seat.job;
      else seat.release = std::max(now_, seat.earliest);
      seat.earliest = seat.release + contract.period;
      seat.undeclared = 0; // its job continues as one of a declared client
      ++seat.execution;
    }
    if (!dispatcher_.change(place, next, interrupt, now_)) broken(place, "its change is refused");
  }
  void return_at_once(std::uint32_t place, Contract& next) {
    next.task.device_done_by = std::max(Duration(0), seats_[place].due - now_);
    seats_[place].restores = true;
  }
  /// Restores the client's own contract after its job.
  void restore(std::uint32_t place) {
    if (!seats_[place].dying && !dispatcher_.change(place, told(clients_.at(place)->contract), false, now_))
      broken(place, "its change is refused");
  }
  [[nodiscard]] bool in_core(std::uint32_t place) const {
    const auto& state = dispatcher_.state();
    const auto& [preempted, staged, waiting] = state.levels[1];
    return (state.running && state.running->task == place) || (staged && staged->job.task == place) ||
           std::ranges::any_of(waiting, [&](const auto& each) { return each.job.task == place; });
  }

  // ---- jobs ----

  void ask_first(std::uint32_t place) {
    Seat& seat = seats_[place];
    const Duration within = seat.declared ? seat.declared->period : longest_;
    seat.earliest = now_;
    const Instant when = now_ + (chance(random_, 60) ? Duration(0) : Duration(draw(random_, 0, within.count())));
    if (mistake_ == Mistake::released_before && seat.declared) {
      request(place);
      seat.release -= before_;
      seat.earliest -= before_;
      before_ = Duration(0);
      restore(place);
    } else {
      later(place, when, [this, place] { ask(place); });
    }
  }
  /// Schedules the next request, as early as allowed or when all clients meet.
  void ask_next(std::uint32_t place) {
    Seat& seat = seats_[place];
    const bool declared = seat.declared.has_value();
    Instant when = std::max(now_, declared ? seat.earliest : now_);
    if (seat.round != round_) {
      seat.round = round_;
      when = std::max(when, meeting_ - lead(place));
    } else if (chance(random_, gaps_)) {
      when += Duration(draw(random_, 0, longest_.count()));
    } else if (!declared && chance(random_, 50)) {
      when += Duration(draw(random_, 0, longest_.count() / 2));
    }
    seat.parked = when >= end_;
    if (seat.parked) return;
    const bool early = when == seat.earliest && chance(random_, 30) && dispatcher_keeps_periods();
    later(place, early ? now_ : when, [this, place] { ask(place); });
  }
  [[nodiscard]] bool dispatcher_keeps_periods() const {
    return mistake_ != Mistake::returns_at_once && mistake_ != Mistake::released_before;
  }
  Duration lead(std::uint32_t place) {
    const AdmittedClient& client = *clients_.at(place);
    const Duration load = (cost_.in_per_chunk + cost_.out_per_chunk) * client.slots;
    switch (draw(random_, 0, 5)) {
    case 0: return Duration(draw(random_, 1, (client.contract.wcet + load).count()));
    case 1: return load + Duration(draw(random_, -1, 1) * unit);
    case 2: return Duration(draw(random_, 0, longest_.count() / 2));
    default: return Duration(draw(random_, -2, 2) * (chance(random_, 50) ? 1 : unit));
    }
  }
  void ask(std::uint32_t place) {
    passes(Moment::request, true);
    const Seat& seat = seats_[place];
    if (seat.life == 0 || seat.dying || seat.outstanding) return;
    if (!dispatcher_keeps_periods() && !running(place) && seat.declared && seat.earliest > now_)
      return later(place, seat.earliest, [this, place] { ask(place); });
    request(place);
    passes(Moment::request, false);
  }
  void request(std::uint32_t place) {
    Seat& seat = seats_[place];
    ++seat.job;
    seat.outstanding = true;
    if (running(place)) { // within its gap
      say(place, "goes on");
      seat.lingers = true;
      return entry(place, EntryKind::request, {}, seat.job);
    }
    seat.loaded = false;
    seat.held = asks_ == place;
    const Contract& contract = clients_.at(place)->contract;
    seat.release = seat.declared ? std::max(now_, seat.earliest) : now_;
    seat.earliest = seat.release + contract.period;
    seat.due = seat.release + contract.task.device_done_by;
    say(place, "asks, release " + text(seat.release));
    entry(place, EntryKind::request, {}, seat.job);
  }
  [[nodiscard]] bool running(std::uint32_t place) const {
    const auto& state = dispatcher_.state();
    return state.running && state.running->task == place;
  }
  void execute(std::uint32_t place) {
    Seat& seat = seats_[place];
    if (std::ranges::any_of(seats_, [](const Seat& each) { return each.executes; }) || executed_until_ > now_)
      broken(place, "it is granted the device while another executes");
    const Contract& contract = clients_.at(place)->contract;
    if (!std::exchange(seat.lingers, false)) seat.granted = now_;
    const bool declared = seat.declared && seat.undeclared != seat.job;
    const Duration most = seat.granted + (declared ? seat.declared->wcet : best_effort_wcet_) - now_;
    const bool early = chance(random_, contract.gap > Duration(0) ? 60 : early_);
    const Duration taken =
        early ? Duration(draw(random_, std::min<std::int64_t>(1, most.count()), most.count())) : most;
    say(place, "executes");
    seat.executes = true;
    seat.loaded = false;
    seat.ends = now_ + std::min(taken, most);
    later(place, seat.ends, [this, place, number = ++seat.execution] {
      if (seats_[place].executes && seats_[place].execution == number) end(place);
    });
    inner(Moment::grant);
  }
  void end(std::uint32_t place) {
    passes(Moment::done, true);
    Seat& seat = seats_[place];
    if (!seat.executes) return;
    seat.executes = seat.outstanding = false;
    say(place, "ends");
    if (seat.declared && seat.undeclared != seat.job && seat.unjudged != seat.job) judge(place);
    if (!seat.dying) {
      entry(place, EntryKind::done, {}, seat.job);
      if (running(place) && chance(random_, 80)) go_on(place);
      else ask_next(place);
    }
    passes(Moment::done, false);
  }
  void go_on(std::uint32_t place) {
    const Duration gap = clients_.at(place)->contract.gap;
    const Instant when = now_ + (chance(random_, 50) ? gap : Duration(draw(random_, 0, gap.count())));
    later(place, when, [this, place] { ask(place); });
  }
  void judge(std::uint32_t place) {
    Seat& seat = seats_[place];
    std::erase_if(pending_, [&](const auto& each) {
      const Seat& of = seats_[each.first];
      return of.job != each.second || !of.outstanding;
    });
    const bool passed = seat.excepted || seat.passed == seat.release;
    if (passed) seat.passed = seat.release;
    if (pending_.empty()) seat.excepted = false;
    const AdmittedClient& client = *clients_.at(place);
    if (seat.dying || passed) return;
    Duration bound = std::min(*client.response_bound, seat.declared->deadline);
    if (resident_ && moved_) {
      if (way_.order == Order::static_priority) return;
      bound = seat.declared->deadline + *moved_ + longest_wcet();
    }
    ++result_.jobs;
    const Duration response = now_ - seat.release;
    if (response > bound) broken(place, "response " + to_string(response) + ", bound " + to_string(bound));
  }

  /// Returns the longest WCET of all connected clients.
  [[nodiscard]] Duration longest_wcet() const {
    Duration longest{0};
    for (std::uint32_t place = 0; place < places; ++place)
      if (const auto* client = clients_.at(place)) longest = std::max(longest, client->contract.wcet);
    return longest;
  }

  // ---- chunks ----

  /// True if a chunk that leaves is the task's first for a job. For a staged job this is known; otherwise the earlier
  /// orders tell.
  bool begins_victim(std::uint32_t place) {
    const bool staged = way_.policy == SwapPolicy::pipelined || way_.policy == SwapPolicy::lru;
    const auto& state = dispatcher_.state();
    const auto& next = state.levels[1].staged;
    if (!staged || !next) return last_ordered_.in || last_ordered_.place != place;
    return std::exchange(seats_[place].taken_for, next->job) != next->job;
  }

  Engine& engine_of(bool in) { return engines_[way_.copy_engines > 1 && in ? 1 : 0]; }
  void begin_move(bool in) {
    Engine& engine = engine_of(in);
    const Move& move = engine.queue.front();
    Duration takes = move.in ? cost_.in_per_chunk : cost_.out_per_chunk;
    if (move.in && !std::exchange(seats_[move.place].loaded, true)) takes += cost_.in_fixed;
    if (move.first) takes += cost_.out_fixed;
    moved_ = moved_.value_or(Duration(0)) + takes;
    engine.ends = now_ + takes;
    say(move.place, std::string(move.in ? "loads " : "saves ") + std::to_string(move.slot));
    at(engine.ends, [this, in = move.in, number = ++engine.number] {
      if (engine_of(in).number == number) end_move(in);
    });
    if (move.in) inner(Moment::load_begin);
  }
  void end_move(bool in) {
    const Moment moment = engine_of(in).queue.front().in ? Moment::load_end : Moment::save_end;
    const std::uint64_t number = engine_of(in).number;
    passes(moment, true);
    Engine& engine = engine_of(in);
    if (engine.number != number) return; // cancelled
    const Move move = engine.queue.front();
    engine.queue.pop_front();
    ++engine.number;
    if (!engine.queue.empty()) begin_move(engine.queue.front().in);
    if (seats_[move.place].life != 0 && !seats_[move.place].dying)
      entry(move.place, move.in ? EntryKind::loaded : EntryKind::saved, move, 0);
    passes(moment, false);
  }
  template <class Which> void cancel(std::uint32_t place, Which which) {
    for (Engine& engine : engines_) {
      if (engine.queue.empty()) continue;
      const bool first = engine.queue.front().place == place && which(engine.queue.front());
      std::erase_if(engine.queue, [&](const Move& each) { return each.place == place && which(each); });
      if (!first) continue;
      ++engine.number;
      if (!engine.queue.empty()) begin_move(engine.queue.front().in);
    }
  }

  // ---- time ----

  void at(Instant when, std::function<void()> what) {
    // Events of the same time come in random order.
    agenda_.insert(chance(random_, 50) ? agenda_.upper_bound(when) : agenda_.lower_bound(when),
                   std::pair(when, std::move(what)));
  }
  void later(std::uint32_t place, Instant when, std::function<void()> what) {
    at(when, [this, place, life = seats_[place].life, what = std::move(what)] {
      if (seats_[place].life == life) what();
    });
  }
  void run_until(Instant until) {
    while (result_.broken.empty()) {
      const Instant next = agenda_.empty() ? Instant::max() : agenda_.begin()->first;
      const Instant tick = dispatcher_.next_tick().value_or(Instant::max());
      if (std::min(next, tick) > until) break;
      now_ = std::max(now_, std::min(next, tick));
      if (tick <= next) {
        dispatcher_.tick(now_);
      } else {
        const auto what = std::move(agenda_.begin()->second);
        agenda_.erase(agenda_.begin());
        what();
      }
      look_whether_idle();
      look_who_asks_again();
    }
    now_ = std::max(now_, until);
  }
  void look_whether_idle() {
    for (const Seat& seat : seats_)
      if (seat.dying || (seat.declared && seat.outstanding && seat.release <= now_)) return;
    const auto& state = dispatcher_.state();
    if (state.running && seats_[state.running->task].declared) return;
    if (!state.levels[1].staged && std::ranges::all_of(engines_, [](const Engine& each) { return each.queue.empty(); }))
      moved_.reset();
  }

  /// Lets all jobs end, if they do.
  void run_out() {
    over_ = true;
    for (const Seat& seat : seats_)
      if (seat.declared) longest_ = std::max(longest_, seat.declared->period);
    run_until(now_ + 30 * longest_);
  }
  /// Begins another round, and chooses when the set changes in it.
  void prepare() {
    ++round_;
    longest_ = Duration(unit);
    Duration shortest = Duration::max();
    for (const Seat& seat : seats_) {
      if (!seat.declared) continue;
      longest_ = std::max(longest_, seat.declared->period);
      shortest = std::min(shortest, seat.declared->period);
    }
    shortest = std::min(shortest, longest_);
    meeting_ = now_ + 2 * longest_;
    end_ = meeting_ + std::min(2 * longest_, Duration(draw(random_, shortest.count(), 5 * shortest.count())));
    gaps_ = chance(random_, 60) ? 0 : static_cast<int>(draw(random_, 1, 30));
    early_ = chance(random_, 30) ? static_cast<int>(draw(random_, 10, 60)) : 0;
    armed_.clear();
    for (std::int64_t changes = draw(random_, 1, 3); changes > 0; --changes) {
      if (chance(random_, 30)) {
        const Duration around{draw(random_, -shortest.count(), shortest.count())};
        at(meeting_ + (chance(random_, 50) ? around : Duration(draw(random_, -1, 1))), [this] { change(); });
      } else {
        const bool late = mistake_ == Mistake::returns_at_once; // when it has executed most of its time
        armed_.push_back({.at = late ? Moment::done : static_cast<Moment>(draw(random_, 0, moments - 1)),
                          .before = late || chance(random_, 50),
                          .countdown = draw(random_, 0, 4),
                          .from = meeting_ - Duration(draw(random_, 0, shortest.count()))});
      }
    }
    for (std::uint32_t place = 0; place < places; ++place)
      if (std::exchange(seats_[place].parked, false)) ask_next(place);
  }
  /// Removes and returns the armed change that is due at the moment, if any.
  [[nodiscard]] std::optional<Armed> due(Moment moment, bool before) {
    for (auto each = armed_.begin(); each != armed_.end(); ++each) {
      if (each->at != moment || each->before != before || each->from > now_ || each->countdown-- > 0) continue;
      const Armed found = *each;
      armed_.erase(each);
      return found;
    }
    return std::nullopt;
  }
  void happens(const Armed& what) { what.comes ? follow() : change(); }
  void passes(Moment moment, bool before) {
    if (const auto what = due(moment, before)) happens(*what);
  }
  /// Handles a moment within a call of the dispatcher: the change comes after the call.
  void inner(Moment moment) {
    auto what = due(moment, true);
    if (!what) what = due(moment, false);
    if (what) agenda_.emplace_hint(agenda_.lower_bound(now_), now_, [this, it = *what] { happens(it); });
  }

  // ---- output ----

  void entry(std::uint32_t place, EntryKind kind, const Move& move, std::uint64_t job) {
    dispatcher_.take(place,
                     {.kind = static_cast<std::uint16_t>(kind),
                      .slot = move.slot,
                      .frame = move.frame,
                      .job = job,
                      .time_ns = now_.time_since_epoch().count()},
                     now_);
  }
  static std::string text(Instant when) { return std::to_string(when.time_since_epoch().count()); }
  void say(std::uint32_t place, const std::string& what) {
    if (tell_) tell_(text(now_) + " t" + std::to_string(place) + "." + std::to_string(seats_[place].job) + " " + what);
  }
  void broken(std::uint32_t place, const std::string& what) {
    say(place, what);
    if (!result_.broken.empty()) return;
    result_.broken = "at " + text(now_) + " task " + std::to_string(place) + ": " + what + "\n" +
                     std::to_string(frames_) + " frames, in " + to_string(cost_.in_per_chunk) + " + " +
                     to_string(cost_.in_fixed) + ", out " + to_string(cost_.out_per_chunk) + " + " +
                     to_string(cost_.out_fixed) + (separate_ ? ", chunks of their own" : "") + "\n";
    for (std::uint32_t each = 0; each < places; ++each) {
      const AdmittedClient* client = clients_.at(each);
      if (client == nullptr) continue;
      const Contract& contract = client->contract;
      result_.broken += "t" + std::to_string(each) + ": T " + to_string(contract.period) + ", D " +
                        to_string(contract.deadline) + ", C " + to_string(contract.wcet) + ", " +
                        std::to_string(client->slots) + " slots, rank " + std::to_string(client->contract.task.rank) +
                        (client->contract.task.stays ? ", stays" : "") +
                        (client->response_bound ? ", bound " + to_string(*client->response_bound) : "") + "\n";
    }
  }

  static constexpr Bytes chunk{std::uint64_t{2} << 20};
  Random& random_;
  ExchangeWay way_;
  Mistake mistake_;
  const std::function<void(const std::string&)>& tell_;
  std::int64_t longest_execution_ = 1, max_chunks_ = 0;
  std::vector<Wish> wishes_;
  SwapCost cost_;
  Duration best_effort_wcet_{0};
  std::uint32_t frames_ = 0;
  bool separate_ = false; // true: each client makes its own chunks
  ClientAdmission clients_;
  Dispatcher dispatcher_;

  std::array<Seat, places> seats_{};
  std::array<Engine, 2> engines_{};
  std::multimap<Instant, std::function<void()>> agenda_;
  Instant now_{std::chrono::seconds(1)};
  std::uint64_t lives_ = 0;
  Instant executed_until_{};          // by a process that counts as ended
  std::uint64_t quiet_ = 0;           // quiet instants reported to clients_
  bool swapped_ = false;              // slots did not fit at some time since a quiet instant
  bool resident_ = false;             // the bounds in force are for slots that all fit
  bool over_ = false;                 // no more changes
  std::vector<Asked> again_;          // requests that the server wants repeated
  std::optional<std::uint32_t> asks_; // the client that waits for an answer to its declaration
  Instant answered_{};                // when that answer comes
  std::optional<Duration> moved_;     // time for which chunks moved since the device was idle
  Move last_ordered_{};
  std::vector<std::pair<std::uint32_t, std::uint64_t>> pending_; // jobs outstanding at the last change of the set
  // how long before its arrival the next newcomer is released
  Duration before_{0};
  int round_ = 0, gaps_ = 0, early_ = 0;
  Instant meeting_{}, end_{};
  Duration longest_{unit}; // longest period
  std::vector<Armed> armed_;
  Exchanged result_;
};

} // namespace

std::optional<Exchanged> exchange_tasks(const ExchangeWay& way, Mistake mistake, Random& random,
                                        const std::function<void(const std::string&)>& tell) {
  World world(way, mistake, random, tell);
  if (!world.begin()) return std::nullopt;
  return world.run();
}

} // namespace rtexec::soundness
