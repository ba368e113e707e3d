#include "rtexec/studies/bringup/release_latency.hpp"

#include "config/base/text.hpp"
#include "hal/core_claim.hpp"
#include "hal/idle_states.hpp"
#include "hal/stolen_time.hpp"
#include "hal/thread.hpp"
#include "rtexec/studies/bringup/answers.hpp"
#include "rtexec/studies/bringup/load.hpp"
#include "rtexec/studies/bringup/measured_items.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

namespace rtexec::bringup {
namespace {

using namespace std::chrono_literals;

constexpr Duration period = 1ms;
constexpr int priority = 90; // the priority of the most urgent task of a core
// The number of releases on each core in one turn (one measurement by one of the two methods)
constexpr std::size_t releases = 500;
constexpr std::size_t max_turns = 10; // maximum number of turns of each method; the turns of both methods alternate
constexpr Duration head_start = 20ms;

// ---- cores ----

/// Returns the cores to measure: the isolated cores if the machine has any, otherwise all cores except the first core.
std::vector<unsigned> real_time_cores(const hal::Machine& machine) {
  if (auto isolated = machine.isolated_cores(); !isolated.empty()) return isolated;
  const auto online = machine.online_cores();
  if (online.size() < 2) return online;
  return {online.begin() + 1, online.end()};
}

// ---- threads ----

/// The threads of one turn: one thread on each core, all with the same release times.
class Turn {
 public:
  Turn(const std::vector<CoreLateness>& cores, hal::ThreadSettings settings) : settings_(std::move(settings)) {
    late_.resize(cores.size(), std::vector<Duration>(releases));
    for (const CoreLateness& each : cores) cores_.push_back(each.core);
  }

  Result<> run() {
    std::vector<hal::Thread> threads;
    Result<> started;
    for (std::size_t i = 0; i < cores_.size() && started; ++i) {
      hal::ThreadSettings settings = settings_;
      settings.name = "release-" + std::to_string(cores_[i]);
      settings.core = cores_[i];
      auto thread = hal::Thread::start(settings, [this, i] { wait_for_releases(late_[i]); });
      if (thread) threads.push_back(std::move(*thread));
      else started = Unexpected(thread.error());
    }
    // The first release is set only when all threads run, because the load delays their start.
    first_ = started ? hal::now() + head_start : Instant::max();
    begun_.raise();
    return started;
  }

  [[nodiscard]] const std::vector<Duration>& of(std::size_t index) const { return late_[index]; }

 private:
  /// Waits for the releases as TaskRun::await_release() does, and records the lateness of each release. Like
  /// cyclictest, drops releases that pass while the thread is late.
  void wait_for_releases(std::vector<Duration>& late) noexcept {
    while (begun_.value() == 0) begun_.wait(0);
    if (first_ == Instant::max()) return;
    const hal::Signal signal;
    Instant next = first_;
    for (Duration& each : late) {
      while (hal::now() < next) static_cast<void>(signal.wait_until(0, next));
      const Instant now = hal::now();
      each = now - next;
      next += (each / period + 1) * period;
    }
  }

  hal::Signal begun_;
  Instant first_{}; // written before `begun_` is raised; max(): there is no release
  hal::ThreadSettings settings_;
  std::vector<unsigned> cores_;
  std::vector<std::vector<Duration>> late_; // by core
};

/// The scheduling class of the threads: SCHED_FIFO, or SCHED_DEADLINE in a partition if SCHED_FIFO is refused.
struct Scheduling {
  hal::ThreadSettings settings;
  std::string name;
  std::unique_ptr<hal::CpusetPartition> partition;
};

Result<Scheduling> choose_scheduling(const hal::Machine& machine, const std::vector<unsigned>& cores) {
  Scheduling fifo{.settings = {.name = "release", .core = {}, .fifo_priority = priority, .reservation = {}},
                  .name = "FIFO " + std::to_string(priority),
                  .partition = {}};
  const auto tried = hal::Thread::start(fifo.settings, [] {});
  if (tried) return fifo;
  auto partition = machine.partition(cores);
  if (!partition) return Unexpected(tried.error());
  Scheduling deadline{
      .settings = {.name = "release",
                   .core = {},
                   .reservation = hal::Reservation{.runtime = 200us, .deadline = period, .period = period}},
      .name = "DEADLINE 200us/1ms",
      .partition = std::move(*partition)};
  deadline.settings.partition = deadline.partition.get();
  hal::ThreadSettings there = deadline.settings;
  there.core = cores.front();
  if (!hal::Thread::start(there, [] {})) return Unexpected(tried.error());
  return deadline;
}

/// Disables deep idle states and locks frequencies as a run does. Collects the settings that the machine refused.
class Hold {
 public:
  Hold(const hal::Machine& machine, const std::vector<unsigned>& cores, std::string& refused) {
    auto idle = hal::ShallowIdle::hold();
    if (idle) idle_ = std::move(*idle);
    else if (idle.error().code != Errc::unsupported) refused = "deep idle states: " + first_line(idle.error());
    auto frequency = machine.lock_frequency(cores);
    if (frequency) frequency_ = std::move(*frequency);
    else refused += (refused.empty() ? "" : "; ") + std::string("frequency: ") + first_line(frequency.error());
  }

