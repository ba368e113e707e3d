#include "test/traces/programs.hpp"

#include "test/support/thread_counts.hpp"
#include "test/traces/each_event.hpp"
#include "traces/emit.hpp"
#include "traces/recording/flight_recorder.hpp"
#include "traces/recording/session.hpp"
#include "traces/recording/wait.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

namespace rtexec::traces::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Prints one line for the parent process.
void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

int failed(const Error& error) {
  say(error.what);
  return 1;
}

/// Runs `body` in a session. Prints "recording" before it, and "EVENTS LOST" at the end.
int record(const fs::path& folder, const SessionOptions& options, const std::function<void()>& body) {
  auto session = Session::start(folder, options);
  if (!session) return failed(session.error());
  if (!recording() || recording_layers() != options.layers)
    return failed({Errc::device_fault, "the events are not on"});
  say("recording");
  body();
  const auto summary = session->stop();
  if (!summary) return failed(summary.error());
  if (recording()) return failed({Errc::device_fault, "the events are still on"});
  say(std::to_string(summary->events) + " " + std::to_string(summary->lost.events));
  return 0;
}

/// Emits `events` events through small buffers, as fast as they can be written.
int record_and_drain(const fs::path& folder, std::uint64_t events) {
  auto session = Session::start(folder, {.buffer = Bytes{1U << 20}});
  if (!session) return failed(session.error());
  for (std::uint64_t job = 0; job < events; ++job) {
    job_release({.task = 0, .number = job}, Instant{}, Instant{}, Instant{});
    if (job % session->events_at_once() != session->events_at_once() - 1) continue;
    if (const auto drained = session->drain(); !drained) return failed(drained.error());
  }
  const auto summary = session->stop();
  if (!summary) return failed(summary.error());
  say(std::to_string(summary->events) + " " + std::to_string(summary->lost.events));
  return 0;
}

void emit_from_four_threads(std::uint64_t events) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([=] {
      prepare_thread();
      emit(events);
    });
  for (std::thread& thread : threads) thread.join();
}

/// Prints the page faults and allocations of a prepared thread that records, with memory locked.
void say_faults_and_allocations(std::uint64_t events) {
  if (::mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    say("not locked");
    return;
  }
  rusage before{}, after{};
  std::uint64_t allocated = 0;
  std::thread([&] {
    prepare_thread();
    ::getrusage(RUSAGE_THREAD, &before);
    allocated = rtexec::test::allocations();
    emit(events);
    allocated = rtexec::test::allocations() - allocated;
    ::getrusage(RUSAGE_THREAD, &after);
  }).join();
  say(std::to_string(after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt) + " faults, " +
      std::to_string(allocated) + " allocations");
}

int abandon(const fs::path& folder) {
  {
    const auto session = Session::start(folder, {});
    if (!session) return failed(session.error());
    say(std::to_string(daemons_of(::getpid()).size()));
  }
  say(std::to_string(daemons_of(::getpid()).size()));
  return recording() ? 1 : 0;
}

// ---- flight recorder ----

void emit_setup() {
  probe("store", "none");
  run_begin("1.2.3", "a board", false, {});
}

/// Pins the thread to one core, whose buffers then hold the latest of all events.
void stay_on_one_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

int say_snapshots(FlightRecorder& recorder) {
  const Snapshots snapshots = recorder.stop();
  for (const Snapshot& snapshot : snapshots.written) say(snapshot.folder.string() + " " + snapshot.reason);
  say("left out " + std::to_string(snapshots.left_out));
  return snapshots.outcome ? 0 : failed(snapshots.outcome.error());
}

/// Runs `body` under a flight recorder, and prints its snapshots.
int fly(const fs::path& folder, const FlightRecorderOptions& options,
        const std::function<void(FlightRecorder&)>& body) {
  auto recorder = FlightRecorder::start(folder, options);
  if (!recorder) return failed(recorder.error());
  emit_setup();
  stay_on_one_core();
  body(*recorder);
  return say_snapshots(*recorder);
}

bool snapshots_become(const fs::path& folder, std::ptrdiff_t count) {
  return wait_for([&] { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()) >= count; },
                  1min);
}

std::uintmax_t bytes_in(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code gone;
  for (const auto& entry : fs::recursive_directory_iterator(folder, gone))
    if (entry.is_regular_file(gone)) bytes += entry.file_size(gone);
  return bytes;
}

