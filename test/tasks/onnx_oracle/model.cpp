#include "test/tasks/onnx_oracle/model.hpp"

namespace rtexec::test {
namespace {

void describe(onnx::ValueInfoProto& info, const std::string& name, const Array& value) {
  info.set_name(name);
  onnx::TypeProto_Tensor& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int>(data_type_of(value.kind)));
  type.mutable_shape();
  for (const Index extent : value.shape) type.mutable_shape()->add_dim()->set_dim_value(extent);
}

template <class T, class Field> void store_as(onnx::TensorProto& tensor, const Array& value, bool raw, Field&& field) {
  std::vector<T> list;
  for (const double element : value.values) list.push_back(static_cast<T>(element));
  if (raw) tensor.set_raw_data(list.data(), list.size() * sizeof(T));
  else field.Add(list.begin(), list.end());
}

/// INT64_MAX, which means "to the end", must not overflow on its way from double.
void store_integers(onnx::TensorProto& tensor, const Array& value, bool raw) {
  const Ints list = integers(value);
  if (raw) tensor.set_raw_data(list.data(), list.size() * sizeof(Index));
  else tensor.mutable_int64_data()->Add(list.begin(), list.end());
}

void store(onnx::TensorProto& tensor, const Array& value, bool raw) {
  for (const Index extent : value.shape) tensor.add_dims(extent);
  tensor.set_data_type(static_cast<int>(data_type_of(value.kind)));
  auto& small = *tensor.mutable_int32_data();
  auto& large = *tensor.mutable_uint64_data();
  switch (value.kind) {
  case Kind::real: return store_as<float>(tensor, value, raw, *tensor.mutable_float_data());
  case Kind::boolean:
  case Kind::uint8: return store_as<std::uint8_t>(tensor, value, raw, small);
  case Kind::int8: return store_as<std::int8_t>(tensor, value, raw, small);
  case Kind::uint16: return store_as<std::uint16_t>(tensor, value, raw, small);
  case Kind::int16: return store_as<std::int16_t>(tensor, value, raw, small);
  case Kind::int32: return store_as<std::int32_t>(tensor, value, raw, small);
  case Kind::uint32: return store_as<std::uint32_t>(tensor, value, raw, large);
  case Kind::uint64: return store_as<std::uint64_t>(tensor, value, raw, large);
  case Kind::int64: return store_integers(tensor, value, raw);
  }
}

/// Writes each kind of attribute, and appends to `text` what it wrote.
struct AttributeWriter {
  onnx::AttributeProto& to;
  std::string& text;

  void operator()(Index value) const {
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(value);
    text += std::to_string(value);
  }
  void operator()(float value) const {
    to.set_type(onnx::AttributeProto::FLOAT);
    to.set_f(value);
    text += std::to_string(value);
  }
  void operator()(const std::string& value) const {
    to.set_type(onnx::AttributeProto::STRING);
    to.set_s(value);
    text += value;
  }
  void operator()(const Ints& values) const {
    to.set_type(onnx::AttributeProto::INTS);
    to.mutable_ints()->Add(values.begin(), values.end());
    text += to_text(values, ",");
  }
  void operator()(const Floats& values) const {
    to.set_type(onnx::AttributeProto::FLOATS);
    to.mutable_floats()->Add(values.begin(), values.end());
    text += "floats";
  }
  void operator()(const Strings& values) const {
    to.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) {
      to.add_strings(value);
      text += (&value == values.data() ? "" : ",") + value;
    }
  }
  void operator()(const Array& value) const {
    to.set_type(onnx::AttributeProto::TENSOR);
    store(*to.mutable_t(), value, true);
    text += to_text(value.shape);
  }
};

} // namespace

Model::Model(std::uint64_t seed, int opset) : opset_(opset), engine_(seed) {
  proto_.set_ir_version(7);
  proto_.set_producer_name("oracle");
  proto_.add_opset_import()->set_version(opset);
  proto_.mutable_graph()->set_name("graph");
}

Array Model::random(const Ints& shape, Range range) {
  // Much faster than std::uniform_real_distribution, which computes a logarithm for each number.
  const double unit = (range.high - range.low) / static_cast<double>(engine_.max());
  Array value(shape);
  for (double& element : value.values) element = static_cast<float>(range.low + static_cast<double>(engine_()) * unit);
  return value;
}

Array Model::random_integers(const Ints& shape, Range range, Kind kind) {
  std::uniform_int_distribution<Index> between(static_cast<Index>(range.low), static_cast<Index>(range.high));
  Array value(shape, kind);
  for (double& element : value.values) element = static_cast<double>(between(engine_));
  return value;
}

std::string Model::new_name(const std::string& stem) { return stem + std::to_string(values_.size()); }

std::string Model::input(const Ints& shape, Range range) { return input(random(shape, range)); }
std::string Model::integer_input(const Ints& shape, Range range, Kind kind) {
  return input(random_integers(shape, range, kind));
}
std::string Model::bool_input(const Ints& shape) { return integer_input(shape, {0, 1}, Kind::boolean); }

std::string Model::input(Array value) {
  const std::string name = new_name("input");
  inputs_.push_back(name);
  describe(*proto_.mutable_graph()->add_input(), name, value);
  values_[name] = std::move(value);
  return name;
}

std::string Model::batch_input(const Ints& shape) {
  const std::string name = input(shape);
  auto& info = *proto_.mutable_graph()->mutable_input(proto_.graph().input_size() - 1);
  info.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  return name;
}

