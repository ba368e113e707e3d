#include "tasks/engine/onnx/control_flow.hpp"

#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/renaming.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>

namespace rtexec::tasks::onnx_source {
namespace {

using Graph = std::shared_ptr<const Subgraph>;

std::string numbered(Lowering& lowering) { return " @" + std::to_string(++lowering.copies); }

void note_read(Lowering& lowering, const std::vector<std::string>& names) {
  lowering.read.insert(names.begin(), names.end());
  lowering.read_by_nodes.insert(names.begin(), names.end());
}

/// Visits the names of all values that a node or one of its contained graphs reads.
template <class Visit> void each_read(const Node& node, const Visit& visit) {
  std::ranges::for_each(node.inputs, visit);
  for (const auto& [name, attribute] : node.attributes)
    if (const auto* within = std::get_if<Graph>(&attribute)) {
      for (const auto& each : (*within)->nodes) each_read(each, visit);
      std::ranges::for_each((*within)->outputs, visit);
    }
}

/// The body of a loop, divided into loop-invariant and varying nodes.
struct Body {
  Subgraph fixed;   // nodes that do not depend on an input of the body
  Subgraph varying; // all other nodes of the body

  explicit Body(const Subgraph& body) {
    varying.inputs = body.inputs;
    varying.outputs = body.outputs;
    std::unordered_set<std::string> names(body.inputs.begin(), body.inputs.end());
    for (const auto& node : body.nodes) {
      bool varies = false;
      each_read(node, [&](const std::string& name) { varies = varies || names.contains(name); });
      if (varies) names.insert(node.outputs.begin(), node.outputs.end());
      (varies ? varying : fixed).nodes.push_back(node);
    }
  }
};

/// A copy of a contained graph under unique names. The names are distinct from the names of other copies and graphs.
class Copy {
 public:
  /// `names` maps the graph's inputs to the tensors that replace them.
  Copy(Lowering& lowering, const Subgraph& graph, Names names)
      : lowering_(lowering), renaming_(std::move(names), numbered(lowering)) {
    renaming_.own(graph);
    outputs_ = renaming_.renamed(graph.outputs);
    lowering.read.insert(outputs_.begin(), outputs_.end());
    nodes_ = renaming_.copied(graph.nodes);
    each_node(nodes_, [&](const Node& node) { note_read(lowering, node.inputs); });
  }

  void lower(Refused& refused) { lower_nodes(lowering_, nodes_, refused); }
  [[nodiscard]] const std::vector<std::string>& outputs() const { return outputs_; }
  [[nodiscard]] std::string renamed(const std::string& name) const { return renaming_.renamed(name); }

 private:
  Lowering& lowering_;
  Renaming renaming_;
  std::vector<std::string> outputs_;
  std::vector<Node> nodes_;
};

/// Replaces a node that contains a graph by the nodes of that graph, once for each iteration.
class Unrolling {
 public:
  Unrolling(Lowering& lowering, const Node& node, Refused& refused)
      : lowering_(lowering), node_(node), refused_(refused), context_(lowering, node) {}

  void branch() {
    const bool holds = truth(0, "the condition");
    const auto chosen = context_.attribute<Graph>(holds ? "then_branch" : "else_branch");
    context_.ignore_attribute(holds ? "else_branch" : "then_branch");
    context_.require_all_attributes_read();
    context_.require(chosen->outputs.size() == node_.outputs.size(),
                     "its branch must have as many outputs as the node");
    Copy copy(lowering_, *chosen, {});
    copy.lower(refused_);
    for (std::size_t i = 0; i < node_.outputs.size(); ++i) give(i, copy.outputs()[i]);
  }

