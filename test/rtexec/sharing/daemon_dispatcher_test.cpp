// Tests the dispatcher with simulated clients on a virtual clock: admitted deadlines, contents, crashes at any moment,
// and clients that lie.
#include "rtexec/sharing/daemon/dispatcher.hpp"
#include "test/rtexec/sharing/daemon_device.hpp"
#include "test/support/sanitized.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <vector>

namespace rtexec::daemon {
namespace {

using namespace std::chrono_literals;
using namespace daemon::test;
using protocol::Entry;
using protocol::EntryKind;

constexpr Duration chunk = 100us; // as in admission_options()

/// Returns `contract` of a client with this rank and these slots.
Contract with(Contract contract, std::uint32_t rank, std::uint32_t slots = 0) {
  contract.task.rank = rank;
  contract.task.slots = slots;
  return contract;
}

DispatcherOptions options_of(const AdmissionOptions& options, std::uint32_t frames) {
  return {.places = options.places, .frames = frames, .copy_engines = 2};
}

/// Keeps the last message to each client.
class Quiet final : public ClientSink {
 public:
  void command(std::uint32_t place, const Entry& entry) noexcept override {
    last[place] = entry;
    ++commands;
  }
  void verdict(std::uint32_t place, protocol::JobVerdict verdict) noexcept override { verdicts[place] = verdict; }
  void changed(std::uint32_t) noexcept override { ++changes; }
  void expel(std::uint32_t place, Expelled) noexcept override { expelled[place] = true; }
  void vacant(std::uint32_t) noexcept override {}
  std::array<Entry, 4> last{};
  std::array<protocol::JobVerdict, 4> verdicts{};
  int commands = 0, changes = 0;
  std::array<bool, 4> expelled{};
};

void say(Dispatcher& dispatcher, std::uint32_t place, EntryKind kind, std::uint64_t job) {
  dispatcher.take(place, {.kind = static_cast<std::uint16_t>(kind), .job = job}, Instant{});
}

bool is(const Entry& entry, EntryKind kind) { return entry.kind == static_cast<std::uint16_t>(kind); }

Program program_of(const config::ClientDeclaration& declaration) {
  return {.least = declaration.period,
          .longest = declaration.period * 5 / 4,
          .quickest = declaration.wcet / 2,
          .slowest = declaration.wcet};
}

/// A set of clients as the daemon would have it: admitted, attached, and sometimes replaced by others.
class Everyone {
 public:
  Everyone(const AdmissionOptions& options, std::uint32_t frames, std::uint64_t seed)
      : clients(options), device(options_of(options, frames), chunk, seed) {
    device.on_vacant = [this](std::uint32_t place) {
      look_for_quiet();
      late += device.dispatcher().statistics(place).missed;
      clients.leave(place, device.dispatcher().delays(place));
      tell();
    };
  }

  /// Admits a client. Retries for a while if the daemon says so. Returns false if it is refused.
  bool add(const std::string& name, std::uint32_t slots, const std::optional<config::ClientDeclaration>& declaration,
           const Program& program) {
    return in_the_end([&] { return join(name, slots, declaration, program); });
  }
  /// Lets a connected client declare itself. Retries for a while if the daemon says so.
  bool declare(std::uint32_t place, const config::ClientDeclaration& declaration) {
    return in_the_end([&]() -> Admitted<> {
      device.dispatcher().hold(place);
      const bool delays = device.dispatcher().delays(place);
      look_for_quiet();
      auto declared = clients.declare(place, declaration, delays);
      if (declared) tell();
      else device.dispatcher().resume(place, device.now());
      return declared;
    });
  }
  Admitted<> join(const std::string& name, std::uint32_t slots,
                  const std::optional<config::ClientDeclaration>& declaration, const Program& program) {
    look_for_quiet();
    const auto place = clients.connect({name, {}}, slots);
    if (!place) return Unexpected(place.error());
    if (declaration) {
      if (auto declared = clients.declare(*place, *declaration, false); !declared) {
        clients.leave(*place, false);
        return declared;
      }
    }
    tell(*place, program);
    newest = *place;
    return {};
  }
  bool grow(std::uint32_t place, std::uint32_t slots) {
    look_for_quiet();
    if (!clients.grow(place, slots)) return false;
    for (const std::uint32_t changed : clients.take_changes())
      device.change(changed, clients.at(changed)->contract, changed == place);
    return true;
  }
  /// Calls `ask` until it succeeds, for at most as long as clients retry.
  template <class Ask> bool in_the_end(Ask ask) {
    for (const Instant until = device.now() + 2s;; device.run_until(device.now() + 1ms)) {
      const Admitted<> asked = ask();
      if (asked) return true;
      if (asked.error().code != protocol::Refusal::later || device.now() >= until) return false;
      ++waited;
    }
  }
  void look_for_quiet() {
    device.dispatcher().tick(device.now());
    const std::uint64_t now = device.dispatcher().quiet_instants();
    if (std::exchange(quiet, now) != now) clients.quiet();
  }
  void tell(std::optional<std::uint32_t> newcomer = {}, const Program& program = {}) {
    for (const std::uint32_t changed : clients.take_changes()) {
      const Contract& contract = clients.at(changed)->contract;
      if (changed == newcomer) device.attach(changed, contract, program);
      else if (device.alive(changed)) device.change(changed, contract, false);
    }
  }
  [[nodiscard]] std::uint64_t missed() {
    std::uint64_t all = 0;
    for (std::uint32_t place = 0; place < clients.places(); ++place)
      all += device.dispatcher().statistics(place).missed;
    return all;
  }