/// Waits for snapshots. A snapshot's folder exists before its events are written.
bool snapshots_are_written(const fs::path& folder, std::ptrdiff_t count) {
  std::uintmax_t before = 0;
  return snapshots_become(folder, count) && wait_for(
                                                [&] {
                                                  std::this_thread::sleep_for(500ms);
                                                  const std::uintmax_t bytes = bytes_in(folder);
                                                  return std::exchange(before, bytes) == bytes && bytes > 0;
                                                },
                                                1min);
}

/// Emits `events` events before each snapshot, and waits for each snapshot.
void emit_and_take(FlightRecorder& recorder, const fs::path& folder, std::uint64_t events, int times) {
  for (int i = 0; i < times; ++i) {
    for (std::uint64_t job = 0; job < events; ++job)
      job_start({.task = 0, .number = job + static_cast<std::uint64_t>(i) * events}, Instant{});
    recorder.take("miss " + std::to_string(i));
    if (!snapshots_are_written(folder, i + 1)) say("no snapshot");
  }
}

FlightRecorder* signalled = nullptr;

/// Emits until SIGUSR1 arrives.
void emit_until_signalled(FlightRecorder& recorder, const fs::path& folder) {
  signalled = &recorder;
  ::signal(SIGUSR1, [](int) { signalled->take_for_signal(); });
  emit(50);
  say("flying");
  static_cast<void>(snapshots_become(folder, 1));
  ::signal(SIGUSR1, SIG_DFL);
}

/// A prepared thread emits while snapshots are written. Prints how it was disturbed.
void say_disturbance(FlightRecorder& recorder, const fs::path& folder) {
  if (::mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return say("not locked");
  std::atomic<bool> over = false;
  rusage before{}, after{};
  std::uint64_t allocated = 0;
  std::thread emitting([&] {
    prepare_thread();
    ::getrusage(RUSAGE_THREAD, &before);
    allocated = rtexec::test::allocations();
    for (std::uint64_t job = 0; !over.load(); ++job) job_start({.task = 0, .number = job}, Instant{});
    allocated = rtexec::test::allocations() - allocated;
    ::getrusage(RUSAGE_THREAD, &after);
  });
  emit_and_take(recorder, folder, 10, 4);
  over = true;
  emitting.join();
  say(std::to_string(after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt) + " faults, " +
      std::to_string(allocated) + " allocations");
}

// ---- cost ----

double cpu_nanoseconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// Nanoseconds of CPU time for a thread's first event, and for each following one.
struct Cost {
  double first = 0;
  double each = 0;
};

Cost measure(int events, bool prepared) {
  Cost cost;
  std::thread([&] {
    if (prepared) prepare_thread();
    const double t0 = cpu_nanoseconds();
    job_start({}, {});
    const double t1 = cpu_nanoseconds();
    for (int i = 1; i < events; ++i) job_start({}, {});
    cost = {t1 - t0, (cpu_nanoseconds() - t1) / std::max(1, events - 1)};
  }).join();
  return cost;
}

void say_cost_recorded() {
  measure(100, true); // the first packet of a buffer
  const Cost unprepared = measure(1, false), prepared = measure(20'000, true);
  char line[160];
  std::snprintf(line, sizeof line, "%.0f ns recorded; a thread's first: %.0f ns prepared, %.0f ns unprepared",
                prepared.each, prepared.first, unprepared.first);
  say(line);
}

/// Returns what each thread of a process waits for in the kernel.
std::string threads_of(pid_t process) {
  std::string text;
  std::error_code gone;
  for (const auto& thread : fs::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
    std::string name, waits_in;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    std::getline(std::ifstream(thread.path() / "wchan"), waits_in);
    text += "\n  " + thread.path().filename().string() + " " + name + ": " + waits_in;
  }
  return text;
}

/// Emits `events` events each 10 ms.
void emit_slowly(std::uint64_t events, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    emit(events);
    std::this_thread::sleep_for(10ms);
  }
}

} // namespace

void emit(std::uint64_t events) {
  for (std::uint64_t job = 0; job < events; ++job) job_start({.task = 0, .number = job}, Instant{});
}

