// The shapes of a model's inputs: what its file says, and where that leaves dimensions open what was asked for.
#pragma once

#include "tasks/dnn/onnx/source.hpp"

#include <vector>

namespace rtexec::tasks::onnx_source {

/// By input, all dimensions fixed and within the reader's limits. A symbol of the file stands for one size in all
/// inputs. Throws Refusal: shapes that do not fit the file, and what nobody has fixed.
[[nodiscard]] std::vector<Shape> input_shapes(const Model& model);

} // namespace rtexec::tasks::onnx_source
