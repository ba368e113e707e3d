#include "tasks/engine/cuda/conv_tuner.hpp"

#include "config/base/median.hpp"
#include "tasks/engine/cuda/kernels/simple_kernels.hpp"
#include "tasks/engine/cuda/strides.hpp"
#include "tasks/base/half.hpp"
#include "tasks/engine/host/kernels/evaluate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace rtexec::tasks::cuda {
namespace {

namespace api = hal::cuda;

constexpr std::size_t max_workspace = std::size_t{256} << 20;
constexpr std::size_t workspace_worth_having = std::size_t{16} << 20;
constexpr std::size_t counter_bytes = std::size_t{4} << 20;
// Above this number of floating-point operations, the simple kernels are never the fastest. They are then measured only
// if no tuned kernel applies.
constexpr double slow_for_simple = 2e9;
constexpr std::size_t repetitions = 12; // number of calls in a captured graph
constexpr int launches = 7;
/// If a measured time of a candidate exceeds this factor times the best time, the candidate is not launched again.
constexpr double cutoff = 2;
constexpr std::byte untouched{0xff}; // fills y before a call, so that writes outside the result are detected

/// Device memory that the destructor frees.
class Allocation {
 public:
  [[nodiscard]] static Result<Allocation> make(hal::CudaDevice& device, std::size_t bytes) {
    auto buffer = device.allocate(BufferKind::device, Bytes{std::max<std::size_t>(bytes, 256)});
    if (!buffer) return Unexpected(buffer.error());
    return Allocation(device, *buffer);
  }
  Allocation(Allocation&& other) noexcept : device_(other.device_), buffer_(std::exchange(other.buffer_, {})) {}
  Allocation& operator=(Allocation&&) = delete;
  ~Allocation() {
    if (buffer_.device) (void)device_.free(buffer_);
  }
  [[nodiscard]] std::byte* address() const { return buffer_.device; }

 private:
  Allocation(hal::CudaDevice& device, const Buffer& buffer) : device_(device), buffer_(buffer) {}
  hal::CudaDevice& device_;
  Buffer buffer_;
};

/// The device memory that all measurements share.
struct Workplace {
  Allocation constants, scratch;
  std::size_t workspace; // maximum size of a workspace in `scratch`, in bytes
};

enum Part : std::uint32_t { x_part, residual_part, y_part, workspace_part, counters_part, part_count };

std::size_t pixels_of(const ConvCall& call, Part part) {
  const auto& a = call.arguments;
  return static_cast<std::size_t>(a.batch) *
         static_cast<std::size_t>(part == x_part ? a.height * a.width : a.out_height * a.out_width);
}
int stride_of(const ConvCall& call, Part part) {
  const auto& a = call.arguments;
  return part == x_part ? a.x_stride : part == y_part ? a.y_stride : a.residual_stride;
}
/// Returns the storage of one operand of `call`. `storage` is the storage of floats in the network.
Storage storage_of(const ConvCall& call, Part part, Storage storage) {
  const auto& a = call.arguments;
  if (!a.is_int8) return storage;
  return part == x_part ? Storage::s8 : part == y_part ? a.y_storage : a.residual_storage;
}
/// Returns the size of an operand in bytes, with space for an unaligned first address.
std::size_t bytes_of(const ConvCall& call, Part part, Storage storage) {
  return pixels_of(call, part) * static_cast<std::size_t>(stride_of(call, part)) *
             size_of(storage_of(call, part, storage)) +
         256;
}

double flops_of(const ConvCall& call) {
  const auto& a = call.arguments;
  return 2.0 * a.batch * a.out_height * a.out_width * a.out_channels * a.groups * a.kernel_h * a.kernel_w * a.channels;
}

class Tuner {
 public:
  Tuner(Executor& executor, const Program& program, Workplace workplace)
      : executor_(executor), device_(executor.device()), program_(program), workplace_(std::move(workplace)) {}
  ~Tuner() {
    for (const auto event : events_)
      if (event) (void)device_.driver().event_destroy(event);
  }
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  Result<> prepare() {
    for (auto& event : events_)
      if (auto made = device_.checked(device_.driver().event_create(&event, api::event_default),
                                      "making an event to measure with");
          !made)
        return made;
    if (program_.constants.empty()) return {};
    return copied(workplace_.constants.address(), program_.constants.data(), program_.constants.size());
  }

