#include "test/tasks/onnx_oracle/agreement.hpp"

#include "tasks/engine/host/host_network.hpp"
#include "tasks/engine/host/kernels/elements.hpp"
#include "test/tasks/port_values.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "test/support/rounds.hpp"
#include "test/tasks/onnx_oracle/guarded_memory.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::test {
namespace {

using Outputs = std::vector<std::vector<float>>;

/// Prints at the end how many models were compared, and which ones the engine refused.
class Summary : public testing::Environment {
 public:
  void compared(double error) {
    ++compared_;
    worst_ = std::max(worst_, error);
  }
  void refused(const std::string& description) { refused_.push_back(description); }
  void TearDown() override {
    if (compared_ + refused_.size() == 0) return;
    std::cout << "onnx oracle: " << compared_ << " comparisons, largest error " << worst_ << ", " << refused_.size()
              << " refused";
    for (const std::string& description : refused_)
      std::cout << (&description == refused_.data() ? ": " : " | ") << description;
    std::cout << '\n';
  }

 private:
  std::size_t compared_ = 0;
  double worst_ = 0;
  std::vector<std::string> refused_;
};

Summary& summary() {
  static Summary& only = *new Summary; // owned by GoogleTest
  return only;
}
const testing::Environment* const registered = testing::AddGlobalTestEnvironment(&summary());

std::vector<float> floats_of(const tasks::Network::Port& port) {
  std::vector<float> floats(port.bytes.size() / size_of(port.type));
  tasks::kernels::to_floats(floats.data(), port.type, port.bytes.data(), floats.size());
  return floats;
}

/// A network with its own memory.
class Bound {
 public:
  explicit Bound(std::unique_ptr<tasks::HostNetwork> network)
      : network_(std::move(network)),
        constants_(network_->constants().size()),
        scratch_(static_cast<std::size_t>(network_->scratch().count)) {
    const std::span<const std::byte> image = network_->constants();
    if (!image.empty()) std::memcpy(constants_.data(), image.data(), image.size());
    constants_.protect();
    network_->bind(constants_.data(), scratch_.data());
  }

  /// Returns the outputs, with scratch filled with `content`, or left as the last run left it.
  Outputs run(std::optional<float> content) {
    if (content) scratch_.fill(*content);
    EXPECT_TRUE(network_->run().has_value());
    Outputs outputs;
    for (const tasks::Network::Port& port : network_->outputs()) outputs.push_back(floats_of(port));
    return outputs;
  }
  tasks::HostNetwork& network() { return *network_; }
  [[nodiscard]] bool stayed_inside() const { return scratch_.front_untouched(); }

 private:
  std::unique_ptr<tasks::HostNetwork> network_;
  GuardedMemory constants_, scratch_;
};

bool same_bits(const Outputs& a, const Outputs& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
  });
}

bool names_a_node(const std::string& what, const Model& model) {
  return std::ranges::any_of(model.node_names(), [&](const std::string& name) { return what.contains(name); });
}

void expect_close(const std::vector<float>& got, const Array& right, double tolerance, const std::string& output) {
  ASSERT_EQ(static_cast<Index>(got.size()), right.size()) << output;
  double largest = 0, distance = 0;
  Index where = 0;
  for (Index i = 0; i < right.size(); ++i) {
    const double value = got[static_cast<std::size_t>(i)];
    const bool same = value == right[i] || (std::isnan(value) && std::isnan(right[i])); // also for infinities
    const double away = same ? 0 : std::abs(value - right[i]);
    if (std::isfinite(right[i])) largest = std::max(largest, std::abs(right[i]));
    if (!(away <= distance)) { // NaN counts as far away
      distance = std::isnan(away) ? std::numeric_limits<double>::infinity() : away;
      where = i;
    }
  }
  const double error = distance == 0 ? 0 : distance / std::max(largest, 1e-37);
  summary().compared(error);
  EXPECT_LT(error, tolerance) << output << "[" << where << "] of " << to_text(right.shape) << ": got "
                              << got[static_cast<std::size_t>(where)] << ", expected " << right[where];
}

void set_inputs(const tasks::Network& network, const Model& model) {
  ASSERT_EQ(network.inputs().size(), model.inputs().size());
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const tasks::Network::Port& port = network.inputs()[i];
    const Array& value = model.value(model.inputs()[i]);
    ASSERT_EQ(port.name, model.inputs()[i]);
    ASSERT_EQ(port.shape, value.shape);
    const std::vector<float> floats(value.values.begin(), value.values.end());
    ASSERT_EQ(port.bytes.size(), floats.size() * size_of(port.type));
    tasks::set_elements(port, floats);
  }
}

std::vector<std::vector<float>> input_buffers(const tasks::Network& network) {
  std::vector<std::vector<float>> buffers;
  for (const tasks::Network::Port& port : network.inputs()) buffers.push_back(floats_of(port));
  return buffers;
}

