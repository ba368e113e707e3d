#include "tasks/engine/cuda/cuda_network.hpp"

#include "tasks/engine/cuda/conv_tuner.hpp"
#include "tasks/engine/cuda/kernels/simple_kernels.hpp"
#include "tasks/engine/cuda/gpu_lowering.hpp"
#include "tasks/api/segments.hpp"
#include "tasks/engine/graph/constant_ranges.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace rtexec::tasks {

using namespace cuda;

namespace {

constexpr std::string_view separator = " = ";
constexpr std::string_view note = "# "; // begins a line of the tuning that is a note, not a choice

std::size_t count(const Network::Port& port) { return port.bytes.size() / size_of(port.type); }

Result<hal::CudaDevice*> gpu(Device& device) { return hal::CudaDevice::of(device, "this network"); }

} // namespace

Result<std::unique_ptr<CudaNetwork>> CudaNetwork::build(const Graph& graph, Precision precision,
                                                        const Options& options) {
  auto program = lower(graph, precision);
  if (!program) return Unexpected(program.error());
  std::unique_ptr<CudaNetwork> network(new CudaNetwork(std::move(*program), options));
  std::vector<ConvMethod> methods(network->program_.calls.size());
  for (std::size_t i = 0; i < methods.size(); ++i)
    if (const auto* conv = std::get_if<ConvCall>(&network->program_.calls[i].what))
      methods[i] = default_conv_method(precision, *conv);
  if (auto planned = network->choose(std::move(methods), {}); !planned)
    return fail(planned.error().code, "network '" + graph.name + "' " + planned.error().what);
  return network;
}

CudaNetwork::CudaNetwork(Program program, const Options& options)
    : GpuNetwork(options.policy), program_(std::move(program)), options_(options) {
  if (in_place()) in_place_ = port_buffers(program_);
  for (const auto& input : program_.inputs) inputs_.push_back({input.name, input.type, input.shape, {}});
  for (const auto& output : program_.outputs) outputs_.push_back({output.name, output.type, output.shape, {}});
  segment_ends_ = {program_.layers.size()};
}

std::vector<MemoryObject> CudaNetwork::objects_of(const cuda::ScratchPlan& plan) const {
  auto objects = program_.constant_objects;
  const auto scratch = scratch_objects(plan.lifetimes, plan.places);
  objects.insert(objects.end(), scratch.begin(), scratch.end());
  return objects;
}

std::vector<ConstantRange> CudaNetwork::constant_ranges() const {
  ConstantRanges ranges(program_.constant_objects, program_.layers.size());
  std::size_t layer = 0;
  const auto read = [&](const cuda::MemoryLocation& location) {
    if (location.region == cuda::MemoryLocation::Region::constant) ranges.read(layer, location.offset);
  };
  for (const cuda::Call& call : program_.calls) {
    if (call.layer != cuda::Call::no_layer) layer = call.layer;
    if (const auto* kernel = std::get_if<cuda::KernelCall>(&call.what))
      for (const auto& pointer : kernel->pointers) read(pointer.location);
    if (const auto* conv = std::get_if<cuda::ConvCall>(&call.what))
      for (const cuda::MemoryLocation& location : {conv->x, conv->weights, conv->bias, conv->residual, conv->half_bias,
                                                   conv->offsets, conv->factors, conv->zero})
        read(location);
  }
  for (const cuda::Transfer& output : program_.outputs) read(output.location);
  return std::move(ranges).result();
}

// ---- choices

Result<cuda::ScratchPlan> CudaNetwork::planned(std::span<const ConvMethod> methods,
                                               std::span<const std::uint32_t> cuts) const {
  auto plan = plan_scratch(program_, methods, in_place_, cuts);
  if (std::max(plan.places.scratch.size, plan.places.carry.size) > max_scratch.count)
    return fail(Errc::out_of_memory,
                "needs more than " + readable(max_scratch) + " of scratch memory; use a smaller input");
  return plan;
}