  /// Returns the fastest method for `calls`, which have the same geometry. `standard` is the default method. The calls
  /// are measured in turn, so that their weights compete for the cache as in the network: the weights of many calls do
  /// not fit into the cache.
  Result<ConvMethod> fastest(const std::vector<const ConvCall*>& calls, const ConvMethod& standard) {
    turns_.clear();
    for (const auto* each : calls) turns_.push_back(moved(*each));
    const auto call = turns_.front();
    if (auto filled = fill(call); !filled) return Unexpected(filled.error());
    auto reference = result_of(call, standard);
    if (!reference) return Unexpected(reference.error());
    ConvMethod best = standard;
    auto least = seconds_of(standard, std::numeric_limits<double>::infinity());
    if (!least) return Unexpected(least.error());
    for (const auto& candidate : candidates(call)) {
      const auto seconds = try_out(call, candidate, *reference, *least);
      if (device_.fault())
        return Unexpected(seconds ? Error{Errc::device_lost, "the device was lost while it was measured"}
                                  : seconds.error());
      if (!seconds || *seconds >= *least) continue; // skips a method that failed or is not faster than `best`
      *least = *seconds;
      best = candidate;
    }
    return best;
  }

 private:
  static Unexpected<Error> failed(Errc code, const std::string& what) { return fail(code, what + ": " + name(code)); }

  Result<> copied(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (auto done = device_.copy(to, from, Bytes{bytes}); !done)
      return failed(done.error(), "copying to or from " + device_.name() + " to measure failed");
    return {};
  }

  /// Returns a copy of the call with its operands in the tuner's memory. The operands keep their alignment.
  static ConvCall moved(const ConvCall& original) {
    auto call = original;
    const auto to = [](MemoryLocation& location, Part part) {
      if (location.known()) location = {MemoryLocation::Region::buffer, part, location.offset % 16};
    };
    to(call.x, x_part);
    to(call.residual, residual_part);
    to(call.y, y_part);
    call.zero = {};
    return call;
  }

  [[nodiscard]] Addresses addresses() const {
    return {workplace_.constants.address(), workplace_.scratch.address(), offsets_};
  }

  Result<> fill(const ConvCall& call) {
    std::size_t at = 0;
    const auto place = [&](Part part, std::size_t bytes) {
      offsets_[part] = at;
      at += (bytes + 255) / 256 * 256;
    };
    for (const auto part : {x_part, residual_part, y_part}) place(part, bytes_of(call, part, program_.storage));
    place(counters_part, counter_bytes);
    place(workspace_part, workplace_.workspace);
    for (const auto part : {x_part, residual_part}) {
      const auto values = noise(bytes_of(call, part, program_.storage), storage_of(call, part, program_.storage), part);
      if (auto done = copied(workplace_.scratch.address() + offsets_[part], values.data(), values.size()); !done)
        return done;
    }
    const std::vector<std::byte> zeros(counter_bytes);
    return copied(workplace_.scratch.address() + offsets_[counters_part], zeros.data(), zeros.size());
  }

  /// Returns `bytes` bytes of pseudo-random elements: floats between -1 and 1, or 8-bit integers of any value.
  [[nodiscard]] static std::vector<std::byte> noise(std::size_t bytes, Storage storage, std::uint32_t seed) {
    std::vector<std::byte> result(bytes);
    std::uint32_t state = seed + 1;
    const auto size = size_of(storage);
    for (std::size_t at = 0; at + size <= bytes; at += size) {
      state = state * 1664525 + 1013904223;
      const std::int32_t upper = static_cast<std::int32_t>(state) / 256;
      const float value = static_cast<float>(upper) / 8388608.0F;
      const auto half = to_half(value);
      const auto byte = static_cast<std::byte>(state >> 24U);
      std::memcpy(result.data() + at,
                  storage == Storage::f32   ? static_cast<const void*>(&value)
                  : storage == Storage::f16 ? static_cast<const void*>(&half)
                                            : &byte,
                  size);
    }
    return result;
  }

  Result<> issue(const ConvCall& call, const ConvMethod& method) {
    return executor_.issue(call, method, {MemoryLocation::Region::buffer, workspace_part, 0},
                           {MemoryLocation::Region::buffer, counters_part, 0}, addresses());
  }

