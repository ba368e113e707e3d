// Tests regulation under a real kernel, with `cycles` as the event. Greedy threads run on core 1, while core 0
// observes; in `clusters` they run on all cores.
//
//   regulation-trials overflows   a FIFO-10 thread under a budget: first normally, then with the kernel's thread that
//                                 reports overflows reset to FIFO 1, its priority under PREEMPT_RT. Then only the end
//                                 of a period stops the greedy thread.
//   regulation-trials unplug      the regulated core goes offline: its domain is reported as lost, the core to which
//                                 the regulating thread was moved is not held, regulation ends, and a new one keeps
//                                 its budget once the core is back.
//   regulation-trials clusters    a domain for each cluster of the kernel's topology, every other one with a budget.
//                                 The cycles of a cluster's first core stand in for a counter of the cluster. Budgets
//                                 are kept, all cores of such a cluster are held together, and others lose nothing.
//
// Exits with 0, 1, or 77 and the reason.
#include "hal/machine_files.hpp"
#include "hal/thread.hpp"
#include "rtexec/runtime/regulation/regulation.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <sched.h>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rtexec {
namespace {

using namespace std::chrono_literals;

constexpr unsigned core = 1;
Duration period = 100ms; // longer if many emulated cores share those of the host

bool unplugged = false; // from then on, a refusal by the machine is a failure

[[noreturn]] void skip(const std::string& why) {
  std::printf("%s: %s\n", unplugged ? "REFUSED AFTER THE CORE WENT OFFLINE" : "skipped", why.c_str());
  std::exit(unplugged ? 1 : 77);
}

template <class T> T need(Result<T> result) {
  if (!result) skip(result.error().what);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

double since(Instant begin) { return std::chrono::duration<double>(hal::now() - begin).count(); }
void sleep(Duration time) { hal::sleep_until(hal::now() + time); }

class Greedy {
 public:
  explicit Greedy(int fifo, unsigned on = core)
      : thread_(
            need(hal::Thread::start({.name = "greedy", .core = on, .fifo_priority = fifo, .reservation = {}}, [this] {
              constexpr unsigned some_milliseconds = 1U << 20U;
              for (unsigned i = 0; !stop_.load(std::memory_order_relaxed); ++i)
                // rarely, since it is a system call
                if (i % some_milliseconds == 0) executed_.store(hal::execution_time());
            }))) {}
  ~Greedy() { stop_.store(true); }

  [[nodiscard]] double executed() const { return std::chrono::duration<double>(executed_.load()).count(); }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<Duration> executed_{Duration(0)};
  hal::Thread thread_;
};

/// Returns a domain counted on the first of `cores`. 0 means no budget.
regulation::RegulatedDomain domain_of(std::vector<unsigned> cores, std::uint64_t events_per_second) {
  const hal::CounterSettings counter{.back_end = CounterBackEnd::core,
                                     .reads = need(hal::find_event("cycles")),
                                     .writes = {},
                                     .core = cores.front(),
                                     .period = period};
  return {.cores = std::move(cores),
          .counter = counter,
          .line = Bytes{64},
          .budget = events_per_second == 0 ? std::optional<Bandwidth>() : Bandwidth{events_per_second * 64},
          .always = true};
}

/// Starts regulation. It sets `told` when the counter ends.
std::unique_ptr<regulation::Regulation> regulate(std::span<const regulation::RegulatedDomain> domains,
                                                 BandwidthLocks& locks, std::atomic<bool>& told) {
  regulation::RegulationSettings settings{
      .period = period, .rules = {}, .regulate_while = RegulateWhile::always, .observer = {}, .open_counter = {}};
  settings.observer.self = &told;
  settings.observer.lost = [](void* self, unsigned) noexcept { static_cast<std::atomic<bool>*>(self)->store(true); };
  return need(regulation::Regulation::start(domains, settings, locks));
}

std::unique_ptr<regulation::Regulation> regulate(std::uint64_t events_per_second, BandwidthLocks& locks,
                                                 std::atomic<bool>& told) {
  const auto domain = domain_of({core}, events_per_second);
  return regulate(std::span(&domain, 1), locks, told);
}

/// Returns the events per second over ten periods, after the first ones.
double rate(const regulation::Regulation& regulation) {
  sleep(4 * period + period / 2); // counts cover whole periods, and are read in the middle of one
  const auto before = regulation.report().front().reads;
  const Instant begin = hal::now();
  sleep(10 * period);
  return static_cast<double>(regulation.report().front().reads - before) / since(begin);
}

// ---- overflows ----

/// Returns the kernel's thread that wakes waiters for an overflow on the core, or 0 if there is none.
int overflow_thread() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto name = hal::Machine().read(entry.path() / "comm");
    if (name && *name == "irq_work/" + std::to_string(core)) return std::atoi(entry.path().filename().c_str());
  }
  return 0;
}

