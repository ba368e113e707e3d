#include "rtexec/studies/bringup/child.hpp"

#include "hal/resources.hpp"
#include "hal/thread.hpp"
#include "rtexec/studies/bringup/answers.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rtexec::bringup {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

std::string text_of(const Answer& answer) {
  json figures = json::array();
  for (const Figure& each : answer.figures) figures.push_back({each.name, each.value, each.unit, each.more_is_better});
  return json{static_cast<int>(answer.outcome), answer.state, answer.advice, figures}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

std::optional<Answer> answer_of(const std::string& text) {
  const json all = json::parse(text, nullptr, false);
  if (all.is_discarded()) return std::nullopt;
  Answer answer{.outcome = static_cast<Outcome>(all.at(0).get<int>()),
                .state = all.at(1).get<std::string>(),
                .advice = all.at(2).get<std::string>(),
                .figures = {}};
  for (const json& each : all.at(3))
    // JSON represents a value that is not a finite number as null.
    answer.figures.push_back({each.at(0).get<std::string>(), each.at(1).is_number() ? each.at(1).get<double>() : 0,
                              each.at(2).get<std::string>(), each.at(3).get<bool>()});
  return answer;
}

[[noreturn]] void be_child(const std::function<Answer()>& ask, int to_parent) {
  static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGKILL));
  static_cast<void>(::setpgid(0, 0));
  const rlimit none{};
  static_cast<void>(::setrlimit(RLIMIT_CORE, &none));
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT}) ::signal(number, SIG_DFL);
  Answer answer;
  try {
    answer = ask();
  } catch (const std::exception& error) {
    answer = failed(std::string("it ended early: ") + error.what(), "Free memory, and try again");
  }
  const std::string text = text_of(answer);
  for (std::size_t at = 0; at < text.size();)
    if (const auto written = ::write(to_parent, text.data() + at, text.size() - at); written > 0)
      at += static_cast<std::size_t>(written);
    else break;
  ::_exit(0);
}

enum class Ended { closed, hung, cancelled };

/// Reads from `file` into `text` until the other end is closed, the instant `end` is reached, or `going_on` returns
/// false.
Ended read_until(int file, Instant end, const std::function<bool()>& going_on, std::string& text) {
  constexpr Duration look = 50ms;
  std::array<char, 4096> part{};
  for (;;) {
    if (!going_on()) return Ended::cancelled;
    const Duration left = end - hal::now();
    if (left <= Duration(0)) return Ended::hung;
    pollfd waited{.fd = file, .events = POLLIN, .revents = 0};
    if (::poll(&waited, 1, static_cast<int>(std::min(left, look) / 1ms) + 1) <= 0) continue;
    const auto size = ::read(file, part.data(), part.size());
    if (size <= 0) return Ended::closed;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
}

/// Waits for the end of a killed child, for at most `at_most`. Returns its exit status, or nullopt if it does not
/// end.
std::optional<int> await_end(pid_t child, Duration at_most) {
  const Instant end = hal::now() + at_most;
  int status = 0;
  do {
    if (::waitpid(child, &status, WNOHANG) == child) return status;
    hal::sleep_until(hal::now() + 1ms);
  } while (hal::now() < end);
  return std::nullopt;
}

} // namespace

ChildEnd ask_in_child(const std::function<Answer()>& ask, Duration timeout, const std::function<bool()>& going_on) {
  std::fflush(nullptr); // otherwise both processes would write the buffered output
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {.answer = failed("no pipe can be created", "Close files"), .hung = false};
  const hal::FileDescriptor from_child(ends[0]);
  hal::FileDescriptor to_parent(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) be_child(ask, to_parent.number());
  if (child < 0)
    return {.answer = failed("no process can be started: " + hal::errno_text(errno), "End other programs"),
            .hung = false};
  to_parent = hal::FileDescriptor();
  std::string text;
  const Ended ended = read_until(from_child.number(), hal::now() + timeout, going_on, text);
  ChildEnd end{.answer = {}, .hung = ended == Ended::hung};
  if (ended == Ended::cancelled) ::kill(child, SIGTERM);
  // A child that has answered may still hang while its driver shuts down.
  auto status = end.hung ? std::nullopt : await_end(child, 5s);
  if (!status) {
    ::kill(child, SIGKILL);
    status = await_end(child, 2s);
  }
  if (ended == Ended::closed) end.answer = answer_of(text);
  if (ended == Ended::cancelled) end.answer = skipped("cancelled");
  if (status && WIFSIGNALED(*status)) end.signal = WTERMSIG(*status);
  return end;
}

} // namespace rtexec::bringup