 private:
  hal::ShallowIdle idle_;
  hal::FrequencyLock frequency_;
};

// ---- cyclictest ----

bool is_installed(std::string_view program) {
  const char* path = std::getenv("PATH");
  for (const auto folder : config::parts(path != nullptr ? path : "", ':')) {
    std::error_code ignored;
    if (std::filesystem::exists(std::filesystem::path(folder) / program, ignored)) return true;
  }
  return false;
}

/// Runs a command and returns its output.
std::string output_of(const std::string& command) {
  std::string text;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "re"), ::pclose);
  std::array<char, 4096> part{};
  while (pipe != nullptr)
    if (const std::size_t size = std::fread(part.data(), 1, part.size(), pipe.get()); size > 0)
      text.append(part.data(), size);
    else break;
  return text;
}

/// Returns a cyclictest command for the same cores, with as many threads and wake-ups as this program has. The option
/// --laptop of cyclictest leaves idle states unchanged, for other programs, too.
std::string cyclictest_of(const std::vector<CoreLateness>& cores) {
  std::vector<unsigned> numbers;
  for (const CoreLateness& each : cores) numbers.push_back(each.core);
  return "cyclictest --laptop -m -q -h20000 -d0 -p" + std::to_string(priority) + " -i" + std::to_string(period / 1us) +
         " -l" + std::to_string(releases) + " -t" + std::to_string(numbers.size()) + " -a" + hal::core_list(numbers) +
         " 2>&1";
}

/// Runs cyclictest and adds its latencies to `cores`. Returns the reason if it cannot run, or an empty text.
std::string run_cyclictest(std::vector<CoreLateness>& cores) {
  const std::string text = output_of(cyclictest_of(cores));
  auto parsed = parse_cyclictest(text, cores.size());
  if (!parsed) return parsed.error().what;
  for (std::size_t i = 0; i < cores.size(); ++i)
    cores[i].peer.insert(cores[i].peer.end(), (*parsed)[i].begin(), (*parsed)[i].end());
  return {};
}

std::vector<std::uint64_t> numbers_in(std::string_view line) {
  std::string words(line);
  std::ranges::replace(words, '\t', ' ');
  std::vector<std::uint64_t> found;
  for (const auto word : config::parts(words, ' '))
    if (const auto value = config::number<std::uint64_t>(word)) found.push_back(*value);
  return found;
}

// ---- both alternately ----

Result<> run_turn(std::vector<CoreLateness>& cores, const hal::ThreadSettings& settings, hal::StolenTime& stolen) {
  Turn turn(cores, settings);
  std::vector<Duration> before;
  for (const auto& each : stolen.read()) before.push_back(each.time);
  if (const auto ran = turn.run(); !ran) return ran;
  const auto after = stolen.read();
  for (std::size_t i = 0; i < cores.size(); ++i) {
    cores[i].here.insert(cores[i].here.end(), turn.of(i).begin(), turn.of(i).end());
    cores[i].stolen += after[i].time - before[i];
  }
  return {};
}

// ---- interpretation ----

struct Summary {
  Duration p50{0}, p99{0}, longest{0};
};

Summary summary_of(std::vector<Duration> late) {
  std::ranges::sort(late);
  const auto at = [&](std::size_t percent) { return late[(late.size() - 1) * percent / 100]; };
  return {.p50 = at(50), .p99 = at(99), .longest = late.back()};
}

