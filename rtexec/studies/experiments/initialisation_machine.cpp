#include "rtexec/studies/experiments/initialisation_machine.hpp"

#include "config/base/must.hpp"
#include "hal/machine_files.hpp"
#include "hal/open/open_device.hpp"
#include "hal/thread.hpp"
#include "rtexec/runtime/executive/contents_trace.hpp"
#include "tasks/loads/benchmarks/kernel_workload.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rtexec::study {
namespace {

using tasks::Initialiser;
using tasks::KernelWorkload;
using tasks::benchmark::Benchmark;
using tasks::initialise::FirstContents;
using tasks::initialise::TileTimes;
using tasks::initialise::Tiling;

/// The workloads in the paper of Wang et al.
constexpr std::array kinds{WorkloadKind::matrix_add, WorkloadKind::matrix_multiply, WorkloadKind::needleman_wunsch,
                           WorkloadKind::random_access};

const Benchmark& benchmark_of(const std::string& workload) {
  return tasks::benchmark::benchmark_of(
      *std::ranges::find(kinds, workload, [](WorkloadKind kind) { return name(kind); }));
}

Bytes made_by(const Benchmark& benchmark, unsigned size) {
  Bytes sum;
  for (const auto& array : benchmark.arrays(size))
    if (goes_in(array.direction)) sum += array.size;
  return sum;
}

/// Returns the largest size of the benchmark for which its initialised arrays have at most `most` bytes.
unsigned size_for(const Benchmark& benchmark, Bytes most) {
  unsigned least = benchmark.least, above = benchmark.most + 1;
  while (above - least > 1) {
    const unsigned middle = least + (above - least) / 2;
    (made_by(benchmark, middle) <= most ? least : above) = middle;
  }
  return least;
}

/// An allocation of managed memory whose pages have not been touched.
class Untouched {
 public:
  Untouched(hal::CudaDevice& gpu, Bytes size) : gpu_(gpu), buffer_(must(gpu.allocate_untouched(size))) {}
  ~Untouched() { (void)gpu_.free(buffer_); }
  Untouched(const Untouched&) = delete;
  Untouched& operator=(const Untouched&) = delete;
  [[nodiscard]] const Buffer& buffer() const { return buffer_; }

 private:
  hal::CudaDevice& gpu_;
  Buffer buffer_;
};

/// The experiment's platform on a device. The functions of this class throw Failed.
class MachinePlatform final : public InitialisationPlatform {
 public:
  MachinePlatform(hal::Device& device, Initialiser initialiser, std::span<const tasks::cuda::KernelImage> images)
      : device_(device), gpu_(hal::CudaDevice::find(device)), initialiser_(std::move(initialiser)), images_(images) {}

  std::vector<std::string> workloads() const override {
    std::vector<std::string> names;
    for (const WorkloadKind kind : kinds) names.emplace_back(name(kind));
    return names;
  }
  std::vector<PageStart> starts() const override {
    if (gpu_ == nullptr || !gpu_->can_prefetch()) return {PageStart::on_host};
    return {PageStart::untouched, PageStart::on_host};
  }
  bool has_gpu() const override { return gpu_ != nullptr; }
  Bytes size_of(const std::string& workload, Bytes size) const override {
    const Benchmark& benchmark = benchmark_of(workload);
    return made_by(benchmark, size_for(benchmark, size));
  }

  Result<InitialisationMeasure> measure(const InitialisationCase& wanted) override {
    return caught([&] { return wanted.start == PageStart::untouched ? of_untouched(wanted) : of_workload(wanted); });
  }

  Result<std::vector<TileTimes>> timeline(const InitialisationCase& wanted) override {
    return caught([&]() -> std::vector<TileTimes> {
      if (!has_gpu()) return {};
      KernelWorkload& workload = prepared(wanted);
      const auto largest = std::ranges::max_element(inputs(), {}, [&](std::size_t i) { return array(i).size; });
      const std::size_t index = inputs()[static_cast<std::size_t>(largest - inputs().begin())];
      must(initialiser_.move(workload.arrays()[index].buffer(), hal::Side::host));
      std::vector<TileTimes> times;
      const auto keep = [](void* self, const FirstContents& made) noexcept {
        static_cast<std::vector<TileTimes>*>(self)->assign(made.tiles.begin(), made.tiles.end());
        executive::trace_first_contents(0, 0, made);
      };
      must(initialiser_.fill_on_gpu(array(index), contents(index), tiling(array(index).size, wanted),
                                    {.made = keep, .self = &times}));
      return times;
    });
  }

