#include "test/tasks/random_onnx.hpp"

#include "tasks/engine/onnx/onnx_reader.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <string_view>

namespace rtexec::test {
namespace {

using Ints = std::vector<std::int64_t>;
using onnx::TensorProto;

/// Operands and attributes of an operator. Operands are letters, optional from '?' on. d: data of the model's type; c:
/// a constant of floats; w: a filter; v: an 8-bit filter; n: a number; p: two numbers; l: an integer; i: known
/// integers; r: integers, known or not; q: 8 bits; s: a scale; z: a zero point; b: booleans. Attributes are names with
/// a type: i: an integer; I: integers; f: a float; F: floats; or the possible texts.
struct Signature {
  std::string_view type, operands, attributes;
};

const Signature signatures[] = {
    {"Conv", "dw?c", "strides=I pads=I dilations=I group=i auto_pad=NOTSET,SAME_LOWER,VALID"},
    {"ConvTranspose", "dw?c", "strides=I pads=I dilations=I group=i output_padding=I output_shape=I"},
    {"DeformConv", "dwd?cd", "strides=I pads=I dilations=I group=i offset_group=i"},
    {"Col2Im", "dii", "strides=I pads=I dilations=I"},
    {"MaxPool", "d", "kernel_shape=I strides=I pads=I dilations=I ceil_mode=i storage_order=i"},
    {"AveragePool", "d", "kernel_shape=I strides=I pads=I ceil_mode=i count_include_pad=i auto_pad=VALID,SAME_UPPER"},
    {"LpPool", "d", "kernel_shape=I strides=I pads=I p=i"},
    {"MaxUnpool", "dr?i", "kernel_shape=I strides=I pads=I"},
    {"Gemm", "dd?d", "transA=i transB=i alpha=f beta=f"},
    {"MatMul", "dd", ""},
    {"Attention", "ddd?bddr", "q_num_heads=i kv_num_heads=i is_causal=i scale=f softcap=f qk_matmul_output_mode=i"},
    {"RotaryEmbedding", "ddd?r", "num_heads=i interleaved=i rotary_embedding_dim=i"},
    {"Gather", "dr", "axis=i"},
    {"GatherElements", "dr", "axis=i"},
    {"GatherND", "dr", "batch_dims=i"},
    {"ScatterElements", "drd", "axis=i reduction=none,add,mul,min,max"},
    {"ScatterND", "drd", "reduction=none,add,mul,min,max"},
    {"Reshape", "di", "allowzero=i"},
    {"Squeeze", "d?i", ""},
    {"Unsqueeze", "di", ""},
    {"Slice", "dii?ii", ""},
    {"Split", "d?i", "axis=i num_outputs=i"},
    {"Concat", "dd?d", "axis=i"},
    {"Expand", "di", ""},
    {"Tile", "di", ""},
    {"Pad", "di?ni", "mode=constant,reflect,edge,wrap"},
    {"CenterCropPad", "di", "axes=I"},
    {"Transpose", "d", "perm=I"},
    {"Flatten", "d", "axis=i"},
    {"DepthToSpace", "d", "blocksize=i mode=DCR,CRD"},
    {"SpaceToDepth", "d", "blocksize=i"},
    {"Trilu", "d?l", "upper=i"},
    {"EyeLike", "d", "k=i dtype=i"},
    {"Range", "lll", ""},
    {"ConstantOfShape", "i", ""},
    {"OneHot", "rlp", "axis=i"},
    {"TopK", "dl", "axis=i largest=i sorted=i"},
    {"CumSum", "dl", "exclusive=i reverse=i"},
    {"ArgMax", "d", "axis=i keepdims=i select_last_index=i"},
    {"ReduceSum", "d?i", "keepdims=i noop_with_empty_axes=i"},
    {"ReduceL2", "d?i", "keepdims=i"},
    {"ReduceMax", "d?i", "keepdims=i"},
    {"ReduceLogSumExp", "d?i", "keepdims=i"},
    {"Softmax", "d", "axis=i"},
    {"LogSoftmax", "d", "axis=i"},
    {"Hardmax", "d", "axis=i"},
    {"LayerNormalization", "dd?d", "axis=i epsilon=f"},
    {"GroupNormalization", "ddd", "num_groups=i"},
    {"InstanceNormalization", "dcc", ""},
    {"BatchNormalization", "dcccc", "training_mode=i epsilon=f"},
    {"LpNormalization", "d", "axis=i p=i"},
    {"MeanVarianceNormalization", "d", "axes=I"},
    {"LRN", "d", "size=i alpha=f"},
    {"Einsum", "d?d", "equation=ij->ji,ij;jk->ik,...i;...i->...,ii->i,i->ii,ijk->ki,ab;bc"},
    {"Resize", "d?cci",
     "mode=nearest,linear,cubic axes=I antialias=i exclude_outside=i nearest_mode=floor,ceil "
     "coordinate_transformation_mode=half_pixel,align_corners,tf_crop_and_resize,asymmetric"},
    {"GridSample", "dd", "mode=linear,nearest,cubic padding_mode=zeros,border,reflection align_corners=i"},
    {"AffineGrid", "di", "align_corners=i"},
    {"RoiAlign", "ddr", "mode=avg,max output_height=i output_width=i sampling_ratio=i spatial_scale=f"},
    {"NonMaxSuppression", "dd?lnn", "center_point_box=i"},
    {"ReverseSequence", "dr", "time_axis=i batch_axis=i"},
    {"Compress", "db", "axis=i"},
    {"NonZero", "i", ""},
    {"LSTM", "dcc?crddc", "hidden_size=i direction=forward,reverse,bidirectional layout=i input_forget=i clip=f"},
    {"GRU", "dcc?crd", "hidden_size=i direction=forward,bidirectional linear_before_reset=i layout=i"},
    {"RNN", "dcc?crd", "hidden_size=i direction=forward,reverse"},
    {"QuantizeLinear", "ds?z", "axis=i block_size=i"},
    {"DequantizeLinear", "qs?z", "axis=i block_size=i"},
    {"DynamicQuantizeLinear", "d", ""},
    {"ConvInteger", "qv?zz", "strides=I pads=I group=i"},
    {"MatMulInteger", "qq?zz", ""},
    {"QLinearConv", "qszvszsz?i", "strides=I pads=I group=i"},
    {"QLinearMatMul", "qszqszsz", ""},
    {"com.microsoft.QLinearAdd", "qszqszsz", ""},
    {"com.microsoft.QLinearConcat", "szqsz?qsz", "axis=i"},
    {"com.microsoft.QGemm", "qszqsz?isz", "transA=i transB=i alpha=f"},
    {"com.microsoft.QLinearGlobalAveragePool", "qszsz", ""},
    {"com.microsoft.DynamicQuantizeLSTM", "dqq?crddcsqsq", "hidden_size=i"},
    {"DFT", "d?ll", "inverse=i onesided=i"},
    {"STFT", "dl?dl", "onesided=i"},
    {"Where", "bdd", ""},
    {"Clip", "d?nn", ""},
    {"PRelu", "dd", ""},
    {"Cast", "d", "to=i"},
    {"BitShift", "ii", "direction=LEFT,RIGHT"},
    {"BitwiseAnd", "ii", ""},
    {"Mod", "dd", "fmod=i"},
    {"IsInf", "d", "detect_negative=i"},
    {"Shape", "d", "start=i end=i"},
};

constexpr int types[] = {TensorProto::INT8,  TensorProto::UINT8,  TensorProto::INT16,  TensorProto::UINT16,
                         TensorProto::INT32, TensorProto::UINT32, TensorProto::INT64,  TensorProto::UINT64,
                         TensorProto::BOOL,  TensorProto::DOUBLE, TensorProto::FLOAT16};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::string model() {
    onnx::ModelProto model;
    model.set_ir_version(8);
    constexpr int opsets[] = {7, 9, 10, 11, 13, 17, 18, 19, 20, 21, 23, 24};
    model.add_opset_import()->set_version(chance(0.7) ? 23 : opsets[below(std::size(opsets))]);
    auto* microsoft = model.add_opset_import();
    microsoft->set_domain("com.microsoft");
    microsoft->set_version(1);
    graph_ = model.mutable_graph();
    graph_->set_name("random");
    dimension_ = 1 + small(6);
    if (chance(0.3)) type_ = types[below(std::size(types))];
    std::string last;
    for (std::int64_t count = 1 + small(3); count > 0; --count) last = chance(0.08) ? loop() : node(*graph_);
    graph_->add_output()->set_name(last);
    return model.SerializeAsString();
  }

