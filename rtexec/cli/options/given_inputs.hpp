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

/// Adds the options --shape and --constant; each option may be given several times.
void add_given_inputs(const Command& command, InputTexts& texts);
/// Parses the texts. Returns bad_input if a text is no valid shape or number, or if an input has more than one shape or
/// constant.
[[nodiscard]] Result<tasks::GivenInputs> given_inputs(const InputTexts& texts);

} // namespace rtexec::command
