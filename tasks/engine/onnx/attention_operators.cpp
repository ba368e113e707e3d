#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace rtexec::tasks::onnx_source {
namespace {

/// The range of keys to which a query attends: the number of keys before and after the query's own position. nullopt
/// means no limit on that side.
struct Sight {
  std::optional<std::int64_t> before, behind;

  explicit Sight(NodeContext& node) {
    before = window(node, "left_window_size");
    behind = window(node, "right_window_size");
    if (node.attribute<std::int64_t>("is_causal", 0) != 0) behind = 0;
  }
  [[nodiscard]] bool limited() const { return before || behind; }

 private:
  static std::optional<std::int64_t> window(NodeContext& node, const char* name) {
    const auto size = node.attribute<std::int64_t>(name, -1);
    return size >= 0 ? std::optional(size) : std::nullopt;
  }
};

/// Returns a boolean mask, true for the keys to which each query attends. Query 0 is at the position of key `first`.
TensorId keys_in_sight(NodeContext& node, const Sight& sight, std::int64_t queries, std::int64_t keys,
                       std::int64_t first) {
  return node.filled({queries, keys}, ElementType::boolean, [&](std::int64_t i) {
    const auto ahead = i % keys - (first + i / keys);
    return (!sight.behind || ahead <= *sight.behind) && (!sight.before || -ahead <= *sight.before);
  });
}

/// A tensor of queries, keys or values, of shape [batch, heads, length, size].
struct Heads {
  TensorId tensor;
  Shape shape;
};

/// Returns input number `input` as heads. The input has the shape [batch, length, heads * size], or it is already split
/// into heads.
Heads heads_of(NodeContext& node, std::size_t input, const char* number) {
  const auto given = node.shape(input);
  if (given.size() != 3) {
    node.ignore_attribute(number);
    return {node.tensor(input), node.shape_of_rank(input, 4)};
  }
  const auto count = node.attribute<std::int64_t>(number);
  node.require(count >= 1 && given[2] % count == 0, "its heads do not divide its input evenly");
  const auto size = given[2] / count;
  Shape shape{given[0], count, given[1], size};
  return {node.emit(View{0, {given[1] * given[2], size, given[2], 1}}, {node.tensor(input)}, shape), shape};
}

TensorId without_heads(NodeContext& node, const Heads& heads) {
  const auto& s = heads.shape;
  const auto plane = s[2] * s[3];
  const auto y = node.emit(View{0, {s[1] * plane, s[3], plane, 1}}, {heads.tensor}, {s[0], s[2], s[1], s[3]});
  return node.emit(Reshape{}, {y}, {s[0], s[2], s[1] * s[3]});
}

class AttentionNode {
 public:
  explicit AttentionNode(NodeContext& node) : node_(node), flat_(node.shape(0).size() == 3) {
    q_ = heads_of(node, 0, "q_num_heads");
    k_ = heads_of(node, 1, "kv_num_heads");
    v_ = heads_of(node, 2, "kv_num_heads");
    past_ = node.has(4) ? node.shape_of_rank(4, 4)[2] : 0;
    k_ = behind(4, k_);
    v_ = behind(5, v_);
    node.require(k_.shape[1] > 0 && q_.shape[0] == k_.shape[0] && q_.shape[3] == k_.shape[3] &&
                     q_.shape[1] % k_.shape[1] == 0 &&
                     std::equal(k_.shape.begin(), k_.shape.begin() + 3, v_.shape.begin()),
                 "the shapes of its queries, keys and values do not match");
    node.require(!node.has(6) || node.shape(6) == Shape{k_.shape[0]}, "it needs one length of keys for each batch");
    node.ignore_attribute("softmax_precision");
    told_ = node.attribute<std::int64_t>("qk_matmul_output_mode", 0);
  }