Result<> CudaNetwork::choose(std::vector<ConvMethod> methods, std::vector<std::uint32_t> cuts) {
  auto plan = planned(methods, cuts);
  if (!plan) return Unexpected(plan.error());
  methods_ = std::move(methods);
  cuts_ = std::move(cuts);
  plan_ = std::move(*plan);
  return {};
}

Result<> CudaNetwork::use(std::span<const std::string> tuning) {
  std::map<std::string_view, ConvMethod> chosen;
  for (const auto& line : tuning) {
    if (line.starts_with(note)) continue;
    const auto at = line.rfind(separator);
    if (at == std::string::npos) return fail(Errc::bad_input, "'" + line + "' is not a choice of the tuning");
    const auto method = parse_conv_method(std::string_view(line).substr(at + separator.size()));
    if (!method) return Unexpected(method.error());
    chosen[std::string_view(line).substr(0, at)] = *method;
  }
  auto methods = methods_;
  std::size_t used = 0;
  std::map<std::string, bool> seen;
  for (std::size_t i = 0; i < methods.size(); ++i) {
    const auto* conv = std::get_if<ConvCall>(&program_.calls[i].what);
    if (!conv) continue;
    const auto geometry = geometry_of(*conv);
    const auto found = chosen.find(geometry);
    if (found == chosen.end()) continue;
    if (!computes(found->second, program_.precision, *conv))
      return fail(Errc::bad_input,
                  "'" + to_text(found->second) + "' cannot compute '" + geometry + "': profile the task set again");
    methods[i] = found->second;
    if (!std::exchange(seen[geometry], true)) ++used;
  }
  if (used != chosen.size())
    return fail(
        Errc::bad_input,
        "the profile's tuning has choices for layers that this network does not have: profile the task set again");
  return choose(std::move(methods), cuts_);
}

Result<std::vector<std::string>> CudaNetwork::tune(Device& device, const TuningProgress& progress) {
  const auto found = gpu(device);
  if (!found) return Unexpected(found.error());
  auto tuned = tune_convolutions(**found, program_, methods_, options_.launching, progress);
  if (!tuned) return Unexpected(tuned.error());
  if (auto planned = choose(std::move(tuned->methods), cuts_); !planned)
    return fail(planned.error().code, "the network with its fastest implementations " + planned.error().what);
  std::vector<std::string> lines;
  for (const auto& text : tuned->notes) lines.push_back(std::string(note) + text);
  for (const auto& choice : tuned->choices)
    lines.push_back(choice.geometry + std::string(separator) + to_text(choice.method));
  return lines;
}

Result<> CudaNetwork::cut(std::span<const std::uint32_t> after) {
  auto ends = segment_ends(after, program_.layers.size());
  if (!ends) return Unexpected(ends.error());
  if (auto planned = choose(methods_, {after.begin(), after.end()}); !planned)
    return fail(planned.error().code, "the network with these cut points " + planned.error().what);
  segment_ends_ = std::move(*ends);
  return {};
}

Result<MemoryDemand> CudaNetwork::memory_if_cut(std::span<const std::uint32_t> after) const {
  if (const auto ends = segment_ends(after, program_.layers.size()); !ends) return Unexpected(ends.error());
  const auto plan = planned(methods_, after);
  if (!plan) return fail(plan.error().code, "the network with these cut points " + plan.error().what);
  return demand({plan->places.scratch.size}, {plan->places.carry.size}, objects_of(*plan));
}

// ---- binding

Result<> CudaNetwork::place(Device& device, const Memory& memory) {
  unbind();
  const auto found = gpu(device);
  if (!found) return Unexpected(found.error());
  return bind_to(
      **found, program_.precision, options_.launching, [&] { return open_libraries(); },
      [&](std::size_t segment) {
        const auto elsewhere = outside(memory.carry);
        return issue_segment(segment, {memory.constant, memory.scratch, plan_.places.scratch.offsets, elsewhere});
      });
}

std::vector<std::byte*> CudaNetwork::outside(std::byte* carry) const {
  std::vector<std::byte*> places(program_.buffers.size());
  for (std::size_t buffer = 0; buffer < places.size(); ++buffer)
    if (plan_.places.carried[buffer]) places[buffer] = carry + plan_.places.carry.offsets[buffer];
  for (std::size_t port = 0; port < in_place_.size(); ++port)
    if (in_place_[port]) places[*in_place_[port]] = buffers_[port].device;
  return places;
}

