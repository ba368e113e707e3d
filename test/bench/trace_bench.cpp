// The cost of an event: each of our functions compared with a bare LTTng tracepoint of the same fields, in the same
// session; and with tracing off.
#include <rtexec/result.hpp>

#include <cstdint>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "test/bench/bare_events.h"

#include "test/bench/statistics.hpp"
#include "traces/emit.hpp"
#include "traces/recording/session.hpp"
#include "traces/recording/wait.hpp"

#include <lttng/lttng.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using namespace rtexec;
namespace fs = std::filesystem;

// The number of events between two clock readings. The buffers hold a hundred times as many.
constexpr int batch = 2000;
constexpr int rounds = 400; // alternating rounds of ours and bare

constexpr policies::JobId job{.task = 3, .number = 5'000'000'000};
constexpr Instant at{Duration(1'234'567'890)};

double cpu_nanoseconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

template <class Emit> double nanoseconds_each(Emit emit, int events = batch) {
  const double begin = cpu_nanoseconds();
  for (int i = 0; i < events; ++i) emit(static_cast<std::uint64_t>(i));
  return (cpu_nanoseconds() - begin) / events;
}

struct Cost {
  double ours, bare;
};

/// Measures alternately, so that both run under the same conditions. The buffer is drained before each pair.
template <class Ours, class Bare> Cost compare(traces::Session& session, Ours ours, Bare bare) {
  std::vector<double> of_ours, of_bare;
  for (int i = 0; i < rounds; ++i) {
    if (i % 20 == 0 && !session.drain()) return {};
    const bool first = i % 2 == 0;
    if (first) of_ours.push_back(nanoseconds_each(ours));
    of_bare.push_back(nanoseconds_each(bare));
    if (!first) of_ours.push_back(nanoseconds_each(ours));
  }
  return {bench::median(of_ours), bench::median(of_bare)};
}

void print(const char* event, const Cost& cost) {
  std::printf("  %-18s %6.1f ns, bare tracepoint %6.1f ns, ratio %.3f (goal: at most 1.15)\n", event, cost.ours,
              cost.bare, cost.ours / cost.bare);
}

/// Adds the events to the channel of this process's only session.
bool add_bare_events() {
  lttng_session* list = nullptr;
  const int count = lttng_list_sessions(&list);
  const std::unique_ptr<lttng_session, decltype(&std::free)> owner(list, &std::free);
  const std::string prefix = "rtexec-" + std::to_string(::getpid()) + "-";
  for (int i = 0; i < count; ++i) {
    if (!std::string(list[i].name).starts_with(prefix)) continue;
    lttng_domain domain{};
    domain.type = LTTNG_DOMAIN_UST;
    domain.buf_type = LTTNG_BUFFER_PER_UID;
    lttng_handle* handle = lttng_create_handle(list[i].name, &domain);
    lttng_event* events = lttng_event_create();
    events->type = LTTNG_EVENT_TRACEPOINT;
    std::strcpy(events->name, "bare:*");
    const int code = lttng_enable_event(handle, events, "events");
    lttng_event_destroy(events);
    lttng_destroy_handle(handle);
    return code >= 0 && traces::wait_for([] { return lttng_ust_tracepoint_enabled(bare, scheduler_input) != 0; },
                                         std::chrono::seconds(10));
  }
  return false;
}

void compare_all(traces::Session& session) {
  const std::int64_t now = at.time_since_epoch().count();
  const policies::Action load{
      .kind = policies::Action::Kind::copy_in, .job = job, .transfer = {.task = 6, .slot = 11, .frame = 70}};
  const policies::Event request{.kind = policies::Event::Kind::job_requested, .job = job, .now = at, .deadline = at};
  print("job_start", compare(
                         session,
                         [](std::uint64_t number) {
                           traces::job_start({3, number}, at);
                         },
                         [=](std::uint64_t number) { lttng_ust_tracepoint(bare, job_start, 3, number, now); }));
  print("job_release",
        compare(
            session,
            [](std::uint64_t number) {
              traces::job_release({3, number}, at, at, at);
            },
            [=](std::uint64_t number) { lttng_ust_tracepoint(bare, job_release, 3, number, now, now, now); }));
  print("swap_in_begin",
        compare(
            session, [&](std::uint64_t) { traces::swap_begin(load, at); },
            [=](std::uint64_t number) { lttng_ust_tracepoint(bare, swap_in_begin, 6, 11, 70, 3, number, now); }));
  print("scheduler_input", compare(
                               session, [&](std::uint64_t number) { traces::scheduler_input(number, request); },
                               [=](std::uint64_t number) {
                                 lttng_ust_tracepoint(bare, scheduler_input, number, 0, 3, number, now, now, 0, 0, 0,
                                                      0);
                               }));
}

/// Prints the minimum of many rounds, since other load only adds time.
void print_off() {
  std::vector<double> costs;
  for (int i = 0; i < 50; ++i)
    costs.push_back(nanoseconds_each([](std::uint64_t number) { traces::job_start({3, number}, at); }, 1'000'000));
  std::printf("  tracing off: %.2f ns an event, the quickest of 50 runs %.2f ns (goal: at most 2 ns)\n",
              bench::median(costs), bench::percentile(costs, 0));
}

int failed(const Error& error) { return std::fprintf(stderr, "%s\n", error.what.c_str()), 1; }

} // namespace

int main() {
  std::printf("cost of an event in CPU time: medians of %d rounds of %d events, ours and bare in turn\n", rounds,
              batch);
  print_off();
  const fs::path folder = fs::temp_directory_path() / ("rtexec-trace-bench-" + std::to_string(::getpid()));
  auto session = traces::Session::start(folder, {.buffer = Bytes{std::uint64_t{64} << 20}});
  if (!session) return failed(session.error());
  if (!add_bare_events()) return failed({Errc::refused, "the bare tracepoints cannot be enabled"});
  traces::prepare_thread();
  compare_all(*session);
  const auto summary = session->stop();
  fs::remove_all(folder);
  if (!summary) return failed(summary.error());
  std::printf("  %llu events recorded, %llu lost\n", static_cast<unsigned long long>(summary->events),
              static_cast<unsigned long long>(summary->lost.events));
  return summary->lost.events == 0 ? 0 : 1;
}
