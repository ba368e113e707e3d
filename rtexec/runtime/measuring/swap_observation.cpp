#include "rtexec/runtime/measuring/swap_observation.hpp"

#include "hal/thread.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>

namespace rtexec::executive {

namespace {

using namespace std::chrono_literals;

constexpr Duration between_questions = 250ms;
/// The number of tasks that take turns. The device has room for the chunks of two tasks. With three tasks, a job finds
/// none of its chunks on the device.
constexpr std::size_t tasks_in_turn = 3;

std::size_t rounds_of(const SwapExperiment& experiment) { return experiment.jobs * 2 / tasks_in_turn + 2; }

/// A task that swaps `size` bytes and computes nothing. The task records when each job requested the device, and when
/// the job began to execute.
class Idler final : public Workload {
 public:
  struct Times {
    Instant requested{}, executed{};
  };
  Idler(Bytes size, MemoryClass kind, std::shared_ptr<std::vector<Times>> times)
      : size_(size), kind_(kind), times_(std::move(times)) {
    if (kind_ == MemoryClass::constant) constants_.resize(size.count);
  }

  MemoryDemand memory() const override {
    return kind_ == MemoryClass::constant ? MemoryDemand{.constant = size_, .scratch = {}, .state = {}}
                                          : MemoryDemand{.constant = {}, .scratch = {}, .state = size_};
  }
  std::span<const std::byte> constants() const override { return constants_; }
  std::string fingerprint() const override { return "idler"; }
  Result<> bind(Device&, const Memory&) override { return {}; }
  Status before(std::uint64_t job) noexcept override {
    job_ = job;
    if (job < times_->size()) (*times_)[job].requested = hal::now();
    return {};
  }
  Status execute() noexcept override {
    if (job_ < times_->size()) (*times_)[job_].executed = hal::now();
    return {};
  }
  Status after(std::uint64_t) noexcept override { return {}; }

 private:
  Bytes size_;
  MemoryClass kind_;
  std::shared_ptr<std::vector<Times>> times_;
  std::vector<std::byte> constants_;
  std::uint64_t job_ = 0;
};

/// The transfers of one copy engine for one job.
struct Span {
  std::uint32_t chunks = 0;
  Instant begin{}, end{};
  Duration busy{0};
  void add(Instant from, Instant to) {
    busy += to - from;
    begin = chunks == 0 ? from : std::min(begin, from);
    end = chunks == 0 ? to : std::max(end, to);
    ++chunks;
  }
};

/// Records transfers as they end. Called concurrently by both copy engines' threads.
class Recorder {
 public:
  explicit Recorder(std::size_t most) : entries_(most) {}
  TransferObserver observer() {
    return {.ended = [](void* self, const policies::Action& transfer, Instant begin,
                        Instant end) noexcept { static_cast<Recorder*>(self)->add(transfer, begin, end); },
            .self = this};
  }
  /// Returns the transfers for each job: index 0 for copies in, index 1 for copies out.
  std::map<policies::JobId, std::array<Span, 2>> spans() const {
    std::map<policies::JobId, std::array<Span, 2>> spans;
    const std::size_t count = std::min(next_.load(), entries_.size());
    for (std::size_t i = 0; i < count; ++i) {
      const Entry& entry = entries_[i];
      spans[entry.transfer.job][entry.transfer.kind == policies::Action::Kind::copy_out ? 1 : 0].add(entry.begin,
                                                                                                     entry.end);
    }
    return spans;
  }

 private:
  struct Entry {
    policies::Action transfer;
    Instant begin{}, end{};
  };
  void add(const policies::Action& transfer, Instant begin, Instant end) noexcept {
    const std::size_t place = next_.fetch_add(1);
    if (place < entries_.size()) entries_[place] = {transfer, begin, end};
  }
  std::vector<Entry> entries_;
  std::atomic<std::size_t> next_{0};
};

using Times = std::array<std::shared_ptr<std::vector<Idler::Times>>, tasks_in_turn>;

TaskSet turns(const SwapExperiment& experiment) {
  const Bytes volume = experiment.chunk * experiment.chunks;
  TaskSet set;
  set.board = experiment.board;
  set.executive.allow_degraded = true;
  set.executive.keep_awake = experiment.keep_awake;
  set.device.capacity = volume * 2;
  set.device.chunk = experiment.chunk;
  set.device.swap_cost = {
      .in_per_chunk = 1ms, .out_per_chunk = 1ms, .in_fixed = 0ns, .out_fixed = 0ns, .drop_per_chunk = 1ms};
  set.swap = experiment.swap;
  for (std::size_t i = 0; i < tasks_in_turn; ++i) {
    Task task;
    task.name = "turn-" + std::to_string(i);
    task.workload = WorkloadKind::synthetic;
    task.footprint = volume;
    task.swap_volume = volume;
    task.period = task.deadline = experiment.turn * static_cast<Duration::rep>(tasks_in_turn);
    task.offset = experiment.turn * static_cast<Duration::rep>(i);
    task.wcet = Wcet{.before = 50us, .device = 50us, .after = 50us};
    set.tasks.push_back(std::move(task));
  }
  return set;
}

/// Returns the jobs that exchanged all of their chunks. Excludes the first job, because the warm-up job has the same
/// number.
std::vector<ObservedSwap> complete_jobs(const Recorder& recorder, const Times& times, std::uint32_t chunks) {
  std::vector<ObservedSwap> jobs;
  for (const auto& [job, spans] : recorder.spans()) {
    const auto& [in, out] = spans;
    if (job.number == 0 || in.chunks != chunks || out.chunks != chunks || job.number >= times[job.task]->size())
      continue;
    const Idler::Times& own = (*times[job.task])[job.number];
    jobs.push_back({.in = in.end - in.begin,
                    .out = out.end - out.begin,
                    .out_busy = out.busy,
                    .exchange = in.end - std::min(in.begin, out.begin),
                    .whole = own.executed - own.requested});
  }
  return jobs;
}

} // namespace

Duration length(const SwapExperiment& experiment) {
  return experiment.turn * static_cast<Duration::rep>(rounds_of(experiment) * tasks_in_turn);
}

Result<ObservedSwaps> observe_swaps(const SwapExperiment& experiment) {
  const std::size_t rounds = rounds_of(experiment);
  Recorder recorder(rounds * tasks_in_turn * 2 * experiment.chunks + std::size_t{64} * experiment.chunks);
  Times times;
  TaskSet set = turns(experiment);
  set.executive.duration = length(experiment);
  Setup setup;
  setup.force = true;
  setup.exclusive = true;
  setup.observe_transfers = recorder.observer();
  for (std::size_t i = 0; i < tasks_in_turn; ++i) {
    times[i] = std::make_shared<std::vector<Idler::Times>>(rounds + 8);
    setup.workloads[set.tasks[i].name] =
        std::make_unique<Idler>(experiment.chunk * experiment.chunks, experiment.kind, times[i]);
  }
  auto executive = create(std::move(set), std::move(setup));
  if (!executive) return Unexpected(executive.error());
  if (const auto started = executive->start(); !started) return Unexpected(started.error());
  while (!executive->wait(between_questions))
    if (experiment.going_on && !experiment.going_on()) return fail(Errc::cancelled, "the measurement was cancelled");
  const Report report = executive->stop();
  return ObservedSwaps{.device = report.device->name,
                       .store = report.swap->store,
                       .jobs = complete_jobs(recorder, times, experiment.chunks)};
}

} // namespace rtexec::executive
