// What filling an input costs beside a plain copy of as many bytes, measured in turns.
#include "tasks/dnn/input/frame.hpp"
#include "tasks/dnn/input/input.hpp"
#include "tasks/dnn/files/npy.hpp"
#include "test/bench/statistics.hpp"
#include "test/support/files.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace rtexec;

/// Of one call.
double seconds(const std::function<void()>& work) {
  constexpr int calls = 20;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
}

struct Input {
  explicit Input(ElementType type) : bytes(std::size_t{3} * 416 * 416 * size_of(type)), peer(bytes.size()) {
    tensor = {.name = "x", .type = type, .shape = {1, 3, 416, 416}, .bytes = bytes};
  }
  std::vector<std::byte> bytes, peer;
  rtexec::Tensor tensor;
};

void compare(const char* what, Input& input, const std::function<void()>& fill) {
  constexpr int rounds = 51;
  std::vector<double> ours, copy, ratio;
  for (int round = 0; round < rounds; ++round) {
    ours.push_back(seconds(fill));
    copy.push_back(seconds([&] { std::memcpy(input.bytes.data(), input.peer.data(), input.bytes.size()); }));
    ratio.push_back(ours.back() / copy.back());
  }
  std::printf("  %-44s %8.1f us, memcpy %6.1f us, ratio %.2f\n", what, 1e6 * bench::median(ours),
              1e6 * bench::median(copy), bench::median(ratio));
}

void bench_file(const std::filesystem::path& folder, ElementType type) {
  Input input(type);
  const auto file = folder / "x.npy";
  if (!tasks::write_npy(file, input.tensor.shape, type, input.bytes)) return;
  const auto source = tasks::make_input(file, input.tensor);
  if (!source) return void(std::fprintf(stderr, "%s\n", source.error().what.c_str()));
  compare((".npy, " + std::string(name(type))).c_str(), input, [&] { (void)(*source)->fetch(0, input.tensor); });
}

void bench_frame(const char* what, PixelFormat format, std::size_t row, std::size_t rows) {
  Input input(ElementType::float32);
  const std::vector<std::uint8_t> pixels(row * rows, 100);
  auto sampler = tasks::FrameSampler::make(input.tensor);
  if (!sampler) return;
  compare(what, input, [&] { (void)sampler->sample({format, {1280, 720}, row, pixels}, input.bytes); });
}

} // namespace

int main() {
  const test::ScratchFolder folder;
  std::printf(
      "filling an input of 3x416x416 against a memcpy of its bytes, medians of 51 turns (goal of .npy: at most "
      "1.1)\n");
  for (const auto type : {ElementType::float32, ElementType::float16, ElementType::uint8})
    bench_file(folder.path(), type);
  bench_frame("frame of 1280x720, RGB24, to float32", PixelFormat::rgb24, 3 * 1280, 720);
  bench_frame("frame of 1280x720, YUYV, to float32", PixelFormat::yuyv, 2 * 1280, 720);
  bench_frame("frame of 1280x720, NV12, to float32", PixelFormat::nv12, 1280, 1080);
}
