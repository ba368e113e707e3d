// Lowers operators on sequences, which are lists of tensors. Exporters write such operators also in unrolled loops. The
// length and the tensors of a sequence must be known when the model is loaded. Kernels never receive a sequence.
#include "tasks/engine/onnx/control_flow.hpp"
#include "tasks/engine/onnx/operators.hpp"

#include <algorithm>

namespace rtexec::tasks::onnx_source {
namespace {

/// Returns the position that input `input` holds, in a sequence of `size` elements. Returns `absent` if the node omits
/// the input. A negative position counts from the end. `positions` is the number of valid positions.
std::ptrdiff_t position(NodeContext& node, std::size_t input, std::ptrdiff_t size, std::ptrdiff_t positions,
                        std::ptrdiff_t absent) {
  std::int64_t at = absent;
  if (node.has(input)) {
    const auto& given = node.ints(input, "the position");
    node.require(given.size() == 1, "its position must be one number");
    at = given.front() < 0 ? given.front() + size : given.front();
  }
  if (at < 0 || at >= positions)
    node.bad("its position lies outside of its sequence, which has " + std::to_string(size) + " elements");
  return at;
}

void empty(NodeContext& node) {
  node.ignore_attribute("dtype");
  node.set_output(Sequence{});
}

void construct(NodeContext& node) {
  Sequence sequence;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    (void)node.shape(i);
    sequence.elements.push_back(node.input(i));
  }
  node.set_sequence(std::move(sequence));
}

void insert(NodeContext& node) {
  auto sequence = node.sequence(0);
  const auto size = std::ssize(sequence.elements);
  (void)node.shape(1);
  sequence.elements.insert(sequence.elements.begin() + position(node, 2, size, size + 1, size), node.input(1));
  node.set_sequence(std::move(sequence));
}

void erase(NodeContext& node) {
  auto sequence = node.sequence(0);
  const auto size = std::ssize(sequence.elements);
  sequence.elements.erase(sequence.elements.begin() + position(node, 1, size, size, size - 1));
  node.set_sequence(std::move(sequence));
}

void at(NodeContext& node) {
  const auto& elements = node.sequence(0).elements;
  const auto size = std::ssize(elements);
  node.become("Identity", {elements[static_cast<std::size_t>(position(node, 1, size, size, -1))]});
}

void length(NodeContext& node) { node.set_constant({{}, std::vector{std::ssize(node.sequence(0).elements)}}); }

void concatenate(NodeContext& node) {
  auto parts = node.sequence(0).elements;
  const auto axis = node.attribute<std::int64_t>("axis");
  node.require(!parts.empty(), "its sequence has no elements, and so its output has no shape");
  if (node.attribute<std::int64_t>("new_axis", 0) != 0)
    for (auto& part : parts) part = node.unsqueezed(part, axis);
  node.become("Concat", std::move(parts), {{"axis", axis}});
}

/// Returns the lengths of the parts into which the node splits a dimension of `size`.
std::vector<std::int64_t> part_lengths(NodeContext& node, std::int64_t size) {
  if (!node.has(1)) return std::vector<std::int64_t>(static_cast<std::size_t>(size), 1);
  const auto& given = node.ints(1, "the split");
  std::vector<std::int64_t> lengths = given;
  if (node.shape(1).empty()) {
    node.require(given.front() >= 1, "it splits into parts of no elements");
    lengths.assign(static_cast<std::size_t>(size / given.front()), given.front());
    if (size % given.front() != 0) lengths.push_back(size % given.front());
  }
  std::int64_t sum = 0;
  for (const auto each : lengths) {
    node.require(each >= 0 && each <= size - sum, "its parts are longer than its input");
    sum += each;
  }
  node.require(sum == size, "its parts do not add up to its input");
  return lengths;
}

void split(NodeContext& node) {
  const auto& x = node.shape(0);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", 0), x.size());
  const bool keeps = node.attribute<std::int64_t>("keepdims", 1) != 0 || node.has(1);
  const auto size = x[axis];
  if (size > static_cast<std::int64_t>(max_nodes))
    node.unsupported("it splits into " + std::to_string(size) + " parts; supported: up to " +
                     std::to_string(max_nodes));
  Sequence sequence;
  const auto along = static_cast<std::int64_t>(axis);
  std::int64_t begin = 0;
  for (const auto part : part_lengths(node, size)) {
    const auto list = [&](std::int64_t value) { return node.known({{1}, {value}}); };
    sequence.elements.push_back(
        keeps ? node.made("Slice", {node.input(0), list(begin), list(begin + part), list(along)})
              : node.made("Gather", {node.input(0), node.known({{}, {begin}})}, {{"axis", along}}));
    begin += part;
  }
  node.set_sequence(std::move(sequence));
}

/// Lowers Optional. An ONNX optional with a value is represented by the value itself.
void optional(NodeContext& node) {
  node.ignore_attribute("type");
  if (node.inputs() == 0) node.set_output(Absent{});
  else node.become("Identity", {node.input(0)});
}

void has_element(NodeContext& node) {
  const bool has = node.inputs() > 0 && !node.input(0).empty() && !node.is_absent(0);
  node.set_constant({{}, Integers({has ? 1 : 0}, ElementType::boolean)});
}

void get_element(NodeContext& node) {
  node.require(!node.is_absent(0), "its input is an optional without a value");
  node.become("Identity", {node.input(0)});
}

} // namespace

void NodeContext::set_sequence(Sequence sequence, std::size_t output) {
  charge(sequence.elements.size(), 2 * sizeof(std::string)); // the size includes the characters of a long name
  set_output(std::move(sequence), output);
}

void add_sequence_operators(OperatorTable& table) {
  table["SequenceEmpty"] = {empty, "", 11};
  table["SequenceConstruct"] = {construct, "", 11};
  table["SequenceInsert"] = {insert, "the position is known when the model is loaded", 11};
  table["SequenceErase"] = {erase, "the position is known when the model is loaded", 11};
  table["SequenceAt"] = {at, "the position is known when the model is loaded", 11};
  table["SequenceLength"] = {length, "", 11};
  table["ConcatFromSequence"] = {concatenate, "", 11};
  table["Optional"] = {optional, "", 15};
  table["OptionalHasElement"] = {has_element, "", 15};
  table["OptionalGetElement"] = {get_element, "", 15};
  table["SplitToSequence"] = {split, "the split is known when the model is loaded", 11};
}

} // namespace rtexec::tasks::onnx_source