double microseconds(Duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

std::string text_of(const Summary& summary) {
  return "median " + readable(summary.p50) + ", p99 " + readable(summary.p99) + ", longest " +
         readable(summary.longest);
}

std::vector<Duration> all_of(const std::vector<CoreLateness>& cores, std::vector<Duration> CoreLateness::*which) {
  std::vector<Duration> all;
  for (const CoreLateness& each : cores) all.insert(all.end(), (each.*which).begin(), (each.*which).end());
  return all;
}

std::vector<Duration> rounded_up(std::vector<Duration> late) {
  for (Duration& each : late) each = std::chrono::floor<std::chrono::microseconds>(each) + 1us;
  return late;
}

std::vector<Figure> figures_of(const std::vector<CoreLateness>& cores) {
  std::vector<Figure> figures;
  const auto add = [&](const std::string& name, const Summary& summary) {
    figures.push_back({"median of " + name, microseconds(summary.p50), "us"});
    figures.push_back({"p99 of " + name, microseconds(summary.p99), "us"});
    figures.push_back({"longest of " + name, microseconds(summary.longest), "us"});
  };
  for (const CoreLateness& each : cores) {
    const std::string core = "core " + std::to_string(each.core);
    add(core, summary_of(each.here));
    if (!each.peer.empty()) add(core + " by cyclictest", summary_of(each.peer));
  }
  return figures;
}

std::string two_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

/// Describes the comparison with cyclictest, and adds its figures. Latencies of both programs are rounded up to 1 us,
/// because cyclictest rounds its latencies up.
std::string beside_cyclictest(const MeasuredLateness& measured, std::vector<Figure>& figures) {
  const auto peer = all_of(measured.cores, &CoreLateness::peer);
  if (peer.empty()) return "; not compared with cyclictest: " + measured.no_peer;
  const Summary theirs = summary_of(peer);
  const Summary ours = summary_of(rounded_up(all_of(measured.cores, &CoreLateness::here)));
  const double median = microseconds(ours.p50) / microseconds(theirs.p50);
  const double p99 = microseconds(ours.p99) / microseconds(theirs.p99);
  figures.push_back({"median to cyclictest's", median, ""});
  figures.push_back({"p99 to cyclictest's", p99, ""});
  return "; cyclictest, run alternately: " + text_of(theirs) + ", so the ratio of medians is " + two_digits(median) +
         ", of p99 " + two_digits(p99);
}

/// Returns the proposed limit for an observed latency: 1.2 times the latency, rounded up to a multiple of 10 us.
Duration with_room(Duration seen) {
  constexpr Duration step = 10us;
  return (seen * 6 / 5 + step - Duration(1)) / step * step;
}

std::string what_shortens(const Subject& subject, const MeasuredLateness& measured) {
  std::string text;
  if (subject.machine.read("/sys/kernel/realtime").value_or("0") != "1")
    text += "\nA kernel with PREEMPT_RT shortens the latency";
  if (subject.machine.isolated_cores().empty())
    text += "\nIsolated cores (isolcpus=, nohz_full=, rcu_nocbs= on the kernel's command line) shorten it";
  if (!measured.without.empty()) text += "\nA run lacks on this machine: " + measured.without;
  if (is_virtual(subject.machine))
    text +=
        "\nThe host has to wake an idle virtual core: keep_awake = true in [executive] keeps the cores of a run awake";
  return text;
}

/// True if the long latencies were probably caused by the host, which stopped this virtual machine, and not by this
/// kernel.
bool are_stops(const Summary& of_worst, const CoreLateness& worst, const Subject& subject) {
  return of_worst.p99 <= subject.board.release_latency && (worst.stolen > Duration(0) || is_virtual(subject.machine));
}

std::string advice_for(const Summary& of_worst, const CoreLateness& worst, const Subject& subject) {
  const std::string file = file_of(subject.board);
  if (!are_stops(of_worst, worst, subject))
    return "To use the measured latency: release_latency = \"" + to_string(with_room(of_worst.longest)) + "\" in " +
           file;
  const std::string who =
      worst.stolen > Duration(0)
          ? "A hypervisor took " + readable(worst.stolen) + " of core " + std::to_string(worst.core) + " meanwhile"
          : std::string("This is a virtual machine, which its host may stop unnoticed");
  return who + ": pin its cores to physical ones, or give the longest stall: platform_stall = \"" +
         to_string(with_room(of_worst.longest - subject.board.release_latency)) + "\" in " + file;
}

/// True if the board's file covers the lateness `late`. The lateness is covered if the board's `release_latency` is at
/// least the lateness. If at most 1 % of the releases are later than `release_latency`, the lateness may be up to
/// `release_latency` + `platform_stall` (the maximum platform stall). Each response bound includes only one stall, so
/// stalls must be rare.
bool is_covered(const Summary& late, const Board& board) {
  return late.longest <= board.release_latency ||
         (late.p99 <= board.release_latency && late.longest <= board.release_latency + board.platform_stall);
}

const CoreLateness& worst_of(const std::vector<CoreLateness>& cores) {
  return *std::ranges::max_element(cores, {}, [](const CoreLateness& each) { return std::ranges::max(each.here); });
}

/// Returns the core with the longest lateness that the board's file does not cover; null if there is none.
const CoreLateness* worst_uncovered(const std::vector<CoreLateness>& cores, const Board& board) {
  const CoreLateness* worst = nullptr;
  Duration longest{0};
  for (const CoreLateness& each : cores) {
    const Summary late = summary_of(each.here);
    if (is_covered(late, board) || late.longest < longest) continue;
    worst = &each;
    longest = late.longest;
  }
  return worst;
}

} // namespace

