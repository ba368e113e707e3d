#include "rtexec/command/shape_option.hpp"

#include "config/text.hpp"

#include <algorithm>
#include <optional>

namespace rtexec::command {

namespace {

std::optional<tasks::Shape> dimensions(std::string_view text) {
  tasks::Shape shape;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    const auto dimension = config::number<std::int64_t>(text.substr(begin, end - begin));
    if (!dimension || *dimension < 1) return std::nullopt;
    shape.push_back(*dimension);
    begin = end + 1;
  }
  return shape;
}

} // namespace

void add_shape(const Command& command, std::vector<std::string>& shapes) {
  command
      .option("--shape", shapes, "NAME=1x3x224x224",
              "All dimensions of an input of which the file leaves some open; for several, separated by commas or as "
              "often as there are")
      .separated_by(',');
}

Result<tasks::InputShapes> parse_shapes(std::span<const std::string> texts) {
  tasks::InputShapes shapes;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('='); // a name may have one in it
    const auto shape =
        equals == std::string::npos ? std::nullopt : dimensions(std::string_view(text).substr(equals + 1));
    if (!shape || equals == 0)
      return fail(Errc::bad_input, "--shape " + config::printable(text) +
                                       ": not the name of an input and its dimensions: write NAME=1x3x224x224");
    if (!shapes.emplace(text.substr(0, equals), *shape).second)
      return fail(Errc::bad_input, "--shape " + config::printable(text) + ": that input has a shape already");
  }
  return shapes;
}

} // namespace rtexec::command
