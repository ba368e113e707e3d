// rtexec-supervisor: starts and supervises the executive on machines without systemd. It feeds the hardware watchdog
// while heartbeats arrive, restarts the executive if heartbeats stop, and counts failures.
#include "rtexec/supervisor/counts.hpp"
#include "rtexec/supervisor/supervised_executive.hpp"
#include "rtexec/supervisor/recordings.hpp"
#include "rtexec/supervisor/supervision.hpp"
#include "rtexec/supervisor/watchdog.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <string_view>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rtexec::supervisor {
namespace {

constexpr const char* help =
    R"(Run a task set, and restart it if it ends or hangs

rtexec-supervisor [OPTIONS] SET SAFE_SET [-- OPTIONS OF rtexec run]
  Runs the task set file SET with `rtexec run SET --flight-recorder DATA/recordings/N`, without a time limit. SAFE_SET
  is run instead of SET in three cases: SET or its models are wrong, or its deadlines cannot be promised (exit code 2
  or 3 of `rtexec run`); SET has failed three times in a row for another reason; or the machine has booted
  three times in a row without a run of SET that lasted PROOF seconds. If SAFE_SET is "", there is no such set.
  DATA/supervisor.counts keeps the numbers of failures and boots; delete this file to try SET again. If it cannot be
  written, SAFE_SET is run, because failed boots could not be counted.

  --data DIR            folder DATA of the counts and recordings (default: /var/lib/rtexec)
  --watchdog DEVICE     hardware watchdog, which resets the machine if it hangs (default: none)
  --rtexec PROGRAM      program that runs the task sets (default: rtexec)
  --timeout SECONDS     timeout of the hardware watchdog (default: 30)
  --silence SECONDS     time without a heartbeat of the run after which it is killed (default: 10)
  --set-up SECONDS      maximum time from the start of a run to its first release (default: 120)
  --stop SECONDS        maximum time from a request to stop to the end of the run (default: 30)
  --proof SECONDS       time PROOF after which a run counts as a success (default: 60)

Exit codes: the exit code of the run if it ended regularly; 1 if both SET and SAFE_SET have failed; 2 for bad input.
)";

struct Options {
  std::string data = "/var/lib/rtexec", watchdog, rtexec = "rtexec", set, safe_set;
  std::vector<std::string> more;
  int timeout = 30;
  Rules rules;
};

__attribute__((format(printf, 1, 2))) void say(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::fputs("rtexec-supervisor: ", stderr);
  std::vfprintf(stderr, format, arguments);
  std::fputc('\n', stderr);
  va_end(arguments);
}

Instant now() { return std::chrono::steady_clock::now(); }

// ---- options ----

bool take_seconds(const char* text, int& seconds) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < 1 || value > 100'000) return false;
  seconds = static_cast<int>(value);
  return true;
}

bool take_duration(const char* text, Duration& duration) {
  int seconds = 0;
  if (!take_seconds(text, seconds)) return false;
  duration = std::chrono::seconds(seconds);
  return true;
}

bool take_option(std::string_view name, const char* value, Options& options) {
  if (name == "--data") return options.data = value, true;
  if (name == "--watchdog") return options.watchdog = value, true;
  if (name == "--rtexec") return options.rtexec = value, true;
  if (name == "--timeout") return take_seconds(value, options.timeout);
  if (name == "--silence") return take_duration(value, options.rules.silence);
  if (name == "--set-up") return take_duration(value, options.rules.to_set_up);
  if (name == "--stop") return take_duration(value, options.rules.to_stop);
  if (name == "--proof") return take_duration(value, options.rules.proof);
  return false;
}

/// Parses the arguments into `options`. Returns false if they are invalid.
bool take_arguments(int count, char** arguments, Options& options) {
  int i = 1, sets = 0;
  for (; i < count && std::string_view(arguments[i]) != "--"; ++i) {
    if (!std::string_view(arguments[i]).starts_with("--")) {
      if (sets == 2) return false;
      (sets++ == 0 ? options.set : options.safe_set) = arguments[i];
    } else if (i + 1 == count || !take_option(arguments[i], arguments[i + 1], options)) {
      say("%s: unknown option or invalid value; expected an option of --help", arguments[i]);
      return false;
    } else {
      ++i;
    }
  }
  for (++i; i < count; ++i) options.more.emplace_back(arguments[i]);
  return sets == 2 && !options.set.empty();
}