  ClientAdmission clients;
  SimulatedDevice device;
  std::uint64_t quiet = 0, waited = 0;
  std::uint64_t late = 0; // late jobs of clients that have left
  std::uint32_t newest = 0;
};

/// Admits eight clients, each with a quarter of the device and a random period.
void add_eight(Everyone& all, std::uint32_t slots, std::mt19937_64& random) {
  for (std::uint32_t i = 0; i < 8; ++i) {
    for (int tries = 0;; ++tries) {
      ASSERT_LT(tries, 1000);
      const Duration period = 1ms * (40 + random() % 200);
      const config::ClientDeclaration declaration{
          .period = period, .deadline = period, .wcet = 10us * (50 + random() % 900), .priority = {}};
      if (all.add("client", slots, declaration, program_of(declaration))) break;
    }
  }
}

TEST(DaemonDispatcher, EightClientsOverTwiceTheMemoryMeetDeadlinesAndKeepData) {
  const std::uint64_t sets = rtexec::test::sanitized ? 3 : 30;
  for (std::uint64_t seed = 0; seed < sets; ++seed) {
    std::mt19937_64 random(seed);
    Everyone all(admission_options(32, 10), 32, seed);
    ASSERT_NO_FATAL_FAILURE(add_eight(all, 8, random));
    const Program greedy{.least = 0ms, .longest = 1ms, .quickest = 1ms, .slowest = 5ms};
    const bool with_greedy = all.add("greedy", 8, {}, greedy);
    // Their initial memory is created once, which the bound does not include.
    all.device.run_until(all.device.now() + 2s);
    const std::uint64_t before = all.missed();
    ASSERT_NO_FATAL_FAILURE(all.device.run_until(all.device.now() + 20s)) << "seed " << seed;
    EXPECT_EQ(all.missed(), before) << "seed " << seed;
    EXPECT_GT(all.device.seen.executions, 500u);
    EXPECT_GT(all.device.seen.saves, 1000u);
    EXPECT_TRUE(all.device.seen.expelled.empty());
    for (std::uint32_t place = 0; place < 8; ++place) {
      const auto& counts = all.device.dispatcher().statistics(place);
      EXPECT_GT(counts.jobs, 40u);
      EXPECT_EQ(counts.overruns + counts.failed + counts.violations, 0u);
      EXPECT_LE(counts.longest_response, *all.clients.at(place)->response_bound) << "seed " << seed;
    }
    EXPECT_TRUE(!with_greedy || all.device.dispatcher().statistics(8).jobs > 100);
  }
}

enum class Doing { loading, saving, executing, staged, waiting };
constexpr std::array doings{Doing::loading, Doing::saving, Doing::executing, Doing::staged, Doing::waiting};

bool does(const policies::DeviceScheduler::State& state, std::uint32_t place, Doing what) {
  using Residence = policies::DeviceScheduler::Residence;
  const auto any = [&](Residence residence) {
    return std::ranges::any_of(state.slots[place], [&](const auto& slot) { return slot.residence == residence; });
  };
  switch (what) {
  case Doing::loading: return any(Residence::loading);
  case Doing::saving: return any(Residence::saving);
  case Doing::executing: return state.running && state.running->task == place;
  case Doing::staged: return state.levels[1].staged && state.levels[1].staged->job.task == place;
  case Doing::waiting:
    return std::ranges::any_of(state.levels[1].waiting, [&](const auto& each) { return each.job.task == place; });
  }
  return false;
}

/// Advances until some client is in the state `what`, for at most half a second.
std::optional<std::uint32_t> find_one_that_is(SimulatedDevice& device, Doing what) {
  for (const Instant until = device.now() + 500ms; device.now() < until;) {
    device.run_until(device.now() + 20us);
    for (std::uint32_t place = 0; place < 8; ++place)
      if (does(device.dispatcher().state(), place, what)) return place;
  }
  return std::nullopt;
}

/// A client may be killed whatever it does: the others miss no deadline, and another one takes its place.
TEST(DaemonDispatcher, ClientKilledAtAnyMomentCausesNoMissOfOthers) {
  const std::uint64_t sets = rtexec::test::sanitized ? 2 : 10;
  std::array<std::uint64_t, doings.size()> killed{};
  for (std::uint64_t seed = 100; seed < 100 + sets; ++seed) {
    std::mt19937_64 random(seed);
    Everyone all(admission_options(32, 10), 32, seed);
    ASSERT_NO_FATAL_FAILURE(add_eight(all, 8, random));
    all.device.run_until(all.device.now() + 2s);
    for (int death = 0; death < 50; ++death) {
      all.device.run_until(all.device.now() + Duration(random() % 60'000'000));
      const std::size_t what = random() % doings.size();
      const auto place = find_one_that_is(all.device, doings[what]);
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
      if (!place) continue;
      ++killed[what];
      const AdmittedClient was = *all.clients.at(*place);
      const auto harmed = [&](std::uint32_t other) {
        const auto& counts = all.device.dispatcher().statistics(other);
        return counts.missed + counts.failed;
      };
      std::vector<std::uint64_t> before;
      for (std::uint32_t other = 0; other < 8; ++other) before.push_back(harmed(other));
      all.device.kill(*place);
      all.device.run_until(all.device.now() + 5ms);
      ASSERT_FALSE(all.device.dispatcher().occupied(*place)) << "seed " << seed << ", death " << death;
      ASSERT_EQ(all.clients.at(*place), nullptr);
      all.device.run_until(all.device.now() + 300ms);
      for (std::uint32_t other = 0; other < 8; ++other) {
        if (other == *place) continue;
        ASSERT_EQ(harmed(other), before[other]) << "seed " << seed << ", death " << death;
      }
      ASSERT_TRUE(all.add("again", 8, was.declaration, program_of(*was.declaration))) << "seed " << seed;
      all.device.run_until(all.device.now() + 1s);
    }
  }
  for (const std::uint64_t each : killed) EXPECT_GT(each, rtexec::test::sanitized ? 0u : 20u);
}

TEST(DaemonDispatcher, ClientsGrowWhileTheyHoldTheDevice) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    Everyone all(admission_options(32, 4), 32, seed);
    const config::ClientDeclaration declaration{.period = 50ms, .deadline = 50ms, .wcet = 2ms, .priority = {}};
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(all.add("grows", 2, declaration, program_of(declaration)));
    for (int i = 0; i < 60; ++i) {
      all.device.run_until(all.device.now() + Duration(random() % 30'000'000));
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
      const auto place = static_cast<std::uint32_t>(random() % 3);
      static_cast<void>(all.grow(place, all.clients.at(place)->slots + static_cast<std::uint32_t>(random() % 2)));
    }
    const auto executed = all.device.seen.executions;
    all.device.run_until(all.device.now() + 1s);
    EXPECT_GT(all.device.seen.executions, executed + 30) << "seed " << seed;
    EXPECT_GT(all.device.seen.changed, 20u);
    EXPECT_TRUE(all.device.seen.expelled.empty());
  }
}

config::ClientDeclaration each(Duration period, Duration wcet) {
  return {.period = period, .deadline = period, .wcet = wcet, .priority = {}};
}

/// Returns the longest WCET with which all of these are admitted, each with `slots` slots.
Duration tightest(const AdmissionOptions& options, std::uint32_t slots,
                  std::vector<config::ClientDeclaration> declarations) {
  const auto fits = [&](Duration wcet) {
    ClientAdmission clients(options);
    return std::ranges::all_of(declarations, [&](config::ClientDeclaration& declaration) {
      const auto place = clients.connect({"client", {}}, slots);
      declaration.wcet = wcet;
      return place && wcet <= declaration.deadline && clients.declare(*place, declaration, false);
    });
  };
  Duration wcet = 0us;
  for (Duration step = 4096us; step > 0us; step /= 2)
    if (fits(wcet + step)) wcet += step;
  return wcet;
}

/// Returns the longest WCET for clients with these periods, and 16 slots each in 32 frames.
Duration tightest(const std::vector<Duration>& periods) {
  std::vector<config::ClientDeclaration> declarations;
  for (const Duration period : periods) declarations.push_back(each(period, 0us));
  return tightest(admission_options(32, 5), 16, declarations);
}

