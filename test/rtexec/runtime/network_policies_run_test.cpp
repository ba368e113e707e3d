// Tests concurrent networks under device, managed and host memory in one run. All give the same outputs, job by job,
// and no thread of the run allocates or faults.
#include <rtexec/executive.hpp>
#include "test/rtexec/runtime/linked_networks.hpp"
#include "test/rtexec/runtime/real_time.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/eventually.hpp"
#include "test/support/expected_result.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>

namespace rtexec {
namespace {

using namespace test;

constexpr std::size_t max_jobs = 64;

/// The outputs of the first jobs. One thread writes them, another one reads them.
class Digests {
 public:
  void take(const OutputJob& job) noexcept {
    if (job.job >= max_jobs) return;
    std::uint64_t digest = 1;
    for (const float value : job.outputs[0].as<const float>()) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      digest = (digest ^ bits) * 0x100'0000'01b3;
    }
    of_[job.job].store(digest);
  }
  [[nodiscard]] std::uint64_t of(std::size_t job) const { return of_[job].load(); }

 private:
  std::array<std::atomic<std::uint64_t>, max_jobs> of_{};
};

Task network(const std::string& name, const std::filesystem::path& model, MemoryPolicy policy) {
  Task task;
  task.name = name;
  task.workload = WorkloadKind::dnn;
  task.model = model;
  task.memory_policy = policy;
  task.period = task.deadline = 50ms;
  task.wcet = Wcet{.before = 2ms, .device = 10ms, .after = 2ms};
  return task;
}

TEST(NetworkMemoryPolicies, GiveSameOutputsInOneRun) {
  const LinkedModels models;
  constexpr std::size_t last = 10;
  std::array<Digests, 4> digests;
  TaskSet set = set_of(
      {network("copied", models.writer, MemoryPolicy::device), network("managed", models.writer, MemoryPolicy::managed),
       network("in-host", models.writer, MemoryPolicy::host), network("behind", models.reader, MemoryPolicy::managed)},
      100s);
  set.device.capacity = Bytes{64 << 20};
  set.tasks[3].inputs = {{.tensor = {}, .source = SourceKind::task, .from = "in-host"}};
  ExecutiveSetup setup;
  setup.force = true;
  for (std::size_t i = 0; i < digests.size(); ++i)
    setup.callbacks[set.tasks[i].name].on_output = [&digests, i](const OutputJob& job) { digests[i].take(job); };
  auto executive = Executive::create(std::move(set), std::move(setup));
  ASSERT_EQ(problem(executive), "none");
  ASSERT_EQ(problem(executive->start()), "none");
  const auto all_there = [&] {
    return std::ranges::all_of(digests, [](const Digests& each) { return each.of(last) != 0; });
  };
  const Report report = expect_real_time(*executive, [&] { EXPECT_TRUE(eventually(all_there)); });
  for (const auto& task : report.tasks) EXPECT_EQ(task.failed, 0u) << task.name;
  for (std::size_t job = 1; job <= last; ++job) {
    EXPECT_NE(digests[0].of(job), digests[0].of(job - 1)) << "other noise in each job";
    for (const std::size_t other : {1U, 2U}) EXPECT_EQ(digests[other].of(job), digests[0].of(job)) << job;
  }
}

} // namespace
} // namespace rtexec
