#include "tasks/engine/cuda/scratch_plan.hpp"

#include "tasks/engine/cuda/executor.hpp"

#include <algorithm>
#include <limits>

namespace rtexec::tasks::cuda {
namespace {

constexpr std::size_t aligned_pixel = 16; // sizes of buffers are rounded up to multiples of this many bytes
constexpr auto never = std::numeric_limits<std::uint32_t>::max();

class Lifetimes {
 public:
  explicit Lifetimes(std::size_t buffers) : lifetimes_(buffers, Lifetime{0, never, 0}) {}

  void use(const MemoryLocation& location, std::size_t time) {
    if (location.region != MemoryLocation::Region::buffer) return;
    auto& lifetime = lifetimes_[location.buffer];
    lifetime.first = std::min(lifetime.first, static_cast<std::uint32_t>(time));
    lifetime.last = std::max(lifetime.last, static_cast<std::uint32_t>(time));
  }

  /// Returns the lifetimes with the sizes of the buffers. Buffers that no call uses get size 0.
  std::vector<Lifetime> with_sizes(std::span<const std::size_t> sizes) && {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (lifetimes_[i].first == never) lifetimes_[i] = {0, 0, 0};
      else
        lifetimes_[i].size = (sizes[i] + ScratchPlan::alignment - 1) / ScratchPlan::alignment * ScratchPlan::alignment;
    }
    return std::move(lifetimes_);
  }

 private:
  std::vector<Lifetime> lifetimes_;
};

void use_all(Lifetimes& lifetimes, const KernelCall& call, std::size_t time) {
  for (const auto& pointer : call.pointers) lifetimes.use(pointer.location, time);
}
void use_all(Lifetimes& lifetimes, const ConvCall& call, std::size_t time) {
  for (const auto* location : {&call.x, &call.residual, &call.zero, &call.y}) lifetimes.use(*location, time);
}

std::vector<std::uint32_t> layer_times(const Program& program) {
  std::vector<std::uint32_t> times;
  for (std::size_t i = 0; i < program.calls.size(); ++i)
    if (program.calls[i].layer == times.size()) times.push_back(static_cast<std::uint32_t>(i + 1));
  return times;
}

/// True if the network stores elements of this type exactly as the caller does. For booleans this is false, because the
/// caller may represent true by any byte but 0.
bool is_stored_as_seen(ElementType type) {
  return type == ElementType::float32 ||
         (is_integer(type) && type != ElementType::uint8 && type != ElementType::boolean);
}

} // namespace

std::vector<std::optional<std::uint32_t>> port_buffers(const Program& program) {
  std::vector<std::optional<std::uint32_t>> buffers;
  for (const auto* ports : {&program.inputs, &program.outputs})
    for (const auto& port : *ports) {
      const auto size = static_cast<std::size_t>(element_count(port.shape)) * size_of(port.type);
      const bool alone = is_stored_as_seen(port.type) && port.location.region == MemoryLocation::Region::buffer &&
                         port.location.offset == 0 && program.buffers[port.location.buffer] < size + aligned_pixel &&
                         std::ranges::find(buffers, port.location.buffer) == buffers.end();
      buffers.push_back(alone ? std::optional(port.location.buffer) : std::nullopt);
    }
  return buffers;
}

ScratchPlan plan_scratch(const Program& program, std::span<const ConvMethod> methods,
                         std::span<const std::optional<std::uint32_t>> elsewhere,
                         std::span<const std::uint32_t> after) {
  auto sizes = program.buffers;
  for (const auto& buffer : elsewhere)
    if (buffer) sizes[*buffer] = 0;
  sizes.resize(program.buffers.size() + program.calls.size(), 0);
  Lifetimes lifetimes(sizes.size());
  ScratchPlan plan;
  plan.counters = program.counters;
  for (const auto& input : program.inputs) lifetimes.use(input.location, 0);
  for (std::size_t i = 0; i < program.calls.size(); ++i) {
    const auto& what = program.calls[i].what;
    std::visit([&](const auto& call) { use_all(lifetimes, call, i + 1); }, what);
    const auto* conv = std::get_if<ConvCall>(&what);
    if (!conv) continue;
    const auto needs = needs_of(*conv, methods[i]);
    plan.counters = std::max(plan.counters, needs.counters);
    if (needs.workspace == 0) continue;
    const auto workspace = ScratchPlan::workspace(program, i);
    lifetimes.use(workspace, i + 1);
    sizes[workspace.buffer] = needs.workspace;
  }
  for (const auto& output : program.outputs) lifetimes.use(output.location, program.calls.size() + 1);
  if (plan.counters > 0) {
    const MemoryLocation counters{MemoryLocation::Region::buffer, program.counters_buffer, 0};
    lifetimes.use(counters, 0);
    lifetimes.use(counters, program.calls.size() + 1);
    sizes[program.counters_buffer] = plan.counters * sizeof(unsigned);
  }
  plan.lifetimes = std::move(lifetimes).with_sizes(sizes);
  plan.lifetimes[program.counters_buffer].kept = false;
  plan.layer_times = layer_times(program);
  plan.places = plan_segments(plan.lifetimes, plan.layer_times, after);
  return plan;
}

} // namespace rtexec::tasks::cuda
