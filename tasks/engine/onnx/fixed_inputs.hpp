// A model's inputs as its file and its user say together: their shapes, and those that are constants.
#pragma once

#include "tasks/engine/onnx/model_source.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rtexec::tasks::onnx_source {

/// By input, all dimensions fixed and within the reader's limits. A symbol of the file stands for one size in all
/// inputs. Throws Refusal: shapes that do not fit the file, and what nobody has fixed.
[[nodiscard]] std::vector<Shape> input_shapes(const Model& model);
/// For which "a shape" or "a constant" is given. Throws Refusal: there is none.
const Input& named_input(const Model& model, const std::string& name, std::string_view given);
/// Of an input of that shape, for which one is given. Throws Refusal: it does not fit.
[[nodiscard]] Constant given_constant(const Model& model, const Input& input, const Shape& shape);

} // namespace rtexec::tasks::onnx_source
