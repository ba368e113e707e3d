#include "tasks/engine/cuda/tensors.hpp"

#include "tasks/engine/cuda/row_layout.hpp"
#include "tasks/base/half.hpp"

#include <algorithm>
#include <limits>

namespace rtexec::tasks::cuda {
namespace {

constexpr std::size_t constant_alignment = 256;

/// Returns elements in a memory layout with the strides `strides`. `elements` are dense and row-major.
template <class T> std::vector<T> spread(std::span<const T> elements, const Shape& shape, const Strides& strides) {
  std::vector<T> result(static_cast<std::size_t>(extent(shape, strides)));
  std::vector<std::int64_t> index(shape.size(), 0);
  std::int64_t at = 0;
  for (const auto element : elements) {
    result[static_cast<std::size_t>(at)] = element;
    for (std::size_t d = shape.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < shape[d]) break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
  return result;
}

std::vector<std::uint16_t> halves_of(const std::vector<float>& values) {
  std::vector<std::uint16_t> halves(values.size());
  std::ranges::transform(values, halves.begin(), to_half);
  return halves;
}

/// Returns the elements of an integer constant, dense, in the encoding that kernels read.
std::vector<std::byte> integers_of(const Tensor& tensor, Storage storage) {
  const auto stored = tasks::stored(tensor);
  std::vector<std::byte> bytes(stored.begin(), stored.end());
  if (storage == Storage::u8)
    for (auto& byte : bytes) byte ^= std::byte{0x80};
  return bytes;
}

Storage storage_of(ElementType type) {
  switch (type) {
  case ElementType::boolean: return Storage::boolean;
  case ElementType::uint8: return Storage::u8;
  case ElementType::int8: return Storage::s8;
  case ElementType::uint16: return Storage::u16;
  case ElementType::int16: return Storage::s16;
  case ElementType::uint32: return Storage::u32;
  case ElementType::int32: return Storage::s32;
  case ElementType::uint64: return Storage::u64;
  default: return Storage::s64;
  }
}

} // namespace

Tensors::Tensors(const Graph& graph, Program& program)
    : graph_(graph), program_(program), rows_(row_layout(graph)), concats_(plan_concats(graph, rows_, unit())) {
  groups_.resize(concats_.groups.size());
  find_last_reads();
}

void Tensors::find_last_reads() {
  for (TensorId id = 0; id < graph_.tensors.size(); ++id) source_.push_back(id);
  for (const auto& node : graph_.nodes)
    if (std::holds_alternative<Reshape>(node.operation) || std::holds_alternative<tasks::View>(node.operation))
      source_[node.output] = source_[node.inputs.front()];
  last_read_.resize(graph_.tensors.size(), 0);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    for (const auto input : graph_.nodes[i].inputs) last_read_[source_[input]] = i;
    if (graph_.nodes[i].residual) last_read_[source_[*graph_.nodes[i].residual]] = i;
  }
  for (const auto output : graph_.outputs) last_read_[source_[output]] = std::numeric_limits<std::size_t>::max();
}

Storage Tensors::storage_of(TensorId id) const {
  const auto type = graph_.tensors[id].type;
  return is_integer(type) ? cuda::storage_of(type) : program_.storage;
}

const PlacedTensor& Tensors::value(TensorId id) {
  const auto found = values_.find(id);
  return found != values_.end() ? found->second : value(id, storage_of(id));
}

const PlacedTensor& Tensors::value(TensorId id, Storage storage) {
  const auto [found, missing] = constants_.try_emplace({id, storage});
  if (missing) found->second = constant(id, storage, natural(id, storage));
  return found->second;
}

PlacedTensor Tensors::constant(TensorId id, Storage storage, Strides strides) {
  const auto& tensor = graph_.tensors[id];
  const auto place = [&]<class T>(std::span<const T> elements) {
    return constant(spread(elements, tensor.shape, strides));
  };
  const auto placed = [&] {
    if (storage == Storage::f32) return place(std::span(tensor.values));
    if (storage == Storage::f16) return place(std::span<const std::uint16_t>(halves_of(tensor.values)));
    const auto bytes = integers_of(tensor, storage);
    const auto as = [&]<class T>(T) {
      return place(std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)));
    };
    switch (size_of(storage)) {
    case 1: return as(std::uint8_t{});
    case 2: return as(std::uint16_t{});
    case 4: return as(std::uint32_t{});
    default: return as(std::uint64_t{});
    }
  };
  const auto at = placed();
  return {at, storage, tensor.shape, std::move(strides)};
}