void expect_graph_agrees(const tasks::Graph& graph, const Model& model, double tolerance) {
  auto built = tasks::HostNetwork::build(graph);
  ASSERT_TRUE(built) << built.error().what;
  Bound bound(std::move(*built));
  set_inputs(bound.network(), model);
  if (testing::Test::HasFatalFailure()) return;
  const Outputs inputs = input_buffers(bound.network());

  const Outputs outputs = bound.run(std::numeric_limits<float>::quiet_NaN());
  ASSERT_EQ(outputs.size(), model.outputs().size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const tasks::Network::Port& port = bound.network().outputs()[i];
    const Array& right = model.value(model.outputs()[i]);
    EXPECT_EQ(port.name, model.outputs()[i]);
    EXPECT_EQ(port.shape, right.shape);
    expect_close(outputs[i], right, tolerance, port.name);
  }
  EXPECT_TRUE(same_bits(outputs, bound.run({}))) << "a second run gives other outputs";
  EXPECT_TRUE(same_bits(outputs, bound.run(1e30F))) << "outputs depend on what scratch held";
  EXPECT_TRUE(same_bits(inputs, input_buffers(bound.network()))) << "run() changed its inputs";
  EXPECT_TRUE(bound.stayed_inside()) << "run() wrote before its scratch";
}

struct Pass {
  const char* name;
  void (*apply)(tasks::Graph&);
};
constexpr Pass passes[] = {
    {"optimise", tasks::optimise},
    {"optimise twice", [](tasks::Graph& graph) { tasks::optimise(graph), tasks::optimise(graph); }},
    {"fold_known_values", tasks::fold_known_values},
    {"fold_scales", tasks::fold_scales},
    {"merge_swish", tasks::merge_swish},
    {"merge_gelu", tasks::merge_gelu},
    {"merge_logit", tasks::merge_logit},
    {"merge_normalisation", tasks::merge_normalisation},
    {"fuse_scales_and_shifts", tasks::fuse_scales_and_shifts},
    {"fuse_biases", tasks::fuse_biases},
    {"sink_permutations", tasks::sink_permutations},
    {"fold_row_scales", tasks::fold_row_scales},
    {"fold_layer_scales", tasks::fold_layer_scales},
    {"simplify_matmuls", tasks::simplify_matmuls},
    {"fuse_attention", [](tasks::Graph& graph) { tasks::simplify_matmuls(graph), tasks::fuse_attention(graph); }},
    {"fuse_deformable_attention", tasks::fuse_deformable_attention},
    {"simplify_moves", tasks::simplify_moves},
    {"sink_reshapes", [](tasks::Graph& graph) { tasks::simplify_moves(graph), tasks::sink_reshapes(graph); }},
    {"fuse_residuals", tasks::fuse_residuals},
    {"merge_scales", tasks::merge_scales},
    {"fuse_multiply_adds", [](tasks::Graph& graph) { tasks::merge_scales(graph), tasks::fuse_multiply_adds(graph); }},
    {"fuse_activations", tasks::fuse_activations},
    {"fuse_late_residuals",
     [](tasks::Graph& graph) { tasks::fuse_activations(graph), tasks::fuse_late_residuals(graph); }},
    {"remove_unused", tasks::remove_unused}};

} // namespace

Result<tasks::Graph> parsed(const Model& model) {
  const std::string bytes = model.bytes();
  tasks::GivenInputs given;
  for (const auto& input : model.inputs()) given.shapes[input] = model.value(input).shape;
  return tasks::parse_onnx(std::as_bytes(std::span(bytes)), "model", {}, given);
}

void expect_agreement(const Model& model, double tolerance, Support support) {
  SCOPED_TRACE("opset " + std::to_string(model.opset()) + ": " + model.description());
  auto graph = parsed(model);
  if (!graph) {
    EXPECT_EQ(graph.error().code, Errc::unsupported) << graph.error().what;
    EXPECT_TRUE(names_a_node(graph.error().what, model)) << "no node is named: " << graph.error().what;
    EXPECT_TRUE(support == Support::optional) << "refused: " << graph.error().what;
    summary().refused(model.description());
    return;
  }
  expect_graph_agrees(*graph, model, tolerance);
  std::vector<tasks::Graph> seen{*graph}; // most passes change nothing here
  for (const auto& [name, pass] : passes) {
    SCOPED_TRACE(std::string("after ") + name);
    tasks::Graph changed = *graph;
    pass(changed);
    if (std::ranges::find(seen, changed) != seen.end()) continue;
    expect_graph_agrees(changed, model, tolerance);
    seen.push_back(std::move(changed));
  }
}

Cases covering(Cases all) {
  if (all_cases()) return all;
  using Word = std::pair<std::size_t, std::string>; // with its position in the name
  std::set<std::pair<Word, Word>> covered;
  std::erase_if(all, [&covered](const Case& each) {
    std::vector<Word> words;
    std::istringstream name(each.name);
    for (std::string word; std::getline(name, word, '_');) words.emplace_back(words.size(), word);
    bool adds_nothing = true;
    for (const Word& one : words)
      for (const Word& other : words) adds_nothing &= !covered.emplace(one, other).second;
    return adds_nothing;
  });
  return all;
}

TEST_P(OnnxOperator, MatchesOnnxSpecification) {
  expect_agreement(GetParam().make(), GetParam().tolerance, GetParam().support);
}

} // namespace rtexec::test