/// The cost of loading its memory a second time is not part of the others' bounds.
TEST(DaemonDispatcher, ClientThatGrowsInEachJobCausesNoMiss) {
  std::uint64_t grown = 0;
  for (std::uint64_t seed = 0; seed < (rtexec::test::sanitized ? 10 : 100); ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<Duration> periods{1ms * (10 + random() % 5), 1ms * (15 + random() % 10),
                                        1ms * (20 + random() % 20)};
    const Duration wcet = tightest(periods);
    if (wcet < 100us) continue;
    Everyone all(admission_options(32, 4), 32, seed);
    for (const Duration period : periods) {
      const Program exact{.least = period, .longest = period, .quickest = wcet, .slowest = wcet};
      ASSERT_TRUE(all.add("client", 8, each(period, wcet), exact));
    }
    all.device.run_until(all.device.now() + 200ms);
    const auto grows = static_cast<std::uint32_t>(random() % 3);
    std::optional<Instant> looks;
    for (const Instant until = all.device.now() + 1s; all.device.now() < until;) {
      all.device.run_until(all.device.now() + 20us);
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
      const auto& running = all.device.dispatcher().state().running;
      if (!running || running->task != grows) looks.reset();
      else if (!looks) looks = all.device.now();
      else if (all.device.now() - *looks > wcet * 4 / 5 && all.clients.at(grows)->slots < 16)
        grown += all.grow(grows, all.clients.at(grows)->slots + 1) ? 1U : 0U;
    }
    EXPECT_EQ(all.missed(), 0u) << "seed " << seed;
  }
  EXPECT_GT(grown, rtexec::test::sanitized ? 20u : 200u);
}

/// The bounds with a newcomer hold from its first job on, for all clients. If all fitted before, much must now be
/// swapped, but no job gives up its turn for that.
TEST(DaemonDispatcher, NoDeadlineIsMissedWhileClientsComeAndGo) {
  std::uint64_t came = 0;
  for (std::uint64_t seed = 0; seed < (rtexec::test::sanitized ? 40 : 600); ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<Duration> periods{1ms * (8 + random() % 10), 1ms * (10 + random() % 20),
                                        1ms * (8 + random() % 40)};
    const Duration wcet = tightest(periods);
    if (wcet < 100us) continue;
    Everyone all(admission_options(32, 5), 32, seed);
    const auto add = [&](Duration period, std::uint32_t slots) {
      const Program exact{.least = period, .longest = period, .quickest = wcet, .slowest = wcet};
      ASSERT_TRUE(all.add("client", slots, each(period, wcet), exact));
    };
    for (int i = 0; i < 2; ++i) ASSERT_NO_FATAL_FAILURE(add(periods[static_cast<std::size_t>(i)], 16));
    all.device.run_until(all.device.now() + 100ms); // all memory is loaded
    const std::uint64_t before = all.missed();
    for (int i = 0; i < 5; ++i) {
      all.device.run_until(all.device.now() + Duration(random() % 60'000'000));
      ASSERT_NO_FATAL_FAILURE(add(periods[2], 16));
      ++came;
      all.device.run_until(all.device.now() + Duration(random() % 60'000'000));
      EXPECT_EQ(all.missed(), before) << "seed " << seed << ", newcomer " << i;
      all.device.kill(2);
      all.device.run_until(all.device.now() + 1ms);
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
    }
  }
  EXPECT_GT(came, rtexec::test::sanitized ? 50u : 500u);
}

/// Programs that request as early and execute as long as they may.
class Restarted : public Everyone {
 public:
  struct Done {
    std::uint64_t came = 0, declared = 0;
  };
  Restarted(const AdmissionOptions& options, std::uint32_t slots, std::uint64_t seed)
      : Everyone(options, 32, seed), slots_(slots), longest_(options.best_effort_wcet) {}

  bool begin(const config::ClientDeclaration& declaration) {
    if (!add("client", slots_, declaration, exact(declaration))) return false;
    declared_at_[newest] = declaration;
    return true;
  }
  /// Lets one client leave, often after its job, and come back at once: with a declaration, or with one that it makes
  /// later, in a job or between two jobs.
  void go_and_come(std::mt19937_64& random, Done& done) {
    const auto place = static_cast<std::uint32_t>(random() % declared_at_.size());
    if (clients.at(place) == nullptr) return;
    const config::ClientDeclaration declaration = declared_at_[place];
    if (random() % 4 != 0) await_end_of_job(place);
    device.kill(place);
    while (clients.at(place) != nullptr) device.run_until(device.now() + 50us);
    if (random() % 3 != 0) {
      done.came += begin(declaration) ? 1U : 0U;
      return;
    }
    if (!add("later", slots_, {}, {.least = 0ms, .longest = 1ms, .quickest = longest_, .slowest = longest_})) return;
    const std::uint32_t came = newest;
    declared_at_[came] = declaration;
    device.run_until(device.now() + Duration(random() % 10'000'000));
    await([&] {
      const auto& state = device.dispatcher().state();
      return state.running && state.running->task == came && state.levels[1].waiting.size() > random() % 4;
    });
    if (random() % 2 != 0) await_end_of_job(came);
    device.become(came, {.quickest = longest_, .slowest = longest_, .rests = true});
    if (!declare(came, declaration)) return;
    device.become(came, exact(declaration));
    ++done.declared;
  }

 private:
  static Program exact(const config::ClientDeclaration& of) {
    return {.least = of.period, .longest = of.period, .quickest = of.wcet, .slowest = of.wcet, .asks_at_once = true};
  }
  void await_end_of_job(std::uint32_t place) {
    await([&, before = device.dispatcher().statistics(place).jobs] {
      return device.dispatcher().statistics(place).jobs > before;
    });
  }
  /// Advances until `so` holds, at most for a while.
  template <class So> void await(So so) {
    for (const Instant until = device.now() + 100ms; device.now() < until && !so();)
      device.run_until(device.now() + 50us);
  }
  std::uint32_t slots_;
  Duration longest_;
  std::array<config::ClientDeclaration, 5> declared_at_{};
};