struct Overshoot {
  double median, most; // excess of a period above its budget, in budgets
};

Overshoot overshoot(std::uint64_t budget, bool lowered, BandwidthLocks& locks) {
  std::atomic<bool> told{false};
  const auto regulation = regulate(budget, locks, told);
  sched_param first{};
  first.sched_priority = 1;
  if (lowered && ::sched_setscheduler(overflow_thread(), SCHED_FIFO, &first) != 0)
    skip("the kernel's thread irq_work cannot be given FIFO 1");
  const Greedy greedy(10);
  sleep(40 * period);
  const DomainReport report = regulation->report().front();
  const double of_period = static_cast<double>(budget) * std::chrono::duration<double>(period).count();
  const Overshoot found{static_cast<double>(report.overshoot.p50) / of_period,
                        static_cast<double>(report.overshoot.max) / of_period};
  std::printf(
      "overflows told at FIFO %-2d  a period goes beyond its allowance by %5.1f %% of a budget (median), %5.1f %% "
      "(most); "
      "%llu of 40 periods used it up\n",
      lowered ? 1 : 99, 100 * found.median, 100 * found.most,
      static_cast<unsigned long long>(report.overshoot.samples));
  return found;
}

int overflows(BandwidthLocks& locks) {
  if (overflow_thread() == 0) skip("no thread irq_work/" + std::to_string(core) + ": a kernel without PREEMPT_RT");
  constexpr std::uint64_t budget = 500'000'000; // half of the unlimited rate
  // TCG and a busy host cause delays of some milliseconds.
  const bool kept = overshoot(budget, false, locks).median <= 0.25;
  const bool broken = overshoot(budget, true, locks).median >= 0.5;
  std::printf("%s; %s\n", kept ? "kept with the kernel's thread raised" : "NOT KEPT WITH THE KERNEL'S THREAD RAISED",
              broken ? "broken without" : "NOT BROKEN WITHOUT: this shows nothing");
  return kept && broken ? 0 : 1;
}

// ---- unplug ----

void set_online(bool online) {
  need(hal::Machine().write("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/online", online ? "1" : "0"));
}

/// Returns the share of core 0 that a FIFO thread gets which never rests.
double share_of_other_core() {
  const auto executed = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  double share = 0;
  need(hal::Thread::start({.name = "neighbour", .core = 0, .fifo_priority = 1, .reservation = {}}, [&] {
    const Instant begin = hal::now();
    const double before = executed();
    while (hal::now() < begin + 1s) {}
    share = (executed() - before) / since(begin);
  })).join();
  return share;
}

/// True if it is regulated at all. Over ten short periods a single overshoot has much weight.
bool near(double reached, double wanted) { return reached >= 0.5 * wanted && reached <= 1.5 * wanted; }

