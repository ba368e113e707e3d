#include "tasks/loads/winograd/winograd_workload.hpp"

#include "tasks/engine/cuda/conv_method.hpp"
#include "tasks/base/buffer_kind.hpp"
#include "tasks/base/random.hpp"
#include "tasks/engine/make_network.hpp"
#include "tasks/base/fingerprint.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace rtexec::tasks {
namespace {

constexpr std::uint64_t weights_seed = 1, picture_seed = 2;
constexpr std::int64_t side = 3; // side of a filter
// The values of WINOGRAD and WINOGRAD_NONFUSED in cudnnConvolutionFwdAlgo_t. tune() chooses the first of these
// algorithms that cuDNN accepts.
constexpr std::array algorithms{6, 7};
constexpr std::size_t max_workspace = std::size_t{4} << 30; // maximum workspace that tune() accepts
// The prefix of a tuning line that is only a message and chooses no method.
constexpr std::string_view note = "# ";

std::vector<float> noise(std::uint64_t seed, std::int64_t count) {
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  std::ranges::generate(values, [&] { return random.centred(); });
  return values;
}

std::string own_convolution(const std::string& why) {
  std::string line = std::string(note) + "computed by the engine's own convolution, not by cuDNN's Winograd: " + why;
  std::ranges::replace(line, '\n', ' ');
  return line;
}

std::string key_of(unsigned resolution) { return "winograd " + std::to_string(resolution) + " = "; }

} // namespace

Graph winograd_graph(unsigned resolution) {
  constexpr auto channels = WinogradWorkload::channels;
  const auto n = static_cast<std::int64_t>(resolution);
  const Shape picture{1, channels, n, n}, filters{channels, channels, side, side};
  Conv conv;
  conv.window = {.kernel_h = side, .kernel_w = side, .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1};
  Graph graph;
  graph.name = "winograd-" + std::to_string(resolution);
  graph.tensors = {{"picture", picture, {}},
                   {"filters", filters, noise(weights_seed, element_count(filters))},
                   {"result", picture, {}}};
  graph.nodes = {{"convolution", conv, {0, 1}, 2, {}, {}}};
  graph.inputs = {0};
  graph.outputs = {2};
  return graph;
}

Result<std::unique_ptr<WinogradWorkload>> WinogradWorkload::make(unsigned resolution, DeviceKind kind,
                                                                 const CudnnWinograd::Options& options) {
  if (resolution < min_resolution || resolution > max_resolution)
    return fail(Errc::bad_input, "resolution = " + std::to_string(resolution) + ": a winograd task convolves " +
                                     std::to_string(channels) + " channels of a picture with a side of " +
                                     std::to_string(min_resolution) + " to " + std::to_string(max_resolution));
  auto network = make_network(winograd_graph(resolution), kind, Precision::fp32, options.policy);
  if (!network) return Unexpected(network.error());
  return std::unique_ptr<WinogradWorkload>(new WinogradWorkload(resolution, kind, options, std::move(*network)));
}

std::string WinogradWorkload::fingerprint() const {
  const std::string prefix = kind_ == DeviceKind::host ? "winograd-" : "winograd-cuda-";
  Fingerprint print;
  print.add(resolution_).add(static_cast<std::uint64_t>(channels));
  if (kind_of(options_.policy) != BufferKind::device) print.add(static_cast<std::uint64_t>(options_.policy));
  return prefix + print.text();
}

void WinogradWorkload::observe(const LayerObserver& observer) {
  observer_ = observer;
  network_->observe(observer);
}

Result<> WinogradWorkload::bind(Device& device, const Memory& memory) {
  if (auto bound = network_->bind(device, memory); !bound) return bound;
  Random random(picture_seed);
  std::ranges::generate(network_->inputs().front().as<float>(), [&] { return random.centred(); });
  return {};
}

// ---- tuning

Result<> WinogradWorkload::use(std::span<const std::string> tuning) {
  if (kind_ == DeviceKind::host) return network_->use(tuning);
  for (const auto& line : tuning) {
    if (line.starts_with(note)) continue;
    const auto method = parse(line);
    if (!method) return Unexpected(method.error());
    network_ = std::make_unique<CudnnWinograd>(winograd_graph(resolution_), network_->flops(), *method, options_);
    network_->observe(observer_);
  }
  return {};
}

Result<CudnnWinograd::Method> WinogradWorkload::parse(const std::string& line) const {
  const auto key = key_of(resolution_);
  if (line.starts_with(key)) {
    const auto method = cuda::parse_conv_method(std::string_view(line).substr(key.size()));
    if (method && method->kind == cuda::ConvMethod::Kind::cudnn &&
        std::ranges::find(algorithms, method->algorithm) != algorithms.end())
      return CudnnWinograd::Method{method->algorithm, method->workspace};
  }
  return fail(Errc::bad_input, "'" + line + "' is no choice for a Winograd convolution of resolution " +
                                   std::to_string(resolution_) + ": profile the task set again");
}

Result<std::vector<std::string>> WinogradWorkload::tune(Device& device, const TuningProgress& progress) {
  if (kind_ == DeviceKind::host) return network_->tune(device, progress);
  const auto found = hal::CudaDevice::of(device, "this convolution");
  if (!found) return Unexpected(found.error());
  hal::CudaDevice* const gpu = *found;
  if (progress && !progress(0, 1)) return fail(Errc::cancelled, "tuning was stopped");
  if (auto entered = gpu->enter(); !entered) return Unexpected(entered.error());
  const auto stream = gpu->stream(hal::EngineKind::compute);
  const int width = static_cast<int>(channels), height = static_cast<int>(resolution_);
  const auto opened = CudnnConvolution::open(options_.functions, width, height, stream);
  std::vector lines{opened ? choose(**opened) : own_convolution(opened.error().what)};
  if (const auto used = use(lines); !used) return Unexpected(used.error());
  if (progress) (void)progress(1, 1);
  return lines;
}

std::string WinogradWorkload::choose(const CudnnConvolution& convolution) const {
  std::string refusals;
  for (const int algorithm : algorithms) {
    const auto workspace = convolution.workspace(algorithm);
    if (workspace && *workspace <= max_workspace)
      return key_of(resolution_) +
             to_text(cuda::ConvMethod{cuda::ConvMethod::Kind::cudnn, {}, algorithm, false, *workspace});
    const auto why = workspace ? "it needs a workspace of " + readable(Bytes{*workspace}) : workspace.error().what;
    refusals += (refusals.empty() ? "algorithm " : "; algorithm ") + std::to_string(algorithm) + ": " + why;
  }
  return own_convolution(refusals);
}

} // namespace rtexec::tasks
