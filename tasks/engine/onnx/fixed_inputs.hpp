// Resolves a model's inputs from its file and its user's values: their shapes, and which of them are constants.
#pragma once

#include "tasks/engine/onnx/model_source.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rtexec::tasks::onnx_source {

/// Returns the shape of each input, all dimensions fixed and within the reader's limits. A symbolic dimension has one
/// size in all inputs. Throws Refusal if a given shape does not fit the file, or if a dimension remains open.
[[nodiscard]] std::vector<Shape> input_shapes(const Model& model);
/// Returns the input `name`. `given` ("a shape", "a constant") names the user's value in the error message. Throws
/// Refusal if the model has no such input.
const Input& named_input(const Model& model, const std::string& name, std::string_view given);
/// Returns the user's constant for an input of that shape. Throws Refusal if it does not fit.
[[nodiscard]] Constant given_constant(const Model& model, const Input& input, const Shape& shape);

} // namespace rtexec::tasks::onnx_source