  /// Runs the call once and returns its result y. Before the call, fills the memory of y with `untouched` (NaN as
  /// floats). Returns unsupported if the call writes to that memory outside of the result.
  Result<std::vector<float>> result_of(const ConvCall& call, const ConvMethod& method) {
    const auto bytes = bytes_of(call, y_part, program_.storage);
    auto* y = workplace_.scratch.address() + offsets_[y_part];
    std::vector<std::byte> image(bytes, untouched);
    if (auto done = copied(y, image.data(), bytes); !done) return Unexpected(done.error());
    if (auto done = issue(call, method); !done) return Unexpected(done.error());
    if (auto done = device_.wait(hal::EngineKind::compute); !done)
      return failed(done.error(), "computing by '" + to_text(method) + "' failed on " + device_.name());
    if (auto done = copied(image.data(), y, bytes); !done) return Unexpected(done.error());
    if (!keeps_neighbours(call, image))
      return fail(Errc::unsupported,
                  "'" + to_text(method) + "' writes beyond the channels of '" + geometry_of(call) + "'");
    return values_of(call, image.data() + call.y.offset);
  }

  /// True if the call has not changed the memory around and between the pixels of y. In the network, that memory may
  /// belong to other tensors, because y may be a slice of a concatenation.
  [[nodiscard]] bool keeps_neighbours(const ConvCall& call, std::span<const std::byte> image) const {
    const auto size = size_of(storage_of(call, y_part, program_.storage));
    const auto pixel = static_cast<std::size_t>(call.arguments.y_stride) * size;
    const auto own =
        static_cast<std::size_t>(call.arguments.out_channels) * static_cast<std::size_t>(call.arguments.groups) * size;
    const auto clean = [&](std::size_t begin, std::size_t end) {
      return std::ranges::all_of(image.subspan(begin, end - begin), [](std::byte each) { return each == untouched; });
    };
    std::size_t at = call.y.offset;
    if (!clean(0, at)) return false;
    for (std::size_t i = 0; i < pixels_of(call, y_part); ++i, at += pixel)
      if (!clean(at + own, at + pixel)) return false;
    return clean(at, image.size());
  }

  [[nodiscard]] std::vector<float> values_of(const ConvCall& call, const std::byte* image) const {
    const auto channels =
        static_cast<std::size_t>(call.arguments.out_channels) * static_cast<std::size_t>(call.arguments.groups);
    const auto storage = storage_of(call, y_part, program_.storage);
    const auto size = size_of(storage), stride = static_cast<std::size_t>(call.arguments.y_stride);
    std::vector<float> values;
    for (std::size_t pixel = 0; pixel < pixels_of(call, y_part); ++pixel)
      for (std::size_t c = 0; c < channels; ++c)
        values.push_back(value_at(image + (pixel * stride + c) * size, storage));
    return values;
  }
  static float value_at(const std::byte* at, Storage storage) {
    const auto as = [&]<class T>(T value) {
      std::memcpy(&value, at, sizeof value);
      return value;
    };
    switch (storage) {
    case Storage::f32: return as(0.0F);
    case Storage::f16: return from_half(as(std::uint16_t{0}));
    case Storage::s32: return static_cast<float>(as(std::int32_t{0}));
    default: return static_cast<float>(as(std::int8_t{0}));
    }
  }

  /// Returns the tolerance for a call. For int8 it is 0, because the order of additions does not change sums of
  /// integers.
  [[nodiscard]] double tolerance_of(const ConvCall& call) const {
    return call.arguments.is_int8 ? 0 : tolerance(program_.precision);
  }
  static bool agree(const std::vector<float>& values, const std::vector<float>& reference, double tolerance) {
    double largest = 0, distance = 0;
    for (std::size_t i = 0; i < reference.size(); ++i) {
      if (!std::isfinite(reference[i])) continue;
      const double away = std::abs(static_cast<double>(values[i]) - static_cast<double>(reference[i]));
      if (std::isnan(away)) return false;
      largest = std::max(largest, std::abs(static_cast<double>(reference[i])));
      distance = std::max(distance, away);
    }
    return distance <= tolerance * largest;
  }