  void loop() {
    const auto body = context_.attribute<Graph>("body");
    context_.require_all_attributes_read();
    auto rounds = std::numeric_limits<std::int64_t>::max();
    if (context_.has(0)) rounds = context_.integer(0, "the number of rounds");
    bool goes_on = !context_.has(1) || truth(1, "the condition");
    begin(*body, node_.inputs.size() < 2 ? 0 : node_.inputs.size() - 2, 2, 1);
    for (std::size_t i = 0; i < states_.size(); ++i) states_[i] = node_.inputs[i + 2];
    nothing_ = (!goes_on || rounds < 1) && collects();
    if (nothing_ && !try_round({known(0, ElementType::int64), known(1, ElementType::boolean)})) return refuse_outputs();
    for (std::int64_t round = 0; goes_on && round < rounds; ++round) {
      const auto outputs = go_round({known(round, ElementType::int64), known(1, ElementType::boolean)});
      if (!outputs) return refuse_outputs();
      goes_on = is_true((*outputs)[0]);
    }
    end(std::vector<std::int64_t>(collected_.size(), 0), {});
  }

  void scan() {
    if (context_.opset() < 9) context_.unsupported("Scan of opset 8; supported: of opset 9 and later");
    const auto body = context_.attribute<Graph>("body");
    const auto scanned = static_cast<std::size_t>(context_.attribute<std::int64_t>("num_scan_inputs"));
    context_.require(scanned >= 1 && scanned <= node_.inputs.size(),
                     "num_scan_inputs must be from 1 to the number of inputs");
    const auto first = node_.inputs.size() - scanned;
    begin(*body, first, 0, 0, scanned);
    for (std::size_t i = 0; i < first; ++i) states_[i] = node_.inputs[i];
    const auto axes = listed("scan_input_axes", scanned), backwards = listed("scan_input_directions", scanned),
               to_axes = listed("scan_output_axes", collected_.size()),
               to_backwards = listed("scan_output_directions", collected_.size());
    context_.require_all_attributes_read();
    std::int64_t steps = -1;
    for (std::size_t i = 0; i < scanned; ++i) {
      const auto& shape = context_.shape(first + i);
      const auto size = shape[context_.axis(axes[i], shape.size())];
      context_.require(steps < 0 || steps == size, "its inputs must have equal numbers of steps");
      steps = size;
    }
    nothing_ = steps == 0 && collects();
    if (nothing_) {
      std::vector<std::string> slices;
      for (std::size_t i = 0; i < scanned; ++i) slices.push_back(zeros_like_a_slice(first + i, axes[i]));
      if (!try_round(std::move(slices), false)) return refuse_outputs();
    }
    for (std::int64_t step = 0; step < steps; ++step) {
      std::vector<std::string> slices;
      for (std::size_t i = 0; i < scanned; ++i) {
        const auto at = known(backwards[i] != 0 ? steps - 1 - step : step, ElementType::int64);
        slices.push_back(context_.made("Gather", {node_.inputs[first + i], at}, {{"axis", axes[i]}}));
      }
      if (!go_round(std::move(slices), false)) return refuse_outputs();
    }
    end(to_axes, to_backwards);
  }

  /// Lowers SequenceMap: lowers the body once for each element of the first sequence. Each iteration uses the element
  /// with the same index of every other sequence.
  void sequence_map() {
    const auto body = context_.attribute<Graph>("body");
    context_.require_all_attributes_read();
    const auto rounds = context_.sequence(0).elements.size();
    begin(*body, 0, node_.inputs.size(), 0);
    for (std::size_t round = 0; round < rounds; ++round) {
      auto given = node_.inputs;
      for (std::size_t i = 0; i < given.size(); ++i) {
        if (!context_.is_sequence(i)) continue;
        const auto& elements = context_.sequence(i).elements;
        context_.require(elements.size() == rounds, "its sequences must have equal numbers of elements");
        given[i] = elements[round];
      }
      if (!go_round(std::move(given))) return refuse_outputs();
    }
    for (std::size_t i = 0; i < collected_.size(); ++i) context_.set_sequence({std::move(collected_[i])}, i);
  }

 private:
  bool truth(std::size_t input, const char* role) { return context_.integer(input, role) != 0; }
  bool is_true(const std::string& name) {
    const Node asking{node_.name, node_.type, {name}, node_.outputs, {}};
    const auto& values = NodeContext(lowering_, asking).ints(0, "its loop condition");
    return values.size() == 1 && values.front() != 0;
  }
  std::vector<std::int64_t> listed(const char* attribute, std::size_t count) {
    auto values = context_.attribute<std::vector<std::int64_t>>(attribute, std::vector<std::int64_t>(count, 0));
    context_.require(values.size() == count, "it must list one axis or direction for each input or output");
    return values;
  }

