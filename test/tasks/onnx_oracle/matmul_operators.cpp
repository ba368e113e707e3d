#include "test/tasks/onnx_oracle/broadcast.hpp"
#include "test/tasks/onnx_oracle/products.hpp"

#include <algorithm>
#include <map>

namespace rtexec::test {
namespace {

Array gemm(const Operator& n) {
  const Array &a = n.in(0), &b = n.in(1);
  const bool a_turned = n.get<Index>("transA", 0) != 0, b_turned = n.get<Index>("transB", 0) != 0;
  const double alpha = n.get("alpha", 1.0F), beta = n.get("beta", 1.0F);
  const Index rows = a.extent(a_turned ? 1 : 0), inner = a.extent(a_turned ? 0 : 1),
              columns = b.extent(b_turned ? 0 : 1);
  Array y({rows, columns}, a.kind);
  for_each_index(y.shape, [&](const Ints& at) {
    double sum = 0;
    for (Index k = 0; k < inner; ++k)
      sum += a[a_turned ? k * rows + at[0] : at[0] * inner + k] * b[b_turned ? at[1] * inner + k : k * columns + at[1]];
    y[offset(y.shape, at)] = wrapped(alpha * sum + (n.has(2) ? beta * broadcast_element(n.in(2), at) : 0), y.kind);
  });
  return y;
}

Array matmul(const Operator& n) { return matrix_product(n.in(0), n.in(1), n.in(0).kind); }

/// The names of axes in an equation: letters; the axes of an ellipsis are digits, counted from the last one.
using Labels = std::string;

struct Equation {
  std::vector<Labels> terms;
  Labels output;
  std::map<char, Index> extents;
};

Labels with_ellipsis(const std::string& term, std::size_t dots) {
  const std::size_t at = term.find("...");
  if (at == std::string::npos) return term;
  Labels digits;
  for (std::size_t d = dots; d-- > 0;) digits += static_cast<char>('0' + d);
  return term.substr(0, at) + digits + term.substr(at + 3);
}

/// Returns the labels that occur once, in ASCII order, after all axes of ellipses.
Labels implicit_output(const std::vector<Labels>& terms) {
  std::map<char, int> times;
  Labels digits, letters;
  for (const Labels& term : terms)
    for (const char label : term) ++times[label];
  for (const auto& [label, count] : times) {
    if (label <= '9') digits.insert(0, 1, label);
    else if (count == 1) letters += label;
  }
  return digits + letters;
}

std::vector<std::string> cut(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

Equation read_equation(const Operator& n) {
  auto text = n.get<std::string>("equation", "");
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  const std::vector<std::string> written = cut(text.substr(0, arrow), ',');
  Equation equation;
  std::size_t most = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const bool any = written[i].contains("...");
    const std::size_t dots = any ? n.in(i).shape.size() + 3 - written[i].size() : 0;
    most = std::max(most, dots);
    equation.terms.push_back(with_ellipsis(written[i], dots));
    for (std::size_t d = 0; d < n.in(i).shape.size(); ++d) {
      Index& extent = equation.extents.try_emplace(equation.terms[i].at(d), 1).first->second;
      if (extent == 1) extent = n.in(i).shape[d];
    }
  }
  equation.output =
      arrow == std::string::npos ? implicit_output(equation.terms) : with_ellipsis(text.substr(arrow + 2), most);
  return equation;
}

using LabelValues = std::map<char, Index>;

double element_at(const Array& x, const Labels& labels, const LabelValues& place) {
  Ints at;
  for (std::size_t d = 0; d < labels.size(); ++d) at.push_back(x.shape[d] == 1 ? 0 : place.at(labels[d]));
  return x[offset(x.shape, at)];
}

Array einsum(const Operator& n) {
  const Equation equation = read_equation(n);
  Ints shape, summed_shape;
  Labels summed;
  for (const char label : equation.output) shape.push_back(equation.extents.at(label));
  for (const auto& [label, extent] : equation.extents) {
    if (equation.output.contains(label)) continue;
    summed += label;
    summed_shape.push_back(extent);
  }
  Array y(shape, n.in(0).kind);
  LabelValues place;
  for_each_index(shape, [&](const Ints& at) {
    for (std::size_t d = 0; d < at.size(); ++d) place[equation.output[d]] = at[d];
    double sum = 0;
    for_each_index(summed_shape, [&](const Ints& inner) {
      for (std::size_t d = 0; d < inner.size(); ++d) place[summed[d]] = inner[d];
      double term = 1;
      for (std::size_t i = 0; i < n.inputs.size(); ++i) term *= element_at(n.in(i), equation.terms[i], place);
      sum += term;
    });
    y[offset(shape, at)] = wrapped(sum, y.kind);
  });
  return y;
}

/// Returns where each matrix of `x` begins.
Array starts_of_matrices(const Array& x) {
  Array starts(Ints(x.shape.begin(), x.shape.end() - 2));
  const Index matrix = x.shape.back() * x.shape[x.shape.size() - 2];
  for (Index i = 0; i < starts.size(); ++i) starts[i] = static_cast<double>(i * matrix);
  return starts;
}

} // namespace

Array matrix_product(Array a, Array b, Kind kind) {
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a.shape.insert(a.shape.begin(), 1);
  if (column) b.shape.push_back(1);
  const Index inner = a.shape.back(), columns = b.shape.back(), rows = a.shape[a.shape.size() - 2];
  const Ints outer = broadcast(Ints(a.shape.begin(), a.shape.end() - 2), Ints(b.shape.begin(), b.shape.end() - 2));
  const Array a_starts = starts_of_matrices(a), b_starts = starts_of_matrices(b);
  Ints shape = outer;
  shape.insert(shape.end(), {rows, columns});
  Array y(shape, kind);
  Index to = 0;
  for_each_index(outer, [&](const Ints& at) {
    const auto left = static_cast<Index>(broadcast_element(a_starts, at));
    const auto right = static_cast<Index>(broadcast_element(b_starts, at));
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < columns; ++j) {
        double sum = 0;
        for (Index k = 0; k < inner; ++k) sum += a[left + i * inner + k] * b[right + k * columns + j];
        y[to++] = wrapped(sum, kind);
      }
  });
  if (column) y.shape.pop_back();
  if (row) y.shape.erase(y.shape.end() - (column ? 1 : 2));
  return y;
}

Functions matmul_operators() { return {{"Gemm", gemm}, {"MatMul", matmul}, {"Einsum", einsum}}; }

} // namespace rtexec::test
