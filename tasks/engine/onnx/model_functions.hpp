// Inlines the functions of a model (FunctionProto), so that lowering meets operators only.
#pragma once

#include "tasks/engine/onnx/model_source.hpp"

namespace rtexec::tasks::onnx_source {

/// Replaces all calls by the functions' nodes, including calls in functions and in graphs of nodes. Throws Refusal for
/// a recursive function, a call that does not match its function, or more nodes than a network may have.
void inline_functions(Model& model);

} // namespace rtexec::tasks::onnx_source