  std::string known(std::int64_t value, ElementType type) { return context_.known({{}, {value}, type}); }

  /// Prepares a loop in which each iteration passes `states` values to the next iteration. The inputs of the body are
  /// `inputs_before` other inputs, the states, and `inputs_behind` other inputs. The outputs of the body are
  /// `outputs_before` other outputs, the states, and the collected outputs. A collected output is concatenated over the
  /// iterations.
  void begin(const Subgraph& body, std::size_t states, std::size_t inputs_before, std::size_t outputs_before,
             std::size_t inputs_behind = 0) {
    outputs_before_ = outputs_before;
    states_.resize(states);
    context_.require(body.inputs.size() == inputs_before + states + inputs_behind && node_.outputs.size() >= states &&
                         body.outputs.size() == outputs_before + node_.outputs.size(),
                     "its body has a wrong number of inputs or outputs");
    collected_.resize(node_.outputs.size() - states);
    body_.emplace(body);
  }

  /// Adds `nodes` to the number of nodes that the unrolled iterations of all loops have added. Refuses the node if that
  /// number exceeds max_nodes.
  void count(const std::vector<Node>& nodes) {
    ++lowering_.unrolled;
    each_node(nodes, [&](const Node&) { ++lowering_.unrolled; });
    if (lowering_.unrolled > max_nodes)
      context_.unsupported("its unrolled iterations have more than " + std::to_string(max_nodes) + " nodes");
  }

  /// Lowers the loop-invariant nodes once.
  void lower_fixed() {
    count(body_->fixed.nodes);
    Copy copy(lowering_, body_->fixed, {});
    const auto note = [&](const std::string& name) {
      if (const auto own = copy.renamed(name); own != name) note_read(lowering_, {own});
    };
    for (const auto& node : body_->varying.nodes) each_read(node, note);
    std::ranges::for_each(body_->varying.outputs, note);
    copy.lower(refused_);
    for (const auto& node : body_->fixed.nodes)
      for (const auto& output : node.outputs) fixed_.emplace(output, copy.renamed(output));
  }

  /// Lowers one iteration and returns the names of the body's outputs. `given` are the inputs of the body that precede
  /// its states, or that follow its states if `before` is false. Returns nullopt if a node of the body is not
  /// supported.
  std::optional<std::vector<std::string>> go_round(std::vector<std::string> given, bool before = true) {
    const auto refused_before = refused_.nodes.size();
    if (!std::exchange(begun_, true)) lower_fixed();
    count(body_->varying.nodes);
    given.insert(before ? given.end() : given.begin(), states_.begin(), states_.end());
    auto names = fixed_;
    for (std::size_t i = 0; i < given.size(); ++i) names.emplace(body_->varying.inputs[i], given[i]);
    Copy copy(lowering_, body_->varying, std::move(names));
    copy.lower(refused_);
    if (refused_.nodes.size() > refused_before) return std::nullopt;
    const auto& outputs = copy.outputs();
    std::copy_n(outputs.begin() + static_cast<std::ptrdiff_t>(outputs_before_), states_.size(), states_.begin());
    for (std::size_t i = 0; i < collected_.size(); ++i)
      collected_[i].push_back(outputs[outputs_before_ + states_.size() + i]);
    return outputs;
  }