Strides Tensors::natural(TensorId id, Storage storage) const {
  const auto& shape = graph_.tensors[id].shape;
  if (shape.size() == 2 || (shape.size() == 4 && !rows_[id]))
    return channels_last(shape, round_up(shape[1], std::max(unit(storage), unit())));
  const bool bytes = storage == Storage::s8 || storage == Storage::u8;
  if (!bytes || shape.empty()) return dense_strides(shape);
  auto padded = shape;
  padded.back() = round_up(padded.back(), unit(storage));
  return dense_strides(padded);
}

PlacedTensor Tensors::allocate(const Shape& shape, Strides strides, Storage storage) {
  // Allocates whole pixels, because kernels may read the last pixel to its end.
  const auto elements = round_up(extent(shape, strides), 16 / static_cast<std::int64_t>(size_of(storage)));
  program_.buffers.push_back(static_cast<std::size_t>(elements) * size_of(storage));
  return {{MemoryLocation::Region::buffer, static_cast<std::uint32_t>(program_.buffers.size() - 1), 0},
          storage,
          shape,
          std::move(strides)};
}

PlacedTensor Tensors::destination(TensorId id, Storage storage) {
  const auto& shape = graph_.tensors[id].shape;
  const auto& slot = concats_.slots[id];
  if (slot.group == ConcatPlan::Slot::none || storage != program_.storage)
    return allocate(shape, natural(id, storage), storage);
  const auto& group = concats_.groups[slot.group];
  auto& location = groups_[slot.group];
  auto strides = channels_last(group.shape, group.pixel);
  if (!location) location = allocate(group.shape, strides, program_.storage).location;
  const auto offset = static_cast<std::size_t>(slot.first * strides[group.axis]) * size_of(program_.storage);
  return {location->at(offset), program_.storage, shape, std::move(strides)};
}

bool Tensors::own_buffer(const PlacedTensor& value) const {
  return value.location.region == MemoryLocation::Region::buffer && value.location.offset == 0 &&
         std::ranges::none_of(groups_,
                              [&](const auto& group) { return group && group->buffer == value.location.buffer; });
}

PlacedTensor Tensors::destination(std::size_t node, std::span<const TensorId> inputs) {
  const auto output = graph_.nodes[node].output;
  const auto& shape = graph_.tensors[output].shape;
  if (concats_.slots[output].group != ConcatPlan::Slot::none) return destination(output, storage_of(output));
  for (const auto input : inputs) {
    if (graph_.tensors[input].constant()) continue;
    const auto& x = value(input);
    if (last_read_[source_[input]] != node || !own_buffer(x) || x.storage != storage_of(output) || x.shape != shape ||
        !lie_alike(shape, x.strides, natural(output)))
      continue;
    const auto in_buffer = [&](TensorId other) {
      return value(other).location.region == MemoryLocation::Region::buffer &&
             value(other).location.buffer == x.location.buffer;
    };
    if (std::ranges::count_if(inputs, in_buffer) > 1) continue;
    return {x.location, x.storage, shape, natural(output)};
  }
  return destination(output, storage_of(output));
}

MemoryLocation Tensors::constant(std::span<const std::byte> bytes) {
  auto& image = program_.constants;
  image.resize((image.size() + constant_alignment - 1) / constant_alignment * constant_alignment);
  const auto offset = image.size();
  image.insert(image.end(), bytes.begin(), bytes.end());
  program_.constant_objects.push_back({MemoryClass::constant, {offset}, {bytes.size()}});
  image.resize((image.size() + 15) / 16 * 16);
  return {MemoryLocation::Region::constant, 0, offset};
}

MemoryLocation Tensors::stored(const std::vector<float>& values, Storage storage) {
  return storage == Storage::f32 ? constant(values) : constant(halves_of(values));
}

} // namespace rtexec::tasks::cuda
