// What a model's file leaves to its user, as options: --shape NAME=1x3x224x224, --constant NAME=16000.
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

/// Each may be given several times.
void add_given_inputs(const Command& command, InputTexts& texts);
/// bad_input: what is no shape or no number, and an input that has one already.
[[nodiscard]] Result<tasks::GivenInputs> given_inputs(const InputTexts& texts);

} // namespace rtexec::command