/// The clients are at the edge of what is admitted.
TEST(DaemonDispatcher, RepeatedlyRestartedProgramsCauseNoMiss) {
  Restarted::Done done;
  std::uint64_t waited = 0;
  for (std::uint64_t seed = 0; seed < (rtexec::test::sanitized ? 40 : 250); ++seed) {
    std::mt19937_64 random(seed);
    AdmissionOptions options = admission_options(32, 5);
    options.best_effort_wcet = 100us * (5 + random() % 60);
    const std::uint32_t slots = random() % 2 == 0 ? 0 : 17; // none of it is swapped, or all of it
    std::vector<config::ClientDeclaration> declarations;
    for (std::uint64_t i = 0; i < 3 + seed % 3; ++i) {
      const Duration period = slots == 0 ? 1ms * (15 + random() % 20) : 1ms * (9 + random() % 9);
      declarations.push_back(each(period, 0us));
      declarations.back().deadline = period * (5 + random() % 6) / 10;
    }
    const Duration wcet = tightest(options, slots, declarations);
    if (wcet < 100us) continue;
    Restarted all(options, slots, seed);
    for (config::ClientDeclaration& declaration : declarations) {
      declaration.wcet = wcet;
      ASSERT_TRUE(all.begin(declaration));
    }
    for (int i = 0; i < 30; ++i) {
      all.device.run_until(all.device.now() + Duration(random() % 20'000'000));
      all.go_and_come(random, done);
      if (HasFatalFailure()) FAIL() << "seed " << seed;
    }
    for (std::uint32_t place = 0; place < 5; ++place) all.device.kill(place);
    all.device.run_until(all.device.now() + 10ms);
    waited += all.waited;
    EXPECT_EQ(all.late, 0u) << "seed " << seed;
  }
  EXPECT_GT(done.came, rtexec::test::sanitized ? 200u : 1500u);
  EXPECT_GT(done.declared, rtexec::test::sanitized ? 50u : 700u);
  EXPECT_GT(waited, rtexec::test::sanitized ? 50u : 700u) << "times that one was told to ask again";
}

/// It ends after its job and comes back at once. It may not run before the clients that it delayed are served.
TEST(DaemonDispatcher, ProgramRestartedForEachJobKeepsBoundsOfOthers) {
  for (const Order order : {Order::edf, Order::static_priority}) {
    AdmissionOptions options = admission_options(32, 3);
    options.device.tasks.executive.order = order;
    options.device.tasks.executive.priorities = PriorityAssignment::deadline_monotonic;
    ClientAdmission clients(options);
    Quiet sink;
    Dispatcher dispatcher(options_of(options, 32), sink);
    const auto at = [](Duration when) { return Instant(1s + when); };
    const auto come = [&](Duration deadline, Duration when) {
      const auto place = clients.connect({"client", {}}, 0);
      if (!place) return place.error().code;
      const auto admitted =
          clients.declare(*place, {.period = 30ms, .deadline = deadline, .wcet = 9900us, .priority = {}}, false);
      if (!admitted) {
        clients.leave(*place, false);
        return admitted.error().code;
      }
      for (const std::uint32_t changed : clients.take_changes()) {
        const Contract& contract = clients.at(changed)->contract;
        EXPECT_TRUE(changed == *place ? dispatcher.attach(changed, contract, at(when))
                                      : dispatcher.change(changed, contract, false, at(when)));
      }
      return protocol::Refusal{};
    };
    const auto say = [&](std::uint32_t place, EntryKind kind, Duration when) {
      dispatcher.take(place, {.kind = static_cast<std::uint16_t>(kind), .job = 1}, at(when));
    };
    ASSERT_EQ(come(20ms, 0ms), protocol::Refusal{});
    for (int i = 0; i < 2; ++i) ASSERT_EQ(come(30ms, 0ms), protocol::Refusal{});
    for (std::uint32_t place = 0; place < 3; ++place) say(place, EntryKind::request, 0ms);
    const std::uint64_t quiet = dispatcher.quiet_instants();
    say(0, EntryKind::done, 9900us);
    dispatcher.died(0, at(9900us));
    clients.leave(0, dispatcher.delays(0));
    for (const Duration now : {19800us, 29700us}) {
      EXPECT_EQ(come(20ms, now), protocol::Refusal::later);
      EXPECT_EQ(dispatcher.quiet_instants(), quiet);
      say(dispatcher.state().running->task, EntryKind::done, now);
    }
    ASSERT_GT(dispatcher.quiet_instants(), quiet);
    clients.quiet();
    EXPECT_EQ(come(20ms, 29700us), protocol::Refusal{});
    for (std::uint32_t place = 1; place < 3; ++place) {
      EXPECT_EQ(dispatcher.statistics(place).jobs, 1u);
      EXPECT_LE(dispatcher.statistics(place).longest_response, *clients.at(place)->response_bound)
          << (order == Order::edf ? "edf" : "static") << ", place " << place;
    }
  }
}

/// Its earlier job does not belong to the new set, but has delayed the others. All its requests wait until the
/// declaration is examined.
TEST(DaemonDispatcher, ClientThatDeclaresItselfDuringJobCausesNoMissOfOthers) {
  const AdmissionOptions options = admission_options(32, 3); // a job without a declaration takes 5 ms
  ClientAdmission clients(options);
  Quiet sink;
  Dispatcher dispatcher(options_of(options, 32), sink);
  const auto tell = [&](std::uint32_t newcomer, Duration when) {
    for (const std::uint32_t changed : clients.take_changes()) {
      const Contract& contract = clients.at(changed)->contract;
      ASSERT_TRUE(changed == newcomer ? dispatcher.attach(changed, contract, Instant(1s + when))
                                      : dispatcher.change(changed, contract, false, Instant(1s + when)));
    }
  };
  const auto say = [&](std::uint32_t place, EntryKind kind, std::uint64_t job, Duration when) {
    dispatcher.take(place, {.kind = static_cast<std::uint16_t>(kind), .job = job}, Instant(1s + when));
  };
  const auto declare = [&] {
    dispatcher.hold(0);
    return clients.declare(0, each(4ms, 1900us), dispatcher.delays(0));
  };
  for (std::uint32_t place = 0; place < 3; ++place) {
    ASSERT_TRUE(clients.connect({"client", {}}, 0));
    if (place > 0) { ASSERT_TRUE(clients.declare(place, each(10ms, 1900us), false)); }
    ASSERT_NO_FATAL_FAILURE(tell(place, 0ms));
    say(place, EntryKind::request, 1, 0ms);
  }
  EXPECT_EQ(declare().error().code, protocol::Refusal::later);
  dispatcher.resume(0, Instant(1s));
  const std::uint64_t quiet = dispatcher.quiet_instants();
  say(0, EntryKind::done, 1, 5ms);
  EXPECT_EQ(declare().error().code, protocol::Refusal::later);
  dispatcher.resume(0, Instant(1s + 5ms));
  say(1, EntryKind::done, 1, 6900us);
  EXPECT_EQ(dispatcher.quiet_instants(), quiet);
  say(2, EntryKind::done, 1, 8800us);
  ASSERT_GT(dispatcher.quiet_instants(), quiet);
  clients.quiet();

  ASSERT_TRUE(declare());
  say(0, EntryKind::request, 2, 9ms);
  EXPECT_FALSE(dispatcher.state().running) << "it is not known yet what it is";
  ASSERT_NO_FATAL_FAILURE(tell(3, 9ms));
  ASSERT_TRUE(dispatcher.state().running);
  say(0, EntryKind::done, 2, 13500us);
  EXPECT_EQ(dispatcher.statistics(0).missed, 1u) << "it has a deadline";
  for (std::uint32_t place = 1; place < 3; ++place)
    EXPECT_EQ(dispatcher.statistics(place).missed, 0u) << "place " << place;
}