 private:
  std::uint64_t below(std::size_t n) { return random_() % n; }
  bool chance(double p) { return static_cast<double>(random_() >> 11) * 0x1p-53 < p; }
  std::int64_t small(std::int64_t n) { return static_cast<std::int64_t>(below(static_cast<std::size_t>(n))); }

  /// Draws an attribute or a known operand: mostly a small number, sometimes one that breaks careless arithmetic.
  std::int64_t integer() {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t extremes[] = {
        most,  -most - 1, most / 2, std::int64_t{1} << 32, -(std::int64_t{1} << 31), std::int64_t{1} << 28, 1 << 24,
        32768, 1000,      -1000};
    if (chance(0.06)) return extremes[below(std::size(extremes))];
    return chance(0.15) ? -1 - small(4) : chance(0.3) ? dimension_ : small(5);
  }
  float real() {
    constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    constexpr float numbers[] = {0, 1, 0.5F, -1, 2, 3, 1e30F, -1e30F, 1e-30F, inf, -inf, nan};
    return numbers[below(chance(0.8) ? 6 : std::size(numbers))];
  }

  std::int64_t size() { return chance(0.5) ? dimension_ : chance(0.02) ? 0 : 1 + small(6); }
  Ints shape() {
    if (!shapes_.empty() && chance(0.4)) return shapes_[chance(0.6) ? shapes_.size() - 1 : below(shapes_.size())];
    Ints sizes(below(chance(0.7) ? 5 : 7));
    for (auto& each : sizes) each = size();
    shapes_.push_back(sizes);
    return sizes;
  }
  /// Draws a shape, preferably of four dimensions, as for images and their filters.
  Ints data_shape() {
    if (!chance(0.4)) return shape();
    const std::int64_t channels = chance(0.7) ? 4 : size();
    shapes_.push_back({1 + small(2), channels, 1 + small(7), 1 + small(7)});
    return shapes_.back();
  }
  Ints filter() {
    if (chance(0.1)) return shape();
    return {chance(0.5) ? 4 : size(), chance(0.7) ? 4 : 1 + small(4), 1 + small(3), 1 + small(3)};
  }

