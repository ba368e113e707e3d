#include "tasks/loads/benchmarks/kernel_workload.hpp"

#include "config/memory_policy.hpp"
#include "hal/host/host_device.hpp"
#include "hal/thread.hpp"
#include "tasks/base/vectorised.hpp"
#include "tasks/base/fingerprint.hpp"

#include <algorithm>
#include <cstring>

namespace rtexec::tasks {
namespace {

using benchmark::Addresses;
using benchmark::Step;

RTEXEC_VECTORISED std::uint64_t sum_of(const std::uint32_t* words, std::size_t count) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += words[i] * (2 * static_cast<std::uint32_t>(i) + 1);
  return sum;
}

Bytes exchanged(std::span<const benchmark::ArrayDemand> arrays) {
  Bytes sum{0};
  for (const auto& array : arrays)
    if (array.direction != benchmark::Direction::device) sum += array.size;
  return sum;
}

} // namespace

Result<std::unique_ptr<KernelWorkload>> KernelWorkload::make(const Options& options, DeviceKind kind) {
  const auto& benchmark = benchmark::benchmark_of(options.kind);
  if (options.size < benchmark.least || options.size > benchmark.most)
    return fail(Errc::bad_input, "size = " + std::to_string(options.size) + ": a " + std::string(name(options.kind)) +
                                     " task computes on " + std::to_string(benchmark.least) + " to " +
                                     std::to_string(benchmark.most) + " " + std::string(benchmark.unit));
  return std::unique_ptr<KernelWorkload>(new KernelWorkload(options, kind));
}

KernelWorkload::KernelWorkload(const Options& options, DeviceKind kind)
    : benchmark_(benchmark::benchmark_of(options.kind)),
      options_(options),
      kind_(kind),
      demands_(benchmark_.arrays(options.size)) {}

std::string KernelWorkload::fingerprint() const {
  const MemoryPolicy policy = config::in_force(options_.policy);
  const std::string prefix = std::string(name(options_.kind)) + (kind_ == DeviceKind::host ? "-" : "-cuda-");
  Fingerprint print;
  print.add(options_.size).add(static_cast<std::uint64_t>(policy));
  if (policy == MemoryPolicy::managed && kind_ == DeviceKind::cuda) print.add(options_.prefetch ? 1U : 0U);
  return prefix + print.text();
}

Footprint KernelWorkload::footprint() const {
  Footprint all;
  for (const auto& demand : demands_) {
    const Footprint one = SharedArray::footprint(options_.policy, demand);
    all.host += one.host;
    all.device += one.device;
  }
  return all;
}

MemoryDemand KernelWorkload::memory() const {
  const Footprint own = footprint();
  return {.outside = own.device, .host = own.host, .objects = {}};
}

Result<> KernelWorkload::bind(Device& device, const Memory&) {
  arrays_.reserve(demands_.size());
  for (const auto& demand : demands_) {
    auto array = SharedArray::make(device, options_.policy, demand);
    if (!array) return Unexpected(array.error());
    arrays_.push_back(std::move(*array));
  }
  if (auto ready = use_arrays(device); !ready || options_.policy != MemoryPolicy::switching) return ready;
  Options options = options_;
  options.policy = MemoryPolicy::host;
  in_place_.reset(new KernelWorkload(options, kind_));
  for (const auto& array : arrays_) in_place_->arrays_.push_back(array.in_place());
  return in_place_->use_arrays(device);
}

Result<> KernelWorkload::use_arrays(Device& device) {
  std::vector<std::byte*> on_device;
  for (const auto& array : arrays_) {
    host_.push_back(array.host());
    on_device.push_back(array.device());
  }
  steps_ = benchmark_.steps(options_.size, Addresses(on_device));
  if (kind_ == DeviceKind::host) {
    if (const auto* const host = dynamic_cast<const hal::HostDevice*>(&device))
      costs_ = EmulatedCosts(host->memory_costs(), options_.policy, benchmark_, options_.size, exchanged(demands_));
    return {};
  }
  const auto found = hal::CudaDevice::of(device, "this micro-benchmark");
  if (!found) return Unexpected(found.error());
  gpu_ = *found;
  if (auto captured = capture(); !captured) return captured;
  return prefetches() ? initialise() : Result<>();
}