// ---- supervisor ----

class Supervisor {
 public:
  /// Arms the watchdog before any other step, so that a hang of a later step ends in a reset of the machine.
  explicit Supervisor(Options options)
      : options_(std::move(options)),
        unarmed_(options_.watchdog.empty() ? "" : watchdog_.arm(options_.watchdog, options_.timeout)),
        file_(options_.data + "/supervisor.counts"),
        counts_(read_counts(file_)),
        failed_before_(counts_.failed_boots),
        supervision_(options_.rules, !options_.safe_set.empty(), counts_.failed_boots, now()) {}

  int run();

 private:
  bool set_up();
  bool count();
  void carry_out(Supervision::Action action);
  void start(bool safe);
  void start_recorder();
  [[nodiscard]] int when_orphaned() const;
  void await_events();
  void take_signals();
  void reap();
  void child_ended(int status);
  void stop_recording(const End& end);
  void feed();

  const Options options_;
  Watchdog watchdog_;
  const std::string unarmed_; // reason why the watchdog is not armed; empty: armed, or not requested
  const std::string file_;
  Counts counts_;
  const unsigned failed_before_; // number of consecutive failed boots before this boot
  Supervision supervision_;
  Ear ear_;
  int signals_ = -1;
  pid_t executive_ = 0, recorder_ = 0;
  bool records_ = true;
  bool told_unfed_ = false;
  int code_ = 1;
};

int Supervisor::run() {
  if (!set_up()) return 1;
  while (!supervision_.over() && supervision_.feeds()) {
    feed();
    carry_out(supervision_.next(now()));
    if (supervision_.over() || !supervision_.feeds()) break;
    await_events();
    if (supervision_.proved() && counts_.failed_boots != 0) {
      counts_.failed_boots = 0;
      count();
    }
  }
  if (!supervision_.feeds()) {
    say("given up%s", watchdog_.armed() ? ": the watchdog will reset the machine" : "");
    return 1;
  }
  if (!supervision_.proved()) counts_.failed_boots = failed_before_; // a short run is no failure
  count();
  if (const std::string problem = watchdog_.disarm(); !problem.empty()) say("%s", problem.c_str());
  return code_;
}

bool Supervisor::set_up() {
  if (!unarmed_.empty()) say("no hardware watchdog resets this machine: %s", unarmed_.c_str());
  ++counts_.boots;
  ++counts_.failed_boots;
  if (!count()) supervision_.distrust();
  sigset_t mine;
  ::sigemptyset(&mine);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&mine, signal);
  ::sigprocmask(SIG_BLOCK, &mine, nullptr);
  signals_ = ::signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK);
  const std::string problem = signals_ < 0 ? std::string("no signalfd: ") + std::strerror(errno) : ear_.open();
  if (!problem.empty()) say("%s%s", problem.c_str(), watchdog_.armed() ? ": the watchdog will reset the machine" : "");
  return problem.empty();
}

bool Supervisor::count() {
  const std::string problem = write_counts(file_, counts_);
  if (!problem.empty()) say("not counted: %s", problem.c_str());
  return problem.empty();
}

void Supervisor::feed() {
  const std::string problem = watchdog_.feed();
  if (!problem.empty() && !std::exchange(told_unfed_, true)) say("%s", problem.c_str());
}

void Supervisor::carry_out(Supervision::Action action) {
  switch (action) {
  case Supervision::Action::nothing: return;
  case Supervision::Action::start: return start(false);
  case Supervision::Action::start_safe: return start(true);
  case Supervision::Action::stop: ::kill(executive_, SIGTERM); return;
  case Supervision::Action::kill:
    say("process %d sent no heartbeat: killed", executive_);
    ::kill(executive_, SIGKILL);
    return;
  }
}

