// A network on the host device and on a GPU, a real or an emulated one. Both must give the same bits.
#pragma once

#include "test/tasks/bound_network.hpp"
#include "test/tasks/test_gpu.hpp"

namespace rtexec::tasks {

class HostAndGpu : public Bound {
 public:
  explicit HostAndGpu(const std::string& graph, int opset = 13) : Bound(graph, opset) {
    if (test_gpu().unavailable()) return;
    auto read = parse_onnx(onnx_bytes(graph, opset));
    if (!read) return;
    optimise(*read);
    auto built = CudaNetwork::build(*read, Precision::fp32, {test_gpu().launching(), true});
    EXPECT_EQ(test::problem(built), "none");
    if (!built) return;
    gpu_ = std::make_unique<BoundNetwork>(test_gpu().device(), std::move(*built));
    EXPECT_EQ(gpu_->error(), "");
  }

  /// Runs on both and returns an output.
  template <class T> std::vector<T> get(std::size_t output = 0) {
    auto values = Bound::get<T>(output);
    if (gpu_) expect_same_bits();
    return values;
  }

 private:
  void expect_same_bits() {
    auto& other = gpu_->network();
    for (std::size_t i = 0; i < network().inputs().size(); ++i)
      std::ranges::copy(network().inputs()[i].bytes, other.inputs()[i].bytes.begin());
    (void)gpu_->run_as_set();
    for (std::size_t i = 0; i < network().outputs().size(); ++i)
      EXPECT_TRUE(std::ranges::equal(network().outputs()[i].bytes, other.outputs()[i].bytes))
          << "output " << i << " of the GPU differs from the host's";
  }

  std::unique_ptr<BoundNetwork> gpu_;
};

} // namespace rtexec::tasks
