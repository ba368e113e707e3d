#include "tasks/engine/dnn_workload.hpp"

#include "config/base/decimal.hpp"
#include "config/base/text.hpp"
#include "tasks/base/buffer_kind.hpp"
#include "tasks/engine/make_network.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "tasks/engine/graph/input_ranges.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "tasks/base/fingerprint.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace rtexec::tasks {
namespace {

namespace fs = std::filesystem;

/// Returns the first part of a fingerprint. It names the device kind and the precision, because measured times depend
/// on both. For the host device it names neither.
std::string_view prefix(DeviceKind kind, Precision precision) {
  if (kind == DeviceKind::host) return "dnn-";
  switch (precision) {
  case Precision::fp32: return "dnn-cuda-fp32-";
  case Precision::tf32: return "dnn-cuda-tf32-";
  case Precision::fp16: return "dnn-cuda-fp16-";
  }
  std::unreachable();
}

/// Returns the part of a fingerprint that names the memory policy; it is empty for D (device memory).
std::string_view infix(MemoryPolicy policy) {
  switch (kind_of(policy)) {
  case BufferKind::device: return "";
  case BufferKind::managed: return "managed-";
  case BufferKind::host: return "in-host-";
  }
  std::unreachable();
}

using Ports = std::span<const Network::Port>;

/// Adds to the fingerprint the properties that the user supplies in addition to the model file.
void add(Fingerprint& fingerprint, const DnnWorkload::Given& given, Ports inputs) {
  if (!given.inputs.shapes.empty())
    for (const auto& input : inputs) fingerprint.add("shape").add(input.name).add(to_string(input.shape));
  for (const auto& [input, values] : given.inputs.constants) {
    fingerprint.add("constant").add(input);
    for (const double value : values) fingerprint.add(config::decimal(value));
  }
  for (const auto& [input, output] : given.state) fingerprint.add("state").add(input).add(output);
}

/// Returns the index of the input or output (port) with this name. `kind` is the word for the port in errors.
Result<std::size_t> number_of(const std::string& name, Ports ports, const std::string& kind) {
  const auto found = std::ranges::find(ports, name, &Network::Port::name);
  if (found != ports.end()) return static_cast<std::size_t>(found - ports.begin());
  std::string there;
  for (const auto& port : ports) there += (there.empty() ? "" : ", ") + config::quoted(port.name);
  return fail(Errc::bad_input, "the network has no " + kind + " " + config::quoted(name) + "; there are: " + there);
}

std::string kind_of(const Network::Port& port) { return std::string(name(port.type)) + " " + to_string(port.shape); }

Result<Network::State> state_of(const std::string& input, const std::string& output, const Network& network) {
  const auto to = number_of(input, network.inputs(), "input");
  if (!to) return Unexpected(to.error());
  const auto from = number_of(output, network.outputs(), "output");
  if (!from) return Unexpected(from.error());
  const auto& taken = network.inputs()[*to];
  const auto& left = network.outputs()[*from];
  if (taken.type == left.type && taken.shape == left.shape) return Network::State{*to, *from};
  return fail(Errc::bad_input, "the input is " + kind_of(taken) + ", and the output " + kind_of(left) +
                                   ": state needs an input and an output of the same type and shape");
}

Result<std::vector<Network::State>> states_of(const DnnWorkload::Given& given, const Network& network) {
  std::vector<Network::State> states;
  for (const auto& [input, output] : given.state) {
    const auto state = state_of(input, output, network);
    if (!state)
      return fail(state.error().code, "state: " + config::toml_string(input) + " = " + config::toml_string(output) +
                                          ": " + state.error().what);
    states.push_back(*state);
  }
  return states;
}

} // namespace

DnnWorkload::DnnWorkload(std::unique_ptr<Network> network, const Normalization& normalization,
                         std::unique_ptr<OutputDecoder> decoder, std::string fingerprint)
    : network_(std::move(network)), decoder_(std::move(decoder)), fingerprint_(std::move(fingerprint)) {
  const auto inputs = normalised(network_->inputs(), normalization);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (std::ranges::find(network_->states(), i, &Network::State::input) != network_->states().end()) continue;
    inputs_.push_back(inputs[i]);
    fed_.push_back(i);
  }
}

