#include "test/tasks/cuda_gpu.hpp"

#include "tasks/engine/cuda/attention_plan.hpp"
#include "tasks/engine/cuda/conv_plan.hpp"
#include "tasks/loads/benchmarks/cuda/benchmark_arguments.hpp"
#include "test/tasks/cuda_emulation/emulation.hpp"
#include "test/tasks/dnn_test_graph.hpp"

#include <cmath>
#include <limits>

namespace rtexec::tasks {
namespace {

namespace emulation = test::emulation;
using Dimensions = hal::test::FakeCudaDriver::Dimensions;

constexpr unsigned max_shared = 227 << 10;

void launch(emulation::EmulatedKernel kernel, Dimensions grid, Dimensions block, void** arguments, unsigned cluster) {
  kernel({"", grid.x, grid.y, grid.z, block.x, max_shared, cluster}, arguments);
}

void add(hal::test::FakeCudaDriver& driver, const std::string& name, std::size_t size) {
  const auto kernel = emulation::find_kernel(name);
  if (!kernel) return;
  const bool conv = name.starts_with("conv_"), always_clustered = name.starts_with("recurrent_") ||
                                                                  name.starts_with("persistent_") ||
                                                                  name.starts_with("fused_");
  driver.add_kernel(name, {size}, [=](Dimensions grid, Dimensions block, void** arguments) {
    const auto* a = conv ? static_cast<const cuda::ConvArguments*>(arguments[0]) : nullptr;
    const bool clustered = always_clustered || (a && a->in_cluster);
    launch(kernel, grid, block, arguments, !clustered ? 1 : a ? static_cast<unsigned>(a->splits) : grid.z);
  });
}

void add_benchmarks(hal::test::FakeCudaDriver& driver) {
  using namespace cuda;
  add(driver, "benchmark_fill", sizeof(FillArguments));
  add(driver, "benchmark_add", sizeof(AddArguments));
  add(driver, "benchmark_multiply", sizeof(MatrixMultiplyArguments));
  add(driver, "benchmark_align", sizeof(NeedlemanWunschArguments));
  add(driver, "benchmark_factors", sizeof(GaussianArguments));
  add(driver, "benchmark_eliminate", sizeof(GaussianArguments));
  add(driver, "benchmark_heat", sizeof(HotspotArguments));
  add(driver, "benchmark_step_row", sizeof(PathfinderArguments));
  add(driver, "benchmark_expand_level", sizeof(BfsArguments));
  add(driver, "benchmark_measure", sizeof(NearestNeighbourArguments));
  add(driver, "benchmark_update", sizeof(RandomAccessArguments));
  add(driver, "benchmark_join", sizeof(ClusteringArguments));
}

/// Adds the kernels that exist for both floats and integers.
void add_integers(hal::test::FakeCudaDriver& driver) {
  using namespace cuda;
  for (const std::string storage : {"_f", "_h", "_b", "_s", "_w"}) {
    add(driver, "gather" + storage, sizeof(GatherConstantArguments));
    add(driver, "pad" + storage, sizeof(PadArguments));
    add(driver, "take" + storage, sizeof(GatherArguments));
  }
  for (const std::string storage : {"_f", "_h", "_i"}) {
    for (const auto* name : {"reduce_rows", "reduce_columns", "find_rows", "find_columns"})
      add(driver, name + storage, sizeof(ReduceArguments));
    add(driver, "binary" + storage, sizeof(BinaryArguments));
    add(driver, "put" + storage, sizeof(ScatterArguments));
    add(driver, "running_sum" + storage, sizeof(CumSumArguments));
    add(driver, "top_indices" + storage, sizeof(TopKArguments));
    add(driver, "top_selected" + storage, sizeof(TopKArguments));
  }
  add(driver, "copy_ss", sizeof(CopyArguments));
  add(driver, "copy_ww", sizeof(CopyArguments));
  add(driver, "cast_elements", sizeof(CastArguments));
  add(driver, "select_elements", sizeof(WhereArguments));
  add(driver, "gemm_i", sizeof(GemmArguments));
  add(driver, "conv_bytes", sizeof(ConvArguments));
  add(driver, "conv_i", sizeof(ConvArguments));
}

void add_all(hal::test::FakeCudaDriver& driver) {
  using namespace cuda;
  for (const auto& variant : conv_variants()) add(driver, variant.kernel, sizeof(ConvArguments));
  add(driver, "clear", sizeof(ClearArguments));
  add_benchmarks(driver);
  for (const auto* name : {"from_f32", "from_f16", "from_bytes", "from_booleans", "to_f32", "to_f16", "to_bytes"})
    add(driver, name, sizeof(ConvertArguments));
  for (const auto precision : {Precision::fp32, Precision::tf32, Precision::fp16})
    for (const int size : {32, 64, 128})
      for (const int key_warps : {1, 2, 4})
        add(driver, attention_kernel(precision, size, key_warps), sizeof(AttentionArguments));
  for (const std::string storage : {"_f", "_h"}) {
    add(driver, "attention" + storage, sizeof(AttentionArguments));
    for (const auto* name : {"depthwise", "depthwise_strips", "conv_direct", "conv_rows"})
      add(driver, name + storage, sizeof(ConvArguments));
    for (const auto* name : {"softmax_rows", "softmax_columns", "log_softmax_rows", "log_softmax_columns"})
      add(driver, name + storage, sizeof(ReduceArguments));
    add(driver, "scale_shift" + storage, sizeof(ScaleShiftArguments));
    add(driver, "lrn" + storage, sizeof(LrnArguments));
    add(driver, "image_in" + storage, sizeof(ImageInArguments));
    add(driver, "pool" + storage, sizeof(PoolArguments));
    add(driver, "global_average" + storage, sizeof(GlobalAverageArguments));
    add(driver, "resize" + storage, sizeof(ResizeArguments));
    add(driver, "gemm_generic" + storage, sizeof(GemmArguments));
    add(driver, "multiply_add" + storage, sizeof(MultiplyAddArguments));
    add(driver, "normalise" + storage, sizeof(LayerNormArguments));
    add(driver, "normalise_rows" + storage, sizeof(LayerNormRowsArguments));
    add(driver, "resample" + storage, sizeof(ResampleArguments));
    add(driver, "grid_sample" + storage, sizeof(GridSampleArguments));
    add(driver, "deformable" + storage, sizeof(DeformableArguments));
    add(driver, "recurrent" + storage, sizeof(RecurrentArguments));
    for (const auto* kind : {"lstm", "gru", "simple"}) {
      add(driver, "persistent_" + (kind + storage), sizeof(RecurrentArguments));
      add(driver, "fused_" + (kind + storage), sizeof(StackArguments));
    }
  }
  for (const std::string kind : {"_ff", "_fh", "_fb", "_hf", "_hh", "_hb", "_bf", "_bh", "_bb"})
    add(driver, "rescale" + kind, sizeof(RescaleArguments));
  for (const std::string kind : {"_ff", "_fh", "_hf", "_hh", "_bb"})
    for (const auto* name : {"copy", "transpose"}) add(driver, name + kind, sizeof(CopyArguments));
  add_integers(driver);
}

} // namespace

EmulatedGpu::EmulatedGpu(const hal::test::FakeCudaProperties& properties) : driver_(properties) {
  add_all(driver_);
  auto device = hal::CudaDevice::open({});
  EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().what);
  if (device) device_ = std::move(*device);
}

