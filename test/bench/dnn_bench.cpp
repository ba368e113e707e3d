// The engine's throughput as a share of what one large SGEMM of the same BLAS reaches, measured in turns.
#include "tasks/dnn/host/host_network.hpp"
#include "tasks/dnn/onnx/onnx_reader.hpp"
#include "tasks/dnn/graph/passes.hpp"
#include "test/bench/statistics.hpp"

#include <cblas.h>
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

/// GFLOP/s of C = A B with square matrices.
class Sgemm {
 public:
  double run() {
    const double time = seconds([&] {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a_.data(), n, b_.data(), n, 0, c_.data(), n);
    });
    return 2e-9 * n * n * n / time;
  }

 private:
  static constexpr int n = 1536;
  std::vector<float> a_ = std::vector<float>(std::size_t{n} * n, 0.5F), b_ = a_, c_ = a_;
};

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s MODEL.onnx...\n", argv[0]), 2;
  constexpr int rounds = 25;
  Sgemm sgemm;
  std::printf("network throughput against SGEMM of 1536x1536x1536, one thread, medians of %d turns\n", rounds);
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
      const double before = sgemm.run();
      ours.push_back(1e-9 * network->flops() / seconds([&] { (void)network->run(); }));
      peak.push_back((before + sgemm.run()) / 2);
      share.push_back(ours.back() / peak.back());
    }
    std::printf("  %s: %.1f GFLOP/s, SGEMM %.1f GFLOP/s, share %.0f %% (goal on resnet50: at least 70 %%)\n", argv[i],
                bench::median(ours), bench::median(peak), 100 * bench::median(share));
  }
}
