// An ONNX model under construction. The oracle evaluates every node as it is added. So shapes and values of all tensors
// are known at once, and the finished model contains the correct outputs for its inputs.
#pragma once

#include "test/tasks/onnx_oracle/kinds.hpp"
#include "test/tasks/onnx_oracle/oracle.hpp"

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace rtexec::test {

struct Range {
  double low = -1, high = 1;
};

class Model {
 public:
  /// `seed` fills inputs and constants, and chooses how constants are stored if ONNX has several ways.
  explicit Model(std::uint64_t seed = 1, int opset = 13);

  // Each of these returns the name of the tensor that it adds.
  std::string input(const Ints& shape, Range range = {});
  std::string input(Array value);
  /// Adds an input of integers that include both ends of the range.
  std::string integer_input(const Ints& shape, Range range, Kind kind = Kind::int64);
  std::string bool_input(const Ints& shape);
  /// Adds an input whose first dimension is called "batch" in the file; shape[0] must be 1.
  std::string batch_input(const Ints& shape);
  std::string constant(const Ints& shape, Range range = {});
  std::string constant(Array value);
  std::string integer_constant(const Ints& shape, Range range, Kind kind = Kind::int64);
  std::string bool_constant(const Ints& shape);
  std::string floats(const Ints& shape, const Floats& values);
  std::string integers(const Ints& values);
  std::string integer(Index value); // a scalar
  /// Adds a constant that is also listed among the inputs, as files of IR version 3 must do.
  std::string listed_constant(const Ints& shape);
  /// Adds a node. "" stands for an absent optional input.
  std::string node(const std::string& type, const std::vector<std::string>& from, const Attributes& attributes = {});
  /// Adds a node with several outputs.
  std::vector<std::string> nodes(const std::string& type, const std::vector<std::string>& from, std::size_t outputs,
                                 const Attributes& attributes = {});
  /// Adds an If. Its branches consist of the nodes that compute their results.
  std::string choice(const std::string& condition, const std::function<std::string()>& then,
                     const std::function<std::string()>& otherwise);
  /// Gives the last node one more output, which no node reads.
  void unread_output();
  void output(const std::string& name);

  [[nodiscard]] int opset() const { return opset_; }
  [[nodiscard]] const Array& value(const std::string& name) const { return values_.at(name); }
  [[nodiscard]] const std::vector<std::string>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<std::string>& outputs() const { return outputs_; }
  /// Returns the contents of the file.
  [[nodiscard]] std::string bytes() const { return proto_.SerializeAsString(); }
  /// Returns a text such as "Relu(1x3x4x4) -> 1x3x4x4; ...", without constants.
  [[nodiscard]] const std::string& description() const { return description_; }
  /// Returns the names of the nodes in the file.
  [[nodiscard]] std::vector<std::string> node_names() const;

 private:
  Array random(const Ints& shape, Range range);
  Array random_integers(const Ints& shape, Range range, Kind kind);
  std::string new_name(const std::string& stem);

  int opset_;
  std::mt19937_64 engine_;
  onnx::ModelProto proto_;
  std::map<std::string, Array> values_;
  std::vector<std::string> inputs_, outputs_;
  std::string description_;
};

} // namespace rtexec::test
