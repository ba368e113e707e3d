#include "tasks/engine/graph/patterns.hpp"

#include "tasks/base/half.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace rtexec::tasks {

namespace {

double rounded_to_half(double value) { return from_half(to_half(static_cast<float>(value))); }

double rounded_to_bfloat16(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<float>((bits + 0x7fffU + (bits >> 16 & 1U)) & 0xffff'0000U);
}

} // namespace

bool stands_for(double given, double exact) {
  const auto is = [&](double wanted) { return std::abs(given - wanted) <= constant_tolerance * std::abs(wanted); };
  return is(exact) || is(rounded_to_half(exact)) || is(1 / rounded_to_half(1 / exact)) ||
         is(rounded_to_bfloat16(exact)) || is(1 / rounded_to_bfloat16(1 / exact));
}

std::optional<Scaled> Patterns::scaled(const Node& node) const {
  const auto keeps = [&](TensorId x) { return shape(x) == shape(node.output); };
  if (const auto* f = std::get_if<Activation>(&node.operation)) {
    if (f->kind == Function::scale && f->b == 0) return Scaled{node.inputs[0], f->a};
    return std::nullopt;
  }
  const auto* pair = std::get_if<Binary>(&node.operation);
  if (!pair || node.activation.kind != Function::none) return std::nullopt;
  for (const std::size_t i : {0U, 1U}) {
    const auto x = node.inputs[i];
    const auto value = number(node.inputs[1 - i]);
    if (!value || !keeps(x)) continue;
    if (pair->kind == Pair::multiply) return Scaled{x, *value};
    if (pair->kind == Pair::divide && i == 0 && *value != 0) return Scaled{x, 1 / *value};
  }
  return std::nullopt;
}

Scaled Patterns::unscaled(TensorId id) const {
  const auto* node = writer(id);
  const auto found = node ? scaled(*node) : std::nullopt;
  return found ? *found : Scaled{id, 1};
}

std::optional<TensorId> Patterns::plus(TensorId id, float* value) const {
  if (const auto* node = activation(id, Function::scale); node && std::get<Activation>(node->operation).a == 1) {
    *value = std::get<Activation>(node->operation).b;
    return node->inputs[0];
  }
  const auto* sum = binary(id, Pair::add);
  if (!sum) return std::nullopt;
  for (const std::size_t i : {0U, 1U})
    if (const auto found = number(sum->inputs[1 - i])) {
      *value = *found;
      return sum->inputs[i];
    }
  return std::nullopt;
}

void Patterns::factors(TensorId id, bool is_root, std::vector<TensorId>& found, float& factor) const {
  const auto* node = is_root || uses.single_reader(id) ? writer(id) : nullptr;
  if (const auto part = node ? scaled(*node) : std::nullopt) {
    factor *= part->factor;
    return factors(part->x, false, found, factor);
  }
  const auto* product = node ? binary(id, Pair::multiply) : nullptr;
  if (!product) return found.push_back(id);
  factors(product->inputs[0], false, found, factor);
  factors(product->inputs[1], false, found, factor);
}

Patterns::MatMul Patterns::product(TensorId id) const {
  MatMul result;
  factors(id, true, result.of, result.factor);
  return result;
}

bool Patterns::is_square(TensorId id, TensorId of) const {
  if (const auto* node = binary(id, Pair::multiply)) return node->inputs[0] == of && node->inputs[1] == of;
  const auto* node = binary(id, Pair::power);
  return node && node->inputs[0] == of && number(node->inputs[1]) == 2.0F;
}

std::vector<float> values_at(const std::vector<float>& values, const Shape& shape,
                             const std::vector<std::int64_t>& strides) {
  std::vector<float> result;
  result.reserve(static_cast<std::size_t>(element_count(shape)));
  std::vector<std::int64_t> index(shape.size(), 0);
  std::int64_t at = 0;
  for (auto left = element_count(shape); left > 0; --left) {
    result.push_back(values[static_cast<std::size_t>(at)]);
    for (std::size_t d = shape.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < shape[d]) break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
  return result;
}

std::optional<std::vector<std::size_t>> permutation(const View& view, const Shape& from, const Shape& to) {
  if (view.offset != 0 || from.size() != to.size()) return std::nullopt;
  const auto strides = dense_strides(from);
  std::vector<std::size_t> order(to.size(), to.size());
  std::vector<bool> taken(from.size(), false);
  for (const bool single : {false, true}) // dimensions of size 1 are matched last, since they may have any stride
    for (std::size_t d = 0; d < to.size(); ++d) {
      if ((to[d] == 1) != single) continue;
      for (std::size_t x = 0; x < from.size() && order[d] == to.size(); ++x)
        if (!taken[x] && from[x] == to[d] && (single || strides[x] == view.strides[d])) {
          order[d] = x;
          taken[x] = true;
        }
      if (order[d] == to.size()) return std::nullopt;
    }
  return order;
}

} // namespace rtexec::tasks
