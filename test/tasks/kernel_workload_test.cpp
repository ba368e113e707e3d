// Tests the micro-benchmarks of memory policies against a second implementation of their definitions, applied to the
// inputs that they made. Every policy and every device must give the same bits.
#include "tasks/loads/benchmarks/kernel_workload.hpp"

#include "hal/host/host_device.hpp"
#include "tasks/make/make_workload.hpp"
#include "test/hal/gpu.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/thread_counts.hpp"
#include "test/tasks/cuda_emulation/emulation.hpp"
#include "test/tasks/cuda_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <ostream>
#include <set>
#include <string>

namespace rtexec::tasks {

void PrintTo(const Footprint& footprint, std::ostream* out) {
  *out << to_string(footprint.host) << " of the host and " << to_string(footprint.device) << " of the device";
}

namespace {

using benchmark::Direction;

constexpr std::array policies{MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host};

/// Contents of arrays on the host, by name.
class Contents {
 public:
  /// Holds the arrays with a `wanted` direction.
  Contents(const KernelWorkload& workload, bool (*wanted)(Direction)) {
    for (std::size_t i = 0; i < workload.arrays().size(); ++i) {
      const auto& array = workload.arrays()[i];
      if (!wanted(array.direction())) continue;
      bytes_[std::string(workload.demands()[i].name)].assign(array.host(), array.host() + array.size().count);
    }
  }
  template <class T> [[nodiscard]] std::vector<T> get(const std::string& name) const {
    const auto& bytes = bytes_.at(name);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  friend bool operator==(const Contents&, const Contents&) = default;

 private:
  std::map<std::string, std::vector<std::byte>> bytes_;
};

/// The expected outputs as doubles, and the tolerance of a float.
struct Expected {
  std::map<std::string, std::vector<double>> values;
  double tolerance = 0;
};

/// A function that returns the outputs for a size and the inputs.
using Definition = std::function<Expected(std::size_t size, const Contents& in)>;

template <class T> std::vector<double> doubles(const Contents& from, const std::string& name) {
  const auto values = from.get<T>(name);
  return {values.begin(), values.end()};
}

Expected sum_of(const Contents& in) {
  auto sum = doubles<float>(in, "a");
  const auto b = doubles<float>(in, "b");
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
  return {{{"sum", sum}}, 1e-6};
}

Expected product_of(std::size_t n, const Contents& in) {
  const auto a = doubles<float>(in, "a"), b = doubles<float>(in, "b");
  std::vector<double> product(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < n; ++k) product[i * n + j] += a[i * n + k] * b[k * n + j];
  return {{{"product", product}}, 1e-5};
}

Expected alignment_of(std::size_t n, const Contents& in) {
  const auto similarity = in.get<std::int32_t>("similarity");
  EXPECT_EQ(similarity.size(), n * n);
  const std::size_t width = n + 1;
  std::vector<double> scores(width * width);
  for (std::size_t i = 0; i <= n; ++i)
    for (std::size_t j = 0; j <= n; ++j) {
      double best = i == 0 && j == 0 ? 0 : -1e9;
      if (i > 0) best = std::max(best, scores[(i - 1) * width + j] - 10);
      if (j > 0) best = std::max(best, scores[i * width + j - 1] - 10);
      if (i > 0 && j > 0) best = std::max(best, scores[(i - 1) * width + j - 1] + similarity[(i - 1) * n + j - 1]);
      scores[i * width + j] = best;
    }
  return {{{"scores", scores}}, 0};
}

Expected triangle_of(std::size_t n, const Contents& in) {
  auto a = doubles<float>(in, "matrix"), b = doubles<float>(in, "right");
  for (std::size_t pivot = 0; pivot < n; ++pivot)
    for (std::size_t i = pivot + 1; i < n; ++i) {
      const double factor = a[i * n + pivot] / a[pivot * n + pivot];
      for (std::size_t j = pivot; j < n; ++j) a[i * n + j] -= factor * a[pivot * n + j];
      a[i * n + pivot] = 0;
      b[i] -= factor * b[pivot];
    }
  return {{{"matrix", a}, {"right", b}}, 1e-5};
}

Expected warmth_of(std::size_t n, const Contents& in) {
  const auto t = doubles<float>(in, "temperature"), power = doubles<float>(in, "power");
  std::vector<double> result(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const auto own = t[i * n + j];
      const auto from = [&](std::size_t row, std::size_t column) {
        return row < n && column < n ? t[row * n + column] - own : 0; // -1 becomes large
      };
      result[i * n + j] = own + 0.5 * power[i * n + j] + 0.125 * (from(i - 1, j) + from(i + 1, j)) +
                          0.1 * (from(i, j - 1) + from(i, j + 1)) + 0.0125 * (80 - own);
    }
  return {{{"result", result}}, 1e-6};
}

Expected paths_of(std::size_t columns, const Contents& in) {
  const auto wall = in.get<std::int32_t>("wall");
  EXPECT_EQ(wall.size(), 513 * columns);
  std::vector<double> costs(wall.begin(), wall.begin() + static_cast<std::ptrdiff_t>(columns));
  for (std::size_t row = 1; row < 513; ++row) {
    const auto before = costs;
    for (std::size_t j = 0; j < columns; ++j) {
      double least = before[j];
      for (const std::size_t from : {j - 1, j + 1})
        if (from < columns) least = std::min(least, before[from]);
      costs[j] = wall[row * columns + j] + least;
    }
  }
  return {{{"costs", costs}}, 0};
}

Expected levels_of(std::size_t nodes, const Contents& in) {
  const auto first = in.get<std::uint32_t>("first"), neighbours = in.get<std::uint32_t>("neighbours");
  EXPECT_EQ(first.back(), neighbours.size());
  std::vector<double> levels(nodes, -1);
  std::vector<std::size_t> queue{0};
  levels[0] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (auto edge = first[queue[i]]; edge < first[queue[i] + 1]; ++edge)
      if (levels.at(neighbours[edge]) < 0) {
        levels[neighbours[edge]] = levels[queue[i]] + 1;
        queue.push_back(neighbours[edge]);
      }
  EXPECT_LE(std::ranges::max(levels), 24);
  EXPECT_TRUE(nodes <= 100 || queue.size() > nodes * 9 / 10) << "most nodes are found";
  return {{{"levels", levels}}, 0};
}

Expected distances_of(const Contents& in) {
  auto x = doubles<float>(in, "x");
  const auto y = doubles<float>(in, "y");
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::hypot(x[i] - 0.25, y[i] - 0.75);
  return {{{"distances", x}}, 1e-6};
}

Expected updated(std::size_t count, const Contents& in) {
  auto table = in.get<std::uint32_t>("table");
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t bits = (i * 2654435769ULL + 1) & 0xffffffffU;
    bits = (bits ^ bits >> 16) * 2146121005 & 0xffffffffU;
    bits = (bits ^ bits >> 15) * 2221713035 & 0xffffffffU;
    bits ^= bits >> 16;
    table.at(bits * count / 4294967296) ^= static_cast<std::uint32_t>(bits);
  }
  std::vector<double> values;
  for (const auto word : table) values.push_back(static_cast<std::int32_t>(word));
  return {{{"table", values}}, 0};
}

/// Joins points, and labels each cluster with its least point.
Expected clusters_of(std::size_t count, const Contents& in) {
  const auto x = in.get<float>("x"), y = in.get<float>("y"), z = in.get<float>("z");
  std::vector<std::size_t> parent(count);
  std::iota(parent.begin(), parent.end(), 0U);
  const auto root = [&](std::size_t i) {
    while (parent[i] != i) i = parent[i];
    return i;
  };
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = i + 1; j < count; ++j) {
      const float dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
      if (dx * dx + dy * dy + dz * dz > 1) continue;
      const auto a = root(i), b = root(j);
      parent[std::max(a, b)] = std::min(a, b);
    }
  std::vector<double> labels;
  for (std::size_t i = 0; i < count; ++i) labels.push_back(static_cast<double>(root(i)));
  const auto clusters = std::set(labels.begin(), labels.end()).size();
  EXPECT_TRUE(count <= 100 || (clusters > 2 && clusters < count / 2)) << clusters;
  return {{{"labels", labels}}, 0};
}

struct Case {
  WorkloadKind kind;
  std::vector<unsigned> sizes; // sizes to compute
  bool floats;
  Definition definition;
  unsigned large; // for footprints, and for a GPU
  std::size_t kernels;
};

void PrintTo(const Case& each, std::ostream* out) { *out << name(each.kind); }

const std::vector<Case>& cases() {
  using enum WorkloadKind;
  static const std::vector<Case> all{
      {vector_add,
       {1, 255, 256, 257, 5000},
       true,
       [](std::size_t size, const Contents& in) {
         EXPECT_EQ(in.get<float>("a").size(), size);
         return sum_of(in);
       },
       1 << 20,
       1},
      {matrix_add,
       {1, 16, 77},
       true,
       [](std::size_t size, const Contents& in) {
         EXPECT_EQ(in.get<float>("a").size(), size * size);
         return sum_of(in);
       },
       1 << 10,
       1},
      {matrix_multiply, {1, 15, 16, 17, 50}, true, product_of, 1 << 10, 1},
      {needleman_wunsch, {1, 15, 16, 17, 45}, false, alignment_of, 1 << 10, 2 * 3 - 1},
      {gaussian, {2, 3, 16, 33}, true, triangle_of, 1 << 10, 2 * 32},
      {hotspot, {1, 2, 33, 64, 257}, true, warmth_of, 1 << 10, 1},
      {pathfinder, {1, 2, 100, 257}, false, paths_of, 1 << 10, 512},
      {bfs, {1, 2, 9, 256, 1000}, false, levels_of, 1 << 20, 24},
      {nearest_neighbour,
       {1, 255, 256, 3001},
       true,
       [](std::size_t, const Contents& in) { return distances_of(in); },
       1 << 20,
       1},
      {random_access, {1, 255, 256, 3001}, false, updated, 1 << 20, 1},
      {euclidean_clustering, {1, 2, 33, 257}, false, clusters_of, 1 << 13, 16},
  };
  return all;
}

/// A workload that is bound to a device.
class Placed {
 public:
  Placed(const KernelWorkload::Options& options, Device& device) {
    auto made = KernelWorkload::make(options, device.kind());
    EXPECT_EQ(test::problem(made), "none");
    if (!made) return;
    workload_ = std::move(*made);
    bound_ = test::problem(workload_->bind(device, {}));
  }
  [[nodiscard]] const std::string& bound() const { return bound_; }
  [[nodiscard]] KernelWorkload& operator*() { return *workload_; }
  [[nodiscard]] KernelWorkload* operator->() { return workload_.get(); }