Result<> KernelWorkload::initialise() {
  auto initialiser = Initialiser::make(*gpu_, options_.images, first_contents_);
  if (!initialiser) return Unexpected(initialiser.error());
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const SharedArray& array = arrays_[i];
    if (array.direction() == benchmark::Direction::device) continue;
    if (goes_in(array.direction()) && benchmark_.contents != nullptr)
      if (auto filled = initialiser->fill(array.buffer(), benchmark_.contents(options_.size, 0, i), contents_observer_);
          !filled)
        return filled;
    if (auto moved = initialiser->move(array.buffer(), hal::Side::host); !moved) return moved;
  }
  return {};
}

Result<> KernelWorkload::use(std::span<const std::string> tuning) {
  if (tuning.empty()) return {};
  if (options_.policy != MemoryPolicy::managed || kind_ != DeviceKind::cuda || tuning.size() > 1)
    return Workload::use(tuning);
  const auto choice = parse_initialiser(tuning.front());
  if (!choice) return Unexpected(choice.error());
  first_contents_ = *choice;
  return {};
}

Result<std::vector<std::string>> KernelWorkload::tune(Device& device, const TuningProgress& progress) {
  if (options_.policy != MemoryPolicy::managed || kind_ != DeviceKind::cuda) return std::vector<std::string>{};
  const auto gpu = hal::CudaDevice::of(device, "this micro-benchmark");
  if (!gpu) return Unexpected(gpu.error());
  if (!(*gpu)->can_prefetch()) return std::vector<std::string>{};
  auto initialiser = Initialiser::make(device, options_.images);
  if (!initialiser) return Unexpected(initialiser.error());
  const auto largest = std::ranges::max(demands_, {}, &benchmark::ArrayDemand::size);
  const auto array = SharedArray::make(device, options_.policy, largest);
  if (!array) return Unexpected(array.error());
  std::size_t measured = 0;
  const auto choice = initialiser->tune(
      array->buffer(), [&] { return !progress || progress(measured++, Initialiser::max_measurements); });
  if (!choice) return Unexpected(choice.error());
  first_contents_ = *choice;
  return std::vector{line_of(*choice)};
}

Result<> KernelWorkload::capture() {
  auto resources = cuda::Resources::of(*gpu_, options_.images);
  if (!resources) return Unexpected(resources.error());
  resources_ = std::move(*resources);
  for (const Step& step : steps_) {
    const auto function = resources_->function(step.launch);
    if (!function) return Unexpected(function.error());
    functions_.push_back(*function);
  }
  return captured(graph_,
                  {&KernelWorkload::put_copies_in, &KernelWorkload::put_kernels, &KernelWorkload::put_copies_out});
}

Result<> KernelWorkload::capture_parts() {
  for (const auto& [part, put] : {std::pair(JobPart::copies_in, &KernelWorkload::put_copies_in),
                                  std::pair(JobPart::kernels, &KernelWorkload::put_kernels),
                                  std::pair(JobPart::copies_out, &KernelWorkload::put_copies_out)})
    if (auto done = captured(graph_of(part), {put}); !done) return done;
  return {};
}

Result<> KernelWorkload::captured(GpuGraph& graph, std::initializer_list<Put> parts) {
  auto made = gpu_->capture([&]() -> Result<> {
    for (const Put put : parts)
      if (auto done = (this->*put)(); !done) return done;
    return {};
  });
  if (!made) return Unexpected(made.error());
  graph = std::move(*made);
  return {};
}

Result<> KernelWorkload::put_copies_in() {
  for (const auto& array : arrays_)
    if (auto put = put_copy(array.copy_in()); !put) return put;
  return {};
}

Result<> KernelWorkload::put_copies_out() {
  for (const auto& array : arrays_)
    if (auto put = put_copy(array.copy_out()); !put) return put;
  return {};
}

Result<> KernelWorkload::put_kernels() {
  for (std::size_t i = 0; i < steps_.size(); ++i)
    if (auto put = resources_->put(functions_[i], steps_[i].launch, steps_[i].arguments.data()); !put) return put;
  return {};
}

