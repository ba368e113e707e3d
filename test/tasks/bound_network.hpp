// A network on the host device, read from protobuf text. A test sets its inputs and gets its outputs as typed elements.
#pragma once

#include "tasks/engine/graph/passes.hpp"
#include "tasks/engine/host/host_network.hpp"
#include "tasks/engine/host/kernels/aligned.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "test/support/expected_result.hpp"
#include "test/tasks/dnn_onnx_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace rtexec::tasks {

/// A network bound to scratch memory that starts as NaN.
class Bound {
 public:
  explicit Bound(const std::string& graph, int opset = 13) {
    auto read = parse_onnx(onnx_bytes(graph, opset));
    EXPECT_EQ(test::problem(read), "none");
    if (!read) return;
    optimise(*read);
    network_ = std::move(*HostNetwork::build(*read));
    scratch_ = allocate_aligned(network_->scratch().count);
    std::memset(scratch_.get(), 0xff, network_->scratch().count);
    network_->bind(network_->constants().data(), scratch_.get());
  }

  template <class T> void set(std::size_t input, const std::vector<T>& values) {
    const auto elements = network_->inputs()[input].as<T>();
    ASSERT_EQ(elements.size(), values.size());
    std::ranges::copy(values, elements.begin());
  }
  template <class T> std::vector<T> get(std::size_t output = 0) {
    EXPECT_TRUE(network_->run());
    const auto elements = network_->outputs()[output].as<const T>();
    return {elements.begin(), elements.end()};
  }
  HostNetwork& network() { return *network_; }

 private:
  std::unique_ptr<HostNetwork> network_;
  AlignedBytes scratch_;
};

} // namespace rtexec::tasks