  [[nodiscard]] Contents make_inputs(std::uint64_t job) {
    EXPECT_TRUE(workload_->before(job));
    return {*workload_, benchmark::goes_in};
  }
  [[nodiscard]] Contents compute(std::uint64_t job) {
    EXPECT_TRUE(workload_->execute());
    EXPECT_TRUE(workload_->after(job));
    return {*workload_, benchmark::goes_out};
  }

 private:
  std::unique_ptr<KernelWorkload> workload_;
  std::string bound_ = "not made";
};

std::unique_ptr<hal::HostDevice> host_device() {
  return std::move(*hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20}));
}

void expect(const Contents& out, const Expected& expected, bool floats) {
  for (const auto& [name, values] : expected.values) {
    const auto got = floats ? doubles<float>(out, name) : doubles<std::int32_t>(out, name);
    ASSERT_EQ(got.size(), values.size()) << name;
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_LE(std::abs(got[i] - values[i]), expected.tolerance * std::max(1.0, std::abs(values[i])))
          << name << "[" << i << "] is " << got[i] << ", not " << values[i];
  }
}

class BenchmarkKernel : public testing::TestWithParam<Case> {
 protected:
  /// Returns the output of job 3 on `device`, after a job with other inputs.
  static Contents third_job(unsigned size, MemoryPolicy policy, Device& device,
                            std::span<const cuda::KernelImage> images = cuda::kernel_images()) {
    Placed placed({GetParam().kind, size, policy, images}, device);
    EXPECT_EQ(placed.bound(), "none");
    (void)placed.make_inputs(2);
    (void)placed.compute(2);
    (void)placed.make_inputs(3);
    return placed.compute(3);
  }
  static Contents on_host(unsigned size) { return third_job(size, MemoryPolicy::device, *host_device()); }
};