int run_program(const std::vector<std::string>& arguments) {
  const std::string& mode = arguments.at(0);
  const fs::path folder = arguments.at(1);
  const auto number = [&](std::size_t index) { return std::stoull(arguments.at(index)); };
  if (mode == "record")
    return record(folder, {}, [&] {
      emit(number(2));
      // Waits until a file exists beside the folder, for at most the given number of ms.
      static_cast<void>(
          wait_for([&] { return fs::exists(folder.string() + "-ends"); }, std::chrono::milliseconds(number(3)), 10ms));
    });
  if (mode == "overflow") return record(folder, {.buffer = Bytes{0}}, [&] { emit(number(2)); });
  if (mode == "threads") return record(folder, {}, [&] { emit_from_four_threads(number(2)); });
  if (mode == "each-event") return record(folder, {.layers = number(2) != 0}, emit_each_event);
  if (mode == "slowly") return record(folder, {.buffer = Bytes{1U << 20}}, [&] { emit_slowly(number(2), 100); });
  if (mode == "until-killed")
    return record(folder, {.buffer = Bytes{1U << 20}}, [&] { emit_slowly(number(2), 1'000'000); });
  if (mode == "limited")
    return record(folder, {.buffer = Bytes{1U << 20}, .limit = Bytes{1U << 20}},
                  [&] { emit_slowly(number(2), static_cast<int>(number(3))); });
  if (mode == "second")
    return record(folder, {}, [&] {
      const auto second = Session::start(folder.string() + "-second", {});
      say(second ? "two sessions" : second.error().what);
    });
  if (mode == "locked") return record(folder, {}, [&] { say_faults_and_allocations(number(2)); });
  if (mode == "cost") return record(folder, {}, [] { say_cost_recorded(); });
  if (mode == "abandon") return abandon(folder);
  if (mode == "drain") return record_and_drain(folder, number(2));
  const FlightRecorderOptions often{.apart = 0s};
  if (mode == "fly")
    return fly(folder, often, [&](FlightRecorder& recorder) { emit_and_take(recorder, folder, number(2), 3); });
  if (mode == "fly-most")
    return fly(folder, {.most = 2, .apart = 0s}, [&](FlightRecorder& recorder) {
      emit_and_take(recorder, folder, 10, 2), recorder.take("one too many");
    });
  if (mode == "fly-burst")
    return fly(folder, {.apart = 1min}, [&](FlightRecorder& recorder) {
      emit_and_take(recorder, folder, 10, 1);
      // Within a minute of the first miss.
      for (int i = 1; i < 30; ++i) recorder.take("miss " + std::to_string(i));
    });
  if (mode == "fly-signal")
    return fly(folder, often, [&](FlightRecorder& recorder) { emit_until_signalled(recorder, folder); });
  if (mode == "fly-locked")
    return fly(folder, often, [&](FlightRecorder& recorder) { say_disturbance(recorder, folder); });
  return 2;
}

double nanoseconds_of_an_event_off() { return measure(50'000'000, true).each; }

Program::Program(const std::vector<std::string>& arguments, const std::function<void()>& before_exec,
                 const fs::path& executable) {
  std::vector<std::string> words{"traced-program", "--program"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  output_ = ends[0];
  pid_ = ::fork();
  if (pid_ == 0) {
    ::setpgid(0, 0);
    ::dup2(ends[1], 1);
    if (before_exec) before_exec();
    ::execv(executable.c_str(), list.data());
    ::_exit(126);
  }
  ::close(ends[1]);
}

Program::~Program() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    wait();
  }
  ::close(output_);
}

std::string Program::read_line() {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::string line;
  for (char c = 0;; line += c) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd output{.fd = output_, .events = POLLIN, .revents = 0};
    if (::poll(&output, 1, static_cast<int>(std::max(left, 0ms).count())) == 0) give_up("its next line");
    if (::read(output_, &c, 1) != 1 || c == '\n') return line;
  }
}

int Program::wait() {
  int status = 0;
  pid_t got = 0;
  const auto ended = [&](int options) { return (got = ::waitpid(pid_, &status, options)) != 0; };
  if (!wait_for([&] { return ended(WNOHANG); }, limit)) {
    give_up("its end");
    ended(0);
  }
  pid_ = -1;
  if (got < 0) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void Program::give_up(const char* awaited) {
  std::string threads = threads_of(pid_);
  for (const pid_t daemon : daemons_of(pid_)) threads += threads_of(daemon);
  ADD_FAILURE() << "the program did not come to " << awaited << " in " << readable(limit)
                << "; it and its daemons wait in:" << threads;
  ::kill(pid_, SIGKILL);
}

std::vector<pid_t> daemons_of(pid_t owner) {
  const std::string mark = "RTEXEC_TRACES_OWNER=" + std::to_string(owner);
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t process = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), process).ec != std::errc{}) continue;
    std::ifstream environment(entry.path() / "environ", std::ios::binary);
    for (std::string word; std::getline(environment, word, '\0');)
      if (word == mark) found.push_back(process);
  }
  return found;
}

} // namespace rtexec::traces::test
