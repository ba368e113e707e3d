#include "rtexec/studies/experiments/isolation_machine.hpp"

#include "config/base/must.hpp"
#include "hal/machine_files.hpp"
#include "hal/open/open_device.hpp"
#include "hal/thread.hpp"
#include "policies/bandwidth/bandwidth_budget.hpp"
#include "rtexec/runtime/channels/connect.hpp"
#include "rtexec/runtime/executive/device_memory.hpp"
#include "rtexec/runtime/executive/placement.hpp"
#include "rtexec/studies/calibration/measured_device.hpp"
#include "rtexec/studies/calibration/rest.hpp"
#include "rtexec/studies/calibration/traffic_counters.hpp"
#include "tasks/loads/winograd/winograd_workload.hpp"
#include "tasks/make/make_workload.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace rtexec::study {
namespace {

using regulation::RegulatedDomain;
using regulation::Regulation;

constexpr const char* cancelled = "the experiment was cancelled: nothing was written";
constexpr std::string_view winograd_prefix = "winograd-";
constexpr unsigned winograd_sizes[] = {256, 512, 1024, 2048}; // of pictures; Nigam's thesis, 4.2

template <class Range, class Value> bool contains(const Range& range, const Value& value) {
  return std::ranges::find(range, value) != std::ranges::end(range);
}

std::string list(const std::vector<unsigned>& cores) {
  return (cores.size() == 1 ? "core " : "cores ") + hal::core_list(cores);
}

Bandwidth rate(Bytes moved, Duration time) {
  return {static_cast<std::uint64_t>(static_cast<double>(moved.count) / std::chrono::duration<double>(time).count())};
}

// ---- the platform ----

class MachinePlatform final : public IsolationPlatform {
 public:
  MachinePlatform(const IsolationMachine& machine, MachineMode mode, BandwidthLocks& locks)
      : machine_(machine), mode_(mode), locks_(locks) {}

  std::string name() const override { return std::string(name_of(mode_)) + (machine_.stand_in ? "-stand-in" : ""); }

  std::string description() const override {
    const std::string feeder = "core " + std::to_string(machine_.feeder);
    const std::string whom =
        mode_ == MachineMode::thesis
            ? "every core is limited while the program runs that uses the device, " + feeder +
                  " as well, which feeds it"
            : list(machine_.corunners) + (machine_.corunners.size() == 1 ? " is" : " are") +
                  " limited while the device works; " + feeder +
                  (machine_.device_on_cores ? ", which is the device, is not" : ", which feeds it, is not");
    return whom + "; limited by " + machine_.event +
           (machine_.stand_in ? ", a substitute for tests: no memory traffic is counted" : "");
  }

  unsigned max_corunners() const override { return static_cast<unsigned>(machine_.corunners.size()); }
  std::vector<IsolationWorkload> workloads() const override { return machine_.workloads; }

  Result<IsolationMeasure> measure(const IsolationCase& wanted) override {
    const auto workload = machine_.prepare(wanted.workload);
    if (!workload) return Unexpected(workload.error());
    const auto regulation = regulate(wanted.limit, **workload);
    if (!regulation) return Unexpected(regulation.error());
    Result<IsolationMeasure> measured;
    {
      const auto corunners = start(wanted.corunners, regulation->get());
      measured = corunners ? measure_beside(**workload, *corunners) : Unexpected(corunners.error());
    }
    if (const auto ended = end(regulation->get(), **workload); measured && !ended) return Unexpected(ended.error());
    return measured;
  }

  Result<Bandwidth> sweep(unsigned count) override {
    const auto corunners = start(count, nullptr);
    if (!corunners) return Unexpected(corunners.error());
    const Instant begin = machine_.now();
    const Bytes before = moved_by(*corunners);
    if (!rest_while(machine_.going_on, machine_.rest, machine_.length)) return fail(Errc::cancelled, cancelled);
    const Bytes moved = moved_by(*corunners) - before;
    return rate(moved, machine_.now() - begin);
  }

  Result<std::vector<Duration>> executions(std::size_t count, BandwidthLimit limit) override {
    const auto workload = machine_.prepare(machine_.kernel);
    if (!workload) return Unexpected(workload.error());
    const auto regulation = regulate(limit, **workload);
    if (!regulation) return Unexpected(regulation.error());
    std::vector<Duration> lengths;
    lengths.reserve(count);
    const auto ran = run(**workload, [&](Duration execution) {
      lengths.push_back(execution);
      return lengths.size() < count;
    });
    const auto ended = end(regulation->get(), **workload);
    if (!ran) return Unexpected(ran.error());
    if (!ended) return Unexpected(ended.error());
    return lengths;
  }