std::string Model::constant(const Ints& shape, Range range) { return constant(random(shape, range)); }
std::string Model::integer_constant(const Ints& shape, Range range, Kind kind) {
  return constant(random_integers(shape, range, kind));
}
std::string Model::bool_constant(const Ints& shape) { return integer_constant(shape, {0, 1}, Kind::boolean); }

std::string Model::floats(const Ints& shape, const Floats& values) {
  Array value(shape);
  value.values.assign(values.begin(), values.end());
  return constant(std::move(value));
}

std::string Model::integers(const Ints& values) {
  Array value({static_cast<Index>(values.size())}, Kind::int64);
  value.values.assign(values.begin(), values.end());
  return constant(std::move(value));
}

std::string Model::integer(Index number) {
  Array value(Ints{}, Kind::int64);
  value[0] = static_cast<double>(number);
  return constant(std::move(value));
}

std::string Model::listed_constant(const Ints& shape) {
  const std::string name = new_name("constant");
  const Array& value = values_[name] = random(shape, {});
  describe(*proto_.mutable_graph()->add_input(), name, value);
  onnx::TensorProto& tensor = *proto_.mutable_graph()->add_initializer();
  tensor.set_name(name);
  store(tensor, value, true);
  return name;
}

std::string Model::constant(Array value) {
  const std::string name = new_name("constant");
  const bool raw = engine_() % 2 == 0;
  if (engine_() % 8 == 0) {
    onnx::NodeProto& node = *proto_.mutable_graph()->add_node();
    node.set_name("make_" + name);
    node.set_op_type("Constant");
    node.add_output(name);
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    store(*attribute.mutable_t(), value, raw);
  } else {
    onnx::TensorProto& tensor = *proto_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    store(tensor, value, raw);
  }
  values_[name] = std::move(value);
  return name;
}

std::string Model::node(const std::string& type, const std::vector<std::string>& from, const Attributes& attributes) {
  return nodes(type, from, 1, attributes).front();
}

std::vector<std::string> Model::nodes(const std::string& type, const std::vector<std::string>& from,
                                      std::size_t outputs, const Attributes& attributes) {
  const std::string name = new_name(type);
  std::vector<std::string> names{name};
  for (std::size_t i = 1; i < outputs; ++i) names.push_back(name + "_" + std::to_string(i));
  onnx::NodeProto& proto = *proto_.mutable_graph()->add_node();
  proto.set_name("make_" + name);
  const auto dot = type.rfind('.'); // after a domain
  proto.set_op_type(dot == std::string::npos ? type : type.substr(dot + 1));
  if (dot != std::string::npos) proto.set_domain(type.substr(0, dot));
  for (const std::string& output : names) proto.add_output(output);

  std::string text, shapes;
  for (const auto& [key, value] : attributes) {
    onnx::AttributeProto& attribute = *proto.add_attribute();
    attribute.set_name(key);
    text += (text.empty() ? "" : " ") + key + "=";
    std::visit(AttributeWriter{attribute, text}, value);
  }
  Operator how{type, opset_, {}, attributes, outputs};
  for (const std::string& input : from) {
    proto.add_input(input);
    how.inputs.push_back(input.empty() ? nullptr : &values_.at(input));
    shapes += (shapes.empty() ? "" : ", ") + (input.empty() ? "absent" : to_text(value(input).shape));
  }
  std::vector<Array> values = evaluate(how);
  description_ +=
      (description_.empty() ? "" : "; ") + type + "{" + text + "}(" + shapes + ") -> " + to_text(values.at(0).shape);
  for (std::size_t i = 0; i < names.size(); ++i) values_[names[i]] = std::move(values.at(i));
  return names;
}

std::string Model::choice(const std::string& condition, const std::function<std::string()>& then,
                          const std::function<std::string()>& otherwise) {
  onnx::NodeProto choice;
  const auto add_branch = [&](const std::string& name, const std::function<std::string()>& make) {
    auto& nodes = *proto_.mutable_graph()->mutable_node();
    const int first = nodes.size();
    std::string result = make();
    onnx::AttributeProto& attribute = *choice.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    attribute.mutable_g()->set_name(name);
    describe(*attribute.mutable_g()->add_output(), result, value(result));
    for (int i = first; i < nodes.size(); ++i) *attribute.mutable_g()->add_node() = nodes[i];
    nodes.DeleteSubrange(first, nodes.size() - first);
    return result;
  };
  const std::string if_true = add_branch("then_branch", then), if_false = add_branch("else_branch", otherwise);
  const std::string name = new_name("If");
  choice.set_name("make_" + name);
  choice.set_op_type("If");
  choice.add_input(condition);
  choice.add_output(name);
  values_[name] = value(value(condition)[0] != 0 ? if_true : if_false);
  *proto_.mutable_graph()->add_node() = std::move(choice);
  return name;
}

void Model::unread_output() {
  onnx::NodeProto& last = *proto_.mutable_graph()->mutable_node(proto_.graph().node_size() - 1);
  last.add_output(last.output(0) + "_unread");
}

void Model::output(const std::string& name) {
  outputs_.push_back(name);
  describe(*proto_.mutable_graph()->add_output(), name, value(name));
}

std::vector<std::string> Model::node_names() const {
  std::vector<std::string> names;
  for (const onnx::NodeProto& node : proto_.graph().node()) names.push_back(node.name());
  return names;
}

} // namespace rtexec::test