Result<> CudaNetwork::open_libraries() {
  for (std::size_t i = 0; i < methods_.size(); ++i) {
    Result<> opened;
    if (methods_[i].kind == ConvMethod::Kind::cudnn) opened = executor_->open_cudnn();
    if (methods_[i].kind == ConvMethod::Kind::cublas) opened = executor_->open_cublas();
    if (!opened)
      return fail(Errc::refused,
                  "the profile chose a library for a layer of this network that this machine cannot use: " +
                      opened.error().what);
  }
  return {};
}

Result<> CudaNetwork::issue_segment(std::size_t segment, const Addresses& addresses) {
  const bool first = segment == 0, last = segment + 1 == segment_ends_.size();
  executor_->begin();
  if (auto cleared = clear_counters(addresses); !cleared) return cleared;
  for (std::size_t i = 0; first && options_.transfers && i < inputs_.size(); ++i)
    if (auto taken = stage_input(i, addresses); !taken) return taken;
  if (auto issued = issue_calls(segment, addresses); !issued) return issued;
  for (std::size_t i = 0; last && options_.transfers && i < outputs_.size(); ++i)
    if (auto given = stage_output(i, addresses); !given) return given;
  return record_end(segment);
}

Result<> CudaNetwork::stage_input(std::size_t input, const Addresses& addresses) {
  std::byte* const to = addresses(program_.inputs[input].location);
  const auto from = outer_input(input);
  if (from.bytes == to) return {};
  return executor_->stage_input(to, inputs_[input].type, from, count(inputs_[input]));
}

Result<> CudaNetwork::stage_output(std::size_t output, const Addresses& addresses) {
  const std::byte* const from = addresses(program_.outputs[output].location);
  for (const OuterPlace& to : outer_output(output))
    if (to.bytes != from)
      if (auto given = executor_->stage_output(to, outputs_[output].type, from, count(outputs_[output])); !given)
        return given;
  return {};
}

Result<> CudaNetwork::clear_counters(const Addresses& addresses) {
  if (plan_.counters == 0) return {};
  ClearArguments clear;
  clear.count = static_cast<int>(plan_.counters);
  const MemoryLocation counters{MemoryLocation::Region::buffer, program_.counters_buffer, 0};
  return executor_->issue(kernel_call<ClearArguments>(launch_of(clear), clear, {{&ClearArguments::words, counters}}),
                          addresses);
}

/// Returns the index of the first call of segment number `segment`. Returns the number of calls if there is no such
/// segment.
std::size_t CudaNetwork::first_call(std::size_t segment) const {
  if (segment == 0) return 0;
  return segment < segment_ends_.size() ? plan_.layer_times[first_layer(segment)] - 1 : program_.calls.size();
}

Result<> CudaNetwork::issue_calls(std::size_t segment, const Addresses& addresses) {
  const MemoryLocation counters{MemoryLocation::Region::buffer, program_.counters_buffer, 0};
  std::size_t next = first_layer(segment);
  for (std::size_t i = first_call(segment); i < first_call(segment + 1); ++i) {
    const auto& call = program_.calls[i];
    const bool behind_all = call.layer == Call::no_layer && next == program_.layers.size();
    if (call.layer == next || (behind_all && next > 0 && program_.calls[i - 1].layer != Call::no_layer))
      if (auto recorded = record(segment, next++); !recorded) return recorded;
    Result<> issued;
    if (const auto* conv = std::get_if<ConvCall>(&call.what))
      issued = executor_->issue(*conv, methods_[i], ScratchPlan::workspace(program_, i), counters, addresses);
    else issued = executor_->issue(std::get<KernelCall>(call.what), addresses);
    if (!issued)
      return call.layer == Call::no_layer
                 ? issued
                 : fail(issued.error().code, "layer '" + program_.layers[call.layer] + "': " + issued.error().what);
  }
  return next <= segment_ends_[segment] ? record(segment, next) : Result<>();
}

} // namespace rtexec::tasks