  void build() {
    for (const auto& [output, heads] : {std::pair(std::size_t{1}, k_), std::pair(std::size_t{2}, v_)})
      if (node_.has_output(output)) node_.set_output(node_.emit(Reshape{}, {heads.tensor}, heads.shape), output);
    const auto k = for_each_query(k_), v = for_each_query(v_);
    const float scale = node_.attribute("scale", 1 / std::sqrt(static_cast<float>(q_.shape[3])));
    const Shape scores{q_.shape[0], q_.shape[1], q_.shape[2], k.shape[2]};
    auto s = node_.emit(MatMul{false, true, scale}, {q_.tensor, k.tensor}, scores);
    tell(0, s);
    if (const float cap = node_.attribute("softcap", 0.0F); cap != 0) {
      s = node_.emit(Activation{Activation::Kind::scale, 1 / cap, 0}, {s}, scores);
      s = node_.emit(Activation{Activation::Kind::tanh}, {s}, scores);
      s = node_.emit(Activation{Activation::Kind::scale, cap, 0}, {s}, scores);
    }
    tell(1, s);
    s = masked(s, scores);
    tell(2, s);
    s = node_.emit(Softmax{scores[0] * scores[1] * scores[2], scores[3], 1, false, true}, {s}, scores);
    tell(3, s);
    const Shape out{scores[0], scores[1], scores[2], v.shape[3]};
    const auto y = node_.emit(MatMul{}, {s, v.tensor}, out);
    node_.set_output(flat_ ? without_heads(node_, {y, out}) : y);
  }

 private:
  /// Sets output 3 to `scores` if the node requests the scores of stage number `stage` of the computation.
  void tell(std::int64_t stage, TensorId scores) {
    if (stage == told_ && node_.has_output(3)) node_.set_output(scores, 3);
  }

  /// Prepends the cache (the keys or values of earlier calls, an input of the node) to `heads`, and returns the result.
  Heads behind(std::size_t input, Heads heads) {
    if (!node_.has(input)) return heads;
    heads.shape[2] += node_.shape_of_rank(input, 4)[2];
    return {node_.emit(Concat{2}, {node_.tensor(input), heads.tensor}, heads.shape), heads.shape};
  }

  /// Repeats the heads of keys or values, so that each query head has its own copy. Several query heads may share a key
  /// head.
  Heads for_each_query(const Heads& heads) {
    const auto same = q_.shape[1] / heads.shape[1];
    if (same == 1) return heads;
    const auto strides = dense_strides(heads.shape);
    const Shape wide{heads.shape[0], heads.shape[1], same, heads.shape[2], heads.shape[3]};
    const auto each = node_.emit(View{0, {strides[0], strides[1], 0, strides[2], 1}}, {heads.tensor}, wide);
    Shape shape{wide[0], wide[1] * same, wide[3], wide[4]};
    return {node_.emit(Reshape{}, {each}, shape), shape};
  }

  TensorId masked(TensorId scores, const Shape& shape) {
    constexpr float never = -std::numeric_limits<float>::infinity();
    const auto hide = [&](TensorId seen) {
      return node_.emit(Where{}, {seen, scores, node_.constant({}, {never})}, shape, ElementType::float32);
    };
    if (node_.has(3)) {
      auto mask = node_.tensor(3);
      auto given = node_.shape(3);
      node_.require(!given.empty(), "its mask is a scalar");
      if (given.back() < shape[3]) { // keys beyond the end of the mask are masked out
        given.back() = shape[3];
        const bool truth = node_.element_type(3) == ElementType::boolean;
        mask = node_.emit(Pad{std::vector<std::int64_t>(given.size(), 0), truth ? 0 : never}, {mask}, given,
                          node_.element_type(3));
      }
      if (broadcast(node_, given, shape) != shape) node_.bad("the shape of its mask does not match its scores");
      scores = node_.element_type(3) == ElementType::boolean
                   ? hide(mask)
                   : node_.emit(Binary{Binary::Kind::add}, {scores, mask}, shape);
    }
    const Sight sight(node_);
    if (node_.has(6)) {
      if (sight.before || sight.behind.value_or(0) != 0)
        node_.unsupported(
            "it limits the window of keys that are padded; export it without nonpad_kv_seqlen, or without the window");
      scores = hide(keys_in_use(shape, sight.behind.has_value()));
    } else if (sight.limited()) {
      scores = hide(keys_in_sight(node_, sight, shape[2], shape[3], past_));
    }
    return scores;
  }

  /// Returns a boolean mask, true for the valid keys: in each sequence, the keys before the sequence's length. If
  /// `causal` is set, the queries are at the last valid positions, and the keys after a query are masked too.
  TensorId keys_in_use(const Shape& scores, bool causal) {
    const auto queries = causal ? scores[2] : 1, keys = scores[3];
    // For each query and key, the smallest length of the sequence with which the query attends to the key.
    const auto needed = node_.filled({queries, keys}, ElementType::int64,
                                     [&](std::int64_t i) { return i % keys + queries - i / keys; });
    const auto lengths = node_.emit(Reshape{}, {node_.indices(6)}, {scores[0], 1, 1, 1});
    return node_.emit(Binary{Binary::Kind::less_or_equal}, {needed, lengths}, {scores[0], 1, queries, keys},
                      ElementType::boolean);
  }

