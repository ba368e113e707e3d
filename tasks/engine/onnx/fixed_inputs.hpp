// Determines a model's inputs from its file and the user's values: the shape of each input, and the inputs that become
// constants.
#pragma once

#include "tasks/engine/onnx/model_source.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rtexec::tasks::onnx_source {

/// Returns the shape of each input. All dimensions are fixed and within the reader's limits. A symbolic dimension has
/// the same size in all inputs. Throws Refusal if a shape from the user does not fit the file, or if neither the file
/// nor the user specifies the size of a dimension.
[[nodiscard]] std::vector<Shape> input_shapes(const Model& model);
/// Returns the input named `name`. `given` is the kind of the user's value ("a shape", "a constant") for the error
/// message. Throws Refusal if the model has no such input.
const Input& named_input(const Model& model, const std::string& name, std::string_view given);
/// Returns the user's constant for `input`, whose shape is `shape`. Throws Refusal if the constant does not fit.
[[nodiscard]] Constant given_constant(const Model& model, const Input& input, const Shape& shape);

} // namespace rtexec::tasks::onnx_source
