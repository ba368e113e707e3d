// Whether the engine computes what the oracle computes.
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
inline constexpr double many_terms = 2e-5;   // where a sum has more than 4096 terms
inline constexpr double many_operators = 1e-4;

/// Whether the engine may refuse a model.
enum class Support { required, optional };

/// The model's graph, with the shapes of its inputs.
[[nodiscard]] Result<tasks::Graph> parsed(const Model& model);

/// Runs `model` as it is read, and after each pass and all of them, several times over scratch of other contents, and
/// compares the outputs with the oracle's. A refusal must be `unsupported` and name a node; where the model is required
/// it is a failure.
void expect_agreement(const Model& model, double tolerance = one_operator, Support support = Support::required);

/// A model to be compared, with a name made of letters, digits and _.
struct Case {
  std::string name;
  std::function<Model()> make;
  double tolerance = one_operator;
  Support support = Support::required;
};
using Cases = std::vector<Case>;

inline void PrintTo(const Case& item, std::ostream* to) { *to << item.name; }
inline std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

/// A subset in which each word of the names and each pair of words of one name occurs at its place: each value of each
/// parameter beside each value of each other one. All cases if RTEXEC_ALL_CASES is set, as by `make check-all`.
[[nodiscard]] Cases covering(Cases all);

/// Its one test compares the case:
/// INSTANTIATE_TEST_SUITE_P(Relu, OnnxOperator, testing::ValuesIn(covering(cases())), name_of).
class OnnxOperator : public testing::TestWithParam<Case> {};

} // namespace rtexec::test
