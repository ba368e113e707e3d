// Tests products of matrices and of higher dimensions against the oracle.
#include "test/tasks/onnx_oracle/cases.hpp"

#include <cmath>

namespace rtexec::test {
namespace {

Cases matmul_cases() {
  const std::pair<Ints, Ints> pairs[] = {{{3, 5}, {5, 7}},
                                         {{1, 1}, {1, 1}},
                                         {{1, 33}, {33, 1}},
                                         {{31, 8}, {8, 33}},
                                         {{64, 64}, {64, 64}},
                                         {{7}, {7}},
                                         {{1}, {1}},
                                         {{7}, {7, 3}},
                                         {{5, 7}, {7}},
                                         {{7}, {2, 7, 3}},
                                         {{2, 5, 7}, {7}},
                                         {{7}, {2, 3, 7, 5}},
                                         {{2, 3, 5, 7}, {7}},
                                         {{2, 3, 5}, {2, 5, 7}},
                                         {{2, 3, 5}, {5, 7}},
                                         {{3, 5}, {2, 5, 7}},
                                         {{1, 3, 5}, {4, 5, 7}},
                                         {{4, 3, 5}, {1, 5, 7}},
                                         {{2, 1, 3, 5}, {4, 5, 7}},
                                         {{2, 4, 3, 5}, {2, 4, 5, 7}},
                                         {{2, 1, 3, 5}, {1, 4, 5, 7}},
                                         {{1, 2, 1, 3, 5}, {3, 1, 4, 5, 2}},
                                         {{1, 12, 17, 64}, {1, 12, 64, 17}},
                                         {{1, 197, 48}, {48, 96}},
                                         {{2, 1, 1, 37}, {37, 13}}};
  Cases cases;
  for (const auto& [a, b] : pairs)
    for (const std::string constant : {"neither", "left", "right"})
      for (const int opset : {11, 13})
        cases.push_back(make_case(shape_name(a) + "_by_" + shape_name(b) + "_constant_" + constant, opset,
                                  [=, a = a, b = b](Model& m) {
                                    return m.node("MatMul", {constant == "left" ? m.constant(a) : m.input(a),
                                                             constant == "right" ? m.constant(b) : m.input(b)});
                                  }));
  cases.push_back(make_case(
      "LongSum", 13,
      [](Model& m) {
        return m.node("MatMul", {m.input({2, 3, 5003}), m.input({5003, 4})});
      },
      many_terms));
  cases.push_back(make_case("WithBias", 13, [](Model& m) {
    return m.node("Add", {m.node("MatMul", {m.input({2, 9, 16}), m.constant({16, 24})}), m.constant({24})});
  }));
  for (const Index terms : {1, 2, 3, 4, 7}) // in rows shorter than a GPU reads at once
    cases.push_back(make_case("OfFewTerms" + list_name({terms}), 13, [=](Model& m) {
      const std::string x = m.node("Sigmoid", {m.node("MatMul", {m.input({2, 30, 16}), m.constant({16, terms})})});
      return m.node("Relu", {m.node("Add", {m.node("MatMul", {x, m.constant({terms, 70})}), m.constant({70})})});
    }));
  for (const Index rows : {1, 9}) // with and without a bias and an activation
    cases.push_back(make_case("OfTheSameRows" + list_name({rows}), 13, [=](Model& m) {
      const std::string x = m.node("Tanh", {m.input({2, rows, 20})});
      const auto product = [&](Index columns) { return m.node("MatMul", {x, m.constant({20, columns})}); };
      const std::string q = m.node("Add", {product(8), m.constant({8})}), k = product(8);
      const std::string v = m.node("Relu", {product(16)}), w = m.node("Relu", {product(24)});
      const std::string scores = m.node("MatMul", {q, m.node("Transpose", {k}, {{"perm", Ints{0, 2, 1}}})});
      const std::string all = m.node("MatMul", {m.node("Sigmoid", {scores}), v});
      return Names{all, w, m.node("Mul", {q, product(8)}), product(3)};
    }));
  cases.push_back(make_case("OfATranspose", 13, [](Model& m) {
    const std::string turned = m.node("Transpose", {m.input({2, 3, 9, 8})}, {{"perm", Ints{0, 1, 3, 2}}});
    return m.node("MatMul", {m.input({2, 3, 5, 8}), turned});
  }));
  cases.push_back(make_case("WithItself", 13, [](Model& m) {
    const std::string x = m.input({2, 7, 7});
    return m.node("MatMul", {x, x});
  }));
  return cases;
}

Cases gemm_cases() {
  Cases cases;
  for (const int opset : {11, 13})
    for (const Index a_turned : {0, 1})
      for (const Index b_turned : {0, 1})
        for (const std::string c : {"none", "constant", "variable"})
          for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {1, 33, 7}, {31, 1, 8}, {5, 9, 1}, {8, 32, 17}})
            cases.push_back(make_case(
                to_text({m, n, k}) + (a_turned == 1 ? "_transA" : "") + (b_turned == 1 ? "_transB" : "") + "_c_" + c,
                opset, [=, rows = Index{m}, columns = Index{n}, inner = Index{k}](Model& model) {
                  Names from{model.input(a_turned == 1 ? Ints{inner, rows} : Ints{rows, inner}),
                             model.input(b_turned == 1 ? Ints{columns, inner} : Ints{inner, columns})};
                  const Ints bias[] = {{columns}, {rows, 1}, {rows, columns}, {}};
                  const Ints& shape = bias[static_cast<std::size_t>(rows + columns) % 4];
                  if (c != "none") from.push_back(c == "constant" ? model.constant(shape) : model.input(shape));
                  return model.node("Gemm", from,
                                    {{"transA", a_turned}, {"transB", b_turned}, {"alpha", 0.7F}, {"beta", 1.3F}});
                }));
  return cases;
}