  [[nodiscard]] bool collects() const {
    for (std::size_t i = states_.size(); i < node_.outputs.size(); ++i)
      if (lowering_.read.contains(node_.outputs[i])) return true;
    return false;
  }
  /// Lowers the body once to find the shapes of its collected outputs, for a loop without iterations. The values of the
  /// outputs are not used. Returns false if a node is refused.
  bool try_round(std::vector<std::string> given, bool before = true) {
    const auto states = states_;
    const bool lowered = go_round(std::move(given), before).has_value();
    states_ = states;
    return lowered;
  }
  std::string zeros_like_a_slice(std::size_t input, std::int64_t axis) {
    auto shape = context_.shape(input);
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(context_.axis(axis, shape.size())));
    NodeContext::Attributes attributes;
    if (const auto type = context_.element_type(input); is_integer(type))
      attributes.emplace("value", std::make_shared<const Constant>(Constant{{1}, Integers(type, 1)}));
    const auto rank = std::ssize(shape);
    return context_.made("ConstantOfShape", {context_.known({{rank}, std::move(shape)})}, std::move(attributes));
  }

  /// Ends a loop: concatenates the iterations of each collected output along the output's axis in `axes`. Reverses the
  /// order of the iterations for an output whose entry in `backwards` is not 0.
  void end(const std::vector<std::int64_t>& axes, const std::vector<std::int64_t>& backwards) {
    for (std::size_t i = 0; i < states_.size(); ++i) give(i, states_[i]);
    for (std::size_t i = 0; i < collected_.size(); ++i) {
      const auto& output = node_.outputs[states_.size() + i];
      if (output.empty() || !lowering_.read.contains(output)) continue;
      if (!backwards.empty() && backwards[i] != 0) std::ranges::reverse(collected_[i]);
      std::vector<std::string> parts;
      for (const auto& part : collected_[i]) parts.push_back(context_.unsqueezed(part, axes[i]));
      if (nothing_) parts = {context_.made("Gather", {parts.front(), context_.known({{0}, {}})}, {{"axis", axes[i]}})};
      lower_node(lowering_, {node_.name, "Concat", std::move(parts), {output}, {{"axis", axes[i]}}, context_.opset()});
    }
  }

  void give(std::size_t output, const std::string& value) {
    const auto& name = node_.outputs[output];
    if (name.empty()) return;
    if (refused_.outputs.contains(value)) refused_.outputs.insert(name);
    else lower_node(lowering_, {node_.name, "Identity", {value}, {name}, {}});
  }
  void refuse_outputs() { refused_.outputs.insert(node_.outputs.begin(), node_.outputs.end()); }

  Lowering& lowering_;
  const Node& node_;
  Refused& refused_;
  NodeContext context_;
  std::optional<Body> body_;
  bool begun_ = false;
  Names fixed_; // new names of the outputs of loop-invariant nodes
  std::size_t outputs_before_ = 0;
  bool nothing_ = false; // true: there is no iteration, but a collected output is read
  std::vector<std::string> states_;
  std::vector<std::vector<std::string>> collected_; // by collected output, then by iteration
};

void lower_any(Lowering& lowering, const Node& node, Refused& refused) {
  if (node.type == "If") Unrolling(lowering, node, refused).branch();
  else if (node.type == "Loop") Unrolling(lowering, node, refused).loop();
  else if (node.type == "Scan") Unrolling(lowering, node, refused).scan();
  else if (node.type == "SequenceMap") Unrolling(lowering, node, refused).sequence_map();
  else lower_node(lowering, node);
}

} // namespace

void lower_nodes(Lowering& lowering, const std::vector<Node>& nodes, Refused& refused) {
  for (const auto& node : nodes) {
    const auto is_unknown = [&](const std::string& name) { return refused.outputs.contains(name); };
    bool lowered = false;
    if (std::ranges::any_of(node.inputs, is_unknown)) ++refused.behind;
    else try {
        lower_any(lowering, node, refused);
        lowered = true;
      } catch (const UnsupportedNode& refusal) { refused.nodes.push_back(refusal); }
    if (lowered) continue;
    for (const auto& output : node.outputs)
      if (!output.empty() && !lowering.values.contains(output)) refused.outputs.insert(output);
  }
}

void add_control_flow(OperatorTable& table) {
  table["If"] = {nullptr, "the condition must be known when the model is loaded"};
  table["Loop"] = {nullptr, "the number of iterations must be known when the model is loaded"};
  table["Scan"] = {nullptr, "", 9};
  table["SequenceMap"] = {nullptr, "", 17};
}

} // namespace rtexec::tasks::onnx_source
