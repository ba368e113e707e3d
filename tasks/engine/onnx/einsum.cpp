// Lowers Einsum, a sum of products of tensors, to transpositions and matrix products.
#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace rtexec::tasks::onnx_source {
namespace {

/// A tensor, with one letter of the equation for each dimension. The dimensions of "..." get unprintable letters,
/// assigned from the last dimension to the first.
struct Term {
  TensorId tensor;
  std::string letters;
};

constexpr char first_unnamed = '\1';

class Equation {
 public:
  explicit Equation(NodeContext& node) : node_(node) {
    std::string text = node.attribute<std::string>("equation");
    std::erase(text, ' ');
    const auto arrow = text.find("->");
    std::string left = text.substr(0, arrow);
    for (std::size_t i = 0, at = 0; i < node.inputs(); ++i) {
      const auto comma = left.find(',', at);
      node.require((comma == std::string::npos) == (i + 1 == node.inputs()),
                   "its equation has another number of inputs than the node");
      terms_.push_back(term(i, left.substr(at, comma - at)));
      at = comma + 1;
    }
    if (arrow == std::string::npos) result_ = implied();
    else result_ = named(text.substr(arrow + 2), unnamed_);
    for (const char letter : result_)
      node.require(sizes_.contains(letter), "its result has a dimension that no input has");
    for (const char letter : result_)
      node.require(std::ranges::count(result_, letter) == 1, "its result names a dimension twice");
  }

  TensorId build() {
    for (auto& each : terms_) each = without_repeats(each);
    auto all = terms_.front();
    for (std::size_t i = 1; i < terms_.size(); ++i) all = product(all, terms_[i], needed_after(i));
    all = summed(all, result_);
    return ordered(all, result_);
  }

 private:
  /// Returns `text` with its "..." replaced by `count` unprintable letters.
  std::string named(const std::string& text, std::size_t count) {
    const auto dots = text.find("...");
    if (dots == std::string::npos) return text;
    std::string unnamed;
    for (std::size_t i = count; i-- > 0;) unnamed += static_cast<char>(first_unnamed + static_cast<char>(i));
    return text.substr(0, dots) + unnamed + text.substr(dots + 3);
  }

  Term term(std::size_t input, const std::string& text) {
    const auto shape = node_.shape(input);
    const bool has_dots = text.find("...") != std::string::npos;
    const auto plain = text.size() - (has_dots ? 3 : 0);
    node_.require(has_dots ? plain <= shape.size() : plain == shape.size(),
                  "its equation does not match the shapes of its inputs");
    const auto letters = named(text, shape.size() - plain);
    unnamed_ = std::max(unnamed_, shape.size() - plain);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      auto& size = sizes_.try_emplace(letters[d], 1).first->second;
      node_.require(size == 1 || shape[d] == 1 || size == shape[d], "dimensions of one letter differ");
      if (size == 1) size = shape[d];
    }
    return {node_.tensor(input), letters};
  }

  /// Returns the letters of the result for an equation without an arrow. They are the letters of "...", then the
  /// letters that occur once, in alphabetical order.
  [[nodiscard]] std::string implied() const {
    std::map<char, int> count;
    for (const auto& each : terms_)
      for (const char letter : each.letters) ++count[letter];
    std::string unnamed, letters;
    for (const auto& [letter, times] : count)
      if (letter < ' ') unnamed.insert(unnamed.begin(), letter);
      else if (times == 1) letters += letter;
    return unnamed + letters;
  }

  [[nodiscard]] Shape shape_of(const std::string& letters) const {
    Shape shape;
    for (const char letter : letters) shape.push_back(sizes_.at(letter));
    return shape;
  }

  /// Returns a tensor in which each letter occurs once, with its full size (broadcast). For a letter that occurs twice
  /// in `from`, the diagonal is selected.
  Term without_repeats(const Term& from) {
    const auto shape = node_.shape(input_of(from));
    const auto strides = dense_strides(shape);
    std::string letters;
    std::map<char, std::int64_t> steps;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (letters.find(from.letters[d]) == std::string::npos) letters += from.letters[d];
      steps[from.letters[d]] += shape[d] == 1 ? 0 : strides[d];
    }
    const auto full = shape_of(letters);
    if (letters == from.letters && full == shape) return from;
    View view;
    for (const char letter : letters) view.strides.push_back(steps[letter]);
    return {node_.emit(std::move(view), {from.tensor}, full), letters};
  }

  [[nodiscard]] std::size_t input_of(const Term& term) const { return static_cast<std::size_t>(&term - terms_.data()); }

  /// Returns the letters that the result or a term after term `i` needs.
  [[nodiscard]] std::string needed_after(std::size_t i) const {
    std::string letters = result_;
    for (std::size_t j = i + 1; j < terms_.size(); ++j) letters += terms_[j].letters;
    return letters;
  }

  /// Returns `from` summed over the dimensions of all letters that are not in `kept`.
  Term summed(Term from, const std::string& kept) {
    for (std::size_t d = from.letters.size(); d-- > 0;) {
      if (kept.find(from.letters[d]) != std::string::npos) continue;
      const auto shape = shape_of(from.letters);
      const auto middle = onnx_source::product(shape, d + 1, shape.size());
      from.letters.erase(d, 1);
      from.tensor = node_.emit(Reduce{Reduce::Kind::sum, onnx_source::product(shape, 0, d), shape[d], middle},
                               {from.tensor}, shape_of(from.letters));
    }
    return from;
  }

  TensorId ordered(const Term& from, const std::string& letters) {
    const auto strides = dense_strides(shape_of(from.letters));
    View view;
    for (const char letter : letters) view.strides.push_back(strides[from.letters.find(letter)]);
    const auto shape = shape_of(letters);
    if (from.letters == letters) return node_.emit(Reshape{}, {from.tensor}, shape);
    return node_.emit(std::move(view), {from.tensor}, shape);
  }

  Term product(const Term& a, const Term& b, const std::string& needed) {
    const auto in = [](const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; };
    const Term left = summed(a, needed + b.letters), right = summed(b, needed + a.letters);
    std::string both, inner, rows, columns;
    for (const char letter : left.letters)
      (!in(right.letters, letter) ? rows : in(needed, letter) ? both : inner) += letter;
    for (const char letter : right.letters)
      if (!in(left.letters, letter)) columns += letter;
    const auto count = [&](const std::string& letters) { return element_count(shape_of(letters)); };
    const auto flat_left =
        node_.emit(Reshape{}, {ordered(left, both + rows + inner)}, {count(both), count(rows), count(inner)});
    const auto flat_right =
        node_.emit(Reshape{}, {ordered(right, both + inner + columns)}, {count(both), count(inner), count(columns)});
    const auto flat = batched_product(node_, flat_left, flat_right, {count(both), count(rows), count(columns)});
    const auto letters = both + rows + columns;
    return {node_.emit(Reshape{}, {flat}, shape_of(letters)), letters};
  }

  NodeContext& node_;
  std::vector<Term> terms_;
  std::map<char, std::int64_t> sizes_;
  std::size_t unnamed_ = 0; // maximum number of dimensions for which "..." stands
  std::string result_;
};

} // namespace

void einsum(NodeContext& node) {
  node.require(node.inputs() >= 1, "it has no input");
  require_wide_integers(node, node.inputs());
  node.set_output(Equation(node).build());
}

} // namespace rtexec::tasks::onnx_source