cuda::Executor::Options EmulatedGpu::launching() {
  static constexpr char text[] = "emulated";
  static constexpr cuda::KernelImage image{"emulated", 50, true, text, sizeof text};
  return {{&image, 1}, false, false};
}

BoundNetwork::BoundNetwork(hal::CudaDevice& device, std::unique_ptr<CudaNetwork> network)
    : device_(device), network_(std::move(network)) {
  if (const auto placed = place(); !placed) error_ = placed.error().what;
}

BoundNetwork::~BoundNetwork() {
  network_.reset();
  for (const auto& buffer : buffers_) (void)device_.free(buffer);
}

Result<> BoundNetwork::place() {
  const auto constants = network_->constants();
  const MemoryDemand demand = network_->memory();
  for (const Bytes size : {Bytes{constants.size()}, demand.scratch, demand.state, demand.carry}) {
    auto buffer = device_.allocate(BufferKind::device, size + Bytes{256});
    if (!buffer) return Unexpected(buffer.error());
    buffers_.push_back(*buffer);
  }
  if (!constants.empty())
    if (const auto copied = device_.copy(buffers_[0].device, constants.data(), Bytes{constants.size()}); !copied)
      return fail(copied.error(), "copying the constants failed");
  return network_->bind(device_, {.constant = buffers_[0].device,
                                  .scratch = buffers_[1].device,
                                  .state = buffers_[2].device,
                                  .carry = buffers_[3].device});
}

std::vector<float> BoundNetwork::run(const std::vector<float>& input) {
  fill_inputs(*network_, input);
  return run_as_set();
}

std::vector<float> BoundNetwork::run_as_set() {
  const std::vector<std::byte> garbage(network_->scratch().count, std::byte{0xff});
  EXPECT_TRUE(garbage.empty() || device_.copy(buffers_[1].device, garbage.data(), Bytes{garbage.size()}).has_value());
  const auto done = network_->run();
  EXPECT_TRUE(done.has_value()) << (done ? "" : name(done.error()));
  return outputs_of(*network_);
}

GpuRun run_on(hal::CudaDevice& device, const Graph& graph, Precision precision,
              const cuda::Executor::Options& launching, const std::vector<float>& input) {
  auto built = CudaNetwork::build(graph, precision, {launching, true});
  if (!built) return {{}, built.error().what};
  BoundNetwork bound(device, std::move(*built));
  if (!bound.error().empty()) return {{}, bound.error()};
  return {bound.run(input), {}};
}

double relative_error(const std::vector<float>& values, const std::vector<float>& reference) {
  if (values.size() != reference.size()) return std::numeric_limits<double>::infinity();
  double largest = 0, distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]) != std::isnan(reference[i])) return std::numeric_limits<double>::infinity();
    if (std::isnan(values[i]) || values[i] == reference[i]) continue;
    largest = std::max(largest, std::abs(static_cast<double>(reference[i])));
    distance = std::max(distance, std::abs(static_cast<double>(values[i]) - static_cast<double>(reference[i])));
  }
  for (const auto value : reference)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return distance == 0 ? 0 : distance / largest;
}

} // namespace rtexec::tasks