Result<> KernelWorkload::put_copy(const std::optional<ArrayCopy>& copy) {
  if (!copy) return {};
  const auto pointer = [](const std::byte* address) { return reinterpret_cast<hal::cuda::DevicePointer>(address); };
  return gpu_->checked(gpu_->driver().copy_async(pointer(copy->to), pointer(copy->from), copy->size.count,
                                                 gpu_->stream(hal::EngineKind::compute)),
                       "copying an array of a micro-benchmark");
}

Status KernelWorkload::before(std::uint64_t job) noexcept {
  benchmark_.fill(options_.size, job, Addresses(host_));
  return {};
}

Status KernelWorkload::execute() noexcept {
  if (gpu_ != nullptr) return prefetches() ? execute_prefetched() : gpu_->run(graph_);
  copy_in_on_host();
  run_on_host();
  copy_out_on_host();
  return {};
}

Status KernelWorkload::execute_as(MemoryPolicy policy) noexcept {
  return in_place_ && policy == MemoryPolicy::host ? in_place_->execute() : execute();
}

void KernelWorkload::copy_in_on_host() noexcept {
  for (const auto& array : arrays_)
    if (const auto copy = array.copy_in()) copy_on_host(*copy, costs_.copy_in(copy->size));
}

void KernelWorkload::copy_out_on_host() noexcept {
  for (const auto& array : arrays_)
    if (const auto copy = array.copy_out()) copy_on_host(*copy, costs_.copy_out(copy->size));
}

void KernelWorkload::copy_on_host(const ArrayCopy& copy, Duration least) noexcept {
  const Instant end = hal::now() + least;
  std::memcpy(copy.to, copy.from, copy.size.count);
  while (hal::now() < end) hal::pause_core();
}

void KernelWorkload::run_on_host() noexcept {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    costs_.before(i);
    steps_[i].on_host(steps_[i].arguments.data());
    costs_.behind(i);
  }
}

Result<> KernelWorkload::run(JobPart part) {
  if (gpu_ == nullptr) {
    switch (part) {
    case JobPart::copies_in: copy_in_on_host(); break;
    case JobPart::kernels: run_on_host(); break;
    case JobPart::copies_out: copy_out_on_host(); break;
    }
    return {};
  }
  if (graph_of(JobPart::kernels).handle() == nullptr)
    if (auto parts = capture_parts(); !parts) return parts;
  if (graph_of(part).handle() == nullptr) return {};
  if (const Status done = gpu_->run(graph_of(part)); !done)
    return fail(done.error(), "a part of a micro-benchmark's job on the device");
  return {};
}

Status KernelWorkload::status_of(JobPart part) noexcept {
  const auto done = run(part);
  return done ? Status() : Unexpected(done.error().code);
}

Result<Duration> KernelWorkload::time_kernels() {
  if (auto copied = run(JobPart::copies_in); !copied) return Unexpected(copied.error());
  const Instant begin = hal::now();
  if (auto computed = run(JobPart::kernels); !computed) return Unexpected(computed.error());
  const Duration took = hal::now() - begin;
  if (auto copied = run(JobPart::copies_out); !copied) return Unexpected(copied.error());
  return took;
}

bool KernelWorkload::prefetches() const noexcept {
  return options_.policy == MemoryPolicy::managed && options_.prefetch && gpu_->can_prefetch();
}

/// Executes the device part under policy M (managed memory) with prefetching. Prefetches outputs to the device too. The
/// host has read the outputs, so their pages are on the host, and kernels that write them would fault.
Status KernelWorkload::execute_prefetched() noexcept {
  for (const auto& array : arrays_)
    if (array.direction() != benchmark::Direction::device)
      if (auto moved = gpu_->move(array.device(), array.size(), hal::Side::device); !moved) return moved;
  if (auto done = gpu_->run(graph_); !done) return done;
  for (const auto& array : arrays_)
    if (goes_out(array.direction()))
      if (auto moved = gpu_->move(array.device(), array.size(), hal::Side::host); !moved) return moved;
  return {};
}

Status KernelWorkload::after(std::uint64_t) noexcept {
  checksum_ = 0;
  for (const auto& array : arrays_)
    if (goes_out(array.direction()))
      checksum_ += sum_of(reinterpret_cast<const std::uint32_t*>(array.host()), array.size().count / 4);
  return {};
}

} // namespace rtexec::tasks