TEST_P(BenchmarkKernel, MatchesReference) {
  const auto device = host_device();
  for (const unsigned size : GetParam().sizes) {
    SCOPED_TRACE(size);
    Placed placed({GetParam().kind, size}, *device);
    ASSERT_EQ(placed.bound(), "none");
    for (const std::uint64_t job : {0U, 1U}) {
      const auto in = placed.make_inputs(job);
      const auto before = placed->checksum();
      expect(placed.compute(job), GetParam().definition(size, in), GetParam().floats);
      EXPECT_TRUE(size <= 100 || placed->checksum() != before) << "other inputs, other results";
    }
  }
}

TEST_P(BenchmarkKernel, GivesSameResultUnderEveryMemoryPolicy) {
  const auto device = host_device();
  for (const unsigned size : GetParam().sizes)
    for (const auto policy : policies) EXPECT_EQ(third_job(size, policy, *device), on_host(size)) << size;
  EXPECT_EQ(device->memory_use().value().own, Bytes{0}) << "all is given back";
}

/// D, H, D, H, ...: each job finds the inputs that the host made for it, and the host finds its outputs.
TEST_P(BenchmarkKernel, GivesSameResultWhenPolicySwitchesBetweenJobs) {
  const auto device = host_device();
  const unsigned size = GetParam().sizes.back();
  Placed switching({GetParam().kind, size, MemoryPolicy::switching}, *device);
  Placed plain({GetParam().kind, size}, *device);
  ASSERT_EQ(switching.bound(), "none");
  EXPECT_EQ(switching->footprint(), plain->footprint()) << "H has no memory of its own";
  for (std::uint64_t job = 0; job < 6; ++job) {
    EXPECT_EQ(switching.make_inputs(job), plain.make_inputs(job));
    const auto before = test::allocations();
    EXPECT_TRUE(switching->execute_as(job % 2 == 0 ? MemoryPolicy::device : MemoryPolicy::host));
    EXPECT_TRUE(switching->after(job));
    EXPECT_EQ(test::allocations(), before);
    EXPECT_EQ(Contents(*switching, benchmark::goes_out), plain.compute(job)) << job;
    EXPECT_EQ(switching->checksum(), plain->checksum());
  }
}