/// From now on a job with all its chunks bypasses a less urgent staged one. This includes jobs that already wait;
/// otherwise the newcomer would wait for them.
TEST(DaemonDispatcher, NewcomerWithWhomAllFitCausesNoMiss) {
  for (const bool before_they_ask : {true, false}) {
    const AdmissionOptions options = admission_options(4, 5);
    ClientAdmission clients(options);
    Quiet sink;
    Dispatcher dispatcher(options_of(options, 4), sink);
    const auto at = [](Duration when) { return Instant(1s + when); };
    const auto tell = [&](std::optional<std::uint32_t> newcomer, Duration when) {
      for (const std::uint32_t changed : clients.take_changes()) {
        const Contract& contract = clients.at(changed)->contract;
        EXPECT_TRUE(changed == newcomer ? dispatcher.attach(changed, contract, at(when))
                                        : dispatcher.change(changed, contract, false, at(when)));
      }
    };
    const auto come = [&](std::uint32_t slots, Duration deadline, Duration wcet, Duration when) {
      const auto place = clients.connect({"client", {}}, slots);
      if (!place) return place.error().code;
      const auto admitted =
          clients.declare(*place, {.period = 1s, .deadline = deadline, .wcet = wcet, .priority = {}}, false);
      if (!admitted) return admitted.error().code;
      tell(*place, when);
      return protocol::Refusal{};
    };
    const auto say = [&](std::uint32_t place, EntryKind kind, std::uint64_t job, Duration when) {
      dispatcher.take(place, {.kind = static_cast<std::uint16_t>(kind), .job = job}, at(when));
    };
    constexpr std::uint32_t goes = 0, urgent = 1, runs = 2, staged = 3, newcomer = 0;
    const auto go = [&](Duration when) {
      dispatcher.died(goes, at(when));
      clients.leave(goes, dispatcher.delays(goes));
      const std::uint64_t quiet = dispatcher.quiet_instants();
      tell({}, when);
      if (dispatcher.quiet_instants() > quiet) clients.quiet();
    };
    ASSERT_EQ(come(2, 1s, 100us, 0ms), protocol::Refusal{});
    ASSERT_EQ(come(2, 11100us, 1ms, 0ms), protocol::Refusal{});
    ASSERT_EQ(come(0, 500ms, 5ms, 0ms), protocol::Refusal{});
    ASSERT_EQ(come(1, 500ms, 5ms, 0ms), protocol::Refusal{});
    for (const std::uint32_t place : {urgent, staged}) {
      say(place, EntryKind::request, 1, 0ms);
      for (std::uint32_t slot = 0; slot < dispatcher.state().slots[place].size(); ++slot)
        dispatcher.take(place,
                        {.kind = static_cast<std::uint16_t>(EntryKind::loaded),
                         .slot = slot,
                         .frame = dispatcher.state().slots[place][slot].frame},
                        at(0ms));
      ASSERT_EQ(dispatcher.state().running->task, place);
      say(place, EntryKind::done, 1, 1ms);
    }
    if (before_they_ask) go(1ms);
    say(runs, EntryKind::request, 1, 2s);
    say(staged, EntryKind::request, 2, 2s);
    say(urgent, EntryKind::request, 2, 2s);
    if (!before_they_ask) go(2s);
    EXPECT_EQ(come(0, 10ms, 4900us, 2s), before_they_ask ? protocol::Refusal{} : protocol::Refusal::later);
    if (before_they_ask) say(newcomer, EntryKind::request, 1, 2s + 1us);
    constexpr std::array<Duration, 4> takes{4900us, 1ms, 5ms, 5ms};
    for (Duration now = 2s; dispatcher.state().running;) {
      const std::uint32_t place = dispatcher.state().running->task;
      now += takes[place];
      say(place, EntryKind::done, place == urgent || place == staged ? 2 : 1, now);
    }
    for (std::uint32_t place = before_they_ask ? 0 : 1; place < 4; ++place)
      EXPECT_EQ(dispatcher.statistics(place).missed, 0u)
          << "place " << place << ": " << to_string(dispatcher.statistics(place).longest_response) << ", bound "
          << to_string(*clients.at(place)->response_bound);
  }
}

/// A job that waits for its client to grow has not been in the core, so it delays no other job. It counts as a job of
/// the declared client, and the next one comes a period later.
TEST(DaemonDispatcher, JobThatWaitsForGrowthCountsAsJobOfDeclaredClient) {
  Quiet sink;
  Dispatcher dispatcher({.places = 2, .frames = 3}, sink);
  const Contract declared{
      .task = {.device_done_by = 50ms}, .real_time = true, .period = 50ms, .deadline = 50ms, .wcet = 10ms};
  const Contract undeclared{.task = {.device_done_by = 10s}, .wcet = 10ms};
  const auto say = [&](std::uint32_t place, EntryKind kind, std::uint64_t job, Duration when, std::uint32_t slot = 0) {
    const auto& slots = dispatcher.state().slots[place];
    const std::uint32_t frame = slot < slots.size() ? slots[slot].frame : 0;
    dispatcher.take(place, {.kind = static_cast<std::uint16_t>(kind), .slot = slot, .frame = frame, .job = job},
                    Instant(when));
  };
  const auto move = [&](Duration when) {
    for (std::uint32_t place = 0; place < 2; ++place)
      for (std::uint32_t slot = 0; slot < dispatcher.state().slots[place].size(); ++slot) {
        const auto residence = dispatcher.state().slots[place][slot].residence;
        if (residence == policies::DeviceScheduler::Residence::loading)
          return say(place, EntryKind::loaded, 0, when, slot);
        if (residence == policies::DeviceScheduler::Residence::saving)
          return say(place, EntryKind::saved, 0, when, slot);
      }
  };
  ASSERT_TRUE(dispatcher.attach(0, with(declared, 0, 2), Instant{}));
  ASSERT_TRUE(dispatcher.attach(1, with(undeclared, 1, 2), Instant{}));
  say(1, EntryKind::request, 1, 1ms);
  for (int i = 0; i < 2; ++i) move(1ms);
  say(1, EntryKind::done, 1, 2ms);
  say(0, EntryKind::request, 1, 3ms);
  move(3ms);
  ASSERT_EQ(dispatcher.state().saving, 1u) << "a chunk of the second client's";
  ASSERT_TRUE(dispatcher.change(1, with(undeclared, 1, 3), false, Instant(3ms)));
  say(1, EntryKind::request, 2, 4ms);
  dispatcher.hold(1);
  EXPECT_FALSE(dispatcher.delays(1));
  ASSERT_TRUE(dispatcher.change(1, with(declared, 0, 3), false, Instant(5ms)));
  for (int i = 0; i < 2; ++i) move(6ms);
  ASSERT_TRUE(dispatcher.state().running && dispatcher.state().running->task == 0);
  say(0, EntryKind::done, 1, 8ms);
  for (int i = 0; i < 6; ++i) move(9ms);
  ASSERT_TRUE(dispatcher.state().running && dispatcher.state().running->task == 1);
  say(1, EntryKind::done, 2, 19ms);
  say(1, EntryKind::request, 3, 20ms);
  EXPECT_FALSE(dispatcher.state().running) << "two jobs within a period";
}

