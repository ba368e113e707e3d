#include "rtexec/runtime/measuring/resident_time.hpp"

#include "config/base/must.hpp"
#include "rtexec/runtime/executive/device_memory.hpp"
#include "rtexec/runtime/planning/loaded_set.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace rtexec::executive {
namespace {

TaskSet alone_under_d(TaskSet set, std::size_t index) {
  Task task = std::move(set.tasks[index]);
  task.memory_policy = MemoryPolicy::device;
  task.input.clear();
  task.inputs.clear();
  task.outputs.clear();
  set.tasks.clear();
  set.tasks.push_back(std::move(task));
  return set;
}

/// Returns the options of `given` that apply to this task.
Setup setup_of(const Task& task, Setup given) {
  Setup setup;
  setup.open_device = std::move(given.open_device);
  if (auto own = given.workloads.extract(task.name)) setup.workloads.insert(std::move(own));
  setup.tunings.emplace();
  // The tuning of a micro-benchmark is omitted, because it is for managed memory
  if (given.tunings && !is_micro_benchmark(task.workload)) (*setup.tunings)[task.name] = (*given.tunings)[task.name];
  return setup;
}

Result<Duration> time_job(Workload& workload, channels::TaskIo& io, hal::Device& device, std::uint64_t job) {
  Status done = io.read(job, hal::now(), channels::TaskIo::For::measurement).outcome;
  if (done) done = workload.before(job);
  Duration took{0};
  if (done)
    done = device.engine(hal::EngineKind::compute)
               .call([&]() noexcept { return execute_resident(workload, device, took); })
               .outcome;
  if (!done) return fail(done.error(), std::string("a job failed under D: ") + std::string(name(done.error())));
  return took;
}

Result<Duration> longest_of_jobs(Workload& workload, const MemoryDemand& demand, channels::TaskIo& io,
                                 hal::Device& device) {
  constexpr std::uint64_t jobs = 16;
  const TaskMemory task_memory = resident_memory(demand, workload.constants(), device.chunk_size());
  const auto memory = DeviceMemory::lay_out(device, {&task_memory, 1}, {});
  if (!memory) return Unexpected(memory.error());
  if (auto bound = workload.bind(device, (*memory)->addresses().front()); !bound) return Unexpected(bound.error());
  if (auto opened = io.open(); !opened) return Unexpected(opened.error());
  Duration longest{0};
  for (std::uint64_t job = 0; job <= jobs; ++job) { // the first job is a warm-up
    const auto took = time_job(workload, io, device, job);
    if (!took) return took;
    if (job > 0) longest = std::max(longest, *took);
  }
  return longest;
}

} // namespace

Status execute_resident(Workload& workload, hal::Device& device, Duration& took) noexcept {
  if (const Status ready = workload.make_resident(); !ready) return ready;
  device.begin_execution(hal::Concurrency::alone);
  const Instant begin = hal::now();
  const Status done = workload.execute_resident();
  took = device.executed(hal::now() - begin);
  return done;
}

std::optional<Duration> longest_resident(const TaskSet& tasks, std::size_t index, Setup given) {
  Setup setup = setup_of(tasks.tasks[index], std::move(given));
  LoadedSet set = must(load(alone_under_d(tasks, index), setup));
  // Destroyed in this order: the inputs, the workload, the device
  const auto device = must(set.open_device(set.tasks.device.capacity.value_or(set.board.capacity)));
  const auto workload = std::move(set.workloads.front());
  const auto io = std::move(set.io.front());
  const auto longest = longest_of_jobs(*workload, set.memory.front(), *io, *device);
  if (longest) return *longest;
  if (longest.error().code == Errc::out_of_memory) return std::nullopt;
  give_up(longest.error().code, "task '" + tasks.tasks[index].name + "': " + longest.error().what);
}

} // namespace rtexec::executive
