#include "tasks/loads/benchmarks/initialiser.hpp"

#include "config/base/median.hpp"
#include "hal/thread.hpp"
#include "tasks/loads/benchmarks/benchmark.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

namespace rtexec::tasks {
namespace {

using initialise::Tiling;

constexpr unsigned blocks_of_multiprocessor = 4, max_blocks_of_multiprocessor = 16;
constexpr std::size_t repetitions = 5;
constexpr Bytes min_size{4096};
constexpr std::size_t word = 4;
constexpr cuda::Fill measured{.kind = cuda::Fill::fractions, .seed = 1};
constexpr std::array<std::string_view, 3> names{"initialise tile ", " blocks ", " threshold "};

template <class Body> Result<Duration> median(const Body& body) {
  std::vector<Duration> lengths;
  for (std::size_t i = 0; i < repetitions; ++i) {
    const auto length = body();
    if (!length) return length;
    lengths.push_back(*length);
  }
  return config::median_of(std::move(lengths));
}

Buffer first_part(Buffer buffer, Bytes size) {
  buffer.size = size;
  return buffer;
}

/// True if the GPU was faster than the host at each of the last four sizes. Then larger sizes need not be measured.
bool surely_crossed(std::span<const InitialisationTimes> times) {
  constexpr std::size_t in_a_row = 4;
  return times.size() >= in_a_row && std::ranges::all_of(times.last(in_a_row), [](const InitialisationTimes& each) {
           return each.gpu < each.host;
         });
}

Result<> stopped() { return fail(Errc::cancelled, "measuring how memory is initialised was stopped"); }

} // namespace

std::string line_of(const InitialiserChoice& choice) {
  return std::string(names[0]) + std::to_string(choice.tiling.tile.count) + std::string(names[1]) +
         std::to_string(choice.tiling.blocks) + std::string(names[2]) + std::to_string(choice.threshold.count);
}

Result<InitialiserChoice> parse_initialiser(std::string_view line) {
  std::array<std::uint64_t, names.size()> values{};
  std::string_view left = line;
  bool good = true;
  for (std::size_t i = 0; i < names.size() && good; ++i) {
    good = left.starts_with(names[i]);
    if (!good) break;
    left.remove_prefix(names[i].size());
    const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), values[i]);
    good = error == std::errc();
    left.remove_prefix(static_cast<std::size_t>(end - left.data()));
  }
  constexpr std::uint64_t max_blocks = 1U << 20U;
  if (!good || !left.empty() || values[1] > max_blocks)
    return fail(Errc::bad_input, "'" + std::string(line) + "' is no choice of how memory is initialised");
  return InitialiserChoice{{Bytes{values[0]}, static_cast<unsigned>(values[1])}, Bytes{values[2]}};
}

std::optional<Bytes> crossover(std::span<const InitialisationTimes> times) {
  std::optional<Bytes> least;
  for (std::size_t i = times.size(); i > 0 && times[i - 1].gpu < times[i - 1].host; --i) least = times[i - 1].size;
  return least;
}

Result<Initialiser> Initialiser::make(Device& device, std::span<const cuda::KernelImage> images,
                                      const InitialiserChoice& choice) {
  Initialiser made(choice);
  made.gpu_ = hal::CudaDevice::find(device);
  if (made.gpu_ == nullptr) return made;
  auto resources = cuda::Resources::of(*made.gpu_, images);
  if (!resources) return Unexpected(resources.error());
  made.resources_ = std::move(*resources);
  const auto kernel = made.resources_->function({.name = "benchmark_fill"});
  if (!kernel) return Unexpected(kernel.error());
  made.kernel_ = *kernel;
  made.tiled_.emplace(*made.gpu_);
  return made;
}

Result<> Initialiser::fill(const Buffer& buffer, const cuda::Fill& fill, const initialise::Observer& observer) {
  if (has_gpu() && buffer.size >= choice_.threshold) return fill_on_gpu(buffer, fill, choice_.tiling, observer);
  initialise::make_on_host(
      buffer.size, [&] { fill_on_host(buffer, fill); }, observer);
  return {};
}

void Initialiser::fill_on_host(const Buffer& buffer, const cuda::Fill& fill) noexcept {
  benchmark::fill_words(fill, buffer.host, buffer.size.count / word);
}

unsigned Initialiser::blocks(const Tiling& tiling) const {
  if (tiling.blocks > 0 || gpu_ == nullptr) return tiling.blocks;
  return blocks_of_multiprocessor * static_cast<unsigned>(gpu_->multiprocessors());
}