  std::string name() { return "t" + std::to_string(++names_); }

  std::string input(const Ints& shape, int type) {
    auto* value = graph_->add_input();
    value->set_name(name());
    auto* tensor = value->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (const auto each : shape) tensor->mutable_shape()->add_dim()->set_dim_value(each);
    return value->name();
  }
  std::string constant(const Ints& shape, int type) {
    auto* tensor = graph_->add_initializer();
    tensor->set_name(name());
    tensor->set_data_type(type);
    std::int64_t count = 1;
    for (const auto each : shape) tensor->add_dims(each), count *= each;
    for (std::int64_t i = 0; i < count; ++i) {
      if (type == TensorProto::FLOAT) tensor->add_float_data(real());
      else if (type == TensorProto::DOUBLE) tensor->add_double_data(static_cast<double>(real()));
      else if (type == TensorProto::INT64) tensor->add_int64_data(integer());
      else if (type == TensorProto::UINT32 || type == TensorProto::UINT64)
        tensor->add_uint64_data(static_cast<std::uint64_t>(integer()));
      else tensor->add_int32_data(static_cast<std::int32_t>(chance(0.8) ? small(100) : integer()));
    }
    return tensor->name();
  }

  std::string operand(char kind) {
    if ((kind == 'd' || kind == 'r') && !written_.empty() && chance(0.3)) return written_[below(written_.size())];
    const bool known = chance(0.4);
    switch (kind) {
    case 'w': return constant(filter(), TensorProto::FLOAT);
    case 'v': return constant(filter(), TensorProto::UINT8);
    case 'n': return constant(chance(0.95) ? Ints{} : shape(), TensorProto::FLOAT);
    case 'p': return constant({2}, TensorProto::FLOAT);
    case 'l': return constant(chance(0.95) ? Ints{} : shape(), TensorProto::INT64);
    case 'z': return constant(chance(0.85) ? Ints{} : shape(), TensorProto::UINT8);
    case 'c': return constant(data_shape(), TensorProto::FLOAT);
    case 'i': return constant({chance(0.5) ? 1 + small(4) : chance(0.5) ? 1 : small(9)}, TensorProto::INT64);
    case 'r': return known ? constant(shape(), TensorProto::INT64) : input(shape(), TensorProto::INT64);
    case 'q': return known ? constant(data_shape(), TensorProto::UINT8) : input(data_shape(), TensorProto::UINT8);
    case 's': return constant(chance(0.85) ? Ints{} : shape(), TensorProto::FLOAT);
    case 'b': return known ? constant(shape(), TensorProto::BOOL) : input(shape(), TensorProto::BOOL);
    default: return known ? constant(data_shape(), type_) : input(data_shape(), type_);
    }
  }

