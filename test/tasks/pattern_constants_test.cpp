// Tests which numbers of a model are recognised as the constants of a formula, so that its nodes are fused into one.
#include "tasks/engine/graph/passes.hpp"
#include "tasks/engine/graph/patterns.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "test/tasks/dnn_onnx_text.hpp"

#include <gtest/gtest.h>

#include <numbers>
#include <string>

namespace rtexec::tasks {
namespace {

TEST(PatternConstants, MatchOnlyWithinRounding) {
  constexpr double root = std::numbers::sqrt2;
  for (const double given : {root, 1.4142135, 1.41421354, 1.41421356237})
    EXPECT_TRUE(stands_for(static_cast<float>(given), root)) << given;
  for (const double given : {1.414, 1.4142, 1.41422, 1.415, -root}) EXPECT_FALSE(stands_for(given, root)) << given;
  EXPECT_FALSE(stands_for(0.044716, 0.044715));
  EXPECT_FALSE(stands_for(0.5001, 0.5));
}

TEST(PatternConstants, MatchWhenRoundedToHalfPrecisionOrBfloat16) {
  constexpr double root = std::numbers::sqrt2;
  EXPECT_TRUE(stands_for(1.4140625, root)) << "of both";
  EXPECT_TRUE(stands_for(0.70703125, 1 / root)) << "of both";
  EXPECT_TRUE(stands_for(1 / 1.4140625F, 1 / root)) << "a model divides by it";
  EXPECT_TRUE(stands_for(0.044708252, 0.044715)) << "half precision";
  EXPECT_TRUE(stands_for(0.044677734, 0.044715)) << "bfloat16";
  EXPECT_FALSE(stands_for(1.4130859, root)) << "the next of half precision";
}

std::string scalar(const std::string& name, const std::string& value) {
  return "initializer { name: '" + name + "' data_type: 1 float_data: " + value + " } ";
}

/// Returns the number of nodes of 0.5 x (1 + erf(x / root)) after simplification.
std::size_t nodes_of_gelu(const std::string& root) {
  auto graph = parse_onnx(onnx_bytes(
      onnx_value("input", "x", {"2", "3"}) + scalar("root", root) + scalar("one", "1") + scalar("half", "0.5") +
      onnx_node("Div", {"x", "root"}, {"a"}) + onnx_node("Erf", {"a"}, {"b"}) + onnx_node("Add", {"b", "one"}, {"c"}) +
      onnx_node("Mul", {"x", "c"}, {"d"}) + onnx_node("Mul", {"d", "half"}, {"y"}) + "output { name: 'y' }"));
  EXPECT_TRUE(graph.has_value());
  optimise(*graph);
  return graph->nodes.size();
}

TEST(PatternConstants, DecideWhetherNodesBecomeGelu) {
  for (const std::string root : {"1.4142135", "1.4142135381698608", "1.4140625"})
    EXPECT_EQ(nodes_of_gelu(root), 1U) << root;
  for (const std::string root : {"1.414", "1.4142", "1.5"}) EXPECT_GT(nodes_of_gelu(root), 1U) << root;
}

} // namespace
} // namespace rtexec::tasks