bool survives(std::uint64_t budget, BandwidthLocks& locks) {
  std::atomic<bool> told{false};
  const auto regulation = regulate(budget, locks, told);
  const Greedy greedy(0); // like this one, the kernel's thread that takes a core offline has no real-time priority
  const double before = rate(*regulation);
  const bool lost_before = regulation->report().front().lost;

  const Instant begin = hal::now();
  set_online(false);
  unplugged = true;
  const double took = since(begin);
  while (!told.load() && since(begin) < took + 2) sleep(10ms);
  const bool lost = !lost_before && told.load() && regulation->report().front().lost;
  const double other = share_of_other_core();
  const Instant ending = hal::now();
  regulation->end();
  const bool ok = near(before, static_cast<double>(budget)) && lost && other >= 0.9;
  std::printf(
      "budget %llu /s: reached %.0f /s; offline after %.2f s: %s; core 0 free for %.1f %%; regulation ended after %.3f "
      "s  %s\n",
      static_cast<unsigned long long>(budget), before, took, lost ? "lost, and reported" : "NOT REPORTED AS LOST",
      100 * other, since(ending), ok ? "ok" : "WRONG");
  return ok;
}

bool regulates_again(std::uint64_t budget, BandwidthLocks& locks) {
  set_online(true);
  std::atomic<bool> told{false};
  const auto regulation = regulate(budget, locks, told);
  const Greedy greedy(0);
  const double reached = rate(*regulation);
  const bool ok = near(reached, static_cast<double>(budget)) && !regulation->report().front().lost;
  std::printf("online again: reached %.0f /s  %s\n", reached, ok ? "ok" : "WRONG");
  return ok;
}

int unplug(BandwidthLocks& locks) {
  bool ok = true;
  for (const std::uint64_t budget : {100'000'000U, 300'000'000U, 600'000'000U}) {
    ok = survives(budget, locks) && ok;
    ok = regulates_again(budget, locks) && ok;
  }
  std::printf("%s\n",
              ok ? "the unplugged core's domain was lost, and no other core held" : "AN UNPLUGGED CORE WAS NOT LET GO");
  return ok ? 0 : 1;
}

// ---- clusters ----

using Cores = std::vector<unsigned>;

/// Returns the clusters of more than one core, according to the kernel's topology.
std::vector<Cores> clusters() {
  const hal::Machine machine;
  std::vector<Cores> found;
  for (const unsigned each : need(hal::parse_core_list(need(machine.read("/sys/devices/system/cpu/online"))))) {
    const auto list =
        machine.read("/sys/devices/system/cpu/cpu" + std::to_string(each) + "/topology/cluster_cpus_list");
    if (!list) skip("the kernel knows no clusters: " + list.error().what);
    if (Cores cores = need(hal::parse_core_list(*list)); cores.size() > 1 && cores.front() == each)
      found.push_back(std::move(cores));
  }
  if (found.size() < 2) skip("the kernel knows of fewer than two clusters with several cores");
  return found;
}

struct Measured {
  double events = 0;            // per second
  std::vector<double> executed; // per second, by the greedy thread of each core
};

/// Runs a greedy thread on each core of some clusters.
class GreedyClusters {
 public:
  /// Starts them from the last core to the first, where threads begin.
  explicit GreedyClusters(std::span<const Cores> clusters) : threads_(clusters.size()) {
    for (std::size_t i = clusters.size(); i-- > 0;)
      for (const unsigned each : clusters[i]) threads_[i].push_back(std::make_unique<Greedy>(0, each));
  }
  /// Returns the counts and execution times so far, for each cluster.
  [[nodiscard]] std::vector<Measured> counts(const regulation::Regulation& regulation) const {
    const auto reports = regulation.report();
    std::vector<Measured> all;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      auto& counted = all.emplace_back(Measured{static_cast<double>(reports[i].reads), {}});
      for (const auto& each : threads_[i]) counted.executed.push_back(each->executed());
    }
    return all;
  }

 private:
  std::vector<std::vector<std::unique_ptr<Greedy>>> threads_;
};

// Alternately with and without budgets, since the host's load varies.
constexpr unsigned rounds = 2;

