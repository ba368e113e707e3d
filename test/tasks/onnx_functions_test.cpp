// Tests functions of a model (FunctionProto): what a call computes, and which calls are refused.
#include "tasks/engine/onnx/onnx_reader.hpp"

#include "test/support/expected_result.hpp"
#include "test/tasks/dnn_onnx_text.hpp"
#include "test/tasks/dnn_test_graph.hpp"

#include <gtest/gtest.h>

namespace rtexec::tasks {
namespace {

using Values = std::vector<float>;

const std::string x_to_y = onnx_value("input", "x", {"3"}) + onnx_value("output", "y", {"3"});

/// Returns a node of domain "local".
std::string call(const std::string& function, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs, const std::string& attributes = "") {
  return onnx_node(function, inputs, outputs, "domain: 'local' " + attributes);
}

std::string function_text(const std::string& name, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, const std::string& body, int opset = 18) {
  std::string text = "name: '" + name + "' domain: 'local' opset_import { version: " + std::to_string(opset) + " } ";
  for (const auto& input : inputs) text += "input: '" + input + "' ";
  for (const auto& output : outputs) text += "output: '" + output + "' ";
  return text + body;
}

std::string function(const std::string& name, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const std::string& body, int opset = 18) {
  return "functions { " + function_text(name, inputs, outputs, body, opset) + " } ";
}

std::vector<std::byte> model(const std::string& graph, const std::string& functions, int opset = 18) {
  return onnx_model_bytes("ir_version: 9 opset_import { domain: 'local' version: 1 } opset_import { version: " +
                          std::to_string(opset) + " } graph { " + graph + " } " + functions);
}

/// Returns the output of a model for the input x = {-2, 1, 3}.
Values computed(const std::vector<std::byte>& bytes) {
  const auto graph = parse_onnx(bytes, "net.onnx");
  EXPECT_TRUE(graph.has_value()) << graph.error().what;
  return graph ? run(*graph, {-2, 1, 3}) : Values();
}

void append(std::vector<std::byte>& bytes, const std::string& encoded) {
  for (const char c : encoded) bytes.push_back(static_cast<std::byte>(c));
}

std::string reference(const std::string& name, const std::string& to, const std::string& type) {
  return "attribute { name: '" + name + "' type: " + type + " ref_attr_name: '" + to + "' } ";
}

const std::string twice = function("twice", {"x"}, {"y"}, onnx_node("Add", {"x", "x"}, {"y"}));

TEST(OnnxFunctions, AreEvaluatedWhenCalled) {
  EXPECT_EQ(computed(model(x_to_y + call("twice", {"x"}, {"t"}) + onnx_node("Neg", {"t"}, {"y"}), twice)),
            (Values{4, -2, -6}));
}

TEST(OnnxFunctions, KeepInternalNamesSeparate) {
  const auto inner =
      function("inner", {"x"}, {"t"}, onnx_node("Add", {"x", "x"}, {"u"}) + onnx_node("Neg", {"u"}, {"t"}));
  const auto outer = function("outer", {"x"}, {"t"}, call("inner", {"x"}, {"u"}) + call("inner", {"u"}, {"t"}));
  EXPECT_EQ(computed(model(x_to_y + call("outer", {"x"}, {"u"}) + call("inner", {"u"}, {"y"}), inner + outer)),
            (Values{16, -8, -24}));
}

/// Before opset 13, Softmax covers all dimensions from the axis on. ONNX's checker considers the files of both opsets
/// invalid. ONNX Runtime computes them in this way.
TEST(OnnxFunctions, UseOpsetOfModelIfItNamesOne) {
  const auto ports = onnx_value("input", "x", {"1", "3", "1"}) + onnx_value("output", "y", {"1", "3", "1"});
  const auto called = ports + call("f", {"x"}, {"y"});
  const auto softmax = [](int opset) { return function("f", {"x"}, {"y"}, onnx_node("Softmax", {"x"}, {"y"}), opset); };
  const auto alone = [&](int opset) {
    return onnx_model_bytes("ir_version: 9 opset_import { domain: 'local' version: 1 } graph { " + called + " } " +
                            softmax(opset));
  };
  EXPECT_EQ(computed(model(called, softmax(11))), (Values{1, 1, 1}));
  EXPECT_LT(computed(model(called, softmax(18), 11))[2], 0.9F);
  EXPECT_LT(computed(alone(11))[2], 0.9F);
  EXPECT_TRUE(test::fails(parse_onnx(alone(99), "net.onnx"), Errc::unsupported,
                          "function 'local.f' is of opset 99; export or convert it to an opset from 7 to 28"));
}

TEST(OnnxFunctions, PassAttributesOfCallToBody) {
  const auto leaky =
      function("leak", {"x"}, {"y"},
               "attribute: 'slope' " + onnx_node("LeakyRelu", {"x"}, {"y"}, reference("alpha", "slope", "FLOAT")));
  const std::string slope = "attribute { name: 'slope' type: FLOAT f: 0.5 }";
  EXPECT_EQ(computed(model(x_to_y + call("leak", {"x"}, {"y"}, slope), leaky)), (Values{-1, 1, 3}));
  expect_near(computed(model(x_to_y + call("leak", {"x"}, {"y"}), leaky)), {-0.02F, 1, 3}); // LeakyRelu's own default
  const auto outer =
      function("outer", {"x"}, {"y"}, "attribute: 's' " + call("leak", {"x"}, {"y"}, reference("slope", "s", "FLOAT")));
  EXPECT_EQ(computed(model(x_to_y + call("outer", {"x"}, {"y"}, "attribute { name: 's' type: FLOAT f: 0.25 }"),
                           leaky + outer)),
            (Values{-0.5F, 1, 3}));
  EXPECT_TRUE(test::fails(parse_onnx(model(x_to_y + call("twice", {"x"}, {"y"}, slope), twice), "net.onnx"),
                          Errc::bad_input, "with the attribute 'slope', which it does not have"));
  EXPECT_TRUE(test::fails(
      parse_onnx(model(x_to_y + onnx_node("LeakyRelu", {"x"}, {"y"}, reference("alpha", "slope", "FLOAT")), "")),
      Errc::bad_input, "refers to an attribute of a function"));
}

TEST(OnnxFunctions, UseDefaultsOfAttributes) {
  constexpr int functions_of_model = 25, defaults_of_function = 11;
  auto bytes = model(x_to_y + call("leak", {"x"}, {"y"}), "");
  append(bytes,
         onnx_field(
             functions_of_model,
             onnx_encoded_function(function_text(
                 "leak", {"x"}, {"y"}, onnx_node("LeakyRelu", {"x"}, {"y"}, reference("alpha", "slope", "FLOAT")))) +
                 onnx_field(defaults_of_function, onnx_encoded_attribute("name: 'slope' type: FLOAT f: 0.5"))));
  EXPECT_EQ(computed(bytes), (Values{-1, 1, 3}));
}

TEST(OnnxFunctions, DistinguishOverloads) {
  constexpr int graph_of_model = 7, functions_of_model = 25, node_of_graph = 1, overload_of_node = 8,
                overload_of_function = 13;
  auto bytes = model(x_to_y, "");
  for (const std::string name : {"", "negative"})
    append(bytes, onnx_field(functions_of_model,
                             onnx_encoded_function(function_text(
                                 "f", {"x"}, {"y"}, onnx_node(name.empty() ? "Relu" : "Neg", {"x"}, {"y"}))) +
                                 onnx_field(overload_of_function, name)));
  const std::string node = onnx_encoded_node("op_type: 'f' domain: 'local' input: 'x' output: 'y'");
  append(bytes, onnx_field(graph_of_model, onnx_field(node_of_graph, node + onnx_field(overload_of_node, "negative"))));
  EXPECT_EQ(computed(bytes), (Values{2, -1, -3}));
}

TEST(OnnxFunctions, AcceptOmittedInputsAndOutputs) {
  const auto clip = function("clip", {"x", "low", "high"}, {"y", "z"},
                             onnx_node("Clip", {"x", "low", "high"}, {"y"}) + onnx_node("Neg", {"x"}, {"z"}));
  const std::string zero = "initializer { name: 'zero' data_type: 1 float_data: 0 }";
  EXPECT_EQ(computed(model(x_to_y + call("clip", {"x"}, {"y"}), clip)), (Values{-2, 1, 3}));
  EXPECT_EQ(computed(model(x_to_y + zero + call("clip", {"x", "zero"}, {"y"}), clip)), (Values{0, 1, 3}));
  EXPECT_EQ(computed(model(x_to_y + zero + call("clip", {"x", "", "zero"}, {"y"}), clip)), (Values{-2, 0, 0}));
  EXPECT_EQ(computed(model(x_to_y + call("clip", {"x"}, {"", "y"}), clip)), (Values{2, -1, -3}));
}

TEST(OnnxFunctions, AcceptInputAsOutput) {
  EXPECT_EQ(computed(model(x_to_y + call("same", {"x"}, {"y"}), function("same", {"x"}, {"x"}, ""))),
            (Values{-2, 1, 3}));
}

TEST(OnnxFunctions, MayHaveNameOfStandardOperator) {
  EXPECT_EQ(computed(model(x_to_y + call("Relu", {"x"}, {"y"}),
                           function("Relu", {"x"}, {"y"}, onnx_node("Neg", {"x"}, {"y"})))),
            (Values{2, -1, -3}));
}

TEST(OnnxFunctions, CanBeCalledInBranchesAndLoops) {
  const auto graph = [](const std::string& name, const std::string& content) {
    return "attribute { name: '" + name + "' type: GRAPH g { " + content + " } } ";
  };
  const auto choice = graph("then_branch", call("twice", {"x"}, {"a"}) + "output { name: 'a' }") +
                      graph("else_branch", onnx_node("Neg", {"x"}, {"b"}) + "output { name: 'b' }");
  EXPECT_EQ(computed(model(x_to_y + onnx_ints("truth", {}, {1}) + onnx_node("If", {"truth"}, {"y"}, choice), twice)),
            (Values{-4, 2, 6}));
  const auto body = graph("body", "input { name: 'i' } input { name: 'go' } input { name: 'v' } " +
                                      onnx_node("Identity", {"go"}, {"on"}) + call("twice", {"v"}, {"w"}) +
                                      "output { name: 'on' } output { name: 'w' }");
  EXPECT_EQ(
      computed(model(x_to_y + onnx_ints("three", {}, {3}) + onnx_node("Loop", {"three", "", "x"}, {"y"}, body), twice)),
      (Values{-16, 8, 24}));
  const auto inside = function("f", {"x"}, {"y"},
                               onnx_node("Constant", {}, {"c"}, "attribute { name: 'value_int' type: INT i: 1 }") +
                                   onnx_node("If", {"c"}, {"y"}, choice));
  EXPECT_EQ(computed(model(x_to_y + call("f", {"x"}, {"y"}), twice + inside)), (Values{-4, 2, 6}));
}

TEST(OnnxFunctions, CannotReadTensorsOfCaller) {
  EXPECT_TRUE(test::fails(parse_onnx(model(x_to_y + onnx_node("Neg", {"x"}, {"w"}) + call("f", {"x"}, {"y"}),
                                           function("f", {"x"}, {"y"}, onnx_node("Add", {"x", "w"}, {"y"})))),
                          Errc::bad_input, "which no input, initialiser or earlier node provides"));
}

TEST(OnnxFunctions, WorkInModelsThatNameNoOnnxOpset) { // no opset of ONNX itself is named
  EXPECT_EQ(computed(onnx_model_bytes("ir_version: 9 opset_import { domain: 'local' version: 1 } graph { " + x_to_y +
                                      call("twice", {"x"}, {"y"}) + " } " + twice)),
            (Values{-4, 2, 6}));
}

TEST(OnnxFunctions, RecursionIsRejected) {
  const auto a = function("a", {"x"}, {"y"}, call("b", {"x"}, {"y"})),
             b = function("b", {"x"}, {"y"}, call("a", {"x"}, {"y"}));
  EXPECT_TRUE(test::fails(parse_onnx(model(x_to_y + call("a", {"x"}, {"y"}), a + b), "net.onnx"), Errc::bad_input,
                          "calls function 'local.a', which calls itself; export the model without recursion"));
}

TEST(OnnxFunctions, ExcessiveExpansionIsRejected) {
  std::string functions = function("f0", {"x"}, {"y"}, "");
  for (int i = 1; i <= 40; ++i) {
    const auto below = "f" + std::to_string(i - 1);
    functions += function("f" + std::to_string(i), {"x"}, {"y"}, call(below, {"x"}, {"a"}) + call(below, {"x"}, {"y"}));
  }
  EXPECT_TRUE(test::fails(parse_onnx(model(x_to_y + call("f40", {"x"}, {"y"}), functions)), Errc::unsupported,
                          "inlined it has more than 20000 nodes"));
  std::string chain = twice;
  for (int i = 0; i < 100; ++i)
    chain += function("g" + std::to_string(i), {"x"}, {"y"}, call("g" + std::to_string(i + 1), {"x"}, {"y"}));
  EXPECT_TRUE(test::fails(parse_onnx(model(x_to_y + call("g0", {"x"}, {"y"}), chain)), Errc::bad_input,
                          "more than 64 calls inside of each other"));
}

TEST(OnnxFunctions, MismatchedCallsAndDuplicatesAreRejected) {
  EXPECT_TRUE(test::fails(parse_onnx(model(x_to_y + call("twice", {"x", "x"}, {"y"}), twice)), Errc::bad_input,
                          "with more inputs or outputs than it has: 1 and 1"));
  EXPECT_TRUE(test::fails(parse_onnx(model(x_to_y + call("twice", {"x"}, {"y"}), twice + twice)), Errc::bad_input,
                          "function 'local.twice' occurs twice"));
}

} // namespace
} // namespace rtexec::tasks