Cases einsum_cases() {
  struct Sum {
    std::string name, equation;
    std::vector<Ints> shapes;
  };
  const Sum sums[] = {{"matmul", "ij,jk->ik", {{3, 5}, {5, 7}}},
                      {"matmul_implicit", "ij,jk", {{3, 5}, {5, 7}}},
                      {"transposed_implicit", "ba", {{3, 5}}},
                      {"batch_matmul", "bij,bjk->bik", {{2, 3, 5}, {2, 5, 7}}},
                      {"attention_scores", "bhid,bhjd->bhij", {{2, 3, 5, 8}, {2, 3, 7, 8}}},
                      {"attention_values", "bhij,bhjd->bhid", {{2, 3, 5, 7}, {2, 3, 7, 8}}},
                      {"attention_sequence_first", "bihd,bjhd->bhij", {{2, 5, 3, 8}, {2, 7, 3, 8}}},
                      {"outer", "i,j->ij", {{3}, {5}}},
                      {"inner", "i,i->", {{7}, {7}}},
                      {"inner_implicit", "i,i", {{7}, {7}}},
                      {"sum", "ij->", {{3, 5}}},
                      {"row_sums", "ij->i", {{3, 5}}},
                      {"column_sums", "ij->j", {{3, 5}}},
                      {"transpose", "ijk->kji", {{3, 5, 2}}},
                      {"diagonal", "ii->i", {{5, 5}}},
                      {"trace", "ii->", {{5, 5}}},
                      {"batch_diagonal", "...ii->...i", {{3, 5, 5}}},
                      {"ellipsis_matmul", "...ij,...jk->...ik", {{2, 4, 3, 5}, {2, 4, 5, 7}}},
                      {"ellipsis_broadcast", "...ij,...jk->...ik", {{1, 4, 3, 5}, {2, 1, 5, 7}}},
                      {"ellipsis_implicit", "...ij,...jk", {{2, 3, 5}, {2, 5, 7}}},
                      {"ellipsis_behind", "i...,i...->...", {{3, 4, 5}, {3, 4, 5}}},
                      {"spaces", " i j , j k -> i k ", {{3, 5}, {5, 7}}},
                      {"capitals", "aB,Bc->ca", {{3, 5}, {5, 7}}},
                      {"elements", "ij,ij->ij", {{3, 5}, {3, 5}}},
                      {"three", "ij,jk,kl->il", {{3, 5}, {5, 7}, {7, 2}}},
                      {"bilinear", "bn,anm,bm->ba", {{2, 5}, {3, 5, 7}, {2, 7}}},
                      {"squeeze_excite", "nchw,nkctv->nkhw", {{2, 3, 4, 5}, {2, 2, 3, 2, 2}}},
                      {"graph", "nkctv,kvw->nctw", {{2, 3, 4, 5, 6}, {3, 6, 7}}},
                      {"one_operand", "ij->ij", {{3, 5}}}};
  Cases cases;
  for (const Sum& sum : sums)
    for (const bool constant : {false, true}) {
      if (constant && sum.shapes.size() == 1) continue;
      cases.push_back(make_case(sum.name + (constant ? "_constant" : ""), 12, [=](Model& m) {
        Names from;
        for (const Ints& shape : sum.shapes)
          from.push_back(constant && from.size() == 1 ? m.constant(shape) : m.input(shape));
        return m.node("Einsum", from, {{"equation", sum.equation}});
      }));
    }
  return cases;
}