 private:
  using Corunners = std::vector<std::unique_ptr<Corunner>>;

  [[nodiscard]] bool thesis() const { return mode_ == MachineMode::thesis; }

  /// Runs one job as a warm-up, and then jobs one after the other until `more` returns false or the user stops.
  Result<> run(IsolatedWorkload& workload, const std::function<bool(Duration)>& more) {
    std::optional<GpuBusy> busy;
    if (thesis()) busy.emplace(locks_);
    if (const auto warm = workload.run(locks_, [](Duration) { return false; }); !warm) return warm;
    if (!machine_.going_on()) return fail(Errc::cancelled, cancelled);
    bool stopped = false;
    const auto ran = workload.run(locks_, [&](Duration execution) {
      stopped = !machine_.going_on();
      return more(execution) && !stopped;
    });
    if (ran && stopped) return fail(Errc::cancelled, cancelled);
    return ran;
  }

  Result<IsolationMeasure> measure_beside(IsolatedWorkload& workload, const Corunners& corunners) {
    IsolationMeasure measured;
    std::size_t jobs = 0;
    Instant begin{};
    Bytes before, moved;
    Duration elapsed{0}, executing{0};
    const auto ran = run(workload, [&](Duration execution) {
      const Instant now = machine_.now();
      if (jobs++ == 0) { // the first job is not counted
        begin = now;
        before = moved_by(corunners);
        return true;
      }
      elapsed = now - begin;
      moved = moved_by(corunners) - before;
      executing += execution;
      measured.worst = std::max(measured.worst, execution);
      return elapsed < machine_.length;
    });
    if (!ran) return Unexpected(ran.error());
    const auto counted = static_cast<double>(jobs - 1);
    measured.corunners = rate(moved, elapsed);
    measured.performance = counted / std::chrono::duration<double>(elapsed).count();
    measured.mean = Duration(executing.count() / static_cast<Duration::rep>(jobs - 1));
    return measured;
  }

  /// Enforces the limit on the co-runners' cores. Returns null if there is no limit.
  Result<std::unique_ptr<Regulation>> regulate(BandwidthLimit limit, IsolatedWorkload& workload) {
    if (!limit) return nullptr;
    const auto domains = domains_of(*limit);
    if (!domains) return Unexpected(domains.error());
    const regulation::RegulationSettings settings{
        .period = machine_.period,
        .rules = {.overshoot = thesis() ? Overshoot::forgive : Overshoot::carry},
        .regulate_while = thesis() ? RegulateWhile::device_busy : RegulateWhile::device_works};
    auto regulation = machine_.regulate(*domains, settings, locks_);
    if (!regulation || !thesis()) return regulation;
    const auto joined = workload.call([&] { return (*regulation)->join(machine_.feeder); });
    if (!joined) return Unexpected(joined.error());
    return regulation;
  }

  Result<std::vector<RegulatedDomain>> domains_of(Bandwidth limit) const {
    std::vector<RegulatedDomain> domains;
    for (const hal::CounterChoice& counter : machine_.counters) {
      if (contains(counter.cores, machine_.feeder) && !thesis()) continue;
      if (const Bandwidth least = policies::bandwidth_of(1, counter.line, machine_.period); limit < least)
        return fail(Errc::bad_input, "a limit of " + to_string(limit) + " is less than one line of " +
                                         to_string(counter.line) + " (" + machine_.event + ") in a period of " +
                                         to_string(machine_.period) + ", " + to_string(least) + "; use a higher limit");
      // In this experiment no domain reclaims or donates budget (cache lines). In the mode `thesis`, `donates` = false
      // has a single effect: BandwidthRegulator::pause() permits no pauses, so that each regulating thread wakes up in
      // each period
      RegulatedDomain domain{.cores = counter.cores,
                             .counter = counter.settings,
                             .line = counter.line,
                             .budget = limit,
                             .donates = !thesis()};
      domain.counter.period = machine_.period;
      domains.push_back(std::move(domain));
    }
    return domains;
  }

  Result<> end(Regulation* regulation, IsolatedWorkload& workload) {
    if (regulation == nullptr) return {};
    if (thesis()) {
      const auto left = workload.call([&]() -> Result<> {
        regulation->leave(machine_.feeder);
        return {};
      });
      if (!left) return left;
    }
    for (const DomainReport& domain : regulation->report())
      if (domain.lost)
        return fail(Errc::io_error, list(domain.cores) + ": its counter (" + domain.counter +
                                        ") stopped during regulation: is the core offline?");
    return {};
  }

