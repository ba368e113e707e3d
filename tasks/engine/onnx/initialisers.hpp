// Handles initialisers of graphs that nodes contain, such as the body of a loop.
#pragma once

#include "tasks/engine/onnx/model_source.hpp"

namespace rtexec::tasks::onnx_source {

/// Moves the initialisers of contained graphs to the model, under unique names. Each initialiser is then stored once,
/// however often a loop repeats its graph.
void lift_initialisers(Model& model);

} // namespace rtexec::tasks::onnx_source
