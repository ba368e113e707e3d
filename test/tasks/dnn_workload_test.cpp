// Tests a task's workload from an ONNX file.
#include "tasks/make/make_workload.hpp"
#include "tasks/engine/dnn_workload.hpp"
#include "tasks/media/input.hpp"
#include "tasks/base/fingerprint.hpp"

#include <rtexec/task_set.hpp>
#include "hal/host/host_device.hpp"
#include "tasks/engine/host/kernels/aligned.hpp"
#include "tasks/engine/cuda/cuda_network.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/thread_counts.hpp"
#include "test/tasks/dnn_onnx_text.hpp"
#include "test/tasks/npy_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace rtexec::tasks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::filesystem::path write(const test::ScratchFolder& folder, const std::string& name,
                            const std::vector<std::byte>& bytes) {
  test::write_text(folder / name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return folder / name;
}

std::vector<std::byte> small_model(const std::string& activation = "Relu") {
  return onnx_bytes(onnx_value("input", "x", {"1", "3", "8", "8"}) + onnx_floats("w", {4, 3, 3, 3}) +
                    onnx_node("Conv", {"x", "w"}, {"c"}) + onnx_node(activation, {"c"}, {"y"}) +
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
  const auto source = make_input({}, (*workload)->inputs().front());
  ASSERT_TRUE(source);
  const auto before = test::allocations();
  for (std::uint64_t job = 0; job < 3; ++job) {
    std::fill_n(scratch.get(), demand.scratch.count, std::byte{0xff}); // contents are lost between jobs
    EXPECT_TRUE((*source)->fetch(job, (*workload)->inputs().front()));
    EXPECT_TRUE((*workload)->before(job).has_value());
    EXPECT_TRUE((*workload)->execute().has_value());
    EXPECT_TRUE((*workload)->after(job).has_value());
  }
  EXPECT_EQ(test::allocations(), before);
  const auto output = (*workload)->outputs().front().as<const float>();
  EXPECT_TRUE(std::ranges::all_of(output, [](float value) { return value >= 0; }));
  EXPECT_TRUE(std::ranges::any_of(output, [](float value) { return value > 0; }));
}

TEST(DnnWorkload, FingerprintDependsOnModelAndInput) {
  const test::ScratchFolder folder;
  const auto relu = write(folder, "relu.onnx", small_model());
  const auto print = [](const std::filesystem::path& model, const std::filesystem::path& input) {
    const auto workload = DnnWorkload::load(model);
    if (!workload) return workload.error().what;
    const std::string own = (*workload)->fingerprint();
    return input.empty() ? own : fingerprint_with_files(own, input);
  };
  EXPECT_EQ(print(relu, ""), print(write(folder, "copy.onnx", small_model()), ""));
  EXPECT_NE(print(relu, ""), print(write(folder, "sigmoid.onnx", small_model("Sigmoid")), ""));
  const std::vector<float> values(3 * 8 * 8);
  ASSERT_EQ(test::problem(write_floats(folder / "t.npy", {1, 3, 8, 8}, values)), "none");
  EXPECT_NE(print(relu, ""), print(relu, folder / "t.npy"));
  // The bytes of the model, then name and size of the file.
  Fingerprint expected;
  expected.add(small_model()).add(std::string_view("t.npy")).add(std::filesystem::file_size(folder / "t.npy"));
  EXPECT_EQ(print(relu, folder / "t.npy"), "dnn-" + expected.text());
}

TEST(DnnWorkload, FingerprintDependsOnPrecisionOnGpu) {
  const test::ScratchFolder folder;
  const auto model = write(folder, "net.onnx", small_model());
  const auto print = [&](DeviceKind kind, Precision precision) {
    const auto workload = DnnWorkload::load(model, kind, precision);
    return workload ? (*workload)->fingerprint() : workload.error().what;
  };
  // The host computes in fp32.
  EXPECT_EQ(print(DeviceKind::host, Precision::fp32), print(DeviceKind::host, Precision::tf32));
  EXPECT_THAT(print(DeviceKind::cuda, Precision::fp32), testing::StartsWith("dnn-cuda-fp32-"));
  EXPECT_THAT(print(DeviceKind::cuda, Precision::tf32), testing::StartsWith("dnn-cuda-tf32-"));
  EXPECT_THAT(print(DeviceKind::cuda, Precision::fp16), testing::StartsWith("dnn-cuda-fp16-"));
}

/// Constants, inputs and outputs are in buffers of the workload. Measurements under D are not valid for other policies.
TEST(DnnWorkload, RequiresOnlyScratchWithManagedOrHostMemory) {
  const test::ScratchFolder folder;
  auto task = dnn_task(write(folder, "net.onnx", small_model()));
  const auto device = hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20});
  ASSERT_TRUE(device.has_value());
  std::vector<std::string> fingerprints{make_workload(task, DeviceKind::host).value()->fingerprint()};
  for (const auto policy : {MemoryPolicy::managed, MemoryPolicy::host}) {
    task.memory_policy = policy;
    auto made = make_workload(task, DeviceKind::host);
    ASSERT_EQ(test::problem(made), "none");
    auto& workload = **made;
    EXPECT_EQ(workload.memory().constant, Bytes{0});
    EXPECT_TRUE(workload.constants().empty());
    fingerprints.push_back(workload.fingerprint());
    const auto scratch = allocate_aligned(workload.memory().scratch.count);
    ASSERT_EQ(test::problem(workload.bind(**device, {nullptr, scratch.get(), nullptr})), "none");
    const auto before = test::allocations();
    std::ranges::fill(workload.inputs().front().as<float>(), 1.0F);
    EXPECT_TRUE(workload.before(0) && workload.execute() && workload.after(0));
    EXPECT_EQ(test::allocations(), before);
    EXPECT_TRUE(
        std::ranges::any_of(workload.outputs().front().as<const float>(), [](float value) { return value > 0; }));
  }
  std::ranges::sort(fingerprints);
  EXPECT_EQ(std::ranges::adjacent_find(fingerprints), fingerprints.end());
  task.footprint = Bytes{1 << 30};
  EXPECT_TRUE(test::fails(make_workload(task, DeviceKind::host), Errc::bad_input, "uses the memory of its network"));
}