/// Each client waits for its own reason. Without declared clients all instants are quiet.
TEST(DaemonDispatcher, InstantIsQuietWhenNoPromisedJobIsOutstanding) {
  Quiet sink;
  Dispatcher dispatcher({.places = 4, .frames = 8}, sink);
  const Contract declared{
      .task = {.device_done_by = 50ms}, .real_time = true, .period = 50ms, .deadline = 50ms, .wcet = 10ms};
  const Contract undeclared{.task = {.device_done_by = 10s}, .wcet = 10ms};
  const auto say = [&](std::uint32_t place, EntryKind kind, std::uint64_t job, Duration when) {
    dispatcher.take(place, {.kind = static_cast<std::uint16_t>(kind), .job = job}, Instant(when));
  };
  std::uint64_t before = 0;
  const auto quiet = [&] { return std::exchange(before, dispatcher.quiet_instants()) != dispatcher.quiet_instants(); };
  ASSERT_TRUE(dispatcher.attach(0, declared, Instant{}));
  ASSERT_TRUE(dispatcher.attach(1, with(undeclared, 1), Instant{}));
  EXPECT_FALSE(dispatcher.delays(1));
  say(1, EntryKind::request, 1, 1ms);
  EXPECT_TRUE(quiet());
  EXPECT_TRUE(dispatcher.delays(1)) << "it has the device";
  say(0, EntryKind::request, 1, 2ms);
  EXPECT_FALSE(quiet()) << "one waits";
  say(1, EntryKind::done, 1, 5ms);
  EXPECT_FALSE(quiet()) << "and has the device";
  EXPECT_TRUE(dispatcher.delays(1)) << "it has ended, and has delayed another";
  say(0, EntryKind::done, 1, 6ms);
  EXPECT_TRUE(quiet());
  EXPECT_FALSE(dispatcher.delays(0) || dispatcher.delays(1));
  say(0, EntryKind::request, 2, 7ms);
  EXPECT_TRUE(quiet()) << "its release is at 52 ms";
  say(1, EntryKind::request, 2, 53ms);
  EXPECT_FALSE(quiet()) << "which has passed, though nobody has looked";
  dispatcher.tick(Instant(54ms));
  say(1, EntryKind::done, 2, 55ms);
  dispatcher.ending(0, Instant(56ms));
  EXPECT_FALSE(quiet()) << "its process is ending with the device in hand";
  dispatcher.died(0, Instant(57ms));
  EXPECT_TRUE(quiet());

  say(1, EntryKind::request, 3, 60ms);
  EXPECT_TRUE(quiet());
  dispatcher.hold(1);
  ASSERT_TRUE(dispatcher.attach(0, undeclared, Instant(61ms)));
  say(0, EntryKind::request, 1, 61ms);
  EXPECT_FALSE(quiet()) << "it is about to declare itself";
  ASSERT_TRUE(dispatcher.change(1, with(declared, 1), false, Instant(62ms)));
  EXPECT_FALSE(quiet()) << "it has declared itself, in a job without a declaration";
  say(1, EntryKind::done, 3, 63ms);
  EXPECT_TRUE(quiet());
}

TEST(DaemonDispatcher, JobKeepsItsTurnWhenOtherClientsComeAndGo) {
  Quiet sink;
  Dispatcher dispatcher({.places = 4, .frames = 8}, sink);
  const auto contract = [](std::uint32_t place, bool stays) {
    return Contract{.task = {.rank = place, .slots = 1, .stays = stays}, .wcet = 1ms};
  };
  for (std::uint32_t place = 0; place < 3; ++place) {
    ASSERT_TRUE(dispatcher.attach(place, contract(place, true), Instant{}));
    say(dispatcher, place, EntryKind::request, 1);
    sink.last[place].kind = static_cast<std::uint16_t>(EntryKind::loaded);
    dispatcher.take(place, sink.last[place], Instant{});
    ASSERT_EQ(dispatcher.state().running->task, place);
    say(dispatcher, place, EntryKind::done, 1);
  }
  for (const std::uint32_t place : {2U, 0U, 1U}) say(dispatcher, place, EntryKind::request, 2);
  for (std::uint32_t place = 0; place < 3; ++place)
    ASSERT_TRUE(dispatcher.change(place, contract(place, false), false, Instant{}));
  EXPECT_EQ(sink.changes, 0) << "not before their jobs have ended";
  for (const std::uint32_t place : {2U, 0U, 1U}) {
    EXPECT_EQ(dispatcher.state().running->task, place);
    say(dispatcher, place, EntryKind::done, 2);
  }
  EXPECT_EQ(sink.changes, 3);
}

TEST(DaemonDispatcher, JobContinuesWhenNextWorkComesWithinItsGap) {
  for (const Duration gap : {0ms, 2ms}) {
    Quiet sink;
    Dispatcher dispatcher({.places = 4, .frames = 8}, sink);
    const Contract contract{.task = {.device_done_by = 50ms},
                            .real_time = true,
                            .period = 50ms,
                            .deadline = 50ms,
                            .wcet = 10ms,
                            .gap = gap};
    ASSERT_TRUE(dispatcher.attach(0, contract, Instant{}));
    ASSERT_TRUE(dispatcher.attach(1, {.task = {.rank = 1}, .wcet = 10ms}, Instant{}));
    const auto say = [&](std::uint32_t place, EntryKind kind, std::uint64_t job, Duration when) {
      while (dispatcher.next_tick().value_or(Instant::max()) <= Instant(when)) dispatcher.tick(*dispatcher.next_tick());
      dispatcher.take(place, {.kind = static_cast<std::uint16_t>(kind), .job = job}, Instant(when));
    };
    const auto runs = [&](std::uint32_t place) {
      return dispatcher.state().running && dispatcher.state().running->task == place;
    };
    say(0, EntryKind::request, 1, 1ms);
    say(1, EntryKind::request, 1, 1ms);
    say(0, EntryKind::done, 1, 4ms);
    EXPECT_EQ(runs(1), gap == 0ms);
    if (gap == 0ms) say(1, EntryKind::done, 1, 5ms);
    say(0, EntryKind::request, 2, 5ms);
    EXPECT_EQ(runs(0), gap > 0ms);
    if (gap == 0ms) continue; // its next release
    EXPECT_EQ(sink.verdicts[0], (protocol::JobVerdict{2, protocol::Verdict::granted}));
    say(0, EntryKind::done, 2, 7ms);
    EXPECT_TRUE(runs(0));
    dispatcher.tick(*dispatcher.next_tick()); // 9 ms
    EXPECT_TRUE(runs(1)) << "nothing came within its gap";
    say(1, EntryKind::done, 1, 10ms);
    say(0, EntryKind::request, 3, 10ms);
    EXPECT_FALSE(dispatcher.state().running) << "its next job, which has its own release";
    say(0, EntryKind::done, 3, 61ms); // of 51 ms
    say(0, EntryKind::request, 4, 61ms);
    EXPECT_FALSE(dispatcher.state().running) << "nothing is left of its WCET";
    EXPECT_EQ(dispatcher.statistics(0).jobs, 2u);
    EXPECT_EQ(dispatcher.statistics(0).violations, 0u);
    EXPECT_EQ(dispatcher.statistics(0).longest_execution, 10ms);
    EXPECT_EQ(dispatcher.statistics(0).longest_response, 10ms);
  }
}

