#include "tasks/engine/onnx/fixed_inputs.hpp"

#include "config/base/decimal.hpp"
#include "config/base/text.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <span>
#include <string_view>

namespace rtexec::tasks::onnx_source {
namespace {

bool is_open(const Dimension& dimension) { return !dimension.value; }

/// Returns the shape of an input, with "?" for each open dimension (the file does not specify its size): "1x3x?x?".
std::string with_gaps(const Input& input, std::string_view separator) {
  std::string text;
  for (const Dimension& dimension : input.shape)
    text +=
        (text.empty() ? "" : std::string(separator)) + (is_open(dimension) ? "?" : std::to_string(*dimension.value));
  return text;
}

/// Returns the name as a TOML key, in quotes if needed.
std::string key_of(const std::string& name) {
  const auto is_bare = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; };
  return config::shortened(std::ranges::all_of(name, is_bare) ? name : config::toml_string(name));
}

/// Returns text with a dimension's index and symbol: "dimension 2 ('height')".
std::string named(const Input& input, std::size_t dimension) {
  const std::string& symbol = input.shape[dimension].symbol;
  return "dimension " + std::to_string(dimension) + (symbol.empty() ? "" : " (" + config::quoted(symbol) + ")");
}

class Shapes {
 public:
  explicit Shapes(const Model& model) : model_(model) {}

  std::vector<Shape> all() {
    for (const auto& [name, shape] : model_.given.shapes) take(named_input(model_, name, "a shape"), shape);
    std::vector<Shape> shapes;
    for (const Input& input : model_.inputs) shapes.push_back(shape_of(input));
    if (!open_.empty()) refuse_open();
    return shapes;
  }

 private:
  [[noreturn]] void refuse(const Input& input, const std::string& why) const {
    throw Refusal(Errc::bad_input, model_.file + ": input " + config::quoted(input.name) + ": " + why);
  }

  /// Checks a shape from the user against the file, and records the sizes of its symbolic dimensions.
  void take(const Input& input, const Shape& given) {
    if (!input.has_shape) return check_sizes(input, given);
    if (given.size() != input.shape.size())
      refuse(input, "the shape that is given, " + to_string(given) + ", has " + std::to_string(given.size()) +
                        " dimensions, and the file's, " + with_gaps(input, "x") + ", has " +
                        std::to_string(input.shape.size()));
    check_sizes(input, given);
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (!is_open(input.shape[i]) && input.shape[i].value != given[i])
        refuse(input, named(input, i) + " is given as " + std::to_string(given[i]) + ", but the file fixes it as " +
                          std::to_string(*input.shape[i].value));
      if (is_open(input.shape[i])) learn(input, i, given[i]);
    }
  }

  void check_sizes(const Input& input, const Shape& given) const {
    for (const std::int64_t size : given)
      if (size < 0)
        refuse(input, "the shape that is given has a dimension of " + std::to_string(size) + "; it must be at least 0");
  }

  void learn(const Input& input, std::size_t dimension, std::int64_t size) {
    const std::string& symbol = input.shape[dimension].symbol;
    if (symbol.empty()) return;
    const auto [known, is_new] = sizes_.try_emplace(symbol, Size{size, &input, dimension});
    if (is_new || known->second.size == size) return;
    const Size& other = known->second;
    refuse(input, named(input, dimension) + " is given as " + std::to_string(size) + ", and " +
                      named(*other.input, other.dimension) + " of input " + config::quoted(other.input->name) + " as " +
                      std::to_string(other.size) + ": dimensions of one name must have one size");
  }

  Shape shape_of(const Input& input) {
    const auto given = model_.given.shapes.find(input.name);
    Shape shape;
    if (given != model_.given.shapes.end()) shape = given->second;
    else
      for (std::size_t i = 0; i < input.shape.size(); ++i) shape.push_back(size_of(input, i));
    if (given == model_.given.shapes.end() && !input.has_shape) note_open(input, "no dimension");
    check_limits(input, shape);
    return shape;
  }

  std::int64_t size_of(const Input& input, std::size_t dimension) {
    const auto& [value, symbol] = input.shape[dimension];
    if (value) return *value;
    if (const auto known = sizes_.find(symbol); known != sizes_.end()) return known->second.size;
    note_open(input, named(input, dimension));
    return 1;
  }