TEST(DnnWorkload, ErrorsNameTaskFileAndNode) {
  const test::ScratchFolder folder;
  const auto workload = make_workload(dnn_task(write(folder, "odd.onnx", small_model("Einsum"))), DeviceKind::host);
  ASSERT_FALSE(workload.has_value());
  for (const auto* word : {"task 'front'", "odd.onnx", "the_Einsum"})
    EXPECT_THAT(workload.error().what, HasSubstr(word));
  const auto missing = make_workload(dnn_task(folder / "absent.onnx"), DeviceKind::host);
  ASSERT_FALSE(missing.has_value());
  EXPECT_THAT(missing.error().what, HasSubstr("absent.onnx"));
}

// ---- state

/// Returns a model of x and h [2], k [1] -> y and hn [2], n [1].
std::vector<std::byte> step_model(const std::string& batch = "2") {
  return onnx_bytes(onnx_value("input", "h", {batch}) + onnx_value("input", "x", {batch}) +
                    onnx_value("input", "k", {"1"}) + onnx_node("Add", {"x", "h"}, {"hn"}) +
                    onnx_node("Relu", {"hn"}, {"y"}) + onnx_node("Neg", {"k"}, {"n"}) +
                    "output { name: \"y\" } output { name: \"hn\" } output { name: \"n\" }");
}

/// A workload on the host device, with its own memory.
class Step {
 public:
  explicit Step(const Task& task) : workload_(std::move(make_workload(task, DeviceKind::host).value())) {
    const MemoryDemand demand = workload_->memory();
    scratch_ = allocate_aligned(demand.scratch.count);
    state_ = allocate_aligned(demand.state.count);
    std::fill_n(state_.get(), demand.state.count, std::byte{0});
    const Memory memory{workload_->constants().data(), scratch_.get(), state_.get()};
    EXPECT_EQ(test::problem(workload_->bind(*device_, memory)), "none");
  }
  Workload& workload() { return *workload_; }
  /// Runs a job on 1, 10. Returns the sum so far.
  std::vector<float> job(bool succeeds = true) {
    const auto x = workload_->inputs()[0].as<float>();
    x[0] = 1, x[1] = 10;
    EXPECT_TRUE(workload_->before(0) && workload_->execute());
    if (succeeds) { EXPECT_TRUE(workload_->after(0)); }
    const auto y = workload_->outputs()[0].as<const float>();
    return {y.begin(), y.end()};
  }
  void begin_to_keep() { workload_->begin_to_keep(); }

 private:
  std::unique_ptr<hal::HostDevice> device_ = std::move(*hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20}));
  std::unique_ptr<Workload> workload_;
  AlignedBytes scratch_, state_;
};

