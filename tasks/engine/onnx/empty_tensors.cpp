// Handles tensors without elements. Exporters write them for an empty slice, an initially empty list of a loop, or no
// detected box. No node of the graph reads or writes such a tensor: shapes alone determine the result.
#include "tasks/engine/onnx/node_context.hpp"

#include <algorithm>
#include <limits>

namespace rtexec::tasks::onnx_source {
namespace {

/// True if the operation may select no elements from an input that has elements.
bool selects(const Operation& operation) {
  return std::holds_alternative<View>(operation) || std::holds_alternative<GatherConstant>(operation) ||
         std::holds_alternative<Gather>(operation) || std::holds_alternative<GatherElements>(operation) ||
         std::holds_alternative<GatherND>(operation) || std::holds_alternative<TopK>(operation) ||
         std::holds_alternative<NonMaxSuppression>(operation);
}

/// A pair of fill values: the first for floating-point types, the second for integer types.
struct Filler {
  float value = 0;
  std::int64_t integer = 0;
};

template <class T> std::pair<std::int64_t, std::int64_t> limits() {
  return {static_cast<std::int64_t>(std::numeric_limits<T>::min()),
          static_cast<std::int64_t>(std::numeric_limits<T>::max())};
}

/// Returns the smallest and the largest value of an integer type. For uint64 it returns int64 values with the same
/// bits.
std::pair<std::int64_t, std::int64_t> range_of(ElementType type) {
  switch (type) {
  case ElementType::boolean: return {0, 1};
  case ElementType::uint8: return limits<std::uint8_t>();
  case ElementType::int8: return limits<std::int8_t>();
  case ElementType::uint16: return limits<std::uint16_t>();
  case ElementType::int16: return limits<std::int16_t>();
  case ElementType::uint32: return limits<std::uint32_t>();
  case ElementType::int32: return limits<std::int32_t>();
  case ElementType::uint64: return limits<std::uint64_t>();
  default: return limits<std::int64_t>();
  }
}

/// Returns the result of a reduction over no elements. Returns nullopt for a reduction to an index, since no index
/// exists.
std::optional<Filler> reduced_nothing(Reduce::Kind kind, ElementType type) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  switch (kind) {
  case Reduce::Kind::sum:
  case Reduce::Kind::squares: return Filler{0, 0};
  case Reduce::Kind::product: return Filler{1, 1};
  case Reduce::Kind::mean: return Filler{std::numeric_limits<float>::quiet_NaN(), 0};
  case Reduce::Kind::minimum: return Filler{infinity, range_of(type).second};
  case Reduce::Kind::maximum: return Filler{-infinity, range_of(type).first};
  default: return std::nullopt;
  }
}

} // namespace

bool NodeContext::has_elements(TensorId id) const { return element_count(lowering_.graph.tensors[id].shape) != 0; }

TensorId NodeContext::uniform(const Shape& shape, float value, std::int64_t integer, ElementType type) {
  if (is_integer(type)) return filled(shape, type, [=](std::int64_t) { return integer; });
  return filled(shape, [=](std::int64_t) { return value; });
}

TensorId NodeContext::emit_without_elements(Operation operation, std::vector<TensorId> inputs, Shape shape,
                                            ElementType type) {
  const bool reads_some = std::ranges::all_of(inputs, [&](TensorId id) { return has_elements(id); });
  if (element_count(shape) == 0) {
    if (reads_some && !selects(operation))
      bad("its output would be " + to_string(shape) + ": its input is too small for it");
    return lowering_.graph.add({node_.outputs.front(), std::move(shape), {}, type});
  }
  if (std::holds_alternative<Concat>(operation)) {
    std::erase_if(inputs, [&](TensorId id) { return !has_elements(id); });
    return emit(std::move(operation), std::move(inputs), std::move(shape), type);
  }
  if (const auto* reduce = std::get_if<Reduce>(&operation)) {
    const auto value = reduced_nothing(reduce->kind, type);
    if (!value) bad("it indexes a dimension without elements");
    return uniform(shape, value->value, value->integer, type);
  }
  if (const auto* pad = std::get_if<Pad>(&operation)) return uniform(shape, pad->value, pad->integer, type);
  if (std::holds_alternative<MatMul>(operation)) return uniform(shape, 0, 0, type); // sums of no terms
  if (const auto* gemm = std::get_if<Gemm>(&operation)) {
    if (inputs.size() < 3) return uniform(shape, 0, 0, type);
    const auto c = lowering_.graph.tensors[inputs[2]].shape;
    const auto sum = emit(View{0, tasks::broadcast(c, dense_strides(c), shape)}, {inputs[2]}, shape, type);
    return emit(Activation{Activation::Kind::scale, gemm->beta, 0}, {sum}, shape, type);
  }
  if (std::holds_alternative<Scatter>(operation) && has_elements(inputs[0])) // nothing to scatter
    return emit(Reshape{}, {inputs[0]}, std::move(shape), type);
  unsupported("an input has no elements, and its output would be " + to_string(shape) +
              "; leave the node out of the model");
}

} // namespace rtexec::tasks::onnx_source