/// However its job ends, the device is free at once.
TEST(DaemonDispatcher, JobWithinItsGapEndsWhenClientEndsOrGrows) {
  for (int what = 0; what < 3; ++what) {
    Quiet sink;
    Dispatcher dispatcher({.places = 4, .frames = 8}, sink);
    const Contract contract{.real_time = true, .period = 50ms, .deadline = 50ms, .wcet = 10ms, .gap = 5ms};
    ASSERT_TRUE(dispatcher.attach(0, contract, Instant{}));
    say(dispatcher, 0, EntryKind::request, 1);
    say(dispatcher, 0, EntryKind::done, 1);
    ASSERT_TRUE(dispatcher.state().running);
    if (what == 0) dispatcher.ending(0, Instant{});
    if (what == 1) dispatcher.died(0, Instant{});
    if (what == 2) {
      const Contract larger = with(contract, 0, 1);
      EXPECT_TRUE(dispatcher.change(0, larger, false, Instant{}));
    }
    EXPECT_FALSE(dispatcher.state().running);
    EXPECT_EQ(sink.changes, what == 2 ? 1 : 0);
  }
}

TEST(DaemonDispatcher, ExpelsOverlongJobOnlyForOthersAfterOneHurryRequest) {
  Quiet sink;
  Dispatcher dispatcher({.places = 4, .frames = 8, .stuck_after = 100ms}, sink);
  for (std::uint32_t place = 0; place < 2; ++place) ASSERT_TRUE(dispatcher.attach(place, {.wcet = 1ms}, Instant{}));
  say(dispatcher, 0, EntryKind::request, 1);
  EXPECT_EQ(dispatcher.next_tick(), std::nullopt) << "nobody else wants the device";
  dispatcher.tick(Instant{10s});
  EXPECT_FALSE(sink.expelled[0]);
  EXPECT_EQ(sink.commands, 0);
  dispatcher.take(1, {.kind = static_cast<std::uint16_t>(EntryKind::request), .job = 1}, Instant{10s});
  EXPECT_TRUE(is(sink.last[0], EntryKind::hurry));
  EXPECT_EQ(sink.last[0].job, 1u);
  dispatcher.tick(Instant{10s + 100ms});
  EXPECT_FALSE(sink.expelled[0]) << "it is given time to hurry";
  EXPECT_EQ(sink.commands, 1) << "once";
  ASSERT_TRUE(dispatcher.next_tick());
  dispatcher.tick(*dispatcher.next_tick());
  EXPECT_TRUE(sink.expelled[0]);
  EXPECT_EQ(dispatcher.next_tick(), std::nullopt);
}

/// Each client that has the device while others wait is notified to hurry. A client that waits, or has the device
/// alone, is not.
TEST(DaemonDispatcher, AsksClientToHurryWhenOthersWaitForTheDevice) {
  Quiet sink;
  Dispatcher dispatcher({.places = 4, .frames = 8}, sink);
  for (std::uint32_t place = 0; place < 3; ++place) ASSERT_TRUE(dispatcher.attach(place, {.wcet = 1ms}, Instant{}));
  for (std::uint32_t place = 0; place < 3; ++place) say(dispatcher, place, EntryKind::request, 7);
  EXPECT_EQ(sink.commands, 1);
  say(dispatcher, 0, EntryKind::done, 7);
  EXPECT_EQ(sink.commands, 2);
  EXPECT_TRUE(is(sink.last[1], EntryKind::hurry));
  say(dispatcher, 1, EntryKind::done, 7);
  EXPECT_EQ(sink.commands, 2) << "the last one has the device alone";
}

/// Runs client 0 as `program`. Returns why it was expelled.
std::vector<std::pair<std::uint32_t, Expelled>> expelled_for(Program program, OnWcetExceeded on_overrun,
                                                             std::uint64_t& others_jobs) {
  Everyone all(admission_options(16, 4), 16, 1);
  const config::ClientDeclaration declaration{
      .period = 50ms, .deadline = 50ms, .wcet = 2ms, .priority = {}, .on_overrun = on_overrun};
  EXPECT_TRUE(all.add("bad", 8, declaration, program));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(all.add("good", 8, declaration, program_of(declaration)));
  all.device.run_until(all.device.now() + 5s);
  const auto before = all.device.seen.executions;
  all.device.run_until(all.device.now() + 5s);
  others_jobs = all.device.seen.executions - before;
  return all.device.seen.expelled;
}

TEST(DaemonDispatcher, ExpelsClientThatBlocksOthersAndServesTheRest) {
  const Program good{.least = 50ms, .longest = 60ms, .quickest = 1ms, .slowest = 2ms};
  const std::pair<std::uint32_t, Expelled> saves{0, Expelled::not_saved}, silent{0, Expelled::silent},
      stuck{0, Expelled::stuck}, overrun{0, Expelled::overrun};
  std::uint64_t others = 0;
  Program bad = good;
  bad.reports_failed_saves = true;
  EXPECT_EQ(expelled_for(bad, OnWcetExceeded::tell, others), std::vector{saves});
  EXPECT_GT(others, 150u);
  bad = good;
  bad.ignores_commands = true;
  EXPECT_EQ(expelled_for(bad, OnWcetExceeded::tell, others), std::vector{silent});
  EXPECT_GT(others, 150u);
  bad = good;
  bad.never_ends = true;
  EXPECT_EQ(expelled_for(bad, OnWcetExceeded::tell, others), std::vector{stuck});
  EXPECT_GT(others, 150u);
  EXPECT_EQ(expelled_for(bad, OnWcetExceeded::stop, others), std::vector{overrun});
  EXPECT_GT(others, 150u);
}

TEST(DaemonDispatcher, SkipNextDropsReleaseAfterExceededWcet) {
  for (const auto on_overrun : {OnWcetExceeded::tell, OnWcetExceeded::skip_next}) {
    Everyone all(admission_options(16, 4), 16, 1);
    const config::ClientDeclaration declaration{
        .period = 50ms, .deadline = 50ms, .wcet = 2ms, .priority = {}, .on_overrun = on_overrun};
    const Program slow{.least = 50ms, .longest = 50ms, .quickest = 3ms, .slowest = 3ms};
    ASSERT_TRUE(all.add("slow", 8, declaration, slow));
    all.device.run_until(all.device.now() + 10s);
    const auto& counts = all.device.dispatcher().statistics(0);
    EXPECT_EQ(counts.overruns, counts.jobs);
    EXPECT_NEAR(static_cast<double>(counts.jobs), on_overrun == OnWcetExceeded::tell ? 200 : 100, 5);
  }
}

