#include "tasks/engine/graph/network.hpp"

#include "tasks/base/tiled.hpp"

#include <algorithm>

namespace rtexec::tasks {

namespace {

constexpr Bytes linked_alignment{256};

Bytes bytes_of(const Network::Port& port) {
  return {static_cast<std::uint64_t>(element_count(port.shape)) * size_of(port.type)};
}

} // namespace

Result<> Network::use(std::span<const std::string> tuning) {
  if (tuning.empty()) return {};
  return fail(Errc::bad_input,
              "the profile's tuning is for a GPU, but this network runs on the host device, which has no tuning: "
              "profile the task set again on this board");
}

Result<std::vector<std::string>> Network::tune(Device&, const TuningProgress&) { return std::vector<std::string>{}; }

Result<> Network::cut(std::span<const std::uint32_t> after) {
  if (after.empty()) return {};
  return fail(Errc::bad_input, "this network cannot be cut into segments");
}

// ---- memory

MemoryDemand Network::demand(Bytes scratch, Bytes carry, std::vector<MemoryObject> objects) const {
  MemoryDemand demand{
      .constant = {constants().size()}, .scratch = scratch, .carry = carry, .objects = std::move(objects)};
  if (in_place())
    std::erase_if(demand.objects, [](const MemoryObject& each) { return each.kind == MemoryClass::constant; });
  else demand.add(MemoryClass::state, state_size());
  (kind_of(policy_) == BufferKind::managed ? demand.outside : demand.host) = own_memory();
  return demand;
}

Bytes Network::own_memory() const {
  Bytes all = std::max(loaded_, Bytes{image().size()});
  for (const auto ports : {inputs(), outputs()})
    for (const auto& port : ports) all += bytes_of(port);
  return in_place() ? all + state_size() : all;
}

Result<> Network::bind(Device& device, const Memory& memory) {
  give_back();
  bound_to_ = &device;
  state_ = memory.state;
  second_is_newer_ = false;
  auto bound = in_place() ? bind_own(device, memory) : place(device, memory);
  if (!bound) give_back();
  else place_states();
  return bound;
}

Result<> Network::bind_own(Device& device, const Memory& memory) {
  Memory own = memory;
  if (const auto constants = image(); !constants.empty()) {
    const auto buffer = take("its constants", kind_of(policy_), Bytes{constants.size()});
    if (!buffer) return Unexpected(buffer.error());
    if (auto loaded = initialise::load(device, *buffer, constants, contents_observer_); !loaded) return loaded;
    own.constant = buffer->device;
    loaded_ = buffer->size;
  }
  if (!states_.empty()) {
    const auto buffer = take("its state", kind_of(policy_), state_size());
    if (!buffer) return Unexpected(buffer.error());
    state_ = buffer->device;
  }
  if (auto placed = place(device, own); !placed) return placed;
  release_image();
  return {};
}

// ---- state

void Network::keep(std::vector<State> states) {
  states_ = std::move(states);
  state_offsets_.clear();
  state_copy_ = {};
  for (const auto& [input, output] : states_) {
    link_input(input);
    link_state(output);
    state_offsets_.push_back(state_copy_);
    state_copy_ += round_up(bytes_of(inputs()[input]), linked_alignment);
  }
}

void Network::hand_on() noexcept {
  second_is_newer_ = !second_is_newer_;
  place_states();
}

void Network::place_states() noexcept {
  std::byte* const older = state_ + (second_is_newer_ ? 0 : state_copy_.count);
  const std::byte* const newer = state_ + (second_is_newer_ ? state_copy_.count : 0);
  for (std::size_t i = 0; i < states_.size(); ++i) {
    take_input(states_[i].input, newer + state_offsets_[i].count);
    keep_output(states_[i].output, older + state_offsets_[i].count);
  }
}

Result<Buffer> Network::take(const std::string& what, BufferKind kind, Bytes size) {
  auto buffer = bound_to_->allocate(kind, size);
  if (!buffer) return fail(buffer.error().code, what + ": " + buffer.error().what);
  taken_.push_back(*buffer);
  return buffer;
}

void Network::give_back() noexcept {
  for (const Buffer& buffer : taken_) (void)bound_to_->free(buffer);
  taken_.clear();
}

} // namespace rtexec::tasks