  void attribute(onnx::NodeProto& node, const std::string& text) {
    const auto equals = text.find('=');
    const std::string kind = text.substr(equals + 1);
    auto* attribute = node.add_attribute();
    attribute->set_name(text.substr(0, equals));
    if (kind == "i") {
      attribute->set_type(onnx::AttributeProto::INT);
      attribute->set_i(chance(0.5) ? small(3) : integer());
    } else if (kind == "f") {
      attribute->set_type(onnx::AttributeProto::FLOAT);
      attribute->set_f(real());
    } else if (kind == "I") {
      attribute->set_type(onnx::AttributeProto::INTS);
      const bool pads = attribute->name() == "pads";
      for (std::int64_t i = chance(0.8) ? (pads ? 4 : 2) : small(6); i > 0; --i)
        attribute->add_ints(chance(0.8) ? (pads ? small(2) : 1 + small(3)) : integer());
    } else {
      std::vector<std::string> texts;
      std::istringstream list(kind);
      for (std::string each; std::getline(list, each, ',');) texts.push_back(each);
      auto chosen = texts[below(texts.size())];
      std::ranges::replace(chosen, ';', ',');
      attribute->set_type(onnx::AttributeProto::STRING);
      attribute->set_s(chosen);
    }
  }

  /// True for attributes without which a node is refused.
  static bool needed(const std::string& attribute) {
    for (const char* each : {"equation", "to=", "blocksize", "direction=LEFT", "kernel_shape", "num_groups", "size=i"})
      if (attribute.starts_with(each)) return true;
    return attribute == "axis=i";
  }

  std::string node(onnx::GraphProto& to) {
    static const auto others = element_operators();
    auto* node = to.add_node();
    Signature signature{others[below(others.size())], "d?d", ""};
    if (chance(0.85)) signature = signatures[below(std::size(signatures))];
    const auto dot = signature.type.rfind('.');
    if (dot != std::string_view::npos) node->set_domain(std::string(signature.type.substr(0, dot)));
    node->set_op_type(std::string(signature.type.substr(dot == std::string_view::npos ? 0 : dot + 1)));
    bool optional = false;
    for (const char kind : signature.operands) {
      if (kind == '?') optional = true;
      else if (optional && chance(0.15)) break;
      else node->add_input(optional && chance(0.35) ? "" : operand(kind));
    }
    std::istringstream attributes{std::string(signature.attributes)};
    for (std::string each; attributes >> each;)
      if (chance(needed(each) ? 0.97 : 0.4)) attribute(*node, each);
    const auto output = name();
    node->add_output(output);
    for (std::int64_t more = chance(0.1) ? small(3) : 0; more > 0; --more) node->add_output(name());
    written_.push_back(output);
    return output;
  }

  /// Adds a Loop of some rounds with a node in its body.
  std::string loop() {
    const auto state = operand('d'), rounds = constant({}, TensorProto::INT64);
    auto* node = graph_->add_node();
    node->set_op_type("Loop");
    for (const auto& each : {rounds, std::string(), state}) node->add_input(each);
    auto* attribute = node->add_attribute();
    attribute->set_name("body");
    attribute->set_type(onnx::AttributeProto::GRAPH);
    auto* body = attribute->mutable_g();
    for (const char* each : {"round", "condition", "state"}) body->add_input()->set_name(each);
    written_.emplace_back("state");
    const auto next = this->node(*body);
    std::erase(written_, "state");
    std::erase(written_, next);
    for (const auto& each : {std::string("condition"), next, next}) body->add_output()->set_name(each);
    const auto output = name();
    node->add_output(output);
    node->add_output(name());
    written_.push_back(output);
    return output;
  }

  static std::vector<std::string_view> element_operators() {
    std::vector<std::string_view> others;
    for (const auto& each : tasks::supported_operators())
      if (std::ranges::find(signatures, each.name, &Signature::type) == std::end(signatures))
        others.push_back(each.name);
    return others;
  }

  std::mt19937_64 random_;
  onnx::GraphProto* graph_ = nullptr;
  std::vector<Ints> shapes_;
  std::vector<std::string> written_;
  int type_ = TensorProto::FLOAT;
  std::int64_t dimension_ = 3; // the most frequent size, so that shapes match
  int names_ = 0;
};

} // namespace

std::vector<std::byte> random_onnx(std::uint64_t seed) {
  const auto text = Generator(seed).model();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

} // namespace rtexec::test