TEST(DnnState, KeepsResultOfLastSuccessfulJob) {
  const test::ScratchFolder folder;
  auto task = dnn_task(write(folder, "step.onnx", step_model()));
  task.state = {{"h", "hn"}};
  for (const auto policy : {MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host}) {
    task.memory_policy = policy;
    Step step(task);
    for (int warm_up = 0; warm_up < 2; ++warm_up) EXPECT_THAT(step.job(), ElementsAre(1, 10));
    step.begin_to_keep();
    EXPECT_THAT(step.job(), ElementsAre(1, 10)) << "zeros at first";
    EXPECT_THAT(step.job(), ElementsAre(2, 20));
    for (int failed = 0; failed < 2; ++failed) EXPECT_THAT(step.job(false), ElementsAre(3, 30));
    EXPECT_THAT(step.job(), ElementsAre(3, 30)) << "as if those had not been";
    EXPECT_THAT(step.job(), ElementsAre(4, 40));
  }
}

TEST(DnnState, IsHiddenFromInputsOfTask) {
  const test::ScratchFolder folder;
  auto task = dnn_task(write(folder, "step.onnx", step_model()));
  const auto names = [&] {
    std::vector<std::string> all;
    const auto workload = make_workload(task, DeviceKind::host);
    for (const auto& input : workload.value()->inputs()) all.push_back(input.name);
    return all;
  };
  EXPECT_THAT(names(), ElementsAre("h", "x", "k"));
  task.state = {{"h", "hn"}};
  EXPECT_THAT(names(), ElementsAre("x", "k"));
  Step step(task);
  EXPECT_EQ(step.workload().memory().state, Bytes{512}) << "two copies, each aligned to 256 bytes";
  // A link refers to the number of an input or output among those without state.
  const std::array<float, 2> elsewhere{5, 50};
  step.workload().take_input(0, reinterpret_cast<const std::byte*>(elsewhere.data()));
  EXPECT_THAT(step.job(), ElementsAre(5, 50));
}

TEST(DnnState, RejectsUnknownOrMismatchedPorts) {
  const test::ScratchFolder folder;
  auto task = dnn_task(write(folder, "step.onnx", step_model()));
  const auto refused = [&](const std::string& input, const std::string& output, const std::string& why) {
    task.state = {{input, output}};
    EXPECT_TRUE(test::fails(make_workload(task, DeviceKind::host), Errc::bad_input,
                            "step.onnx: state: \"" + input + "\" = \"" + output + "\": " + why));
  };
  refused("z", "hn", "the network has no input 'z'; there are: 'h', 'x', 'k'");
  refused("h", "h", "the network has no output 'h'; there are: 'y', 'hn', 'n'");
  refused("h", "n", "the input is float32 2, and the output float32 1: ");
}

TEST(DnnState, FingerprintDependsOnStateAndShapes) {
  const test::ScratchFolder folder;
  auto task = dnn_task(write(folder, "step.onnx", step_model("n")));
  EXPECT_TRUE(test::fails(make_workload(task, DeviceKind::host), Errc::bad_input, "dimension 0 ('n')"));
  const auto print = [&] { return make_workload(task, DeviceKind::host).value()->fingerprint(); };
  task.shape = {{"x", {2}}};
  const auto two = print();
  task.shape["h"] = {2};
  EXPECT_EQ(print(), two) << "as it was";
  task.shape = {{"x", {3}}};
  EXPECT_NE(print(), two);
  task.shape = {{"x", {2}}};
  task.state = {{"h", "hn"}};
  EXPECT_NE(print(), two);
}

class Footprint : public testing::Test {
 protected:
  Footprint() : own_(load({})->memory()) {}

  std::unique_ptr<Workload> load(const Task& added) {
    auto workload = tried(added);
    EXPECT_EQ(test::problem(workload), "none");
    return workload ? std::move(*workload) : nullptr;
  }
  Result<std::unique_ptr<Workload>> tried(Task task) {
    task.name = "front";
    task.model = model_;
    return make_workload(task, DeviceKind::host);
  }
  static Task asked(std::optional<Bytes> footprint, std::optional<Bytes> swappable = {},
                    MemoryClass kind = MemoryClass::state) {
    Task task;
    task.footprint = footprint;
    task.swappable = swappable;
    task.memory_class = kind;
    return task;
  }
  [[nodiscard]] Bytes needed() const { return own_.constant + own_.scratch; }

  test::ScratchFolder folder_;
  std::filesystem::path model_ = write(folder_, "net.onnx", small_model());
  MemoryDemand own_;
};

constexpr Bytes mebi{1 << 20};

