// Tests on a real GPU that the hardware stops a job whose kernel writes to its constants. The run reports the task's
// fault, and all tasks end in order.
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "test/hal/gpu.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/raise_word.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec {
namespace {

using namespace test;
using testing::HasSubstr;

/// Writes to its scratch memory, and from execution `first_harm` on to its constants.
class Writer final : public Workload {
 public:
  explicit Writer(std::uint64_t first_harm) : first_harm_(first_harm) {}

  [[nodiscard]] MemoryDemand memory() const override {
    return {.constant = Bytes{constants_.size()}, .scratch = Bytes{4096}, .state = {}};
  }
  [[nodiscard]] std::span<const std::byte> constants() const override { return constants_; }
  [[nodiscard]] std::string fingerprint() const override { return "writer"; }
  [[nodiscard]] Result<> bind(Device& device, const Memory& memory) override {
    gpu_ = device.gpu();
    if (!gpu_) return fail(Errc::unsupported, "the writer needs a GPU");
    auto module = gpu_->load(raise_word, "the writer");
    if (!module) return Unexpected(module.error());
    module_ = std::move(*module);
    for (auto [graph, target] : {std::pair(&harmless_, static_cast<const std::byte*>(memory.scratch)),
                                 std::pair(&harmful_, memory.constant)}) {
      auto captured = graph_that_raises(target, *gpu_, module_);
      if (!captured) return Unexpected(captured.error());
      *graph = std::move(*captured);
    }
    return {};
  }

  [[nodiscard]] Status before(std::uint64_t) noexcept override { return {}; }
  [[nodiscard]] Status execute() noexcept override {
    return gpu_->run(executions_++ < first_harm_ ? harmless_ : harmful_);
  }
  [[nodiscard]] Status after(std::uint64_t) noexcept override { return {}; }

 private:
  std::uint64_t first_harm_, executions_ = 0;
  std::vector<std::byte> constants_ = std::vector<std::byte>(4096);
  Gpu* gpu_ = nullptr;
  GpuModule module_;
  GpuGraph harmless_, harmful_;
};

TEST(GpuFault, WriteToConstantsIsReportedAsFaultOfItsTask) {
  if (const std::string why = hal::test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  const Wcet wcet{.before = 1ms, .device = 1ms, .after = 1ms};
  TaskSet set = set_of({synthetic("harmless", 20ms, wcet), synthetic("vandal", 30ms, wcet)}, 1h);
  set.board = "rtx";
  set.device.capacity = Bytes{64 << 20};
  set.executive.allow_degraded = true;
  constexpr std::uint64_t never = UINT64_MAX, warm_up_and_three = 4;
  executive::Setup setup;
  setup.force = true;
  setup.workloads["harmless"] = std::make_unique<Writer>(never);
  setup.workloads["vandal"] = std::make_unique<Writer>(warm_up_and_three);
  auto executive = executive::create(set, std::move(setup));
  ASSERT_TRUE(executive) << executive.error().what;
  const auto started = executive->start();
  ASSERT_TRUE(started) << started.error().what;
  EXPECT_TRUE(executive->wait(30s)) << "the run lasts an hour";
  const Report report = executive->stop();
  ASSERT_TRUE(report.device_fault);
  EXPECT_EQ(report.device_fault->task, "vandal");
  EXPECT_EQ(report.device_fault->job, 3u);
  EXPECT_THAT(report.device_fault->what, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_EQ(to_string(report.stopped_by), "device fault in task 'vandal'");
  EXPECT_EQ(report.tasks[1].completed, 3u);
  EXPECT_GE(report.tasks[0].completed, 1u);
  RecordProperty("fault", report.device_fault->what);
}

} // namespace
} // namespace rtexec
