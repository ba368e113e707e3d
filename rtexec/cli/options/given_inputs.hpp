// Options for facts that a model's file leaves to its user: --shape NAME=1x3x224x224, --constant NAME=16000.
#pragma once

#include <rtexec/result.hpp>
#include "rtexec/cli/options/options.hpp"
#include "tasks/engine/graph/graph.hpp"

#include <string>
#include <vector>

namespace rtexec::command {

struct InputTexts {
  std::vector<std::string> shapes, constants; // one text for each input
};

/// Adds both options; each may be given several times.
void add_given_inputs(const Command& command, InputTexts& texts);
/// Returns bad_input if a text is no shape or no number, or if an input has one already.
[[nodiscard]] Result<tasks::GivenInputs> given_inputs(const InputTexts& texts);

} // namespace rtexec::command