/// It requests without a pause. Its releases are nevertheless a period apart.
TEST(DaemonDispatcher, EarlyRequestWaitsForNextPeriod) {
  Everyone all(admission_options(16, 4), 16, 1);
  const config::ClientDeclaration declaration{.period = 50ms, .deadline = 50ms, .wcet = 2ms, .priority = {}};
  const Program eager{.least = 0ms, .longest = 0ms, .quickest = 1ms, .slowest = 1ms};
  ASSERT_TRUE(all.add("eager", 8, declaration, eager));
  all.device.run_until(all.device.now() + 10s);
  EXPECT_NEAR(static_cast<double>(all.device.dispatcher().statistics(0).jobs), 200, 2);
}

/// A hostile client can damage its own memory only.
TEST(DaemonDispatcher, RandomEntriesCountAsViolationsAndAffectNoOtherClient) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    Quiet sink;
    Dispatcher dispatcher({.places = 4, .frames = 8, .max_violations = 1'000'000}, sink);
    Instant now{1s};
    const Contract contract{.task = {.slots = 6}, .real_time = true, .period = 1ms, .wcet = 1ms};
    for (std::uint32_t place = 0; place < 2; ++place) ASSERT_TRUE(dispatcher.attach(place, contract, now));
    const std::uint64_t before = rtexec::test::allocations();
    for (int i = 0; i < 1000; ++i) {
      now += Duration(random() % 1'000'000);
      // The client at place 1 is hostile, and knows its orders.
      const auto little = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random() % (most + 1)); };
      Entry entry{.kind = static_cast<std::uint16_t>(little(random() % 2 == 0 ? 5 : 0xffff)),
                  .status = static_cast<std::uint16_t>(random() % 8 == 0 ? random() : 0),
                  .slot = little(7),
                  .frame = little(9),
                  .reserved = 0,
                  .job = random() % 3 == 0 ? random() >> 3 : little(40),
                  .time_ns = static_cast<std::int64_t>(random())};
      if (random() % 3 == 0) {
        entry.slot = sink.last[1].slot;
        entry.frame = sink.last[1].frame;
      }
      dispatcher.take(random() % 16 == 0 ? 2 + little(9) : 1, entry, now);
      if (dispatcher.next_tick().value_or(Instant::max()) <= now) dispatcher.tick(now);
      for (const auto& slot : dispatcher.state().slots[0])
        ASSERT_EQ(slot.residence, policies::DeviceScheduler::Residence::missing) << "of place 0, which said nothing";
      ASSERT_TRUE(!dispatcher.state().running || dispatcher.state().running->task == 1);
    }
    ASSERT_EQ(rtexec::test::allocations(), before);
    EXPECT_GT(dispatcher.statistics(1).violations, 10u);
    EXPECT_FALSE(sink.expelled[0]);
    dispatcher.died(1, now);
    ASSERT_FALSE(dispatcher.occupied(1));
    EXPECT_EQ(dispatcher.state().free.size(), 8u);
    EXPECT_EQ(rtexec::test::allocations(), before);
  }
}

TEST(DaemonDispatcher, ExpelsClientAfterTooManyViolations) {
  Quiet sink;
  Dispatcher dispatcher({.places = 4, .frames = 8, .max_violations = 3}, sink);
  ASSERT_TRUE(dispatcher.attach(2, {.task = {.slots = 1}}, Instant{}));
  for (int i = 0; i < 3; ++i) dispatcher.take(2, {}, Instant{});
  EXPECT_FALSE(sink.expelled[2]);
  dispatcher.violated(2);
  EXPECT_TRUE(sink.expelled[2]);
  EXPECT_TRUE(dispatcher.occupied(2));
  dispatcher.died(2, Instant{});
  EXPECT_FALSE(dispatcher.occupied(2));
}

/// Sets up that the client at place 0 has the only frame, and the one at place 1 requests it.
void ask_for_the_only_frame(Dispatcher& dispatcher) {
  for (std::uint32_t place = 0; place < 2; ++place)
    ASSERT_TRUE(dispatcher.attach(place, {.task = {.slots = 1}, .wcet = 1ms}, Instant{}));
  say(dispatcher, 0, EntryKind::request, 1);
  say(dispatcher, 0, EntryKind::loaded, 0);
  say(dispatcher, 0, EntryKind::done, 1);
  say(dispatcher, 1, EntryKind::request, 1);
}

/// The driver needs time to end a process. If frames outlive their process, no client waits for that.
TEST(DaemonDispatcher, FramesThatOutliveTheirClientAreReusedWhileItEnds) {
  for (const bool outlive : {false, true}) {
    Quiet sink;
    Dispatcher dispatcher({.places = 4, .frames = 1, .frames_outlive_clients = outlive}, sink);
    ask_for_the_only_frame(dispatcher);
    EXPECT_TRUE(is(sink.last[0], EntryKind::save));
    dispatcher.ending(0, Instant{});
    EXPECT_EQ(is(sink.last[1], EntryKind::load) && dispatcher.state().loading == 1, outlive);
    EXPECT_TRUE(dispatcher.occupied(0));
    say(dispatcher, 0, EntryKind::saved, 0);
    EXPECT_EQ(dispatcher.statistics(0).violations, 0u) << "what it says counts no more";
    dispatcher.died(0, Instant{});
    EXPECT_EQ(dispatcher.state().loading, 1u);
    EXPECT_FALSE(dispatcher.occupied(0));
  }
}

TEST(DaemonDispatcher, EndingClientKeepsDeviceOrLoadUntilItHasEnded) {
  for (const bool executes : {false, true}) {
    Quiet sink;
    Dispatcher dispatcher({.places = 4, .frames = 1, .frames_outlive_clients = true}, sink);
    ask_for_the_only_frame(dispatcher);
    say(dispatcher, 0, EntryKind::saved, 0);
    if (executes) say(dispatcher, 1, EntryKind::loaded, 0);
    say(dispatcher, 0, EntryKind::request, 2);
    dispatcher.ending(1, Instant{});
    EXPECT_EQ(dispatcher.state().running.has_value(), executes);
    EXPECT_EQ(dispatcher.state().slots[0][0].residence, policies::DeviceScheduler::Residence::missing);
    dispatcher.died(1, Instant{});
    EXPECT_EQ(dispatcher.state().slots[0][0].residence, policies::DeviceScheduler::Residence::loading);
    EXPECT_FALSE(dispatcher.occupied(1));
  }
}

} // namespace
} // namespace rtexec::daemon