Result<> Initialiser::fill_on_gpu(const Buffer& buffer, const cuda::Fill& fill, const Tiling& tiling,
                                  const initialise::Observer& observer) {
  if (gpu_ == nullptr) return fill_on_host(buffer, fill), Result<>();
  const unsigned grid = blocks(tiling), threads = grid * cuda::benchmark_threads;
  const auto make_tile = [&](Bytes first, Bytes size) {
    cuda::FillArguments arguments{.to = buffer.device,
                                  .first = static_cast<unsigned>(first.count / word),
                                  .count = static_cast<unsigned>(size.count / word),
                                  .threads = threads,
                                  .fill = fill};
    void* pointers[] = {&arguments};
    return gpu_->checked(gpu_->driver().launch(kernel_, grid, 1, 1, cuda::benchmark_threads, 1, 1, 0,
                                               gpu_->stream(hal::EngineKind::compute), pointers, nullptr),
                         "launching a kernel that fills memory");
  };
  return tiled_->run(buffer, tiling, make_tile, observer);
}

Result<> Initialiser::move(const Buffer& buffer, hal::Side to) {
  if (gpu_ == nullptr || !gpu_->can_prefetch() || buffer.kind != BufferKind::managed) return {};
  Status done = gpu_->prefetch(buffer.device, buffer.size, to, hal::EngineKind::copy_in);
  if (done) done = gpu_->wait(hal::EngineKind::copy_in);
  if (!done) return fail(done.error(), "moving managed memory failed");
  return {};
}

// ---- measuring ----

Result<Duration> Initialiser::median_on_gpu(const Buffer& buffer, const Tiling& tiling) {
  return median([&]() -> Result<Duration> {
    if (auto moved = move(buffer, hal::Side::device); !moved) return Unexpected(moved.error());
    const Instant begin = hal::now();
    if (auto filled = fill_on_gpu(buffer, measured, tiling); !filled) return Unexpected(filled.error());
    return hal::now() - begin;
  });
}

Result<Duration> Initialiser::median_on_host(const Buffer& buffer) {
  return median([&]() -> Result<Duration> {
    if (auto moved = move(buffer, hal::Side::device); !moved) return Unexpected(moved.error());
    const Instant begin = hal::now();
    fill_on_host(buffer, measured);
    return hal::now() - begin;
  });
}

Result<Tiling> Initialiser::fastest(const Buffer& buffer, std::span<const Tiling> tilings,
                                    const std::function<bool()>& going_on) {
  std::optional<Duration> least;
  Tiling best;
  for (const Tiling& each : tilings) {
    if (going_on && !going_on()) return Unexpected(stopped().error());
    const auto length = median_on_gpu(buffer, each);
    if (!length) return Unexpected(length.error());
    if (least && *length >= *least) continue;
    least = length.value();
    best = each;
  }
  return best;
}

Result<InitialiserChoice> Initialiser::tune(const Buffer& buffer, const std::function<bool()>& going_on) {
  if (gpu_ == nullptr) return choice_;
  std::vector<Tiling> tilings;
  for (std::uint64_t tiles = 1; tiles <= initialise::max_tiles; tiles *= 2) {
    const Tiling tiling{.tile = initialise::tile_size({Bytes{(buffer.size.count + tiles - 1) / tiles}}, buffer.size)};
    if (tilings.empty() || tilings.back() != tiling) tilings.push_back(tiling);
  }
  const auto by_tile = fastest(buffer, tilings, going_on);
  if (!by_tile) return Unexpected(by_tile.error());
  tilings.clear();
  const auto multiprocessors = static_cast<unsigned>(gpu_->multiprocessors());
  for (unsigned blocks = 1; blocks <= max_blocks_of_multiprocessor; blocks *= 2)
    tilings.push_back({.tile = by_tile->tile, .blocks = blocks * multiprocessors});
  const auto tiling = fastest(buffer, tilings, going_on);
  if (!tiling) return Unexpected(tiling.error());
  std::vector<InitialisationTimes> times;
  for (Bytes size = std::min(min_size, buffer.size); size <= buffer.size; size = size * 2) {
    if (going_on && !going_on()) return Unexpected(stopped().error());
    const auto host = median_on_host(first_part(buffer, size)), gpu = median_on_gpu(first_part(buffer, size), *tiling);
    if (!host || !gpu) return Unexpected((host ? gpu : host).error());
    times.push_back({size, *host, *gpu});
    if (surely_crossed(times)) break;
  }
  const auto threshold = crossover(times);
  choice_ = {*tiling, threshold.value_or(buffer.size + Bytes{1})};
  return choice_;
}

} // namespace rtexec::tasks
