// Section overheads: the costs of swapping other than the copies (the paper's Table V).
#pragma once

#include "config/names.hpp"
#include "hal/host/host_device.hpp"
#include "hal/open/open_device.hpp"
#include "policies/admission/admission.hpp"
#include "policies/scheduler/device_scheduler.hpp"
#include "tasks/engine/cuda/scratch_plan.hpp"
#include "test/bench/swap_gpu.hpp"
#include "test/support/resolved.hpp"

#include <deque>
#include <malloc.h>
#include <optional>
#include <random>

namespace rtexec::bench {

// ---- decisions ----

/// Returns twelve tasks with footprints of the paper's Table III on 24 GiB, and periods between 3 and 5 s. Chunks are
/// 64 MiB; for min and mo-vmm 2 MiB.
inline Result<Plan> twelve_tasks(SwapPolicy policy) {
  constexpr std::array<std::uint64_t, 12> footprints_mb{1400, 2400, 3800, 2300, 3600, 6200,
                                                        1000, 1600, 2700, 1600, 3200, 5700};
  TaskSet set;
  set.swap.policy = policy;
  Board board;
  board.name = "overheads";
  board.capacity = GiB * 24;
  board.chunk = MiB * 64;
  board.copy_engines = 2;
  board.memory_policies = {MemoryPolicy::device};
  for (const Bytes chunk : {MiB * 2, MiB * 64}) {
    const Duration copy(20'000 * chunk.count / MiB.count);
    for (const auto store : {StoreKind::pinned, StoreKind::pageable})
      board.swap_costs.push_back({.store = store, .chunk = chunk, .in_per_chunk = copy, .out_per_chunk = copy});
  }
  std::vector<MemoryDemand> memory;
  for (const std::uint64_t footprint : footprints_mb) {
    Task task;
    task.name = "t" + std::to_string(memory.size());
    task.period = task.deadline = std::chrono::milliseconds(3000 + 160 * memory.size());
    task.wcet = Wcet{.before = std::chrono::milliseconds(1),
                     .device = std::chrono::milliseconds(40),
                     .after = std::chrono::milliseconds(1)};
    set.tasks.push_back(std::move(task));
    memory.push_back({.constant = {}, .scratch = {}, .state = Bytes{footprint * 1'000'000}});
  }
  return policies::make_plan(test::resolved(set, board), memory);
}

/// A device that carries out the scheduler's actions in virtual time. Possible events come in random order.
class DecisionTimer {
 public:
  explicit DecisionTimer(const Plan& plan) : plan_(plan), scheduler_(plan), jobs_(plan.tasks.size()) {}

  /// Returns the time of each decision in us, or an empty list if the scheduler came to a standstill or refused an
  /// event.
  std::vector<double> time(std::size_t events) {
    std::vector<double> times;
    times.reserve(events);
    while (times.size() < events) {
      const auto event = next();
      if (!event) return {};
      const Instant begin = hal::now();
      const auto actions = scheduler_.on(*event);
      times.push_back(microseconds(hal::now() - begin));
      for (const policies::Action& action : actions)
        if (!take(action)) return {};
    }
    return times;
  }

 private:
  using Event = policies::Event;
  using Kind = policies::Action::Kind;
  struct Job {
    std::uint64_t number = 0;
    bool outstanding = false;
  };

  std::optional<Event> next() {
    std::vector<std::uint32_t> idle;
    for (std::uint32_t task = 0; task < jobs_.size(); ++task)
      if (!jobs_[task].outstanding) idle.push_back(task);
    std::array<int, 4> possible{};
    std::size_t count = 0;
    for (const auto& [number, holds] :
         {std::pair(0, !idle.empty()), {1, running_.has_value()}, {2, !ins_.empty()}, {3, !outs_.empty()}})
      if (holds) possible[count++] = number;
    if (count == 0) return std::nullopt;
    now_ += std::chrono::milliseconds(1);
    switch (possible[random_() % count]) {
    case 0: return request(idle[random_() % idle.size()]);
    case 1: return finish();
    case 2: return copied(Event::Kind::copied_in, ins_);
    default: return copied(Event::Kind::copied_out, outs_);
    }
  }

  Event request(std::uint32_t task) {
    jobs_[task].outstanding = true;
    return {Event::Kind::job_requested, {task, ++jobs_[task].number}, now_, now_ + plan_.tasks[task].device_done_by};
  }
  Event finish() {
    const policies::JobId job = *running_;
    running_.reset();
    jobs_[job.task].outstanding = false;
    return {Event::Kind::execution_done, job, now_, {}};
  }
  Event copied(Event::Kind kind, std::deque<policies::Transfer>& transfers) {
    const policies::Transfer transfer = transfers.front();
    transfers.pop_front();
    return {kind, {}, now_, {}, transfer};
  }

  bool take(const policies::Action& action) {
    switch (action.kind) {
    case Kind::start_execution: running_ = action.job; return true;
    case Kind::copy_in: ins_.push_back(action.transfer); return true;
    case Kind::copy_out: outs_.push_back(action.transfer); return true;
    default: return false;
    }
  }

  const Plan& plan_;
  policies::DeviceScheduler scheduler_;
  std::vector<Job> jobs_;
  std::optional<policies::JobId> running_;
  std::deque<policies::Transfer> ins_, outs_;
  Instant now_{};
  std::mt19937 random_{1};
};

// ---- the section ----

class OverheadsSection {
 public:
  explicit OverheadsSection(const Context& context) : context_(context) {}

  Result<json> run() {
    print_initialisation();
    print_objects();
    print_decisions();
    std::printf(
        "  request to decision to action, threads and wake-ups included: dispatch-bench (paper: communication 11.6 "
        "us)\n");
    return result_;
  }

 private:
  static constexpr std::size_t events = 200'000;
  static constexpr Bytes case_study_chunk = MiB * 32;

  // ---- initialisation

  struct Opened {
    std::unique_ptr<hal::Device> device;
    const char* where;
  };
  static Result<Opened> open_device(Bytes capacity) {
    if (auto gpu = hal::CudaDevice::open({.capacity = capacity, .chunk = case_study_chunk}))
      return Opened{std::move(*gpu), "GPU"};
    constexpr std::uint64_t smaller = 32;
    auto host = hal::HostDevice::open({capacity.count / smaller}, {case_study_chunk.count / smaller});
    if (!host) return Unexpected(host.error());
    return Opened{std::move(*host), "host device, all sizes divided by 32"};
  }

  struct Initialisation {
    std::string where;
    std::vector<double> reserve_us, map_us;
  };
  /// Initialises the six arenas of the case study, in their chunks of 32 MiB: 1.6, 1.4 and 5.7 GB (Tables III and IV).
  static Result<Initialisation> initialise_tasks() {
    constexpr std::array<std::size_t, 6> chunks{48, 42, 170, 170, 170, 170};
    const auto opened = open_device(case_study_chunk * chunks.back());
    if (!opened) return Unexpected(opened.error());
    hal::Device& device = *opened->device;
    const auto pool = device.create_chunks(chunks.back());
    if (!pool) return Unexpected(pool.error());
    Initialisation measured{.where = opened->where, .reserve_us = {}, .map_us = {}};
    for (const std::size_t count : chunks) {
      const Instant begin = hal::now();
      const auto range = device.reserve(device.chunk_size() * count);
      if (!range) return Unexpected(range.error());
      measured.reserve_us.push_back(microseconds(hal::now() - begin));
      for (std::size_t slot = 0; slot < count; ++slot) {
        const Instant mapping = hal::now();
        if (const auto mapped = device.map(*range, slot, (*pool)[slot], hal::Access::read_write); !mapped)
          return fail(mapped.error(), "mapping a chunk failed");
        measured.map_us.push_back(microseconds(hal::now() - mapping));
      }
      if (const auto released = device.release(*range); !released) return Unexpected(released.error());
    }
    return measured;
  }

  void print_initialisation() {
    const auto measured = initialise_tasks();
    if (!measured) return std::printf("  initialisation: failed: %s\n", measured.error().what.c_str()), void();
    const auto& [where, reserve_us, map_us] = *measured;
    std::printf(
        "  initialisation of a task (%s): reserving its addresses %.1f us (max %.1f), and %.1f us (max %.1f) for each "
        "of its chunks\n"
        "    (paper: 120.5 us on average, 194.2 max, for its channels and addresses)\n",
        where.c_str(), median(reserve_us), percentile(reserve_us, 1), median(map_us), percentile(map_us, 1));
    result_["initialisation"] = {
        {"where", where}, {"reserve_us", percentiles(reserve_us)}, {"map_us", percentiles(map_us)}};
  }

  // ---- memory objects

  void print_objects() {
    constexpr std::array chunks{MiB * 2, case_study_chunk, MiB * 64};
    std::vector<double> wrapper_us;
    std::array<std::vector<double>, chunks.size()> waste_mb;
    for (const auto& model : context_.options.models) {
      const auto network = build_network(model);
      if (!network) {
        std::printf("  %s: failed: %s\n", model_name(model).c_str(), network.error().what.c_str());
        continue;
      }
      const tasks::cuda::Program& program = (*network)->program();
      const std::vector<tasks::cuda::ConvMethod> methods(program.calls.size());
      const Instant begin = hal::now();
      const auto plan = tasks::cuda::plan_scratch(program, methods);
      const double took = microseconds(hal::now() - begin);
      if (plan.places.scratch.size > 0) wrapper_us.push_back(took / static_cast<double>((*network)->objects().size()));
      const Bytes weights{program.constants.size()};
      for (std::size_t i = 0; i < chunks.size(); ++i)
        waste_mb[i].push_back(gigabytes(round_up(weights, chunks[i]) - weights) * 1e3);
    }
    if (wrapper_us.empty()) return std::printf("  memory objects: no network\n"), void();
    std::printf(
        "  handing out a memory object: nothing at run time; planning its place before the start %.1f us (max %.1f) "
        "(paper, wrapper: 3.5 us, 8.0 max)\n",
        median(wrapper_us), percentile(wrapper_us, 1));
    result_["objects"]["plan_us"] = percentiles(wrapper_us);
    std::printf("  fragmentation of a network's weights (scratch is shared by all) in chunks of");
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      std::printf(" %s: %.1f MB on average, %.1f max;", readable(chunks[i]).c_str(), mean(waste_mb[i]),
                  percentile(waste_mb[i], 1));
      result_["objects"]["fragmentation_mb"].push_back(
          {{"chunk_mib", mebibytes(chunks[i])}, {"mean", mean(waste_mb[i])}, {"max", percentile(waste_mb[i], 1)}});
    }
    std::printf(" (paper, 32 MB: 6.3, 9.5 max)\n");
  }

  // ---- decisions

  void print_decisions() {
    std::printf(
        "  decision, %zu events, 12 tasks on 24 GiB, warm caches, us (goal: p99 <= 10; paper: mean 11.1, max 43.6);\n"
        "  books: host memory of plan and scheduler, MB (paper: 14.9)\n  %-10s %8s %8s %8s %8s %8s %8s %8s\n",
        events, "", "slots", "frames", "mean", "p99", "p99.99", "max", "books");
    for (const auto& [name, policy] : spellings<SwapPolicy>())
      if (policy != SwapPolicy::none) print_decision(std::string(name), policy);
  }

  static double heap_mb() {
    const auto used = mallinfo2();
    return static_cast<double>(used.uordblks + used.hblkhd) * 1e-6;
  }

  void print_decision(const std::string& name, SwapPolicy policy) {
    const double before = heap_mb();
    const auto plan = twelve_tasks(policy);
    if (!plan) return std::printf("  %-10s failed: %s\n", name.c_str(), plan.error().what.c_str()), void();
    std::size_t slots = 0;
    for (const auto& task : plan->tasks) slots += task.swap_slots.size();
    DecisionTimer timer(*plan);
    const double books = heap_mb() - before;
    const auto times = timer.time(events);
    if (times.empty())
      return std::printf("  %-10s failed: the scheduler came to rest or refused an event\n", name.c_str()), void();
    const double p99 = percentile(times, 0.99), p9999 = percentile(times, 0.9999), max = percentile(times, 1);
    std::printf("  %-10s %8zu %8u %8.3f %8.3f %8.3f %8.1f %8.2f\n", name.c_str(), slots, plan->swap->frames,
                mean(times), p99, p9999, max, books);
    result_["decision"][name] = {{"slots", slots},    {"mean_us", mean(times)}, {"p99_us", p99},
                                 {"p9999_us", p9999}, {"max_us", max},          {"books_mb", books}};
  }

  const Context& context_;
  json result_ = json::object();
};

} // namespace rtexec::bench
