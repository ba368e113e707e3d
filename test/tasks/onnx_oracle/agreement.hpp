// Checks that the engine computes the same as the oracle.
#pragma once

#include <rtexec/result.hpp>
#include "tasks/engine/graph/graph.hpp"
#include "test/tasks/onnx_oracle/model.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace rtexec::test {

inline constexpr double one_operator = 1e-5; // max|a-b| / max|b|
inline constexpr double many_terms = 2e-5;   // for sums of more than 4096 terms
inline constexpr double many_operators = 1e-4;

/// Says if the engine may refuse a model.
enum class Support { required, optional };

/// Returns the model's graph, with the shapes of its inputs.
[[nodiscard]] Result<tasks::Graph> parsed(const Model& model);

/// Runs `model` as it is read, after each pass and after all of them, several times with different contents of scratch.
/// Compares the outputs with the oracle's. A refusal must be `unsupported` and name a node. It is a failure if the
/// model is required.
void expect_agreement(const Model& model, double tolerance = one_operator, Support support = Support::required);

/// A model to compare, with a name of letters, digits and _.
struct Case {
  std::string name;
  std::function<Model()> make;
  double tolerance = one_operator;
  Support support = Support::required;
};
using Cases = std::vector<Case>;

inline void PrintTo(const Case& item, std::ostream* to) { *to << item.name; }
inline std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

/// Returns a subset in which each word of the names, and each pair of words of one name, occurs at its position: all
/// pairs of parameter values. Returns all cases if RTEXEC_ALL_CASES is set, as by `make check-all`.
[[nodiscard]] Cases covering(Cases all);

/// A suite whose one test compares the case: INSTANTIATE_TEST_SUITE_P(Relu, OnnxOperator,
/// testing::ValuesIn(covering(cases())), name_of).
class OnnxOperator : public testing::TestWithParam<Case> {};

} // namespace rtexec::test
