#include "rtexec/studies/bringup/trace_cost.hpp"

#include "config/base/must.hpp"
#include "hal/thread.hpp"
#include "rtexec/studies/bringup/answers.hpp"
#include "rtexec/studies/bringup/measured_items.hpp"
#include "traces/emit.hpp"
#include "traces/recording/session.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace rtexec::bringup {
namespace {

constexpr std::uint64_t batch = 500; // number of events between two readings of the clock
constexpr std::size_t batches = 80;

/// Emits `events` events. Returns this thread's processor time per event, in nanoseconds.
double nanoseconds_each(std::uint64_t events) {
  const Duration begin = hal::execution_time();
  for (std::uint64_t i = 0; i < events; ++i) traces::job_start({.task = 0, .number = i}, Instant(Duration(1)));
  return static_cast<double>((hal::execution_time() - begin).count()) / static_cast<double>(events);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Measures the cost with and without a recording. Reads the session's buffers often enough that no event is lost.
/// Throws Failed.
TraceCost measure(const Subject& subject) {
  TraceCost cost;
  std::vector<double> off, on;
  for (std::size_t i = 0; i < batches; ++i) off.push_back(nanoseconds_each(100 * batch));
  cost.off_ns = median(std::move(off));
  const auto folder = subject.folder / "trace";
  auto session = must(traces::Session::start(folder, {}));
  traces::prepare_thread();
  const std::uint64_t at_once = std::max<std::uint64_t>(session.events_at_once() / batch, 1);
  for (std::size_t i = 0; i < batches; ++i) {
    if (i % at_once == 0) must(session.drain());
    on.push_back(nanoseconds_each(batch));
    cost.emitted += batch;
  }
  cost.on_ns = median(std::move(on));
  const traces::Summary summary = must(session.stop());
  cost.recorded = summary.events;
  cost.lost = summary.lost.events;
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return cost;
}

std::string text_of(double nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, nanoseconds < 10 ? "%.2f ns" : "%.0f ns", nanoseconds);
  return text;
}

} // namespace

Answer judge(const Result<TraceCost>& measured, const Subject& subject) {
  if (!measured) return skipped("recording is not possible here: " + in_a_line(measured.error().what));
  const TraceCost& cost = *measured;
  std::vector<Figure> figures{{"an event that is recorded", cost.on_ns, "ns"},
                              {"an event, nothing recorded", cost.off_ns, "ns"},
                              {"lost events", static_cast<double>(cost.lost), ""}};
  std::string state = "an event takes " + text_of(cost.on_ns) + " of its thread's time when it is recorded, " +
                      text_of(cost.off_ns) + " when nothing is (medians); " + std::to_string(cost.recorded) + " of " +
                      std::to_string(cost.emitted) + " are in the files, " + std::to_string(cost.lost) + " lost";
  if (cost.lost > 0 || cost.recorded < cost.emitted)
    return failed(std::move(state),
                  "LTTng's daemon was too slow for the disk or the cores: record to a faster disk, and leave a core to "
                  "ordinary programs",
                  std::move(figures));
  return unless_emulated(subject, passed(std::move(state), std::move(figures)));
}

Answer trace_cost(const Subject& subject) {
  return judge(caught([&] { return measure(subject); }), subject);
}

} // namespace rtexec::bringup
