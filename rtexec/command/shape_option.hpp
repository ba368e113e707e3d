// --shape NAME=1x3x224x224: of inputs whose dimensions a model's file leaves open.
#pragma once

#include <rtexec/result.hpp>
#include "rtexec/command/options.hpp"
#include "tasks/dnn/graph/graph.hpp"

#include <span>
#include <string>
#include <vector>

namespace rtexec::command {

/// May be given several times: one text for each input.
void add_shape(const Command& command, std::vector<std::string>& shapes);
/// bad_input: what is no shape, and an input that has one already.
[[nodiscard]] Result<tasks::InputShapes> parse_shapes(std::span<const std::string> texts);

} // namespace rtexec::command