/// A job under H must not read data that the previous job under D left on the device.
TEST(KernelWorkload, UsesHostMemoryUnderPolicyHAndDeviceMemoryUnderPolicyD) {
  const auto device = host_device();
  Placed placed({WorkloadKind::vector_add, 1000, MemoryPolicy::switching}, *device);
  ASSERT_EQ(placed.bound(), "none");
  (void)placed.make_inputs(1);
  const auto& out = placed->arrays().back();
  ASSERT_NE(out.host(), out.device());
  std::memset(out.device(), 0x55, out.size().count);
  EXPECT_TRUE(placed->execute_as(MemoryPolicy::host));
  EXPECT_EQ(std::to_integer<int>(out.device()[0]), 0x55) << "the device's own memory is left alone";
  const Contents in_place(*placed, benchmark::goes_out);
  EXPECT_TRUE(placed->execute_as(MemoryPolicy::device));
  EXPECT_NE(std::to_integer<int>(out.device()[0]), 0x55);
  EXPECT_EQ(Contents(*placed, benchmark::goes_out), in_place);
}

TEST_P(BenchmarkKernel, HasExpectedNumberOfLaunches) {
  const auto device = host_device();
  Placed placed({GetParam().kind, GetParam().sizes.back()}, *device);
  EXPECT_EQ(placed->steps().size(), GetParam().kernels);
  EXPECT_EQ(benchmark::benchmark_of(placed->kind()).traffic(placed->size()).size(), GetParam().kernels);
}

TEST_P(BenchmarkKernel, RunsJobsWithoutAllocating) {
  const auto device = host_device();
  for (const auto policy : policies) {
    Placed placed({GetParam().kind, GetParam().sizes.back(), policy}, *device);
    const auto before = test::allocations();
    for (const std::uint64_t job : {0U, 1U})
      EXPECT_TRUE(placed->before(job) && placed->execute() && placed->after(job));
    EXPECT_EQ(test::allocations(), before);
  }
}