  [[nodiscard]] std::vector<ConvMethod> candidates(const ConvCall& call) const {
    const auto arguments = aligned_arguments(call);
    std::vector<ConvMethod> result;
    for (const auto& own :
         conv_candidates(program_.precision, device_.architecture(), device_.multiprocessors(), arguments)) {
      ConvMethod method{ConvMethod::Kind::own, own, 0, false, 0};
      const auto needs = needs_of(call, method);
      if (needs.workspace <= workplace_.workspace && needs.counters * sizeof(unsigned) <= counter_bytes)
        result.push_back(method);
    }
    if (result.empty() || flops_of(call) < slow_for_simple) result.push_back({});
    if (arguments.is_int8) return result;
    if (executor_.cudnn() && !is_depthwise(arguments)) add_cudnn(call, arguments, result);
    if (executor_.cublas() && is_matrix_product(arguments) && Cublas::workspace_bytes <= workplace_.workspace)
      result.push_back({ConvMethod::Kind::cublas, {}, 0, false, Cublas::workspace_bytes});
    return result;
  }

  void add_cudnn(const ConvCall& call, const ConvArguments& arguments, std::vector<ConvMethod>& result) const {
    for (int algorithm = 0; algorithm < CudnnFunctions::algorithms; ++algorithm) {
      const auto bytes = executor_.cudnn()->workspace(arguments, program_.precision, algorithm);
      if (!bytes || *bytes > workplace_.workspace) continue;
      result.push_back({ConvMethod::Kind::cudnn, {}, algorithm, false, *bytes});
      const bool relu = call.arguments.activation.kind == ActivationArguments::relu;
      if (can_fuse(call) && (relu || algorithm == CudnnFunctions::implicit_precomputed_gemm))
        result.push_back({ConvMethod::Kind::cudnn, {}, algorithm, true, *bytes});
    }
  }

  Result<double> try_out(const ConvCall& call, const ConvMethod& method, const std::vector<float>& reference,
                         double least) {
    const auto values = result_of(call, method);
    if (!values) return Unexpected(values.error());
    if (!agree(*values, reference, tolerance_of(call)))
      return fail(Errc::unsupported,
                  "'" + to_text(method) + "' does not compute '" + geometry_of(call) + "' as the default does");
    return seconds_of(method, least);
  }

  /// Issues a short kernel of this project. In a network, most calls have such a kernel before and after them. A kernel
  /// of this project may overlap the end of the previous kernel of this project.
  Result<> issue_neighbour() {
    CopyArguments arguments;
    arguments.x_view = arguments.y_view = kernel_view({1}, {1});
    using A = CopyArguments;
    return executor_.issue(kernel_call<A>(launch_of(arguments, program_.storage, program_.storage), arguments,
                                          {{&A::x, MemoryLocation{MemoryLocation::Region::buffer, x_part, 0}},
                                           {&A::y, MemoryLocation{MemoryLocation::Region::buffer, y_part, 0}}}),
                           addresses());
  }

  /// Returns the median time of one call together with one neighbour kernel, in seconds. `least` is the best time so
  /// far.
  Result<double> seconds_of(const ConvMethod& method, double least) {
    const auto graph = device_.capture([&] {
      executor_.begin();
      auto issued = issue_neighbour();
      for (std::size_t i = 0; i < repetitions && issued; ++i) {
        issued = issue(turns_[i % turns_.size()], method);
        if (issued) issued = issue_neighbour();
      }
      return issued;
    });
    if (!graph) return Unexpected(graph.error());
    std::vector<double> times;
    for (int i = 0; i <= launches; ++i) {
      const auto time = launch(*graph);
      if (!time) return time;
      if (i == 0) continue; // the first launch is a warm-up
      times.push_back(*time / static_cast<double>(repetitions));
      if (times.back() > cutoff * least) break;
    }
    return config::median_of(std::move(times));
  }

  Result<double> launch(const GpuGraph& graph) {
    const auto& driver = device_.driver();
    const auto stream = device_.stream(hal::EngineKind::compute);
    const auto step = [&](api::Code code) { return device_.checked(code, "measuring a convolution"); };
    if (auto done = step(driver.event_record(events_[0], stream)); !done) return Unexpected(done.error());
    if (auto done = step(driver.graph_launch(static_cast<api::GraphExec>(graph.handle()), stream)); !done)
      return Unexpected(done.error());
    if (auto done = step(driver.event_record(events_[1], stream)); !done) return Unexpected(done.error());
    if (auto done = device_.wait(hal::EngineKind::compute); !done)
      return failed(done.error(), "measuring a convolution on " + device_.name() + " failed");
    float milliseconds = 0;
    if (auto done = step(driver.event_elapsed(&milliseconds, events_[0], events_[1])); !done)
      return Unexpected(done.error());
    return 1e-3 * static_cast<double>(milliseconds);
  }

