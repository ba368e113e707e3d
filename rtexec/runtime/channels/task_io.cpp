#include "rtexec/runtime/channels/task_io.hpp"

#include "hal/thread.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::channels {
namespace {

void increment(std::atomic<std::uint64_t>& counter) noexcept { counter.fetch_add(1, std::memory_order_relaxed); }

} // namespace

TaskIo::TaskIo(std::string task, const Workload& workload, TaskCallbacks callbacks)
    : task_(std::move(task)), workload_(workload), callbacks_(std::move(callbacks)) {
  program_.name = "on_input";
}

void TaskIo::add_source(std::size_t input, std::unique_ptr<Source> source, OnStale on_stale, std::string name) {
  Input& added = inputs_.emplace_back();
  added.name = std::move(name);
  added.tensor = input;
  added.source = std::move(source);
  added.on_stale = on_stale;
}

void TaskIo::add_sink(std::unique_ptr<Sink> sink, std::string name) {
  Output& added = outputs_.emplace_back();
  added.name = std::move(name);
  added.sink = std::move(sink);
}

bool TaskIo::reads(std::size_t output) const {
  return callbacks_.on_output ||
         std::ranges::any_of(outputs_, [&](const Output& each) { return each.sink->reads(output); });
}

void TaskIo::answer_program(OnStale on_stale) noexcept {
  if (!std::exchange(program_answered_, true)) program_.on_stale = on_stale;
}

Result<> TaskIo::open() {
  const auto named = [&](const Channel& channel, const Error& error) {
    return fail(error.code, "task '" + task_ + "': " + channel.name + ": " + error.what);
  };
  for (const Input& input : inputs_)
    if (const auto opened = input.source->open(); !opened) return named(input, opened.error());
  for (const Output& output : outputs_)
    if (const auto opened = output.sink->open(); !opened) return named(output, opened.error());
  return {};
}

std::vector<TaskIo::Tried> TaskIo::try_out() {
  std::vector<Tried> all;
  const auto add = [&](const Channel& channel, const std::optional<Result<>>& outcome) {
    if (outcome) all.push_back({channel.name, *outcome});
  };
  for (const Input& input : inputs_) add(input, input.source->try_out());
  for (const Output& output : outputs_) add(output, output.sink->try_out());
  return all;
}

/// Updates `read` by `sample`, the result of reading `input`. Returns false if the remaining inputs need not be read.
/// on_stale = "reuse" drops the job if the input never had a value. A message of another process that does not fit the
/// tensor makes a job fail, but not the warm-up. Clamps the sampling instant, because other processes may send any
/// value and sums must not overflow.
bool TaskIo::settle(Read& read, Input& input, const Expected<Sample, Errc>& sample, For what) noexcept {
  if (sample && sample->fresh) input.untaken = true;
  const bool stale = sample ? !input.untaken : sample.error() == Errc::stale;
  if (sample) read.sampled = std::clamp(sample->sampled, Instant{}, read.sampled);
  if (what != For::job) {
    if (what == For::measurement && (sample || stale)) increment(stale ? input.counts->stale : input.counts->moved);
    const bool unfit = !sample && sample.error() == Errc::bad_input && input.source && input.source->releases();
    if (!sample && !stale && !unfit) read.outcome = Unexpected(sample.error());
    return read.outcome.has_value();
  }
  if (!input.name.empty()) ++read.inputs, read.stale += stale;
  if (!sample && !stale) {
    input.counts->failure.store(static_cast<int>(sample.error()) + 1, std::memory_order_relaxed);
    read.outcome = Unexpected(sample.error());
    return false;
  }
  increment(stale ? input.counts->stale : input.counts->moved);
  if (!stale || (sample && input.on_stale == OnStale::reuse)) return true;
  if (input.on_stale == OnStale::miss) read.outcome = Unexpected(Errc::stale);
  else read.drops = true;
  return false;
}

/// Calls on_input, and returns its result as a sample. If the program has no new value, the inputs keep the values of
/// the previous job.
Expected<Sample, Errc> TaskIo::ask_program(std::uint64_t job, Instant release, Instant sampled) noexcept {
  InputJob asked{.job = job, .release = release, .inputs = workload_.inputs(), .sampled = sampled};
  const Status answer = callbacks_.on_input(asked);
  if (answer) return Sample{.sampled = asked.sampled, .fresh = true};
  if (answer.error() == Errc::stale) return Sample{.sampled = asked.sampled, .fresh = false};
  return Unexpected(answer.error());
}

TaskIo::Read TaskIo::read(std::uint64_t job, Instant release, For what) noexcept {
  Read read{.outcome = {}, .drops = false, .sampled = hal::now()};
  for (Input& input : inputs_)
    if (!settle(read, input, input.source->fetch(job, release, workload_.inputs()[input.tensor]), what)) return read;
  if (callbacks_.on_input && !settle(read, program_, ask_program(job, release, read.sampled), what)) return read;
  for (Input& input : inputs_) input.untaken = false;
  program_.untaken = false;
  for (const Output& output : outputs_) output.sink->begin();
  return read;
}

bool TaskIo::keep_up() noexcept {
  bool again = false;
  for (const Input& input : inputs_) again = input.source->keep_up() || again;
  return again;
}

Source* TaskIo::releasing() const noexcept {
  const auto found = std::ranges::find_if(inputs_, [](const Input& input) { return input.source->releases(); });
  return found == inputs_.end() ? nullptr : found->source.get();
}

Expected<bool, Errc> TaskIo::await() noexcept { return releasing()->await(Instant::max()); }

void TaskIo::wake() noexcept {
  if (Source* source = releasing()) source->wake();
}

std::uint32_t TaskIo::write(std::uint64_t job, Instant release, Instant sampled, bool warming_up) noexcept {
  const OutputJob results{.job = job,
                          .release = release,
                          .sampled = sampled,
                          .outputs = workload_.outputs(),
                          .detections = workload_.detections()};
  std::uint32_t dropped = 0;
  for (const Output& output : outputs_) {
    if (warming_up) {
      output.sink->warm_up(results);
      continue;
    }
    const bool taken = output.sink->put(results);
    dropped += !taken;
    increment(taken ? output.counts->moved : output.counts->dropped);
  }
  if (callbacks_.on_output) callbacks_.on_output(results);
  return dropped;
}

void TaskIo::close() {
  for (const Output& output : outputs_) output.sink->close();
}

void TaskIo::report(std::vector<ChannelReport>& all) const {
  const auto add = [&](const Channel& channel, bool input, std::string failure, std::uint64_t lost = 0) {
    if (channel.name.empty()) return;
    const auto value = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
    const std::uint64_t taken = value(channel.counts->moved);
    lost = std::min(lost, taken); // `lost` may already contain results that `moved` does not
    all.push_back({.task = task_,
                   .name = channel.name,
                   .input = input,
                   .moved = taken - lost,
                   .stale = value(channel.counts->stale),
                   .dropped = value(channel.counts->dropped) + lost,
                   .failure = std::move(failure)});
  };
  const auto failed = [](const Channel& channel) {
    const int failure = channel.counts->failure.load(std::memory_order_relaxed);
    return failure == 0 ? std::string() : name(static_cast<Errc>(failure - 1));
  };
  for (const Input& input : inputs_)
    add(input, true, input.source->failure().empty() ? failed(input) : input.source->failure());
  if (callbacks_.on_input) add(program_, true, failed(program_));
  for (const Output& output : outputs_) add(output, false, output.sink->failure(), output.sink->lost());
}

} // namespace rtexec::channels