TEST_P(BenchmarkKernel, NeedsTwiceTheMemoryWhenDataIsCopied) {
  const auto footprint = [](MemoryPolicy policy) {
    return KernelWorkload::make({GetParam().kind, GetParam().large, policy}, DeviceKind::host).value()->footprint();
  };
  const Footprint managed = footprint(MemoryPolicy::managed), host = footprint(MemoryPolicy::host),
                  device = footprint(MemoryPolicy::device);
  Bytes only_device{0};
  for (const auto& demand : benchmark::benchmark_of(GetParam().kind).arrays(GetParam().large))
    if (demand.direction == Direction::device) only_device += demand.size;
  EXPECT_EQ(managed.host, Bytes{0});
  EXPECT_EQ(host.total(), managed.total());
  EXPECT_EQ(host.device, only_device);
  EXPECT_EQ(device.device, managed.device);
  EXPECT_NEAR(static_cast<double>(device.total().count) / static_cast<double>(managed.total().count), 2, 0.1);
  EXPECT_EQ(footprint(MemoryPolicy::automatic), device);
}

TEST_P(BenchmarkKernel, FootprintMatchesAllocatedMemory) {
  for (const auto policy : policies) {
    const auto device = host_device();
    Placed placed({GetParam().kind, GetParam().sizes.back(), policy}, *device);
    const auto said = placed->footprint().total();
    EXPECT_EQ(placed->memory().outside + placed->memory().host, said) << "so that plans count them";
    const auto taken = device->memory_use().value().own;
    EXPECT_GE(taken, said);
    EXPECT_LT(taken, said + Bytes{4096} * (2 * placed->demands().size())) << "whole pages";
  }
}

TEST_P(BenchmarkKernel, EmulatedGpuGivesHostResult) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu;
  const auto before = gpu.driver().objects().buffers;
  for (const unsigned size : GetParam().sizes)
    for (const auto policy : policies)
      EXPECT_EQ(third_job(size, policy, gpu.device(), EmulatedGpu::launching().images), on_host(size)) << size;
  for (const auto as : {MemoryPolicy::device, MemoryPolicy::host}) {
    const unsigned size = GetParam().sizes.back();
    Placed placed({GetParam().kind, size, MemoryPolicy::switching, EmulatedGpu::launching().images}, gpu.device());
    ASSERT_EQ(placed.bound(), "none");
    (void)placed.make_inputs(3);
    EXPECT_TRUE(placed->execute_as(as) && placed->after(3));
    EXPECT_EQ(Contents(*placed, benchmark::goes_out), on_host(size));
  }
  EXPECT_EQ(gpu.driver().objects().buffers, before) << "all is given back";
}

/// Threads begin in reverse order, to reveal a dependence on their order.
TEST_P(BenchmarkKernel, GivesHostResultInReverseThreadOrder) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu;
  test::emulation::set_order(test::emulation::Order::reverse);
  const unsigned size = GetParam().sizes.back();
  EXPECT_EQ(third_job(size, MemoryPolicy::device, gpu.device(), EmulatedGpu::launching().images), on_host(size));
  test::emulation::set_order(test::emulation::Order::forward);
}

/// Tests for a machine with a GPU.
class BenchmarkKernelOnGpu : public BenchmarkKernel {};