struct Heads {
  Index batch = 2, queries = 4, keys = 6, heads = 3, key_heads = 3, size = 8, value_size = 8, past = 0;
  bool flat = false;

  [[nodiscard]] Ints shape(Index count, Index length, Index width) const {
    return flat ? Ints{batch, length, count * width} : Ints{batch, count, length, width};
  }
  [[nodiscard]] std::string text() const {
    return to_text({batch, queries, keys, heads, key_heads, size, value_size, past}) + (flat ? "_3d" : "_4d");
  }
};

/// Queries, keys and values, with attributes for the number of heads if the shapes do not give it.
struct Attended {
  Names from;
  Attributes attributes;
};

Attended attend(Model& m, const Heads& h, const Attributes& attributes = {}) {
  Attended a{{m.input(h.shape(h.heads, h.queries, h.size)), m.input(h.shape(h.key_heads, h.keys, h.size)),
              m.input(h.shape(h.key_heads, h.keys, h.value_size))},
             attributes};
  if (h.flat) {
    a.attributes["q_num_heads"] = h.heads;
    a.attributes["kv_num_heads"] = h.key_heads;
  }
  return a;
}

Cases attention_cases() {
  const std::vector<Heads> all{{},
                               {1, 1, 9, 2, 2, 4, 4},
                               {2, 5, 5, 4, 2, 8, 8},
                               {1, 7, 3, 6, 1, 5, 9},
                               {1, 33, 31, 2, 2, 16, 12},
                               {1, 70, 45, 2, 1, 20, 40},
                               {1, 1, 1, 1, 1, 1, 1}};
  Cases cases;
  const auto add = [&](const std::string& name, int opset, const Heads& heads, auto make) {
    cases.push_back(make_case(name + "_" + heads.text(), opset, [=](Model& m) { return make(m, heads); }));
  };
  const auto plain = [](const Attributes& attributes) {
    return [=](Model& m, const Heads& h) {
      const Attended a = attend(m, h, attributes);
      return m.node("Attention", a.from, a.attributes);
    };
  };
  const auto masked = [](const Attributes& attributes, const Ints& mask, bool boolean) {
    return [=](Model& m, const Heads& h) {
      Attended a = attend(m, h, attributes);
      a.from.push_back(boolean ? m.bool_input(mask) : m.input(mask));
      return m.node("Attention", a.from, a.attributes);
    };
  };
  for (Heads h : all)
    for (const bool flat : {false, true})
      for (const int opset : {23, 24}) {
        h.flat = flat;
        add("plain", opset, h, plain({}));
        add("scaled", opset, h, plain({{"scale", 0.3F}}));
        add("capped", opset, h, plain({{"softcap", 0.8F}}));
        add("causal", opset, h, plain({{"is_causal", Index{1}}}));
        for (const bool boolean : {false, true}) {
          const std::string name = boolean ? "bool_mask" : "mask";
          add(name + "_2d", opset, h, masked({}, {h.queries, h.keys}, boolean));
          add(name + "_4d", opset, h, masked({}, {h.batch, h.heads, h.queries, h.keys}, boolean));
          add(name + "_batch", opset, h, masked({}, {h.batch, 1, h.queries, h.keys}, boolean));
          add(name + "_causal", opset, h, masked({{"is_causal", Index{1}}}, {h.queries, h.keys}, boolean));
          add(name + "_capped", opset, h, masked({{"softcap", 1.5F}}, {1, 1, h.queries, h.keys}, boolean));
        }
      }
  return cases;
}

