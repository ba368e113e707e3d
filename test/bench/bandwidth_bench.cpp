// How well regulation of memory bandwidth keeps budgets, and its costs, with a stand-in event that every Linux
// machine counts.
//
//   bandwidth-bench rates    a greedy thread under budgets across two decades: its rate against its budget, and a
//                            neighbour on another core
//   bandwidth-bench costs    from overflow to stop, compared with a bare thread on perf_event; overshoot; the cost of
//                            an unused budget; lost overflows
//
// --event cycles counts the cycles of a spinning thread, for machines whose PMU counts nothing else (an emulator).
#include "hal/machine_files.hpp"
#include "hal/stolen_time.hpp"
#include "rtexec/runtime/regulation/regulation.hpp"
#include "test/bench/statistics.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <linux/perf_event.h>
#include <poll.h>
#include <sstream>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rtexec::bench {
namespace {

using namespace std::chrono_literals;

struct Options {
  std::string mode;
  std::string event = "page-faults";
  double seconds = 10;
  unsigned core = 1;
  unsigned other_core = 0;
  Duration period = 1ms;
  std::string back_ends = "core,thread";
  std::string shares = "0.006,0.06,0.6"; // the budgets, as fractions of the unlimited rate
};

[[noreturn]] void skip(const std::string& why) {
  std::printf("skipped: %s\n", why.c_str());
  std::exit(77);
}

/// Disables RT throttling. It would stop a FIFO thread that never sleeps, and the regulating thread with it, for 5 % of
/// the time. The setting is restored at the end of the program, however it ends.
class WithoutRtThrottling {
 public:
  WithoutRtThrottling() : before_(hal::Machine().read(file).value_or("-1")) {
    if (before_ == "-1") {
      lifted_ = true;
      return;
    }
    setting_ = ::open(file, O_WRONLY | O_CLOEXEC);
    lifted_ = setting_ >= 0 && hal::Machine().write(file, "-1").has_value();
    if (!lifted_) return;
    active = this;
    std::atexit([] { put_back(); });
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      std::signal(signal, [](int number) {
        put_back();
        ::_exit(128 + number);
      });
    }
  }
  ~WithoutRtThrottling() {
    put_back();
    if (setting_ >= 0) ::close(setting_);
  }
  WithoutRtThrottling(const WithoutRtThrottling&) = delete;
  WithoutRtThrottling& operator=(const WithoutRtThrottling&) = delete;
  [[nodiscard]] bool lifted() const { return lifted_; }

 private:
  static void put_back() {
    if (const auto* from = active.exchange(nullptr))
      static_cast<void>(::write(from->setting_, from->before_.data(), from->before_.size()));
  }

  static constexpr const char* file = "/proc/sys/kernel/sched_rt_runtime_us";
  static inline std::atomic<WithoutRtThrottling*> active;
  std::string before_;
  int setting_ = -1;
  bool lifted_ = false;
};

/// Causes events as fast as possible, and records the instant just before each.
class Greedy {
 public:
  virtual ~Greedy() = default;
  virtual void step() noexcept = 0;
};

class PageToucher final : public Greedy {
 public:
  PageToucher() {
    memory_ = static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory_ == MAP_FAILED) skip("no memory");
    ::madvise(memory_, size, MADV_NOHUGEPAGE);
  }
  ~PageToucher() override { ::munmap(memory_, size); }
  void step() noexcept override {
    if (next_ == 0) ::madvise(memory_, size, MADV_DONTNEED);
    static_cast<volatile char*>(memory_)[next_] = 1;
    next_ = (next_ + page) % size;
  }

 private:
  static constexpr std::size_t page = 4096, size = 256 * page;
  char* memory_ = nullptr;
  std::size_t next_ = 0;
};

/// Causes events that occur with time.
class Spinner final : public Greedy {
 public:
  void step() noexcept override {
    for (int i = 0; i < 64; ++i) value_ = value_ * 5 + 1;
  }

 private:
  volatile std::uint64_t value_ = 1;
};

std::unique_ptr<Greedy> greedy_for(const std::string& event) {
  if (event == "page-faults") return std::make_unique<PageToucher>();
  return std::make_unique<Spinner>();
}