  Result<Corunners> start(unsigned count, Regulation* regulation) {
    Corunners corunners;
    for (unsigned i = 0; i < count; ++i) {
      if (!machine_.going_on()) return fail(Errc::cancelled, cancelled);
      const unsigned core = machine_.corunners[i];
      tasks::GeneratorHooks hooks;
      if (regulation != nullptr) {
        hooks.begin = [regulation, core] { return regulation->join(core); };
        hooks.end = [regulation, core] { regulation->leave(core); };
      }
      auto corunner = machine_.corun(core, std::move(hooks));
      if (!corunner) return Unexpected(corunner.error());
      corunners.push_back(std::move(*corunner));
    }
    return corunners;
  }

  static Bytes moved_by(const Corunners& corunners) {
    Bytes moved;
    for (const auto& each : corunners) moved += each->moved();
    return moved;
  }

  const IsolationMachine& machine_;
  MachineMode mode_;
  BandwidthLocks& locks_;
};

// ---- this machine ----

std::vector<std::unique_ptr<channels::TaskIo>> inputs_of(const Task& task, const std::unique_ptr<Workload>& workload) {
  TaskSet alone;
  alone.tasks.push_back(task);
  return must(channels::connect(alone, {&workload, 1}, {})).tasks;
}

/// A workload on a board's device. The workload is placed, bound and executed as in the executive.
class DeviceWorkload final : public IsolatedWorkload {
 public:
  /// Opens the device and binds the workload. Throws Failed.
  DeviceWorkload(const Board& board, const Task& task, const hal::ThreadSettings& thread)
      : workload_(must(tasks::make_workload(task, board.device))), io_(inputs_of(task, workload_)) {
    const Bytes needed = round_up(workload_->memory().constant, board.chunk) +
                         round_up(workload_->memory().scratch, board.chunk) +
                         round_up(workload_->memory().state, board.chunk);
    device_ = must(hal::open_device(board, hal::capacity_for(board, std::max(needed, board.chunk)), board.chunk));
    must(device_->engine(hal::EngineKind::compute).configure(thread));
    if (task.workload == WorkloadKind::winograd && !board.computes_on_core()) must(workload_->tune(*device_, {}));
    const auto task_memory =
        executive::resident_memory(workload_->memory(), workload_->constants(), device_->chunk_size());
    memory_ = must(executive::DeviceMemory::lay_out(*device_, {&task_memory, 1}, {}));
    must(workload_->bind(*device_, memory_->addresses().front()));
  }

  Result<> run(BandwidthLocks& locks, const std::function<bool(Duration)>& more) override {
    const auto executed = device_->engine(hal::EngineKind::compute).call([&]() noexcept -> Status {
      Duration execution{0};
      do {
        const auto done = run_job(locks, execution);
        if (!done) return done;
      } while (more(execution));
      return {};
    });
    if (executed.outcome) return {};
    return Unexpected(device_error(*device_, executed.outcome.error(), "a job"));
  }

  Result<> call(const std::function<Result<>()>& work) override {
    Result<> result;
    const auto executed = device_->engine(hal::EngineKind::compute).call([&]() noexcept -> Status {
      result = work();
      return {};
    });
    if (!executed.outcome)
      return fail(executed.outcome.error(), "device '" + device_->name() + "': its engine accepts no work");
    return result;
  }

 private:
  Status run_job(BandwidthLocks& locks, Duration& execution) noexcept {
    if (const auto read = io_.front()->read(job_, hal::now(), channels::TaskIo::For::job); !read.outcome)
      return read.outcome;
    if (const auto done = workload_->before(job_); !done) return done;
    {
      const BandwidthLock lock(locks);
      const Instant begin = hal::now();
      if (const auto done = workload_->execute(); !done) return done;
      execution = hal::now() - begin;
    }
    return workload_->after(job_++);
  }

  std::unique_ptr<hal::Device> device_; // outlives the other members
  std::unique_ptr<executive::DeviceMemory> memory_;
  std::unique_ptr<Workload> workload_;
  std::vector<std::unique_ptr<channels::TaskIo>> io_;
  std::uint64_t job_ = 0;
};

/// Creates the workloads of a board's device. Only one workload exists at a time.
class DeviceWorkloads {
 public:
  DeviceWorkloads(const IsolationRequest& request, hal::ThreadSettings thread)
      : board_(request.board), thread_(std::move(thread)), models_(request.models) {}