  void note_open(const Input& input, const std::string& what) {
    if (!open_.empty() && open_.back().input == &input) open_.back().what += ", " + what;
    else open_.push_back({&input, what});
  }

  [[noreturn]] void refuse_open() const {
    std::string all, table, options;
    for (const auto& [input, what] : std::span(open_).first(std::min(open_.size(), max_told))) {
      const bool first = all.empty();
      all += (first ? "" : "; ") + std::string("input ") + config::quoted(input->name) + ": " + what;
      table += (first ? "" : ", ") + key_of(input->name) + " = [" +
               (input->has_shape ? with_gaps(*input, ", ") : "?, ...") + "]";
      options += " --shape " + config::printable(config::shell_word(input->name)) + "=" +
                 (input->has_shape ? with_gaps(*input, "x") : "?x...");
    }
    if (open_.size() > max_told) all += "; and " + std::to_string(open_.size() - max_told) + " more inputs";
    throw Refusal(Errc::bad_input, model_.file + ": " + all +
                                       ": not fixed in the file; fix it with a number for each '?': by shape = { " +
                                       table + " } in a task set, by" + options + " on a command line");
  }

  void check_limits(const Input& input, const Shape& shape) const {
    const auto what = model_.file + ": input " + config::quoted(input.name);
    std::int64_t count = 1;
    for (const std::int64_t dimension : shape)
      if (dimension > max_elements || (count *= std::max<std::int64_t>(dimension, 1)) > max_elements)
        throw Refusal(Errc::unsupported, what + " has more than " + std::to_string(max_elements) + " elements");
    if (shape.size() > max_rank)
      throw Refusal(Errc::unsupported, what + " has more than " + std::to_string(max_rank) + " dimensions");
  }

  /// The size of a symbolic dimension, with the input and the dimension that first determined the size.
  struct Size {
    std::int64_t size;
    const Input* input;
    std::size_t dimension;
  };

  struct Open {
    const Input* input;
    std::string what; // names the open dimensions
  };
  static constexpr std::size_t max_told = 8;

  const Model& model_;
  std::map<std::string, Size> sizes_; // by symbol
  std::vector<Open> open_;
};

} // namespace

const Input& named_input(const Model& model, const std::string& name, std::string_view given) {
  const auto found = std::ranges::find(model.inputs, name, &Input::name);
  if (found != model.inputs.end()) return *found;
  std::string there;
  for (const Input& input : model.inputs) there += (there.empty() ? "" : ", ") + config::quoted(input.name);
  throw Refusal(Errc::bad_input, model.file + ": " + std::string(given) + " is given for " + config::quoted(name) +
                                     ", which is not an input; its inputs are: " + there);
}

std::vector<Shape> input_shapes(const Model& model) { return Shapes(model).all(); }

Constant given_constant(const Model& model, const Input& input, const Shape& shape) {
  const auto& values = model.given.constants.at(input.name);
  const auto refuse = [&](const std::string& why) {
    throw Refusal(Errc::bad_input,
                  model.file + ": input " + config::quoted(input.name) + ": the constant that is given " + why);
  };
  const auto count = static_cast<std::size_t>(element_count(shape));
  if (values.size() != 1 && values.size() != count)
    refuse("has " + std::to_string(values.size()) + " numbers, but needs one for all elements, or " +
           std::to_string(count));
  const auto all = [&](auto converted) {
    if (converted.size() != count) converted.resize(count, converted.front());
    return converted;
  };
  if (!is_integer(input.type)) return {shape, all(std::vector<float>(values.begin(), values.end()))};
  std::vector<std::int64_t> whole;
  for (const double value : values) {
    const auto number = std::abs(value) < 0x1p63 ? static_cast<std::int64_t>(value) : 0;
    const bool fits =
        input.type == ElementType::boolean ? number == 0 || number == 1 : wrapped(number, input.type) == number;
    if (static_cast<double>(number) != value || !fits)
      refuse("is " + config::decimal(value) + ", and its type is " + std::string(name(input.type)));
    whole.push_back(number);
  }
  return {shape, Integers(all(std::move(whole)), input.type)};
}

} // namespace rtexec::tasks::onnx_source