/// A thread that makes steps until it is stopped.
class GreedyThread {
 public:
  static constexpr std::size_t stamps = 1 << 20;

  GreedyThread(const Options& options, int fifo, bool stamped, regulation::Regulation* regulation, unsigned core)
      : stamped_(stamped), regulation_(regulation) {
    if (stamped) stamps_.resize(stamps);
    auto thread = hal::Thread::start({.name = "greedy", .core = core, .fifo_priority = fifo, .reservation = {}},
                                     [&options, this, regulation, core] {
                                       const auto greedy = greedy_for(options.event);
                                       if (regulation != nullptr && !regulation->join(core)) failed_.store(true);
                                       while (!stop_.load(std::memory_order_relaxed)) {
                                         const std::uint64_t number = steps_.load(std::memory_order_relaxed);
                                         if (stamped_) stamps_[number % stamps] = hal::now().time_since_epoch().count();
                                         greedy->step();
                                         steps_.store(number + 1, std::memory_order_release);
                                       }
                                       if (regulation != nullptr) regulation->leave(core);
                                     });
    if (!thread) skip(thread.error().what);
    thread_ = std::move(*thread);
  }
  ~GreedyThread() {
    stop_.store(true);
    if (regulation_ != nullptr) regulation_->end(); // regulation may hold the thread
    thread_.join();
    if (failed_.load()) skip("the greedy thread cannot be counted");
  }
  [[nodiscard]] std::uint64_t steps() const { return steps_.load(std::memory_order_acquire); }
  [[nodiscard]] Instant stamp(std::uint64_t number) const { return Instant(Duration(stamps_[number % stamps])); }

 private:
  std::atomic<std::uint64_t> steps_{0};
  std::atomic<bool> stop_{false}, failed_{false};
  bool stamped_;
  regulation::Regulation* regulation_; // ends before the thread is joined
  std::vector<std::int64_t> stamps_;
  hal::Thread thread_;
};

hal::CounterSettings counter_of(const Options& options, CounterBackEnd back_end) {
  auto event = hal::find_event(options.event);
  if (!event) skip(event.error().what);
  return {.back_end = back_end, .reads = *event, .writes = {}, .core = options.core, .period = options.period};
}

regulation::RegulatedDomain domain_of(const Options& options, CounterBackEnd back_end,
                                      std::optional<double> events_per_second) {
  regulation::RegulatedDomain domain{.cores = {options.core},
                                     .counter = counter_of(options, back_end),
                                     .line = Bytes{64},
                                     .budget = {},
                                     .always = true};
  if (events_per_second) domain.budget = Bandwidth{static_cast<std::uint64_t>(*events_per_second * 64)};
  return domain;
}

using OpenCounter = std::function<Result<std::unique_ptr<hal::BandwidthCounter>>(const hal::CounterSettings&)>;

std::unique_ptr<regulation::Regulation> regulate(const regulation::RegulatedDomain& domain, const Options& options,
                                                 BandwidthLocks& locks, OpenCounter open = {}) {
  regulation::RegulationSettings settings{.period = options.period,
                                          .rules = {},
                                          .regulate_while = RegulateWhile::device_busy,
                                          .observer = {},
                                          .open_counter = std::move(open)};
  auto started = regulation::Regulation::start(std::span(&domain, 1), settings, locks);
  if (!started) skip(started.error().what);
  return std::move(*started);
}

double since(Instant begin) { return std::chrono::duration<double>(hal::now() - begin).count(); }
void sleep(double seconds) { hal::sleep_until(hal::now() + Duration(static_cast<std::int64_t>(seconds * 1e9))); }

BandwidthLocks open_locks() {
  auto locks = BandwidthLocks::open();
  if (!locks) skip(locks.error().what);
  return std::move(*locks);
}

/// Measures the share of its core that a thread gets which never rests. It has FIFO class, so that other programs do
/// not count.
class Neighbour {
 public:
  explicit Neighbour(unsigned core) {
    auto thread =
        hal::Thread::start({.name = "neighbour", .core = core, .fifo_priority = 1, .reservation = {}}, [this] {
          const Instant begin = hal::now();
          const Duration before = executed();
          while (!stop_.load(std::memory_order_relaxed)) {}
          share_ =
              static_cast<double>((executed() - before).count()) / static_cast<double>((hal::now() - begin).count());
        });
    if (!thread) skip(thread.error().what);
    thread_ = std::move(*thread);
  }
  double stop() {
    stop_.store(true);
    thread_.join();
    return share_;
  }