Result<std::vector<std::vector<Duration>>> parse_cyclictest(std::string_view text, std::size_t threads) {
  std::vector<std::vector<Duration>> wake_ups(threads);
  std::vector<std::uint64_t> beyond, longest;
  for (const auto line : config::parts(text, '\n')) {
    if (line.starts_with("# Max Latencies:")) longest = numbers_in(line);
    if (line.starts_with("# Histogram Overflows:")) beyond = numbers_in(line);
    const auto row = numbers_in(line);
    if (line.front() < '0' || line.front() > '9' || row.size() < threads + 1) continue;
    for (std::size_t i = 0; i < threads; ++i)
      wake_ups[i].insert(wake_ups[i].end(), row[i + 1], std::chrono::microseconds(row[0] + 1));
  }
  for (std::size_t i = 0; i < std::min({threads, beyond.size(), longest.size()}); ++i)
    wake_ups[i].insert(wake_ups[i].end(), beyond[i], std::chrono::microseconds(longest[i] + 1));
  if (std::ranges::any_of(wake_ups, &std::vector<Duration>::empty))
    return fail(Errc::bad_input, "cyclictest printed no histogram, but: " + config::printable(text));
  return wake_ups;
}

Result<MeasuredLateness> measure_lateness(const Subject& subject) {
  const hal::Machine machine;
  const auto online = machine.online_cores();
  const auto chosen = real_time_cores(machine);
  const auto claim = hal::CoreClaim::take(online);
  if (!claim) return Unexpected(claim.error());
  const auto scheduling = choose_scheduling(machine, chosen);
  if (!scheduling) return Unexpected(scheduling.error());
  MeasuredLateness measured{.cores = {}, .scheduling = scheduling->name, .no_peer = {}};
  const Hold hold(machine, chosen, measured.without);
  const auto load = Load::start(online, subject.folder, chosen, scheduling->partition.get());
  if (!load) return Unexpected(load.error());
  for (const unsigned core : chosen) measured.cores.push_back({.core = core, .here = {}, .peer = {}});
  if (!is_installed("cyclictest")) measured.no_peer = "it is not installed (package rt-tests)";
  if (scheduling->partition != nullptr) measured.no_peer = "threads may not be SCHED_FIFO";
  hal::StolenTime stolen(std::set(chosen.begin(), chosen.end()));
  const auto turns = std::clamp<std::size_t>(
      static_cast<std::size_t>(subject.length / (period * static_cast<int>(releases))), 1, max_turns);
  hal::sleep_until(hal::now() + 100ms);                // the load settles in this time
  const Instant end = hal::now() + 3 * subject.length; // ends the measurement early on a machine that is much too slow
  for (std::size_t i = 0; i < turns && (i == 0 || hal::now() < end); ++i) {
    if (!subject.going_on()) return fail(Errc::cancelled, "cancelled");
    if (const auto ran = run_turn(measured.cores, scheduling->settings, stolen); !ran) return Unexpected(ran.error());
    if (measured.no_peer.empty()) measured.no_peer = run_cyclictest(measured.cores);
  }
  return measured;
}

Answer judge(const MeasuredLateness& measured, const Subject& subject) {
  std::vector<Figure> figures = figures_of(measured.cores);
  const auto all = all_of(measured.cores, &CoreLateness::here);
  std::vector<unsigned> numbers;
  for (const CoreLateness& each : measured.cores) numbers.push_back(each.core);
  const CoreLateness& worst = worst_of(measured.cores);
  const Board& board = subject.board;
  std::string state = std::to_string(all.size()) + " releases under load, " + measured.scheduling + ", core" +
                      (numbers.size() > 1 ? "s " : " ") + hal::core_list(numbers) + ": " + text_of(summary_of(all)) +
                      " (core " + std::to_string(worst.core) + "); admission charges " +
                      readable(board.release_latency);
  if (board.platform_stall > Duration(0)) state += ", and " + readable(board.platform_stall) + " for platform stalls";
  if (worst.stolen > Duration(0)) state += "; a hypervisor took " + readable(worst.stolen) + " of that core meanwhile";
  if (!measured.without.empty()) state += "; different from a run without degradation: " + measured.without;
  state += beside_cyclictest(measured, figures);
  const CoreLateness* uncovered = worst_uncovered(measured.cores, board);
  if (uncovered == nullptr) return passed(std::move(state), std::move(figures));
  return failed(std::move(state),
                advice_for(summary_of(uncovered->here), *uncovered, subject) + what_shortens(subject, measured),
                std::move(figures));
}

Answer release_latency(const Subject& subject) {
  if (subject.emulated) return skipped_in_emulator();
  auto measured = measure_lateness(subject);
  if (measured) return judge(*measured, subject);
  if (measured.error().code == Errc::cancelled) return skipped("cancelled");
  return failed(measured.error(), "");
}

} // namespace rtexec::bringup
