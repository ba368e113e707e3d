#include "test/tasks/onnx_oracle/broadcast.hpp"
#include "test/tasks/onnx_oracle/oracle.hpp"

#include <cmath>
#include <limits>

namespace rtexec::test {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

/// Returns [batch, heads, sequence, size] from [batch, sequence, heads * size].
Array as_heads(const Array& x, Index heads) {
  if (x.rank() == 4) return x;
  const Index size = x.extent(2) / heads;
  return pick(x, {x.extent(0), heads, x.extent(1), size}, [=](const Ints& at) {
    return Ints{at[0], at[2], at[1] * size + at[3]};
  });
}

/// The reverse of as_heads.
Array without_heads(const Array& x) {
  const Index size = x.extent(3);
  return pick(x, {x.extent(0), x.extent(2), x.extent(1) * size}, [=](const Ints& at) {
    return Ints{at[0], at[2] / size, at[1], at[2] % size};
  });
}

Array behind(const Array* past, const Array& x) {
  if (past == nullptr) return x;
  const Index before = past->extent(2);
  Ints shape = x.shape;
  shape[2] += before;
  Array y(shape);
  for_each_index(shape, [&](Ints at) {
    const Index to = offset(shape, at);
    const bool old = at[2] < before;
    if (!old) at[2] -= before;
    y[to] = old ? (*past)[offset(past->shape, at)] : x[offset(x.shape, at)];
  });
  return y;
}

/// Returns the mask's contribution to the score at `at`. From opset 24 on a mask may be shorter than the keys: the
/// remaining keys are excluded.
double of_mask(const Operator& n, const Ints& at, Index keys) {
  if (!n.has(3)) return 0;
  const Array& mask = n.in(3);
  if (n.opset >= 24 && at[3] >= mask.shape.back() && mask.shape.back() < keys) return nothing;
  const double value = broadcast_element(mask, at);
  if (mask.kind != Kind::boolean) return value;
  return value != 0 ? 0 : nothing;
}

/// Returns what is added to the scores: the mask, the causal mask, and the mask of padded keys.
Array biases(const Operator& n, const Ints& shape) {
  const bool causal = n.get<Index>("is_causal", 0) != 0;
  const Index queries = shape[2], keys = shape[3];
  Array bias(shape);
  for_each_index(shape, [&](const Ints& at) {
    Index before = n.has(4) ? n.in(4).extent(2) : 0, valid = keys;
    if (n.has(6)) {
      valid = integers(n.in(6))[static_cast<std::size_t>(at[0])];
      before = valid - queries;
    }
    const bool ahead = causal && at[3] > at[2] + before;
    bias[offset(shape, at)] = ahead || at[3] >= valid ? nothing : of_mask(n, at, keys);
  });
  return bias;
}

/// Returns the softmax over the last axis. A row without any key is zero.
Array weights(Array scores) {
  const Index keys = scores.shape.back();
  for (Index row = 0; row < scores.size(); row += keys) {
    double largest = nothing, sum = 0;
    for (Index k = 0; k < keys; ++k) largest = std::max(largest, scores[row + k]);
    for (Index k = 0; k < keys; ++k)
      sum += scores[row + k] = largest == nothing ? 0 : std::exp(scores[row + k] - largest);
    for (Index k = 0; k < keys && sum > 0; ++k) scores[row + k] /= sum;
  }
  return scores;
}

/// Returns y with y[b, h, i, j] = the sum over k of f(b, h, i, j, k).
template <class F> Array sums(const Ints& shape, Index count, F&& f) {
  Array y(shape);
  for_each_index(shape, [&](const Ints& at) {
    double sum = 0;
    for (Index k = 0; k < count; ++k) sum += f(at, k);
    y[offset(shape, at)] = sum;
  });
  return y;
}

std::vector<Array> attention(const Operator& n) {
  const bool flat = n.in(0).rank() == 3;
  const Index key_heads = n.get<Index>("kv_num_heads", 0);
  const Array q = as_heads(n.in(0), n.get<Index>("q_num_heads", 0));
  const Array k = behind(n.has(4) ? &n.in(4) : nullptr, as_heads(n.in(1), key_heads));
  const Array v = behind(n.has(5) ? &n.in(5) : nullptr, as_heads(n.in(2), key_heads));
  const Index size = q.extent(3), queries = q.extent(2), keys = k.extent(2), share = q.extent(1) / k.extent(1);
  const double scale = n.has("scale") ? n.get("scale", 0.0F) : 1 / std::sqrt(static_cast<double>(size));
  const double cap = n.get("softcap", 0.0F);

  const Array products = sums({q.extent(0), q.extent(1), queries, keys}, size, [&](const Ints& at, Index i) {
    return scale * q[offset(q.shape, {at[0], at[1], at[2], i})] * k[offset(k.shape, {at[0], at[1] / share, at[3], i})];
  });
  Array capped = products;
  if (cap > 0)
    for (double& score : capped.values) score = cap * std::tanh(score / cap);
  const Array biased = combine(capped, biases(n, capped.shape), Kind::real, [](double a, double b) { return a + b; });
  const Array softmax = weights(biased);
  const Array y = sums({q.extent(0), q.extent(1), queries, v.extent(3)}, keys, [&](const Ints& at, Index i) {
    return softmax[offset(softmax.shape, {at[0], at[1], at[2], i})] *
           v[offset(v.shape, {at[0], at[1] / share, i, at[3]})];
  });
  const Array* const stages[] = {&products, &capped, &biased, &softmax};
  return {flat ? without_heads(y) : y, k, v, *stages[n.get<Index>("qk_matmul_output_mode", 0)]};
}

/// Returns an element of the cache row that belongs to a token. position_ids choose it, or the token's place in the
/// batch.
double cached(const Operator& n, std::size_t cache, Index batch, Index token, Index i) {
  const Array& from = n.in(cache);
  if (!n.has(3)) return from[offset(from.shape, {batch, token, i})];
  const auto position = static_cast<Index>(n.in(3)[batch * n.in(3).extent(1) + token]);
  return from[offset(from.shape, {position, i})];
}

Array rotary_embedding(const Operator& n) {
  const bool flat = n.in(0).rank() == 3, interleaved = n.get<Index>("interleaved", 0) != 0;
  const Array x = as_heads(n.in(0), n.get<Index>("num_heads", 0));
  const Index asked = n.get<Index>("rotary_embedding_dim", 0), turned = asked == 0 ? x.extent(3) : asked;
  Array y = x;
  for_each_index({x.extent(0), x.extent(1), x.extent(2), turned / 2}, [&](const Ints& at) {
    Ints first = at, second = at;
    first[3] = interleaved ? 2 * at[3] : at[3];
    second[3] = interleaved ? 2 * at[3] + 1 : at[3] + turned / 2;
    const double cos = cached(n, 1, at[0], at[2], at[3]), sin = cached(n, 2, at[0], at[2], at[3]);
    const double a = x[offset(x.shape, first)], b = x[offset(x.shape, second)];
    y[offset(x.shape, first)] = cos * a - sin * b;
    y[offset(x.shape, second)] = sin * a + cos * b;
  });
  return flat ? without_heads(y) : y;
}

} // namespace

Functions attention_operators() { return {{"Attention", attention}, {"RotaryEmbedding", rotary_embedding}}; }

} // namespace rtexec::test