/// Adds a round to the measurements of each cluster.
void measure(std::span<const Cores> clusters, std::span<const std::uint64_t> budgets, const GreedyClusters& greedy,
             BandwidthLocks& locks, std::vector<Measured>& measured) {
  std::vector<regulation::RegulatedDomain> domains;
  for (std::size_t i = 0; i < clusters.size(); ++i)
    domains.push_back(domain_of(clusters[i], budgets[i % budgets.size()]));
  std::atomic<bool> lost{false};
  const auto regulation = regulate(domains, locks, lost);
  sleep(2 * period + period / 2);
  const Instant begin = hal::now();
  const auto before = greedy.counts(*regulation);
  sleep(10 * period);
  const double seconds = since(begin) * rounds;
  const auto after = greedy.counts(*regulation);
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    measured[i].events += (after[i].events - before[i].events) / seconds;
    measured[i].executed.resize(clusters[i].size());
    for (std::size_t j = 0; j < clusters[i].size(); ++j)
      measured[i].executed[j] += (after[i].executed[j] - before[i].executed[j]) / seconds;
  }
  if (lost.load()) skip("the counter of a cluster was lost");
}

/// True if a cluster was treated according to its budget. Executions are compared with those of `free`, without
/// budgets, since emulated cores share those of the host.
bool is_right(const Cores& cores, double budget, const Measured& measured, const Measured& free) {
  const double share = budget / free.events; // 0: no budget
  bool held = true, whole = true;
  std::string shares;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const double left = measured.executed[i] / free.executed[i];
    held = held && left <= share + 0.2;
    whole = whole && left >= 0.6;
    char text[32];
    std::snprintf(text, sizeof text, "%s%.0f %%", i == 0 ? "" : ", ", 100 * left);
    shares += text;
  }
  const bool kept = std::abs(measured.events - budget) <= 0.2 * budget;
  const char* const verdict = budget == 0 ? (whole ? "ok" : "LOST SOMETHING")
                              : !kept     ? "NOT KEPT"
                              : held      ? "ok"
                                          : "NOT HELD TOGETHER";
  const std::string asked = budget == 0 ? "no budget" : "budget " + std::to_string(std::llround(budget)) + " /s";
  std::printf(
      "cores %-5s %-19s reached %10.0f /s, cycles of core %u; of what they had without budgets, its cores had "
      "%s  %s\n",
      hal::core_list(cores).c_str(), asked.c_str(), measured.events, cores.front(), shares.c_str(), verdict);
  return budget == 0 ? whole : kept && held;
}

int by_cluster(BandwidthLocks& locks) {
  period = 400ms;
  // the observer runs on the first cluster
  constexpr std::uint64_t none[] = {0}, budgets[] = {0, 200'000'000, 0, 300'000'000};
  const std::vector<Cores> found = clusters();
  const GreedyClusters greedy(found);
  std::vector<Measured> free(found.size()), limited(found.size());
  for (unsigned round = 0; round < rounds; ++round) {
    measure(found, none, greedy, locks, free);
    measure(found, budgets, greedy, locks, limited);
  }
  bool ok = true;
  for (std::size_t i = 0; i < found.size(); ++i)
    ok = is_right(found[i], static_cast<double>(budgets[i % std::size(budgets)]), limited[i], free[i]) && ok;
  std::printf("%s\n", ok ? "budgets of clusters were kept, by all of their cores and by no others"
                         : "A CLUSTER WAS NOT HELD AS ITS BUDGET SAYS");
  return ok ? 0 : 1;
}

int run(std::string_view mode) {
  need(hal::apply({.name = "trials", .core = 0, .fifo_priority = 20, .reservation = {}}));
  need(hal::Machine().write("/proc/sys/kernel/sched_rt_runtime_us", "-1"));
  BandwidthLocks locks = need(BandwidthLocks::open());
  if (mode == "overflows") return overflows(locks);
  if (mode == "unplug") return unplug(locks);
  if (mode == "clusters") return by_cluster(locks);
  std::printf("use: regulation-trials overflows|unplug|clusters\n");
  return 2;
}

} // namespace
} // namespace rtexec

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ); // prints each line at once
  return rtexec::run(argc > 1 ? argv[1] : "");
}