 private:
  static Duration executed() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
  }

  std::atomic<bool> stop_{false};
  double share_ = 0;
  hal::Thread thread_;
};

/// Returns the time that the host took from a virtual core since it started, in seconds.
double stolen(unsigned core) {
  return std::chrono::duration<double>(hal::StolenTime({core}).read().front().time).count();
}

// ---- rates ----

/// Returns the events per second of the greedy thread without a limit.
double unlimited_rate(const Options& options, int fifo, BandwidthLocks& locks) {
  const auto regulation = regulate(domain_of(options, CounterBackEnd::core, {}), options, locks);
  GreedyThread greedy(options, fifo, false, nullptr, options.core);
  const double period = std::chrono::duration<double>(options.period).count();
  sleep(std::max(0.1, 2 * period));
  const auto before = regulation->report().front().reads;
  const Instant begin = hal::now();
  sleep(std::max(0.5, 4 * period));
  return static_cast<double>(regulation->report().front().reads - before) / since(begin);
}

bool keeps_rate(const Options& options, CounterBackEnd back_end, double rate, int fifo, BandwidthLocks& locks) {
  Options own = options;
  const auto domain = domain_of(own, back_end, rate);
  const double wanted = static_cast<double>(policies::lines_of(*domain.budget, domain.line, own.period)) /
                        std::chrono::duration<double>(own.period).count();
  const auto regulation = regulate(domain, own, locks);
  GreedyThread greedy(own, fifo, false, regulation.get(), own.core);
  // Now the overshoot of its first steps is paid. Counts cover whole periods, and are read in the middle of one.
  sleep(std::max(0.2, 4.5 * std::chrono::duration<double>(own.period).count()));
  Neighbour neighbour(own.other_core);
  const auto before = regulation->report().front();
  const double stolen_before = stolen(own.other_core);
  const Instant begin = hal::now();
  sleep(own.seconds);
  const auto after = regulation->report().front();
  const double reached = static_cast<double>(after.reads - before.reads) / since(begin);
  const double beside = neighbour.stop();
  const double error = reached / wanted - 1;
  // If other work had the core (the fair server's threads, the host's other machines), a lower rate is no error.
  const double taken = static_cast<double>(after.missed_periods - before.missed_periods) *
                       std::chrono::duration<double>(own.period).count() / since(begin);
  const double left = 1 - (stolen(own.other_core) - stolen_before) / since(begin); // the rest of the neighbour's core
  const bool kept = error >= -0.05 - taken && error <= 0.05 && beside >= 0.9 * left;
  std::printf(
      "%-7s budget %11.0f /s  reached %11.0f /s  %+6.2f %%  held %4.1f %%  taken by others %.1f %%  lost overflows "
      "%llu  neighbour has %5.1f %% of its core, the host took %.1f %%  %s\n",
      back_end == CounterBackEnd::core     ? "core"
      : back_end == CounterBackEnd::thread ? "thread"
                                           : "polling",
      wanted, reached, 100 * error,
      100 * std::chrono::duration<double>(after.throttled - before.throttled).count() / since(begin), 100 * taken,
      static_cast<unsigned long long>(after.lost_overflows - before.lost_overflows), 100 * beside, 100 * (1 - left),
      kept ? "ok" : "NOT KEPT");
  return kept;
}

/// Other programs on the core make events too, which count against its budget: measures up to three times.
bool keeps_undisturbed(const Options& options, CounterBackEnd back_end, double rate, int fifo, BandwidthLocks& locks) {
  for (int attempt = 0; attempt < 3; ++attempt)
    if (keeps_rate(options, back_end, rate, fifo, locks)) return true;
  return false;
}