TEST_P(BenchmarkKernelOnGpu, GivesHostResult) {
  if (const auto why = hal::test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  auto device = hal::CudaDevice::open({.capacity = Bytes{64 << 20}});
  ASSERT_TRUE(device.has_value()) << device.error().what;
  auto sizes = GetParam().sizes;
  sizes.push_back(GetParam().large);
  for (const unsigned size : sizes) {
    const auto expected = on_host(size);
    for (const auto policy : policies) EXPECT_EQ(third_job(size, policy, **device), expected) << size;
  }
}

std::string test_name(const testing::TestParamInfo<Case>& each) {
  std::string text(name(each.param.kind));
  std::erase(text, '-');
  return text;
}
INSTANTIATE_TEST_SUITE_P(Kernels, BenchmarkKernel, testing::ValuesIn(cases()), test_name);
INSTANTIATE_TEST_SUITE_P(Kernels, BenchmarkKernelOnGpu, testing::ValuesIn(cases()), test_name);

TEST(KernelWorkload, IsCreatedFromTask) {
  Task task;
  task.name = "sums";
  task.workload = WorkloadKind::vector_add;
  EXPECT_TRUE(test::fails(make_workload(task, DeviceKind::host), Errc::bad_input,
                          "task 'sums': size = 0: a vector-add task computes on 1 to 268435456 elements"));
  task.size = 1000;
  const auto made = make_workload(task, DeviceKind::host);
  ASSERT_EQ(test::problem(made), "none");
  EXPECT_TRUE((*made)->uses_device());
  EXPECT_EQ((*made)->memory().scratch, Bytes{0}) << "its memory is its own";
  task.footprint = Bytes{1 << 30};
  EXPECT_TRUE(test::fails(make_workload(task, DeviceKind::host), Errc::bad_input, "footprint"));
}

TEST(KernelWorkload, FingerprintDependsOnSizePolicyAndDevice) {
  const auto print = [](const KernelWorkload::Options& options, DeviceKind kind = DeviceKind::host) {
    return KernelWorkload::make(options, kind).value()->fingerprint();
  };
  const KernelWorkload::Options options{WorkloadKind::vector_add, 100, MemoryPolicy::automatic};
  EXPECT_EQ(print(options), print({WorkloadKind::vector_add, 100, MemoryPolicy::device}));
  EXPECT_NE(print(options), print({WorkloadKind::vector_add, 101, MemoryPolicy::device}));
  EXPECT_NE(print(options), print({WorkloadKind::vector_add, 100, MemoryPolicy::managed}));
  EXPECT_NE(print(options), print(options, DeviceKind::cuda));
  KernelWorkload::Options faulting{WorkloadKind::vector_add, 100, MemoryPolicy::managed};
  const auto prefetched = print(faulting, DeviceKind::cuda);
  faulting.prefetch = false;
  EXPECT_NE(print(faulting, DeviceKind::cuda), prefetched);
}

TEST(KernelWorkload, MeasuresKernelTimeWithoutChangingResults) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  const auto device = host_device();
  Placed whole({WorkloadKind::bfs, 1000}, *device), timed({WorkloadKind::bfs, 1000}, *device);
  EmulatedGpu gpu;
  Placed on_gpu({WorkloadKind::bfs, 1000, MemoryPolicy::device, EmulatedGpu::launching().images}, gpu.device());
  for (const std::uint64_t job : {0U, 1U}) {
    (void)whole.make_inputs(job);
    const auto expected = whole.compute(job);
    for (Placed* each : {&timed, &on_gpu}) {
      (void)each->make_inputs(job);
      const auto took = (*each)->time_kernels();
      ASSERT_EQ(test::problem(took), "none");
      EXPECT_GT(*took, Duration::zero());
      EXPECT_EQ(Contents(**each, benchmark::goes_out), expected);
    }
  }
}

/// Otherwise labels could differ between devices.
TEST(KernelWorkload, ClusteringConvergesWithinItsRounds) {
  const auto device = host_device();
  constexpr unsigned points = 1 << 12;
  Placed placed({WorkloadKind::euclidean_clustering, points}, *device);
  for (const std::uint64_t job : {0U, 1U, 2U}) {
    const auto in = placed.make_inputs(job);
    expect(placed.compute(job), clusters_of(points, in), false);
  }
}

/// To request more memory than is free could hang a real GPU: the driver must not be called.
TEST(KernelWorkload, DoesNotRequestMoreManagedMemoryThanIsFree) {
  EmulatedGpu gpu;
  const auto before = gpu.driver().objects().buffers;
  const auto asked = [&] { return gpu.driver().calls<&hal::cuda::Driver::allocate_managed>(); };
  const auto use = gpu.device().memory_use().value().own;
  gpu.driver().set_others(Bytes{512 << 20} - use - Bytes{10 << 20});
  const auto bind = [&](MemoryPolicy policy) {
    return Placed({WorkloadKind::vector_add, 1 << 20, policy, EmulatedGpu::launching().images}, gpu.device()).bound();
  };
  const int first = asked();
  EXPECT_EQ(bind(MemoryPolicy::managed),
            "its array 'sum': 4.00 MiB of managed memory were requested, 2.00 MiB "
            "are free on Fake GPU.");
  EXPECT_EQ(asked(), first + 2) << "a and b";
  EXPECT_EQ(gpu.driver().objects().buffers, before) << "all is given back";
  EXPECT_EQ(bind(MemoryPolicy::host), "none");
}

