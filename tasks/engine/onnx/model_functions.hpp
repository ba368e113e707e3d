// Inlines the functions of a model (FunctionProto), so that only operators are left for lowering.
#pragma once

#include "tasks/engine/onnx/model_source.hpp"

namespace rtexec::tasks::onnx_source {

/// Replaces each call of a function by the nodes of the function. This includes calls in functions and in graphs that
/// nodes contain. Throws Refusal for a recursive function, for a call that does not match its function, or if the
/// result has more nodes than a network may have.
void inline_functions(Model& model);

} // namespace rtexec::tasks::onnx_source