int rates(const Options& options) {
  const WithoutRtThrottling throttling;
  BandwidthLocks locks = open_locks();
  // A FIFO thread: where the kernel has a fair server, threads without priority get a share of a held core.
  constexpr int fifo = 10;
  const double most = unlimited_rate(options, fifo, locks);
  std::printf(
      "greedy thread on core %u, %s: %.0f /s without a limit; periods of %lld us; budgets of %s of it, %.0f s each\n",
      options.core, options.event.c_str(), most, static_cast<long long>(options.period.count() / 1000),
      options.shares.c_str(), options.seconds);
  bool kept = true;
  for (const auto& [name, back_end] :
       {std::pair("core", CounterBackEnd::core), std::pair("thread", CounterBackEnd::thread)}) {
    if (options.back_ends.find(name) == std::string::npos) continue;
    if (back_end == CounterBackEnd::core && !throttling.lifted()) {
      std::printf(
          "core: skipped: RT throttling takes 5 %% of a core that FIFO threads fill, and cannot be lifted here\n");
      continue;
    }
    std::istringstream shares(options.shares);
    for (std::string share; std::getline(shares, share, ',');)
      kept = keeps_undisturbed(options, back_end, std::atof(share.c_str()) * most, fifo, locks) && kept;
  }
  std::printf("%s\n", kept ? "every budget was kept within 5 %" : "A BUDGET WAS NOT KEPT");
  return kept ? 0 : 1;
}

// ---- costs ----

/// Measures a counter that regulates, from the event that used up the budget to the thread that holds the core.
class Timed final : public hal::BandwidthCounter {
 public:
  Timed(std::unique_ptr<hal::BandwidthCounter> counter, const GreedyThread*& greedy, std::vector<double>& latencies)
      : counter_(std::move(counter)), greedy_(greedy), latencies_(latencies) {}

  Status arm(std::uint64_t reads, std::uint64_t writes) noexcept override {
    crossing_ = greedy_ == nullptr || reads == hal::no_limit ? 0 : greedy_->steps() + reads - 1;
    return counter_->arm(reads, writes);
  }
  Expected<hal::TrafficCount, Errc> count() noexcept override { return counter_->count(); }
  Waited wait(Instant until) noexcept override { return counter_->wait(until); }
  void hold(Instant until, bool (*over)(void*) noexcept, void* self) noexcept override {
    if (crossing_ > 0 && greedy_->steps() >= crossing_ && latencies_.size() < latencies_.capacity())
      latencies_.push_back(static_cast<double>((hal::now() - greedy_->stamp(crossing_)).count()));
    counter_->hold(until, over, self);
  }
  std::string description() const override { return counter_->description(); }
  std::uint64_t lost_overflows() const noexcept override { return counter_->lost_overflows(); }

 private:
  std::unique_ptr<hal::BandwidthCounter> counter_;
  const GreedyThread*& greedy_;
  std::vector<double>& latencies_;
  std::uint64_t crossing_ = 0;
};

constexpr std::size_t max_samples = 1 << 20;

struct Stops {
  std::vector<double> latency; // ns
  DomainReport report;
};

Stops ours(const Options& options, double rate, double seconds, BandwidthLocks& locks) {
  Stops stops;
  stops.latency.reserve(max_samples);
  const GreedyThread* watched = nullptr;
  const auto open = [&](const hal::CounterSettings& settings) -> Result<std::unique_ptr<hal::BandwidthCounter>> {
    auto counter = hal::open_counter(settings);
    if (!counter) return counter;
    return std::make_unique<Timed>(std::move(*counter), watched, stops.latency);
  };
  auto regulation = regulate(domain_of(options, CounterBackEnd::core, rate), options, locks, open);
  GreedyThread greedy(options, 10, true, nullptr, options.core);
  sleep(0.05);
  watched = &greedy;
  sleep(seconds);
  stops.report = regulation->report().front();
  regulation.reset(); // it uses the greedy thread until it ends
  return stops;
}

