// Functions of a model (FunctionProto): calls are replaced by their bodies, so that lowering sees operators only.
#pragma once

#include "tasks/engine/onnx/model_source.hpp"

namespace rtexec::tasks::onnx_source {

/// Replaces all calls, those inside of functions and of graphs within nodes among them. Throws Refusal: a function that
/// calls itself, a call that does not fit its function, or more nodes than a network may have.
void inline_functions(Model& model);

} // namespace rtexec::tasks::onnx_source