Cases attention_state_cases() {
  Cases cases;
  for (const int opset : {23, 24})
    for (const Index causal : {0, 1})
      for (const bool flat : {false, true})
        for (const Index past : {1, 5})
          cases.push_back(make_case(
              std::string("Past") + std::to_string(past) + (flat ? "_3d" : "_4d") + (causal == 1 ? "_causal" : ""),
              opset, [=](Model& m) {
                const Heads h{2, 3, 3, 4, 2, 8, 6, past, flat};
                Attended a = attend(m, h, {{"is_causal", causal}});
                a.from.insert(a.from.end(), {"", m.input({h.batch, h.key_heads, past, h.size}),
                                             m.input({h.batch, h.key_heads, past, h.value_size})});
                return m.nodes("Attention", a.from, 3, a.attributes);
              }));
  for (const Index causal : {0, 1}) // from opset 24 on, keys may be padded, and a mask may be shorter than the keys
    cases.push_back(make_case(std::string("Padded") + (causal == 1 ? "_causal" : ""), 24, [=](Model& m) {
      Attended a = attend(m, {2, 3, 8}, {{"is_causal", causal}});
      a.from.insert(a.from.end(), {"", "", "", m.integers({5, 8})});
      return m.node("Attention", a.from, a.attributes);
    }));
  cases.push_back(make_case("ShortMask", 24, [](Model& m) {
    Attended a = attend(m, {2, 3, 8});
    a.from.push_back(m.input({3, 5}));
    return m.node("Attention", a.from, a.attributes);
  }));
  for (const Index mode : {0, 1, 2, 3})
    cases.push_back(make_case("Scores" + std::to_string(mode), 23, [=](Model& m) {
      Attended a = attend(m, {}, {{"qk_matmul_output_mode", mode}, {"softcap", 2.0F}});
      a.from.push_back(m.input({4, 6}));
      const Names outputs = m.nodes("Attention", a.from, 4, a.attributes);
      return Names{outputs.front(), outputs.back()};
    }));
  cases.push_back(make_case("RowOfNothing", 23, [](Model& m) { // the result is zero
    Attended a = attend(m, {1, 2, 3, 1, 1, 4, 4});
    a.from.push_back(m.constant(integers_of({2, 3}, {0, 0, 0, 1, 0, 1}, Kind::boolean)));
    return m.node("Attention", a.from, a.attributes);
  }));
  for (const bool last : {false, true}) // values times the transposed softmax, with channels before pixels
    cases.push_back(make_case(std::string("Turned") + (last ? "Values" : ""), 14, [=](Model& m) {
      const auto turned = [&](const std::string& x) { return m.node("Transpose", {x}, {{"perm", Ints{0, 1, 3, 2}}}); };
      const std::string q = m.input({2, 3, 8, 10}), k = m.input({2, 3, 8, 6});
      const std::string v = last ? turned(m.input({2, 3, 6, 16})) : m.input({2, 3, 16, 6});
      const std::string scaled = m.node("Mul", {m.node("MatMul", {turned(q), k}), m.constant({}, {0.3, 0.3})});
      return m.node("MatMul", {v, turned(m.node("Softmax", {scaled}, {{"axis", Index{-1}}}))});
    }));
  cases.push_back(make_case("OverChannels", 14, [](Model& m) { // only the multiplication makes these rows long
    const auto tensor = [&] { return m.input({1, 2, 1100, 4}); };
    const auto turned = [&](const std::string& x) { return m.node("Transpose", {x}, {{"perm", Ints{0, 1, 3, 2}}}); };
    const std::string scaled = m.node("Mul", {tensor(), m.constant({}, {0.03, 0.03})});
    const std::string scores = m.node("MatMul", {turned(scaled), tensor()});
    return turned(m.node("MatMul", {m.node("Softmax", {scores}, {{"axis", Index{-1}}}), turned(tensor())}));
  }));
  for (const Index heads : {1, 2, 3})
    for (const bool softmax : {false, true})
      cases.push_back(make_case("OfHeads" + std::to_string(heads) + (softmax ? "_softmax" : ""), 14, [=](Model& m) {
        const auto split = [&](const Ints& order) { // of [batch, length, heads, size]
          const std::string x = m.node("Reshape", {m.input({2, 6, heads * 6}), m.integers({2, 6, heads, 6})});
          return m.node("Transpose", {x}, {{"perm", order}});
        };
        const std::string scores = m.node("MatMul", {split({0, 2, 1, 3}), split({0, 2, 3, 1})});
        if (!softmax) return scores;
        return m.node("MatMul", {m.node("Softmax", {scores}, {{"axis", Index{-1}}}), split({0, 2, 1, 3})});
      }));
  cases.push_back(make_case("AsExported", 14, [](Model& m) { // scaled products, a mask, softmax, and values
    const std::string keys = m.node("Transpose", {m.input({2, 3, 6, 8})}, {{"perm", Ints{0, 1, 3, 2}}});
    const std::string scores = m.node("MatMul", {m.input({2, 3, 4, 8}), keys});
    const std::string scaled = m.node("Div", {scores, m.floats({}, {std::sqrt(8.0F)})});
    const std::string weights =
        m.node("Softmax", {m.node("Add", {scaled, m.input({2, 1, 1, 6})})}, {{"axis", Index{-1}}});
    return m.node("MatMul", {weights, m.input({2, 3, 6, 8})});
  }));
  return cases;
}