  std::vector<IsolationWorkload> list(std::vector<std::string>& notes) const {
    std::vector<IsolationWorkload> known;
    for (const unsigned size : winograd_sizes) {
      const std::string name = std::string(winograd_prefix) + std::to_string(size) + "p";
      // The picture and the result need memory on the device and on the host
      const Bytes needed{std::uint64_t{4} * 4 * tasks::WinogradWorkload::channels * size * size};
      if (const auto there = available(); there && needed > *there)
        notes.push_back(name + " is left out: it needs " + readable(needed) + " of memory, but only " +
                        readable(*there) + " is available");
      else known.push_back({.name = name, .title = "Winograd kernel, " + std::to_string(size) + "p", .unit = "jobs/s"});
    }
    for (const auto& model : models_) known.push_back({.name = model.stem(), .title = model.stem(), .unit = "jobs/s"});
    return known;
  }

  Result<IsolatedWorkload*> prepare(const std::string& name) {
    if (name == name_) return workload_.get();
    name_.clear();
    workload_.reset(); // frees the memory of the previous workload
    auto made = caught([&] { return std::make_unique<DeviceWorkload>(board_, task_of(name), thread_); });
    if (!made) return fail(made.error().code, "workload " + name + ": " + made.error().what);
    workload_ = std::move(*made);
    name_ = name;
    return workload_.get();
  }

 private:
  static std::optional<Bytes> available() {
    const auto text = hal::Machine().read("/proc/meminfo");
    const auto field = text ? hal::field(*text, "MemAvailable:") : std::nullopt;
    if (!field) return std::nullopt;
    std::uint64_t kibibytes = 0;
    std::from_chars(field->data() + std::min(field->find_first_of("0123456789"), field->size()),
                    field->data() + field->size(), kibibytes);
    return Bytes{kibibytes * 1024};
  }

  /// Returns the task for a workload. `name` must be one of the names that list() returned.
  Task task_of(const std::string& name) const {
    Task task;
    task.name = name;
    for (const auto& model : models_)
      if (model.stem() == name) {
        task.model = model;
        return task;
      }
    task.workload = WorkloadKind::winograd;
    std::from_chars(name.data() + winograd_prefix.size(), name.data() + name.size(), task.resolution);
    return task;
  }

  Board board_;
  hal::ThreadSettings thread_;
  std::vector<std::filesystem::path> models_;
  std::string name_;
  std::unique_ptr<DeviceWorkload> workload_;
};

/// Returns the core of the compute engine's thread. If the board's file does not name this core, it is the first core,
/// so that co-runners are on cores 1, 2, ... as in Nigam's thesis.
unsigned feeder_of(const Board& board, const std::vector<unsigned>& online) {
  return board.compute_core && contains(online, *board.compute_core) ? *board.compute_core : online.front();
}

std::string feeder_text(const IsolationMachine& machine) {
  return "core " + std::to_string(machine.feeder) + ", which feeds the device";
}

/// Sets the co-runners' cores and their counters. Leaves out cores that share a counter with the feeder, because such
/// cores cannot be limited without limiting the feeder.
void take_counters(IsolationMachine& machine, TrafficCounters counters, const std::vector<unsigned>& others,
                   const std::vector<unsigned>& online) {
  for (hal::CounterChoice& each : counters.choices)
    std::erase_if(each.cores, [&](unsigned core) { return !contains(online, core); });
  machine.event = counters.event;
  machine.stand_in = counters.stand_in;
  for (const unsigned core : others) {
    const auto domain = std::ranges::find_if(
        counters.choices, [&](const hal::CounterChoice& each) { return contains(each.cores, core); });
    if (!contains(domain->cores, machine.feeder)) machine.corunners.push_back(core);
    else
      machine.notes.push_back("core " + std::to_string(core) +
                              " is left out: it shares a counter, and so a budget, with " + feeder_text(machine));
  }
  for (const hal::CounterChoice& each : counters.choices) machine.notes.push_back(each.reason);
  machine.counters = std::move(counters.choices);
}

void note_unthrottled(IsolationMachine& machine, const regulation::RegulatedMachine& regulated) {
  const auto held = [](const hal::CounterChoice& each) { return each.settings.back_end != CounterBackEnd::thread; };
  if (std::ranges::none_of(machine.counters, held)) return;
  for (const std::string& reason : regulation::unthrottled(regulated, machine.corunners.front()))
    machine.notes.push_back("co-runners may move more than their limit: " + reason);
}

/// Returns the settings of the feeder's thread. The thread has the priority of the executive's compute engine if the
/// machine grants that priority. On a software device the thread computes without sleeping. Such a thread gets no
/// real-time priority if the kernel limits the run time of real-time threads (real-time throttling).
hal::ThreadSettings feeder_settings(IsolationMachine& machine, const Board& board,
                                    const regulation::RegulatedMachine& regulated) {
  hal::ThreadSettings settings{
      .name = "isolated", .core = machine.feeder, .fifo_priority = executive::engine_priority, .reservation = {}};
  const auto limits = regulated.limits(machine.feeder);
  const bool stopped = board.computes_on_core() && !limits.empty();
  if (!stopped && regulated.holds && hal::Thread::start(settings, [] {})) return settings;
  settings.fifo_priority = 0;
  machine.notes.push_back("jobs run without real-time priority: " +
                          (stopped ? "the kernel stops real-time threads that never sleep (" + limits.front() + ")"
                                   : std::string("SCHED_FIFO is refused (`rtexec probe` shows why)")) +
                          ", so other programs on core " + std::to_string(machine.feeder) + " lengthen them");
  return settings;
}

bool counts_feeder(const IsolationMachine& machine) {
  return std::ranges::any_of(machine.counters,
                             [&](const hal::CounterChoice& each) { return contains(each.cores, machine.feeder); });
}

/// Adds the counter of the feeder, which the mode `thesis` needs. If the feeder cannot be counted, the mode is not
/// available. A missing mode is not an error.
void add_counter_of_feeder(IsolationMachine& machine, const IsolationRequest& request,
                           const regulation::RegulatedMachine& regulated) {
  if (machine.device_on_cores || counts_feeder(machine)) return;
  auto found = find_counters(request.board, request.event, std::span(&machine.feeder, 1), regulated);
  if (found) machine.counters.push_back(std::move(found->choices.front()));
  else machine.notes.push_back("without mode thesis: " + found.error().what);
}

} // namespace