/// Starts an LTTng session daemon that is independent of the executive, so that the ring buffers survive the
/// executive's end. At its next start, the executive writes the buffers to files. If a session daemon already runs, the
/// second daemon ends.
void Supervisor::start_recorder() {
  recorder_ = launch({.command = {"lttng-sessiond", "--no-kernel", "--daemonize"}, .ear = {}});
  const Instant until = now() + std::chrono::seconds(10);
  int status = 0;
  pid_t ended = 0;
  for (; (ended = ::waitpid(recorder_, &status, WNOHANG)) == 0 && now() < until; feed()) ::usleep(20'000);
  if (ended == recorder_) records_ = !WIFEXITED(status) || WEXITSTATUS(status) != 127;
}

/// Returns the signal that the executive gets if the supervisor dies. Without an armed watchdog, the signal is SIGTERM,
/// which ends the executive. With an armed watchdog, jobs continue until the watchdog resets the machine. If the
/// executive records, the signal is then SIGUSR1, at which it writes its recent trace; otherwise it is 0 (no signal).
int Supervisor::when_orphaned() const {
  if (!watchdog_.armed()) return SIGTERM;
  return records_ ? SIGUSR1 : 0;
}

void Supervisor::start(bool safe) {
  ++counts_.starts;
  if (safe) ++counts_.safe_starts;
  count();
  const std::string& set = safe ? options_.safe_set : options_.set;
  if (records_) start_recorder();
  Launch wanted{.command = {options_.rtexec, "run", set},
                .ear = ear_.name(),
                .microseconds = options_.rules.silence / std::chrono::microseconds(1),
                .when_orphaned = when_orphaned()};
  if (records_)
    wanted.command.insert(wanted.command.end(), {"--flight-recorder", recording(options_.data, counts_.starts)});
  wanted.command.insert(wanted.command.end(), options_.more.begin(), options_.more.end());
  executive_ = launch(wanted);
  if (executive_ < 0) child_ended(127 << 8);
  else say("start %u%s: %s, process %d", counts_.starts, safe ? ", safe" : "", set.c_str(), executive_);
}

void Supervisor::await_events() {
  const Duration pause = std::chrono::milliseconds(watchdog_.armed() ? watchdog_.seconds() * 250 : 1'000'000);
  const Duration until = std::clamp<Duration>(supervision_.wakes() - now(), Duration(0), pause);
  pollfd files[] = {{.fd = signals_, .events = POLLIN, .revents = 0},
                    {.fd = ear_.file(), .events = POLLIN, .revents = 0}};
  static_cast<void>(::poll(files, 2, static_cast<int>(until / std::chrono::milliseconds(1)) + 1));
  while (const auto lines = ear_.hear(executive_)) supervision_.hear(*lines, now());
  take_signals();
}

void Supervisor::take_signals() {
  signalfd_siginfo signal{};
  while (::read(signals_, &signal, sizeof signal) == sizeof signal)
    if (signal.ssi_signo != SIGCHLD) supervision_.ask_to_stop();
  reap();
}

/// Waits for all child processes that have ended. As the first process of an image, the supervisor inherits all
/// orphans.
void Supervisor::reap() {
  int status = 0;
  for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (ended == executive_) child_ended(status);
}

void Supervisor::child_ended(int status) {
  executive_ = 0;
  const End end{.code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), .by_signal = WIFSIGNALED(status)};
  say("ended %s %d", end.by_signal ? "by signal" : "with exit code", end.code);
  const bool as_asked = end.by_signal && end.code == SIGTERM && supervision_.asked_to_stop();
  code_ = as_asked ? 0 : end.by_signal ? 1 : end.code;
  switch (supervision_.ended(end, now())) {
  case Supervision::Failure::none: return;
  case Supervision::Failure::refusal:
    ++counts_.refusals;
    stop_recording(end);
    break;
  case Supervision::Failure::death: ++counts_.deaths; break;
  case Supervision::Failure::silence: ++counts_.silences; break;
  }
  count();
}

/// Turns off recording for the next starts if the machine refused this start, because recording may be the reason. A
/// run without a recording is better than no run.
void Supervisor::stop_recording(const End& end) {
  constexpr int machine_refused = 5;
  if (!records_ || end.by_signal || end.code != machine_refused) return;
  say("the next starts are not recorded");
  records_ = false;
}

} // namespace
} // namespace rtexec::supervisor

int main(int count, char** arguments) {
  using namespace rtexec::supervisor;
  if (count == 2 && std::string_view(arguments[1]) == "--help") return std::fputs(help, stdout), 0;
  Options options;
  if (!take_arguments(count, arguments, options)) return std::fputs(help, stderr), 2;
  return Supervisor(std::move(options)).run();
}