/// Measures the peer: a bare FIFO thread that waits for the counter, holds the core until the period ends, and arms
/// again.
Stops bare(const Options& options, std::uint64_t budget, double seconds) {
  Stops stops;
  stops.latency.reserve(max_samples);
  GreedyThread greedy(options, 10, true, nullptr, options.core);
  auto thread = hal::Thread::start({.name = "bare", .core = options.core, .fifo_priority = 99, .reservation = {}}, [&] {
    const auto event = hal::find_event(options.event);
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = event->type;
    attributes.config = event->config;
    attributes.sample_period = budget;
    attributes.wakeup_events = 1;
    const int file = static_cast<int>(::syscall(SYS_perf_event_open, &attributes, -1, options.core, -1, 0));
    if (file < 0) return;
    void* ring = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const Instant end = hal::now() + Duration(static_cast<std::int64_t>(seconds * 1e9));
    for (Instant next = hal::now() + options.period; hal::now() < end; next += options.period) {
      ::ioctl(file, PERF_EVENT_IOC_DISABLE, 0);
      ::ioctl(file, PERF_EVENT_IOC_PERIOD, &budget);
      ::ioctl(file, PERF_EVENT_IOC_ENABLE, 0);
      const std::uint64_t crossing = greedy.steps() + budget - 1;
      const Duration left = next - hal::now();
      const timespec timeout{.tv_sec = 0, .tv_nsec = std::max<long>(left.count(), 0)};
      pollfd waits{.fd = file, .events = POLLIN, .revents = 0};
      if (::ppoll(&waits, 1, &timeout, nullptr) > 0 && greedy.steps() >= crossing && stops.latency.size() < max_samples)
        stops.latency.push_back(static_cast<double>((hal::now() - greedy.stamp(crossing)).count()));
      while (hal::now() < next) {}
    }
    ::munmap(ring, 8192);
    ::close(file);
  });
  if (!thread) skip(thread.error().what);
  thread->join();
  return stops;
}

/// Returns the share of a core that others took, including regulating threads, although a FIFO thread never leaves it.
double taken_share(unsigned core, double seconds) {
  Neighbour worker(core);
  sleep(seconds);
  return 1 - worker.stop();
}

/// A thread that wakes in each period and does nothing: the lower bound for any regulator in user space.
class Waker {
 public:
  Waker(unsigned core, Duration period) {
    auto thread =
        hal::Thread::start({.name = "waker", .core = core, .fifo_priority = 99, .reservation = {}}, [this, period] {
          for (Instant next = hal::now(); !stop_.load(); next += period) hal::sleep_until(next);
        });
    if (!thread) skip(thread.error().what);
    thread_ = std::move(*thread);
  }
  ~Waker() { stop_.store(true); }

 private:
  std::atomic<bool> stop_{false};
  hal::Thread thread_;
};

struct Cost {
  double best_effort = 0, real_time = 0, waking = 0; // shares of a core
};

/// Returns the cost of an unused budget on its core while the device works. Short turns alternate in one run.
Cost cost_of_unused(const Options& options, Duration period, double seconds, BandwidthLocks& locks) {
  Options own = options;
  own.period = period;
  constexpr double turn = 0.1;
  std::vector<double> best_effort, real_time, woken;
  const GpuBusy busy(locks);
  for (const Instant begin = hal::now(); since(begin) < seconds;) {
    const double idle = taken_share(own.core, turn);
    for (const bool donates : {true, false}) {
      auto domain = domain_of(own, CounterBackEnd::core, 1e8);
      domain.always = false;
      domain.donates = donates;
      const auto regulation = regulate(domain, own, locks);
      (donates ? best_effort : real_time).push_back(taken_share(own.core, turn) - idle);
    }
    const Waker waker(own.core, period);
    woken.push_back(taken_share(own.core, turn) - idle);
  }
  return {.best_effort = median(best_effort), .real_time = median(real_time), .waking = median(woken)};
}