 private:
  /// Returns the workload for `wanted`, bound to the device. Keeps the workload for the next call.
  KernelWorkload& prepared(const InitialisationCase& wanted) {
    const Benchmark& benchmark = benchmark_of(wanted.workload);
    const unsigned size = size_for(benchmark, wanted.size);
    if (workload_ && benchmark_ == &benchmark && size_ == size) return *workload_;
    workload_.reset(); // frees the memory of the previous workload
    KernelWorkload::Options options{
        .kind = benchmark.kind, .size = size, .policy = MemoryPolicy::managed, .images = images_};
    options.prefetch = false;
    workload_ = must(KernelWorkload::make(options, device_.kind()));
    must(workload_->bind(device_, {}));
    benchmark_ = &benchmark;
    size_ = size;
    inputs_.clear();
    for (std::size_t i = 0; i < workload_->arrays().size(); ++i)
      if (goes_in(workload_->arrays()[i].direction())) inputs_.push_back(i);
    return *workload_;
  }
  const std::vector<std::size_t>& inputs() const { return inputs_; }
  const Buffer& array(std::size_t index) const { return workload_->arrays()[index].buffer(); }
  tasks::cuda::Fill contents(std::size_t index) const { return benchmark_->contents(size_, 0, index); }

  static Tiling tiling(Bytes size, const InitialisationCase& wanted) {
    return {.tile = Bytes{(size.count + wanted.tiles - 1) / wanted.tiles},
            .prefetch = wanted.method == InitialisationMethod::tiles};
  }

  void fill(const Buffer& buffer, std::size_t index, const InitialisationCase& wanted) {
    if (wanted.method == InitialisationMethod::host) Initialiser::fill_on_host(buffer, contents(index));
    else must(initialiser_.fill_on_gpu(buffer, contents(index), tiling(buffer.size, wanted)));
  }

  InitialisationMeasure of_workload(const InitialisationCase& wanted) {
    KernelWorkload& workload = prepared(wanted);
    for (const auto& each : workload.arrays()) must(initialiser_.move(each.buffer(), hal::Side::host));
    const Instant begin = hal::now();
    for (const std::size_t index : inputs()) fill(array(index), index, wanted);
    const Instant filled = hal::now();
    if (!wanted.kernel) return {.initialisation = filled - begin};
    if (const Status done = workload.execute(); !done)
      give_up(done.error(), "the kernels of " + wanted.workload + " failed on " + device_.name());
    return {filled - begin, hal::now() - filled};
  }

  /// Measures the initialisation of arrays that were just allocated.
  InitialisationMeasure of_untouched(const InitialisationCase& wanted) {
    (void)prepared(wanted);
    InitialisationMeasure measured;
    for (const std::size_t index : inputs()) {
      const Untouched fresh(*gpu_, array(index).size);
      const Instant begin = hal::now();
      fill(fresh.buffer(), index, wanted);
      measured.initialisation += hal::now() - begin;
    }
    return measured;
  }

  hal::Device& device_;
  hal::CudaDevice* gpu_;
  Initialiser initialiser_;
  std::span<const tasks::cuda::KernelImage> images_;
  const Benchmark* benchmark_ = nullptr;
  unsigned size_ = 0;
  std::unique_ptr<KernelWorkload> workload_;
  std::vector<std::size_t> inputs_; // indices of the workload's input arrays
};

} // namespace

Result<std::unique_ptr<InitialisationPlatform>> initialisation_platform(
    hal::Device& device, std::span<const tasks::cuda::KernelImage> images) {
  auto initialiser = Initialiser::make(device, images);
  if (!initialiser) return Unexpected(initialiser.error());
  return std::make_unique<MachinePlatform>(device, std::move(*initialiser), images);
}

Result<InitialisationMachine> initialisation_machine(const Board& board) {
  auto device = hal::open_device(board, board.chunk, board.chunk);
  if (!device) return Unexpected(device.error());
  auto platform = initialisation_platform(**device);
  if (!platform) return Unexpected(platform.error());
  const std::string where =
      board.memory_is_of_host() ? "the host device, on which the host initialises in every case" : (*device)->name();
  return InitialisationMachine{std::move(*device), std::move(*platform),
                               "Measured on " + where + " (" + hal::machine_name() + ")"};
}

} // namespace rtexec::study
