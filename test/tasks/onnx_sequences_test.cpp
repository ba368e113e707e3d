// Tests sequences of tensors: lists of known length that a model builds and takes apart.
#include "tasks/engine/onnx/onnx_reader.hpp"

#include "test/support/expected_result.hpp"
#include "test/tasks/dnn_onnx_text.hpp"
#include "test/tasks/dnn_test_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec::tasks {
namespace {

using Values = std::vector<float>;

const std::string ports = onnx_value("input", "x", {"2", "3"}) + "output { name: 'y' } " + onnx_ints("zero", {}, {0}) +
                          onnx_ints("one", {}, {1}) + onnx_ints("last", {}, {-1}) + onnx_ints("two", {}, {2}) +
                          onnx_node("Neg", {"x"}, {"n"}) + onnx_node("SequenceConstruct", {"x", "n"}, {"s"});

Result<Graph> read(const std::string& nodes) { return parse_onnx(onnx_bytes(ports + nodes, 17), "net.onnx"); }

/// Computes with x = {1, 2, 3, 4, 5, 6}.
Values computed(const std::string& nodes) {
  const auto graph = read(nodes);
  EXPECT_TRUE(graph.has_value()) << graph.error().what;
  return graph ? run(*graph, {1, 2, 3, 4, 5, 6}) : Values();
}

std::string at(const std::string& sequence, const std::string& position) {
  return onnx_node("SequenceAt", {sequence, position}, {"y"});
}
std::string joined(const std::string& sequence, std::int64_t axis, std::int64_t new_axis = 0) {
  return onnx_node("ConcatFromSequence", {sequence}, {"y"},
                   onnx_attribute("axis", axis) + onnx_attribute("new_axis", new_axis));
}

const Values x{1, 2, 3, 4, 5, 6}, n{-1, -2, -3, -4, -5, -6};

TEST(OnnxSequences, HoldTensorsInOrder) {
  EXPECT_EQ(computed(at("s", "zero")), x);
  EXPECT_EQ(computed(at("s", "last")), n);
  EXPECT_EQ(computed(onnx_node("SequenceEmpty", {}, {"e"}) + onnx_node("SequenceInsert", {"e", "n"}, {"f"}) +
                     onnx_node("SequenceInsert", {"f", "x", "zero"}, {"g"}) + at("g", "zero")),
            x);
  EXPECT_EQ(computed(onnx_node("SequenceErase", {"s", "zero"}, {"e"}) + at("e", "zero")), n);
  EXPECT_EQ(computed(onnx_node("SequenceErase", {"s"}, {"e"}) + at("e", "last")), x);
  EXPECT_EQ(computed(onnx_node("SequenceLength", {"s"}, {"y"})), (Values{2}));
  EXPECT_EQ(computed(onnx_node("Identity", {"s"}, {"e"}) + at("e", "zero")), x);
}

TEST(OnnxSequences, AreConcatenated) {
  EXPECT_EQ(computed(joined("s", 0)), (Values{1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6}));
  EXPECT_EQ(computed(joined("s", -1)), (Values{1, 2, 3, -1, -2, -3, 4, 5, 6, -4, -5, -6}));
  const auto stacked = read(joined("s", 1, 1));
  ASSERT_TRUE(stacked.has_value());
  EXPECT_EQ(stacked->tensors[stacked->outputs[0]].shape, (Shape{2, 2, 3}));
  EXPECT_EQ(run(*stacked, x), (Values{1, 2, 3, -1, -2, -3, 4, 5, 6, -4, -5, -6}));
}

/// Maps a body of `nodes` from "e" to "r" over the sequence s. Each round gets "extra".
std::string mapped(const std::string& nodes, const std::string& inputs, const std::string& extra = "") {
  return "node { op_type: 'SequenceMap' input: 's' " + extra +
         " output: 'm' attribute { name: 'body' type: GRAPH g { " + inputs + nodes + " output { name: 'r' } } } }";
}

TEST(OnnxSequences, MapBodyOverElements) {
  const std::string e = "input { name: 'e' } ", both = e + "input { name: 'f' } ";
  const auto doubled = mapped(onnx_node("Add", {"e", "e"}, {"r"}), e);
  EXPECT_EQ(computed(doubled + at("m", "last")), (Values{-2, -4, -6, -8, -10, -12}));
  const auto plus = onnx_node("Add", {"e", "f"}, {"r"});
  EXPECT_EQ(computed(mapped(plus, both, "input: 'x'") + at("m", "last")), (Values{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(computed(mapped(plus, both, "input: 's'") + at("m", "zero")), (Values{2, 4, 6, 8, 10, 12}));
  const auto shorter = onnx_node("SequenceErase", {"s"}, {"t"}) + mapped(plus, both, "input: 't'") + at("m", "zero");
  EXPECT_THAT(test::problem(read(shorter)), testing::HasSubstr("equal numbers of elements"));
}

TEST(OnnxOptionals, HoldValueOrNothing) {
  const auto type = " attribute { name: 'type' type: TYPE_PROTO tp { tensor_type { elem_type: 1 } } }";
  const auto some = onnx_node("Optional", {"x"}, {"o"}), none = onnx_node("Optional", {}, {"o"}, type);
  const auto has =
      onnx_node("OptionalHasElement", {"o"}, {"h"}) + onnx_node("Cast", {"h"}, {"y"}, onnx_attribute("to", 1));
  EXPECT_EQ(computed(some + onnx_node("OptionalGetElement", {"o"}, {"y"})), x);
  EXPECT_EQ(computed(some + has), (Values{1}));
  EXPECT_EQ(computed(none + has), (Values{0}));
  EXPECT_EQ(
      computed(onnx_node("Optional", {"s"}, {"o"}) + onnx_node("OptionalGetElement", {"o"}, {"t"}) + at("t", "last")),
      n);
  EXPECT_THAT(test::problem(read(none + onnx_node("OptionalGetElement", {"o"}, {"y"}))),
              testing::HasSubstr("without a value"));
}

TEST(OnnxSequences, AreCreatedBySplittingTensors) {
  const auto split = [](const std::vector<std::string>& inputs, const std::string& attributes) {
    return onnx_node("SplitToSequence", inputs, {"p"}, attributes);
  };
  const auto along = onnx_attribute("axis", 1);
  EXPECT_EQ(computed(split({"x"}, along) + at("p", "one")), (Values{2, 5}));
  EXPECT_EQ(computed(split({"x", "two"}, along) + at("p", "zero")), (Values{1, 2, 4, 5}));
  EXPECT_EQ(computed(split({"x", "two"}, along) + at("p", "last")), (Values{3, 6})) << "the last one is smaller";
  EXPECT_EQ(computed(onnx_ints("sizes", {2}, {1, 2}) + split({"x", "sizes"}, along) + at("p", "last")),
            (Values{2, 3, 5, 6}));
  const auto rows = read(split({"x"}, onnx_attribute("keepdims", 0)) + at("p", "one"));
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->tensors[rows->outputs[0]].shape, (Shape{3}));
  EXPECT_TRUE(test::fails(read(onnx_ints("sizes", {2}, {1, 1}) + split({"x", "sizes"}, along) + at("p", "zero")),
                          Errc::bad_input, "its parts do not add up to its input"));
}

TEST(OnnxSequences, CanBeLoopState) {
  const std::string body =
      "attribute { name: 'body' type: GRAPH g { input { name: 'i' } input { name: 'go' } input { name: 'q' } " +
      onnx_node("Identity", {"go"}, {"on"}) + onnx_node("Gather", {"x", "i"}, {"row"}) +
      onnx_node("SequenceInsert", {"q", "row"}, {"r"}) + "output { name: 'on' } output { name: 'r' } } }";
  EXPECT_EQ(computed(onnx_node("SequenceEmpty", {}, {"e"}) + onnx_node("Loop", {"two", "", "e"}, {"all"}, body) +
                     joined("all", 0)),
            x);
}

TEST(OnnxSequences, InvalidUsesAreRejected) {
  EXPECT_TRUE(test::fails(read(at("s", "two")), Errc::bad_input, "its position lies outside of its sequence"));
  EXPECT_TRUE(test::fails(read(at("x", "zero")), Errc::bad_input, "its input must be a sequence of tensors"));
  EXPECT_TRUE(test::fails(read(onnx_node("Relu", {"s"}, {"y"})), Errc::unsupported, "by ConcatFromSequence"));
  EXPECT_TRUE(test::fails(read(onnx_node("Identity", {"s"}, {"y"})), Errc::unsupported,
                          "output 'y' is a sequence of tensors; make each of them an output"));
  EXPECT_TRUE(test::fails(read(onnx_node("SequenceEmpty", {}, {"e"}) + joined("e", 0)), Errc::bad_input,
                          "its sequence has no elements"));
  EXPECT_TRUE(test::fails(read(onnx_node("ReduceSum", {"x"}, {"sum"}) +
                               onnx_node("Cast", {"sum"}, {"p"}, onnx_attribute("to", 7)) + at("s", "p")),
                          Errc::unsupported, "the position"));
}

} // namespace
} // namespace rtexec::tasks
