// A task's workload from an ONNX file, and one that only takes time and memory.
#include "tasks/dnn/dnn_workload.hpp"

#include "config/task_set.hpp"
#include "hal/host/host_device.hpp"
#include "tasks/dnn/aligned.hpp"
#include "test/support/thread_counts.hpp"
#include "test/tasks/dnn_onnx_text.hpp"
#include "test/support/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace rtexec::tasks {
namespace {

using testing::HasSubstr;

std::filesystem::path write(const test::ScratchFolder& folder, const std::string& name, const std::vector<std::byte>& bytes) {
  test::write_text(folder / name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return folder / name;
}

std::vector<std::byte> small_model(const std::string& activation = "Relu") {
  return onnx_bytes(onnx_value("input", "x", {"n", "3", "8", "8"}) + onnx_floats("w", {4, 3, 3, 3}) + onnx_node("Conv", {"x", "w"}, {"c"}) + onnx_node(activation, {"c"}, {"y"}) +
                    "output { name: \"y\" }");
}

Task dnn_task(const std::filesystem::path& model) {
  Task task;
  task.name = "front";
  task.model = model;
  return task;
}

TEST(DnnWorkload, RunsJobsWithoutAllocating) {
  const test::ScratchFolder folder;
  auto workload = make_workload(dnn_task(write(folder, "net.onnx", small_model())), DeviceKind::host);
  ASSERT_TRUE(workload.has_value()) << workload.error().what;
  const auto demand = (*workload)->memory();
  EXPECT_EQ(demand.constant.count, (*workload)->constants().size());
  EXPECT_GT(demand.scratch.count, 0U);
  EXPECT_EQ(demand.state.count, 0U);
  const auto constants = allocate_aligned(demand.constant.count), scratch = allocate_aligned(demand.scratch.count);
  std::ranges::copy((*workload)->constants(), constants.get());
  const auto device = hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20});
  ASSERT_TRUE(device.has_value());
  ASSERT_TRUE((*workload)->bind(**device, {constants.get(), scratch.get(), nullptr}).has_value());
  const auto before = test::allocations();
  for (std::uint64_t job = 0; job < 3; ++job) {
    std::fill_n(scratch.get(), demand.scratch.count, std::byte{0xff}); // contents are lost between jobs
    EXPECT_TRUE((*workload)->before(job).has_value());
    EXPECT_TRUE((*workload)->execute().has_value());
    EXPECT_TRUE((*workload)->after(job).has_value());
  }
  EXPECT_EQ(test::allocations(), before);
  const auto& output = static_cast<DnnWorkload&>(**workload).network().outputs().front().buffer;
  EXPECT_TRUE(std::ranges::all_of(output, [](float value) { return value >= 0; }));
  EXPECT_TRUE(std::ranges::any_of(output, [](float value) { return value > 0; }));
}

TEST(DnnWorkload, FingerprintFollowsModelAndInput) {
  const test::ScratchFolder folder;
  const auto relu = write(folder, "relu.onnx", small_model());
  const auto print = [](const std::filesystem::path& model, const std::filesystem::path& input) {
    const auto workload = DnnWorkload::load(model, input);
    return workload ? (*workload)->fingerprint() : workload.error().what;
  };
  EXPECT_EQ(print(relu, ""), print(write(folder, "copy.onnx", small_model()), ""));
  EXPECT_NE(print(relu, ""), print(write(folder, "sigmoid.onnx", small_model("Sigmoid")), ""));
}

TEST(DnnWorkload, FingerprintFollowsPrecisionOnAGpu) {
  const test::ScratchFolder folder;
  const auto model = write(folder, "net.onnx", small_model());
  const auto print = [&](DeviceKind kind, Precision precision) {
    const auto workload = DnnWorkload::load(model, "", kind, precision);
    return workload ? (*workload)->fingerprint() : workload.error().what;
  };
  EXPECT_EQ(print(DeviceKind::host, Precision::fp32), print(DeviceKind::host, Precision::tf32)); // the host computes in fp32
  EXPECT_THAT(print(DeviceKind::cuda, Precision::fp32), testing::StartsWith("dnn-cuda-fp32-"));
  EXPECT_THAT(print(DeviceKind::cuda, Precision::tf32), testing::StartsWith("dnn-cuda-tf32-"));
  EXPECT_THAT(print(DeviceKind::cuda, Precision::fp16), testing::StartsWith("dnn-cuda-fp16-"));
}

TEST(DnnWorkload, ErrorsNameTaskFileAndNode) {
  const test::ScratchFolder folder;
  const auto workload = make_workload(dnn_task(write(folder, "odd.onnx", small_model("Einsum"))), DeviceKind::host);
  ASSERT_FALSE(workload.has_value());
  for (const auto* word : {"task 'front'", "odd.onnx", "the_Einsum"}) EXPECT_THAT(workload.error().what, HasSubstr(word));
  const auto missing = make_workload(dnn_task(folder / "absent.onnx"), DeviceKind::host);
  ASSERT_FALSE(missing.has_value());
  EXPECT_THAT(missing.error().what, HasSubstr("absent.onnx"));
}

TEST(DnnWorkload, OneInputIsFed) {
  const test::ScratchFolder folder;
  const auto two = onnx_bytes(onnx_value("input", "a", {"2"}) + onnx_value("input", "b", {"2"}) + onnx_node("Add", {"a", "b"}, {"y"}) + "output { name: \"y\" }");
  const auto workload = DnnWorkload::load(write(folder, "two.onnx", two), "");
  ASSERT_FALSE(workload.has_value());
  EXPECT_THAT(workload.error().what, HasSubstr("2 inputs"));
}

TEST(SyntheticWorkload, TakesItsTimeAndItsMemory) {
  Task task;
  task.name = "load";
  task.workload = WorkloadKind::synthetic;
  task.wcet = Wcet{std::chrono::milliseconds(1), std::chrono::milliseconds(2), std::chrono::milliseconds(1)};
  task.footprint = {1 << 20};
  auto workload = make_workload(task, DeviceKind::host);
  ASSERT_TRUE(workload.has_value());
  EXPECT_EQ((*workload)->memory().state, (Bytes{1 << 20}));
  std::vector<std::byte> state(1 << 20);
  const auto device = hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20});
  ASSERT_TRUE(device.has_value());
  ASSERT_TRUE((*workload)->bind(**device, {nullptr, nullptr, state.data()}).has_value());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE((*workload)->before(0).has_value());
  EXPECT_TRUE((*workload)->execute().has_value());
  EXPECT_TRUE((*workload)->after(0).has_value());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::microseconds(3800)); // 95 % of 4 ms
  EXPECT_EQ(state.front(), std::byte{1});
}

TEST(SyntheticWorkload, NeedsAWcet) {
  Task task;
  task.name = "load";
  task.workload = WorkloadKind::synthetic;
  const auto workload = make_workload(task, DeviceKind::host);
  ASSERT_FALSE(workload.has_value());
  EXPECT_THAT(workload.error().what, HasSubstr("wcet"));
}

} // namespace
} // namespace rtexec::tasks
