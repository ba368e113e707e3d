// Handles initialisers of graphs in nodes.
#pragma once

#include "tasks/engine/onnx/model_source.hpp"

namespace rtexec::tasks::onnx_source {

/// Moves the initialisers of graphs in nodes to the model, under unique names. Each is then stored once, however often
/// a loop repeats the graph.
void lift_initialisers(Model& model);

} // namespace rtexec::tasks::onnx_source