std::string_view name_of(MachineMode mode) { return mode == MachineMode::thesis ? "thesis" : "rtexec"; }

std::vector<MachineMode> modes_of(const IsolationMachine& machine) {
  if (machine.device_on_cores || !counts_feeder(machine)) return {MachineMode::rtexec};
  return {MachineMode::thesis, MachineMode::rtexec};
}

std::unique_ptr<IsolationPlatform> machine_platform(const IsolationMachine& machine, MachineMode mode,
                                                    BandwidthLocks& locks) {
  return std::make_unique<MachinePlatform>(machine, mode, locks);
}

Result<IsolationMachine> isolation_machine(const IsolationRequest& request,
                                           const regulation::RegulatedMachine& regulated) {
  IsolationMachine machine;
  machine.device = "the device of board '" + request.board.name + "'";
  machine.device_on_cores = request.board.computes_on_core();
  machine.length = request.length;
  machine.feeder = feeder_of(request.board, regulated.online);
  std::vector<unsigned> others;
  std::ranges::copy_if(regulated.online, std::back_inserter(others),
                       [&](unsigned core) { return core != machine.feeder; });
  if (others.empty())
    return fail(Errc::refused,
                "no core is left for a co-runner: this process may use no other than " + feeder_text(machine));
  auto counters = find_counters(request.board, request.event, others, regulated);
  if (!counters) return Unexpected(counters.error());
  machine.corun = corunners_of_this_machine(counters->corunners, counters->line());
  take_counters(machine, std::move(*counters), others, regulated.online);
  if (machine.corunners.empty())
    return fail(Errc::refused, "no core is left for a co-runner: each shares a counter, and so a budget, with " +
                                   feeder_text(machine));
  note_unthrottled(machine, regulated);
  add_counter_of_feeder(machine, request, regulated);
  const auto workloads = std::make_shared<DeviceWorkloads>(request, feeder_settings(machine, request.board, regulated));
  machine.workloads = workloads->list(machine.notes);
  machine.kernel = std::string(winograd_prefix) + std::to_string(winograd_sizes[0]) + "p";
  machine.prepare = [workloads](const std::string& name) { return workloads->prepare(name); };
  machine.regulate = [](std::span<const RegulatedDomain> domains, const regulation::RegulationSettings& settings,
                        BandwidthLocks& locks) { return Regulation::start(domains, settings, locks); };
  machine.now = [] { return hal::now(); };
  machine.rest = [](Duration length) { hal::sleep_until(hal::now() + length); };
  machine.going_on = request.going_on;
  return machine;
}

} // namespace rtexec::study
