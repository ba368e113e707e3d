// Initialisers of graphs within nodes.
#pragma once

#include "tasks/engine/onnx/model_source.hpp"

namespace rtexec::tasks::onnx_source {

/// Moves the initialisers of graphs within nodes to the model, under names that no other has. So each is stored once,
/// however many rounds a loop around it makes.
void lift_initialisers(Model& model);

} // namespace rtexec::tasks::onnx_source