int costs(const Options& options) {
  const WithoutRtThrottling throttling;
  BandwidthLocks locks = open_locks();
  const double most = unlimited_rate(options, 10, locks);
  const double rate = most * 0.2;
  const auto budget = static_cast<std::uint64_t>(rate * std::chrono::duration<double>(options.period).count());
  std::vector<double> our_latency, bare_latency;
  DomainReport last;
  std::uint64_t lost = 0;
  constexpr int turns = 20; // short alternating turns, since the host's load varies
  for (int turn = 0; turn < turns; ++turn) {
    const Stops own = ours(options, rate, options.seconds / (2 * turns), locks);
    our_latency.insert(our_latency.end(), own.latency.begin(), own.latency.end());
    last = own.report;
    lost += last.lost_overflows;
    const Stops peer = bare(options, budget, options.seconds / (2 * turns));
    bare_latency.insert(bare_latency.end(), peer.latency.begin(), peer.latency.end());
  }
  const auto us = [](const std::vector<double>& values, double share) { return percentile(values, share) / 1000; };
  std::printf(
      "overflow to stop     rtexec p50 %6.1f us  p99 %6.1f us  (%zu)   bare FIFO thread p50 %6.1f us  p99 %6.1f us  "
      "(%zu)   ratio p50 %.2f  p99 %.2f  (goal 1.2)\n",
      us(our_latency, 0.5), us(our_latency, 0.99), our_latency.size(), us(bare_latency, 0.5), us(bare_latency, 0.99),
      bare_latency.size(), us(our_latency, 0.5) / us(bare_latency, 0.5),
      us(our_latency, 0.99) / us(bare_latency, 0.99));
  const auto percent = [&](std::uint64_t lines) {
    return 100.0 * static_cast<double>(lines) / static_cast<double>(budget);
  };
  std::printf(
      "overshoot per period p50 %lld lines (%.2f %%)  p99 %lld (%.2f %%)  max %lld (%.2f %%)  of %llu, in %llu "
      "periods\n",
      static_cast<long long>(last.overshoot.p50), percent(last.overshoot.p50),
      static_cast<long long>(last.overshoot.p99), percent(last.overshoot.p99),
      static_cast<long long>(last.overshoot.max), percent(last.overshoot.max), static_cast<unsigned long long>(budget),
      static_cast<unsigned long long>(last.overshoot.samples));
  // The traffic beyond all budgets and one overshoot, which no period was charged for.
  const double allowed = static_cast<double>(budget) * static_cast<double>(last.periods + last.missed_periods + 1) +
                         static_cast<double>(last.overshoot.max);
  const double uncorrected = std::max(0.0, static_cast<double>(last.reads) - allowed);
  std::printf(
      "lost overflows       %llu found by the cross-check; lines beyond all budgets and one overshoot: %.0f (goal 0)\n",
      static_cast<unsigned long long>(lost), uncorrected);
  for (const auto& [period, goal] : {std::pair<Duration, double>(1ms, 0.5), std::pair<Duration, double>(100us, 5)}) {
    const Cost cost = cost_of_unused(options, period, options.seconds, locks);
    std::printf(
        "unused budget        %.2f %% of a core in periods of %lld us (goal %.1f %%); of one with real-time work: %.2f "
        "%%; a thread that only wakes in each: %.2f %%\n",
        100 * cost.best_effort, static_cast<long long>(period.count() / 1000), goal, 100 * cost.real_time,
        100 * cost.waking);
  }
  return 0;
}

int run(const Options& options) {
  const auto cores = hal::Machine().online_cores();
  if (cores.size() < 2) skip("needs two cores");
  // Above the greedy threads, and below those that hold their cores. Without a fair server this thread would not run
  // otherwise.
  if (const auto applied = hal::apply({.name = "bandwidth-bench", .core = {}, .fifo_priority = 20, .reservation = {}});
      !applied)
    skip(applied.error().what);
  if (options.mode == "rates") return rates(options);
  if (options.mode == "costs") return costs(options);
  std::printf(
      "use: bandwidth-bench rates|costs [--seconds N] [--event NAME] [--period US] [--back-ends core,thread] [--shares "
      "S,S...]\n");
  return 2;
}

} // namespace
} // namespace rtexec::bench

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ); // prints each line at once
  rtexec::bench::Options options;
  if (argc > 1) options.mode = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    if (key == "--seconds") options.seconds = std::atof(argv[i + 1]);
    else if (key == "--event") options.event = argv[i + 1];
    else if (key == "--period") options.period = std::chrono::microseconds(std::atol(argv[i + 1]));
    else if (key == "--back-ends") options.back_ends = argv[i + 1];
    else if (key == "--shares") options.shares = argv[i + 1];
    else options.mode.clear();
  }
  return rtexec::bench::run(options);
}
