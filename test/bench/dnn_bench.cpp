// The engine's throughput relative to one large matrix product by the engine itself, measured alternately.
#include "tasks/engine/host/host_network.hpp"
#include "tasks/engine/host/kernels/tiled_product.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "test/bench/statistics.hpp"

#include <chrono>
#include <cstdio>
#include <memory>
#include <new>
#include <vector>

namespace {

using namespace rtexec;

double seconds(auto&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Measures GFLOP/s of C = A B with square matrices. B is packed beforehand, as constants are.
class LargeProduct {
 public:
  double run() {
    const double time =
        seconds([&] { product_.run(a_.data(), b_.data(), c_.data(), workspace_.data(), [](auto, auto) {}); });
    return 2e-9 * n * n * n / time;
  }

 private:
  static std::vector<float> floats(std::int64_t count) {
    return std::vector<float>(static_cast<std::size_t>(count), 0.5F);
  }

  static constexpr std::int64_t n = 1536;
  tasks::kernels::TiledProduct product_{{n, n, n}};
  std::vector<float> a_ = floats(n * n), b_ = floats(product_.packed_b()), c_ = a_,
                     workspace_ = floats(product_.workspace());
};

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s MODEL.onnx...\n", argv[0]), 2;
  constexpr int rounds = 25;
  LargeProduct large;
  std::printf("network throughput against a product of 1536x1536x1536, one thread, medians of %d turns\n", rounds);
  for (int i = 1; i < argc; ++i) {
    auto graph = tasks::read_onnx(argv[i]);
    if (!graph) return std::fprintf(stderr, "%s\n", graph.error().what.c_str()), 2;
    tasks::optimise(*graph);
    auto built = tasks::HostNetwork::build(*graph);
    if (!built) return std::fprintf(stderr, "%s\n", built.error().what.c_str()), 2;
    const auto& network = *built;
    const std::unique_ptr<std::byte, decltype(&std::free)> scratch(
        static_cast<std::byte*>(std::aligned_alloc(64, (network->scratch().count + 63) / 64 * 64)), &std::free);
    network->bind(network->constants().data(), scratch.get());
    (void)network->run();
    std::vector<double> ours, peak, share;
    for (int round = 0; round < rounds; ++round) {
      const double before = large.run();
      ours.push_back(1e-9 * network->flops() / seconds([&] { (void)network->run(); }));
      peak.push_back((before + large.run()) / 2);
      share.push_back(ours.back() / peak.back());
    }
    std::printf("  %s: %.1f GFLOP/s, product %.1f GFLOP/s, share %.0f %% (goal on resnet50: at least 70 %%)\n", argv[i],
                bench::median(ours), bench::median(peak), 100 * bench::median(share));
  }
}
