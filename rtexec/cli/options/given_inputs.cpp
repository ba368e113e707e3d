#include "rtexec/cli/options/given_inputs.hpp"

#include "config/base/must.hpp"
#include "config/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

namespace rtexec::command {

namespace {

bool is_right(std::int64_t dimension) { return dimension >= 0; }
bool is_right(double value) { return std::isfinite(value); }

/// Parses the numbers of a shape, such as "1x3x224x224".
template <class Number> std::optional<std::vector<Number>> numbers(std::string_view text) {
  std::vector<Number> all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    const auto number = config::number<Number>(text.substr(begin, end - begin));
    if (!number || !is_right(*number)) return std::nullopt;
    all.push_back(*number);
    begin = end + 1;
  }
  return all;
}

struct Wanted {
  std::string_view option, what, example, kind;
};

template <class Number>
std::map<std::string, std::vector<Number>> by_input(const std::vector<std::string>& texts, const Wanted& wanted) {
  std::map<std::string, std::vector<Number>> all;
  for (const std::string& text : texts) {
    const auto refuse = [&](const std::string& why) {
      give_up(Errc::bad_input, std::string(wanted.option) + " " + config::printable(text) + ": " + why);
    };
    const std::size_t equals = text.rfind('='); // the last '=', because a name may contain '='
    const auto given =
        equals == std::string::npos ? std::nullopt : numbers<Number>(std::string_view(text).substr(equals + 1));
    if (!given || equals == 0)
      refuse("expected the name of an input and its " + std::string(wanted.what) + ": write " +
             std::string(wanted.example));
    if (!all.emplace(text.substr(0, equals), *given).second)
      refuse("that input has a " + std::string(wanted.kind) + " already");
  }
  return all;
}

constexpr Wanted shape{"--shape", "dimensions", "NAME=1x3x224x224", "shape"};
constexpr Wanted constant{"--constant", "numbers", "NAME=16000, or NAME=480x640 for several elements", "constant"};

} // namespace

void add_given_inputs(const Command& command, InputTexts& texts) {
  command
      .option("--shape", texts.shapes, "NAME=1x3x224x224",
              "All dimensions of an input that has dynamic dimensions. For several inputs separate them by commas, or "
              "repeat the option")
      .separated_by(',');
  command
      .option("--constant", texts.constants, "NAME=16000",
              "Value of an input that is equal in all jobs: one number for all elements, or one number for each "
              "element (480x640). Nodes that depend only on such inputs are computed once, when the model is loaded")
      .separated_by(',');
}

Result<tasks::GivenInputs> given_inputs(const InputTexts& texts) {
  return caught([&] {
    return tasks::GivenInputs{.shapes = by_input<std::int64_t>(texts.shapes, shape),
                              .constants = by_input<double>(texts.constants, constant)};
  });
}

} // namespace rtexec::command