Result<std::unique_ptr<DnnWorkload>> DnnWorkload::load(const fs::path& model, DeviceKind kind, Precision precision,
                                                       const std::optional<Footprint>& footprint, MemoryPolicy policy,
                                                       const Given& given) {
  Fingerprint fingerprint;
  auto graph = read_onnx(model, given.inputs, [&](std::span<const std::byte> bytes) { fingerprint.add(bytes); });
  if (!graph) return Unexpected(graph.error());
  optimise(*graph);
  auto network = make_network(*graph, kind, precision, policy);
  if (!network) return fail(network.error().code, model.string() + ": " + network.error().what);

  const auto in_model = [&](const Error& error) { return fail(error.code, model.string() + ": " + error.what); };
  auto states = states_of(given, **network);
  if (!states) return in_model(states.error());
  (*network)->keep(std::move(*states));
  add(fingerprint, given, (*network)->inputs());
  const auto normalization = normalization_of(graph->metadata);
  if (!normalization) return in_model(normalization.error());
  auto decoder = make_decoder(graph->metadata, (*network)->inputs(), (*network)->outputs());
  if (!decoder) return in_model(decoder.error());
  const auto print = std::string(prefix(kind, precision)).append(infix(policy)).append(fingerprint.text());
  std::unique_ptr<DnnWorkload> workload(
      new DnnWorkload(std::move(*network), *normalization, std::move(*decoder), print));
  workload->ranges_ = input_ranges(*graph);
  workload->notes_ = std::move(graph->notes);
  workload->footprint_ = footprint;
  if (const auto fits = workload->fit(); !fits) return in_model(fits.error());
  return workload;
}

Result<DnnWorkload::Padding> DnnWorkload::padding_for(const MemoryDemand& own) const {
  if (!footprint_) return Padding{};
  const Bytes needed = own.constant + own.scratch + own.state + own.carry;
  if (footprint_->size < needed)
    return fail(Errc::bad_input, "footprint = " + to_string(footprint_->size) + " is less than the network needs: " +
                                     to_string(needed) + " (constants " + to_string(own.constant) + ", scratch " +
                                     to_string(own.scratch) + ", state " + to_string(own.state) + ", carry " +
                                     to_string(own.carry) + "); give at least that, or leave footprint out");
  const Bytes room = footprint_->size - needed;
  Bytes fixed = footprint_->size - footprint_->swappable;
  fixed = fixed - std::min(fixed, own.carry);
  if (fixed > room)
    return fail(Errc::bad_input, "swappable = " + to_string(footprint_->swappable) + " leaves " + to_string(fixed) +
                                     " of the footprint, " + to_string(footprint_->size) +
                                     ", fixed, but all memory of the network is swappable, " + to_string(needed) +
                                     ": give at least that");
  return Padding{.fixed = fixed, .added = room - fixed};
}

/// Divides the footprint into the network's current memory demand and added memory.
Result<> DnnWorkload::fit() {
  if (!footprint_) return {};
  const auto own = network_->memory();
  const auto divided = padding_for(own);
  if (!divided) return Unexpected(divided.error());
  padding_ = *divided;
  if (footprint_->kind != MemoryClass::constant) return {};
  auto image = ConstantImage::zeros_behind(network_->constants(), own.constant + padding_.added);
  if (!image) return Unexpected(image.error());
  image_ = std::move(*image);
  return {};
}

MemoryDemand DnnWorkload::demand(MemoryDemand own, const Padding& padding) const {
  own.fixed = padding.fixed;
  if (footprint_) own.add(footprint_->kind, padding.added);
  return own;
}

Result<MemoryDemand> DnnWorkload::memory_if_cut(std::span<const std::uint32_t> after) const {
  auto own = network_->memory_if_cut(after);
  if (!own) return own;
  const auto divided = padding_for(*own);
  if (!divided) return fail(divided.error().code, "as cut, " + divided.error().what);
  return demand(std::move(*own), *divided);
}

Result<> DnnWorkload::use(std::span<const std::string> tuning) {
  if (auto used = network_->use(tuning); !used) return used;
  return fit();
}

Result<std::vector<std::string>> DnnWorkload::tune(Device& device, const TuningProgress& progress) {
  auto lines = network_->tune(device, progress);
  if (!lines) return lines;
  if (const auto fits = fit(); !fits) return fail(fits.error().code, "as tuned, " + fits.error().what);
  return lines;
}

Result<> DnnWorkload::cut(std::span<const std::uint32_t> after) {
  if (auto done = network_->cut(after); !done) return done;
  if (const auto fits = fit(); !fits) return fail(fits.error().code, "as cut, " + fits.error().what);
  return {};
}

Result<> DnnWorkload::bind(Device& device, const Memory& memory) {
  if (auto bound = network_->bind(device, memory); !bound) return bound;
  for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i].bytes = network_->inputs()[fed_[i]].bytes;
  return {};
}

Status DnnWorkload::execute() noexcept { return network_->run(); }

Status DnnWorkload::after(std::uint64_t) noexcept {
  if (keeps_) network_->hand_on();
  if (decoder_) decoder_->decode(network_->outputs());
  return {};
}

} // namespace rtexec::tasks
