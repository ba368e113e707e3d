// Options for shapes and values of inputs that a model's file does not fix: --shape NAME=1x3x224x224 and --constant
// NAME=16000.
#pragma once

#include <rtexec/result.hpp>
#include "rtexec/cli/options/options.hpp"
#include "tasks/engine/graph/graph.hpp"

#include <string>
#include <vector>

namespace rtexec::command {

struct InputTexts {
  std::vector<std::string> shapes, constants; // one text for each --shape or --constant
};

/// Adds both options; each may be given several times.
void add_given_inputs(const Command& command, InputTexts& texts);
/// Parses the texts. Returns bad_input if one is not a shape or a number, or an input has more than one.
[[nodiscard]] Result<tasks::GivenInputs> given_inputs(const InputTexts& texts);

} // namespace rtexec::command