Cases rotary_cases() {
  Cases cases;
  for (const Index interleaved : {0, 1})
    for (const Index turned : {0, 4})
      for (const bool flat : {false, true})
        for (const bool positions : {false, true})
          cases.push_back(make_case(
              std::string(interleaved == 1 ? "interleaved" : "halves") + list_name({turned}) + (flat ? "_3d" : "_4d") +
                  (positions ? "_positions" : ""),
              23, [=](Model& m) {
                const Index batch = 2, heads = 3, length = 5, size = 8, half = (turned == 0 ? size : turned) / 2;
                const std::string x =
                    m.input(flat ? Ints{batch, length, heads * size} : Ints{batch, heads, length, size});
                const Ints cache = positions ? Ints{16, half} : Ints{batch, length, half};
                Names from{x, m.input(cache), m.input(cache)};
                if (positions) from.push_back(m.integer_constant({batch, length}, {0, 15}));
                Attributes attributes{{"interleaved", interleaved}, {"rotary_embedding_dim", turned}};
                if (flat || turned != 0) attributes["num_heads"] = heads;
                return m.node("RotaryEmbedding", from, attributes);
              }));
  return cases;
}

INSTANTIATE_TEST_SUITE_P(MatMul, OnnxOperator, testing::ValuesIn(covering(matmul_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(GemmComplete, OnnxOperator, testing::ValuesIn(covering(gemm_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Einsum, OnnxOperator, testing::ValuesIn(covering(einsum_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Attention, OnnxOperator, testing::ValuesIn(covering(attention_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(AttentionState, OnnxOperator, testing::ValuesIn(covering(attention_state_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(RotaryEmbedding, OnnxOperator, testing::ValuesIn(covering(rotary_cases())), name_of);

} // namespace
} // namespace rtexec::test