  NodeContext& node_;
  bool flat_;
  Heads q_, k_, v_;
  std::int64_t past_ = 0, told_ = 0;
};

void attention(NodeContext& node) { AttentionNode(node).build(); }

/// Rotary embedding: rotates pairs of elements by angles that depend on the token's position in the sequence.
class Rotation {
 public:
  explicit Rotation(NodeContext& node) : node_(node), x_(heads_of(node, 0, "num_heads")) {
    const auto asked = node.attribute<std::int64_t>("rotary_embedding_dim", 0);
    pairs_ = (asked == 0 ? x_.shape[3] : asked) / 2;
    node.require(pairs_ >= 1 && pairs_ <= x_.shape[3] / 2, "its rotary_embedding_dim does not match its input");
    interleaved_ = node.attribute<std::int64_t>("interleaved", 0) != 0;
  }

  void build() {
    const auto a = every(0), b = every(1), cosine = angles(1), sine = angles(2);
    const auto turned = [&](TensorId p, TensorId q, Binary::Kind kind) {
      return node_.emit(Binary{kind}, {times(p, cosine), times(q, sine)}, half());
    };
    std::vector<TensorId> parts{turned(a, b, Binary::Kind::subtract), turned(b, a, Binary::Kind::add)};
    auto shape = half();
    if (interleaved_) {
      shape.push_back(1);
      for (auto& part : parts) part = node_.emit(Reshape{}, {part}, shape);
      shape[4] = 2;
      parts = {node_.emit(Concat{4}, parts, shape)};
      shape = half();
      shape[3] *= 2;
      parts = {node_.emit(Reshape{}, parts, shape)};
    }
    if (const auto rest = x_.shape[3] - 2 * pairs_; rest > 0) {
      auto strides = dense_strides(x_.shape);
      auto kept = x_.shape;
      kept[3] = rest;
      parts.push_back(node_.emit(View{2 * pairs_, std::move(strides)}, {x_.tensor}, std::move(kept)));
    }
    const auto y = parts.size() == 1 ? parts[0] : node_.emit(Concat{3}, parts, x_.shape);
    node_.set_output(node_.shape(0).size() == 3 ? without_heads(node_, {y, x_.shape}) : y);
  }

 private:
  [[nodiscard]] Shape half() const { return {x_.shape[0], x_.shape[1], x_.shape[2], pairs_}; }

  /// Returns the first elements of all pairs if `which` is 0, and the second elements if `which` is 1.
  TensorId every(std::int64_t which) {
    auto strides = dense_strides(x_.shape);
    if (interleaved_) strides[3] = 2;
    return node_.emit(View{which * (interleaved_ ? 1 : pairs_), std::move(strides)}, {x_.tensor}, half());
  }

  /// Returns the angles of each token, of shape [batch, 1, length, pairs]. If the node has positions, they select the
  /// angles. Otherwise the angles are in the order of the tokens.
  TensorId angles(std::size_t input) {
    const auto given = node_.shape(input);
    auto cache = node_.tensor(input);
    const Shape wanted{x_.shape[0], 1, x_.shape[2], pairs_};
    if (node_.has(3)) {
      node_.require(given.size() == 2 && given[1] == pairs_ && element_count(node_.shape(3)) == wanted[0] * wanted[2],
                    "the shapes of its angles or positions do not match its input");
      cache = node_.emit(Gather{0}, {cache, node_.indices(3)}, {wanted[0], wanted[2], pairs_}, ElementType::float32);
    }
    node_.require(node_.has(3) || element_count(given) == element_count(wanted),
                  "the shape of its angles does not match its input");
    return node_.emit(Reshape{}, {cache}, wanted);
  }

  TensorId times(TensorId x, TensorId angle) { return node_.emit(Binary{Binary::Kind::multiply}, {x, angle}, half()); }

  NodeContext& node_;
  Heads x_;
  std::int64_t pairs_ = 1;
  bool interleaved_ = false;
};

void rotary_embedding(NodeContext& node) { Rotation(node).build(); }

} // namespace

void add_attention_operators(OperatorTable& table) {
  table["Attention"] = {attention, "no windows over keys that are padded", 23};
  table["RotaryEmbedding"] = {rotary_embedding, "", 23};
}

} // namespace rtexec::tasks::onnx_source