TEST(KernelWorkload, BindReportsDriverErrors) {
  EmulatedGpu gpu;
  const auto before = gpu.driver().objects();
  const auto bind = [&] {
    return Placed({WorkloadKind::vector_add, 100, MemoryPolicy::device, EmulatedGpu::launching().images}, gpu.device())
        .bound();
  };
  gpu.driver().fail<&hal::cuda::Driver::copy_async>(hal::cuda::Code::invalid_value);
  EXPECT_THAT(bind(), testing::HasSubstr("copying an array of a micro-benchmark"));
  gpu.driver().fail<&hal::cuda::Driver::launch>(hal::cuda::Code::invalid_value);
  EXPECT_THAT(bind(), testing::HasSubstr("launching kernel benchmark_add"));
  EXPECT_EQ(gpu.driver().objects(), before);
}

/// Returns the moved arrays, of two elements each, and the kernel between them.
std::vector<std::string> work_of_a_job(EmulatedGpu& gpu, KernelWorkload::Options options) {
  options.images = EmulatedGpu::launching().images;
  Placed placed(options, gpu.device());
  EXPECT_EQ(placed.bound(), "none");
  EXPECT_TRUE(placed->before(0));
  gpu.driver().watch_work();
  EXPECT_TRUE(placed->execute());
  std::vector<std::string> done;
  for (const auto& each : gpu.driver().work()) {
    if (each.what == "record") continue;
    EXPECT_EQ(each.stream, gpu.device().stream(hal::EngineKind::compute));
    EXPECT_FALSE(each.behind) << each.what;
    const auto array = std::ranges::find(placed->arrays(), each.at, [](const SharedArray& of) {
      return reinterpret_cast<hal::cuda::DevicePointer>(of.device());
    });
    const bool moved = array != placed->arrays().end();
    EXPECT_EQ(each.size, moved ? array->size().count : 0);
    done.push_back(
        moved ? each.what + ": " +
                    std::string(placed->demands()[static_cast<std::size_t>(array - placed->arrays().begin())].name)
              : each.what);
  }
  EXPECT_TRUE(placed->after(0));
  return done;
}

TEST(KernelWorkload, PrefetchesManagedArraysAroundKernels) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu;
  EXPECT_THAT(
      work_of_a_job(gpu, {WorkloadKind::vector_add, 2, MemoryPolicy::managed}),
      testing::ElementsAre("to device 0: a", "to device 0: b", "to device 0: sum", "benchmark_add", "to host: sum"));
  EXPECT_THAT(work_of_a_job(gpu, {.kind = WorkloadKind::gaussian, .size = 2, .policy = MemoryPolicy::managed}),
              testing::ElementsAre("to device 0: matrix", "to device 0: right", "benchmark_factors",
                                   "benchmark_eliminate", "to host: matrix", "to host: right"))
      << "factors are the device's alone";
}

TEST(KernelWorkload, IssuesNoPrefetchWhenPrefetchIsOff) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu;
  KernelWorkload::Options options{WorkloadKind::vector_add, 2, MemoryPolicy::managed};
  options.prefetch = false;
  EXPECT_THAT(work_of_a_job(gpu, options), testing::ElementsAre("benchmark_add"));
  EXPECT_THAT(work_of_a_job(gpu, {WorkloadKind::vector_add, 2, MemoryPolicy::host}),
              testing::ElementsAre("benchmark_add"));
}

TEST(KernelWorkload, IssuesNoPrefetchWhenDeviceCannotPrefetch) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu({.concurrent_managed = false, .memory = {512 << 20}});
  EXPECT_THAT(work_of_a_job(gpu, {WorkloadKind::vector_add, 2, MemoryPolicy::managed}),
              testing::ElementsAre("benchmark_add"));
}

TEST(KernelWorkload, FailedPrefetchEndsJob) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu;
  Placed placed({WorkloadKind::vector_add, 2, MemoryPolicy::managed, EmulatedGpu::launching().images}, gpu.device());
  for (const int nth : {1, 3, 4}) {
    gpu.driver().fail<&hal::cuda::Driver::prefetch_async>(hal::cuda::Code::invalid_value, nth);
    EXPECT_EQ(placed->execute().error(), Errc::device_fault) << nth;
  }
  EXPECT_TRUE(placed->execute());
}

TEST(KernelWorkload, BindRejectsOtherDevices) {
  const auto device = host_device();
  const auto made = KernelWorkload::make({WorkloadKind::vector_add, 10}, DeviceKind::cuda);
  EXPECT_TRUE(test::fails((*made)->bind(*device, {}), Errc::unsupported, "NVIDIA"));
}

} // namespace
} // namespace rtexec::tasks