  Executor& executor_;
  hal::CudaDevice& device_;
  const Program& program_;
  Workplace workplace_;
  std::vector<ConvCall> turns_; // the calls of one geometry, which are measured in turn
  std::array<std::size_t, part_count> offsets_{};
  std::array<api::Event, 2> events_{};
};

/// Returns the maximum size of the operands of one convolution of the program, plus the counters, in bytes.
std::size_t operand_bytes(const Program& program) {
  std::size_t most = 0;
  for (const auto& call : program.calls)
    if (const auto* conv = std::get_if<ConvCall>(&call.what)) {
      std::size_t sum = 0;
      for (const auto part : {x_part, residual_part, y_part}) sum += bytes_of(*conv, part, program.storage) + 256;
      most = std::max(most, sum);
    }
  return most + counter_bytes + 256;
}

Result<Workplace> make_workplace(hal::CudaDevice& device, const Program& program) {
  auto constants = Allocation::make(device, program.constants.size());
  if (!constants) return Unexpected(constants.error());
  for (std::size_t workspace = max_workspace;; workspace /= 2) {
    auto scratch = Allocation::make(device, operand_bytes(program) + workspace);
    if (scratch) return Workplace{std::move(*constants), std::move(*scratch), workspace};
    if (scratch.error().code != Errc::out_of_memory || workspace <= workspace_worth_having)
      return Unexpected(scratch.error());
  }
}

/// Returns the indices of the convolution calls, grouped by geometry.
std::map<std::string, std::vector<std::size_t>> by_geometry(const Program& program) {
  std::map<std::string, std::vector<std::size_t>> calls;
  for (std::size_t i = 0; i < program.calls.size(); ++i)
    if (const auto* conv = std::get_if<ConvCall>(&program.calls[i].what)) calls[geometry_of(*conv)].push_back(i);
  return calls;
}

} // namespace

double tolerance(Precision precision) {
  switch (precision) {
  case Precision::fp32: return 2e-5;
  case Precision::tf32: return 5e-3;
  case Precision::fp16: return 1e-2;
  }
  return 0;
}

Result<TunedConvolutions> tune_convolutions(hal::CudaDevice& device, const Program& program,
                                            std::span<const ConvMethod> methods, const Executor::Options& options,
                                            const TuningProgress& progress) {
  auto executor = Executor::open(device, program.precision, options);
  if (!executor) return Unexpected(executor.error());
  std::vector<std::string> notes;
  for (const auto& opened : {(*executor)->open_cudnn(), (*executor)->open_cublas()}) {
    if (!opened && device.fault()) return Unexpected(opened.error());
    if (!opened) notes.push_back("not measured: " + opened.error().what.substr(0, opened.error().what.find('\n')));
  }
  auto workplace = make_workplace(device, program);
  if (!workplace) return Unexpected(workplace.error());
  Tuner tuner(**executor, program, std::move(*workplace));
  if (auto prepared = tuner.prepare(); !prepared) return Unexpected(prepared.error());

  TunedConvolutions tuned{{methods.begin(), methods.end()}, {}, std::move(notes)};
  const auto geometries = by_geometry(program);
  for (const auto& [geometry, indices] : geometries) {
    if (progress && !progress(tuned.choices.size(), geometries.size()))
      return fail(Errc::cancelled, "tuning was stopped");
    std::vector<const ConvCall*> calls;
    for (const auto i : indices) calls.push_back(&std::get<ConvCall>(program.calls[i].what));
    const auto method = tuner.fastest(calls, default_conv_method(program.precision, *calls.front()));
    if (!method) return fail(method.error().code, "tuning '" + geometry + "': " + method.error().what);
    for (const auto i : indices) tuned.methods[i] = *method;
    tuned.choices.push_back({geometry, *method});
  }
  if (progress) (void)progress(geometries.size(), geometries.size());
  return tuned;
}

} // namespace rtexec::tasks::cuda