TEST_F(Footprint, AddsOneObjectOfGivenMemoryClass) {
  struct Case {
    MemoryClass kind;
    Bytes MemoryDemand::*size;
  };
  for (const auto& [kind, size] : {Case{MemoryClass::constant, &MemoryDemand::constant},
                                   {MemoryClass::scratch, &MemoryDemand::scratch},
                                   {MemoryClass::state, &MemoryDemand::state}}) {
    const auto workload = load(asked(needed() + mebi * 5, needed() + mebi * 3, kind));
    auto expected = own_;
    expected.*size += mebi * 3;
    const auto demand = workload->memory();
    EXPECT_EQ(demand.constant, expected.constant);
    EXPECT_EQ(demand.scratch, expected.scratch);
    EXPECT_EQ(demand.state, expected.state);
    EXPECT_EQ(demand.fixed, mebi * 2);
    ASSERT_EQ(demand.objects.size(), own_.objects.size() + 1);
    EXPECT_EQ(demand.objects.back().kind, kind);
    EXPECT_EQ(demand.objects.back().offset, own_.*size);
    EXPECT_EQ(demand.objects.back().size, mebi * 3);
    EXPECT_EQ(workload->constants().size(), demand.constant.count);
  }
}

TEST_F(Footprint, AddsZerosBehindConstantsOfNetwork) {
  const auto plain = load({});
  const auto workload = load(asked(needed() + mebi * 4096, {}, MemoryClass::constant));
  const auto own = plain->constants(), all = workload->constants();
  ASSERT_EQ(all.size(), own.size() + (std::size_t{4096} << 20));
  EXPECT_TRUE(std::ranges::equal(own, all.first(own.size())));
  EXPECT_TRUE(std::ranges::all_of(all.subspan(own.size(), 8192), [](std::byte byte) { return byte == std::byte{0}; }));
  EXPECT_EQ(all.back(), std::byte{0});
}

TEST_F(Footprint, AddsNothingWhenEqualToNetworkDemand) {
  const auto demand = load(asked(needed()))->memory();
  EXPECT_EQ(demand.fixed + demand.state, Bytes{0});
  EXPECT_EQ(demand.objects.size(), own_.objects.size());
  EXPECT_EQ(load(asked(needed() + mebi, needed()))->memory().fixed, mebi) << "all that is added";
}

TEST_F(Footprint, RejectionsStateTheSizes) {
  const auto small = tried(asked(needed() - Bytes{1}));
  EXPECT_TRUE(test::fails(small, Errc::bad_input, "task 'front'"));
  for (const auto& number : {"footprint = " + to_string(needed() - Bytes{1}), to_string(needed()),
                             to_string(own_.constant), to_string(own_.scratch)})
    EXPECT_THAT(test::problem(small), HasSubstr(number));
  const auto fixed = tried(asked(needed() + mebi, needed() - Bytes{64}));
  EXPECT_TRUE(test::fails(fixed, Errc::bad_input, "task 'front'"));
  for (const auto& number : {"swappable = " + to_string(needed() - Bytes{64}), to_string(mebi + Bytes{64}),
                             to_string(needed() + mebi), to_string(needed())})
    EXPECT_THAT(test::problem(fixed), HasSubstr(number));
  EXPECT_TRUE(test::fails(tried(asked(needed(), needed() + mebi)), Errc::bad_input,
                          "more than its footprint, " + to_string(needed())));
  EXPECT_TRUE(test::fails(tried(asked({}, mebi)), Errc::bad_input, "which is missing"));
}

TEST_F(Footprint, StaysUnchangedWhenNetworkIsTuned) {
  auto graph = read_onnx(model_);
  ASSERT_TRUE(graph);
  optimise(*graph);
  const auto network = CudaNetwork::build(*graph, Precision::fp32);
  ASSERT_TRUE(network);
  const auto& calls = (*network)->program().calls;
  const auto conv = std::ranges::find_if(
      calls, [](const cuda::Call& call) { return std::holds_alternative<cuda::ConvCall>(call.what); });
  ASSERT_NE(conv, calls.end());
  const std::vector<std::string> tuning{cuda::geometry_of(std::get<cuda::ConvCall>(conv->what)) +
                                        " = cudnn 1 workspace 1048576"};
  const auto own = (*network)->memory();
  const auto used = [&](Bytes beside) {
    auto workload = DnnWorkload::load(
        model_, DeviceKind::cuda, Precision::fp32,
        DnnWorkload::Footprint{own.constant + own.scratch + beside, own.constant + own.scratch + beside});
    EXPECT_EQ(test::problem(workload), "none");
    EXPECT_EQ((*workload)->memory().state, beside);
    const auto result = (*workload)->use(tuning);
    if (result) {
      const auto demand = (*workload)->memory();
      EXPECT_GT(demand.scratch, own.scratch);
      EXPECT_EQ(demand.constant + demand.scratch + demand.state, own.constant + own.scratch + beside)
          << "the footprint stays";
    }
    return result;
  };
  EXPECT_EQ(test::problem(used(mebi * 2)), "none");
  EXPECT_TRUE(test::fails(used(Bytes{4096}), Errc::bad_input, "less than the network needs"));
}

} // namespace
} // namespace rtexec::tasks
