// Tests kernels that move elements on the emulation, and the views that simplify() returns.
#include "tasks/engine/cuda/kernels/simple_kernels.hpp"
#include "test/tasks/cuda_emulation/kernel_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <random>

namespace rtexec::test {
namespace {

using namespace tasks::cuda;

constexpr Storage storages[] = {Storage::f32, Storage::f16};
constexpr Storage moved[] = {Storage::f32, Storage::f16, Storage::s8, Storage::s16, Storage::s64};

/// Fills a buffer with numbers that its storage can represent.
void fill(Random& random, Buffer& buffer) {
  if (!holds_integers(buffer.storage())) return random.fill(buffer);
  random.fill_whole(buffer, -100, 100);
  if (size_of(buffer.storage()) == 8)
    for (std::size_t i = 0; i < buffer.count(); ++i) buffer.set(i, buffer.get(i) * 0x1p45 + 1);
}
std::size_t at(long long offset) { return static_cast<std::size_t>(offset); }

TEST(CudaImageIn, PutsChannelsLast) {
  SKIP_WITHOUT_EMULATION();
  Random random(1);
  for (int i = 0; i < 40 && !HasFailure(); ++i)
    for (const auto storage : storages) {
      ImageInArguments p;
      p.batch = random.whole(1, 3);
      p.channels = random.one_of({1, 3, 4, 10});
      p.height = random.whole(1, 12);
      p.width = random.whole(1, 12);
      p.y_stride = p.channels + random.one_of({0, 1, 5, (12 - p.channels) % 4, 16 - p.channels});
      const auto offset = random.chance(0.2) ? 2 : 0;
      Buffer x(Storage::f32, at(p.batch * p.channels * p.height * p.width)),
          y(storage, at(p.batch * p.height * p.width * p.y_stride), at(offset));
      random.fill(x);
      x.protect();
      p.x = static_cast<const float*>(x.data());
      p.y = y.data();
      std::vector<Expected> expected;
      const int plane = p.height * p.width;
      for (int pixel = 0; pixel < p.batch * plane; ++pixel)
        for (int c = 0; c < p.y_stride; ++c)
          expected.push_back({at(pixel * p.y_stride + c),
                              c < p.channels ? x.get(at((pixel / plane * p.channels + c) * plane + pixel % plane)) : 0,
                              0});
      check_kernel(launch_of(p, storage), &p, y, expected);
    }
}

/// Converts in memory guarded behind its end. The first `skipped` elements of `from` are not used.
template <class From, class To>
std::vector<To> converted(const Launch& launch, ConvertArguments p, const std::vector<From>& from,
                          std::size_t skipped) {
  GuardedMemory x(from.size() * sizeof(From)), y(from.size() * sizeof(To));
  std::memcpy(x.data(), from.data(), from.size() * sizeof(From));
  x.protect();
  std::memset(y.data(), 0x5a, from.size() * sizeof(To));
  p.x = x.data() + skipped * sizeof(From);
  p.y = y.data() + skipped * sizeof(To);
  void* arguments[] = {&p};
  emulation::launch(launch, arguments);
  std::vector<To> to(from.size());
  std::memcpy(to.data(), y.data(), to.size() * sizeof(To));
  return to;
}

/// Checks that bytes are copied, and changed as `changed` says.
void expect_bytes(const std::function<Launch(const ConvertArguments&)>& launch, unsigned flip,
                  const std::function<std::uint8_t(std::uint8_t)>& changed) {
  std::mt19937_64 random(1);
  for (const std::size_t count : {1u, 2u, 15u, 16u, 17u, 100u, 5000u})
    for (const std::size_t skipped : {0u, 1u, 3u}) {
      std::vector<std::uint8_t> bytes(count + skipped);
      for (auto& each : bytes) each = static_cast<std::uint8_t>(random() % 3 == 0 ? 0 : random());
      ConvertArguments p;
      p.count = static_cast<long long>(count);
      p.flip = flip;
      const auto copied = converted<std::uint8_t, std::uint8_t>(launch(p), p, bytes, skipped);
      for (std::size_t i = 0; i < bytes.size(); ++i)
        ASSERT_EQ(copied[i], i < skipped ? 0x5a : changed(bytes[i])) << i << " of " << count;
    }
}

TEST(CudaConvert, CopiesIntegersAsBytes) {
  SKIP_WITHOUT_EMULATION();
  const auto in = [](const ConvertArguments& p) { return stage_input_launch(p, Outside::bytes); };
  const auto out = [](const ConvertArguments& p) { return stage_output_launch(p, Outside::bytes); };
  const auto booleans = [](const ConvertArguments& p) { return stage_input_launch(p, Outside::booleans); };
  for (const auto& launch : {std::function<Launch(const ConvertArguments&)>(in), {out}}) {
    expect_bytes(launch, 0, [](std::uint8_t byte) { return byte; });
    expect_bytes(launch, 0x80808080U, [](std::uint8_t byte) { return byte ^ 0x80; });
  }
  expect_bytes(booleans, 0, [](std::uint8_t byte) { return byte != 0; });
}

constexpr Outside every_element[] = {Outside::f32, Outside::f16, Outside::bytes};
constexpr std::size_t widths[] = {4, 2, 1}; // the element widths

/// Copies floats through their kernel, as a copy to the same storage does.
TEST(CudaConvert, CopiesFloats) {
  SKIP_WITHOUT_EMULATION();
  for (const Storage storage : {Storage::f32, Storage::f16})
    for (const int count : {1, 4, 15, 16, 5000}) {
      const Outside outside = storage == Storage::f32 ? Outside::f32 : Outside::f16;
      Random random(static_cast<unsigned>(count));
      Buffer outer(storage, at(count)), inner(Storage::f32, at(count)), back(storage, at(count));
      random.fill(outer, -1000, 1000);
      std::vector<Expected> expected;
      for (int i = 0; i < count; ++i) expected.push_back({at(i), outer.get(at(i)), 0});
      ConvertArguments in{.x = outer.data(), .y = inner.data(), .count = count};
      check_kernel(stage_input_launch(in, outside), &in, inner, expected);
      ConvertArguments out{.x = inner.data(), .y = back.data(), .count = count};
      check_kernel(stage_output_launch(out, outside), &out, back, expected);
    }
}

/// Covers more elements than blocks look up addresses at a time, and a partly filled block.
TEST(CudaConvert, ReadsAndWritesThroughLinkedAddresses) {
  SKIP_WITHOUT_EMULATION();
  for (const Outside element : every_element)
    for (const int count : {3, 200'001}) {
      const std::size_t width = widths[static_cast<std::size_t>(element)];
      GuardedMemory outer(at(count) * width), back(at(count) * width);
      Buffer direct(Storage::f32, at(count)), linked(Storage::f32, at(count));
      for (std::size_t i = 0; i < at(count) * width; ++i) outer.data()[i] = static_cast<std::byte>(i * 7 % 61);
      const auto stage_input = [&](ConvertArguments p) {
        void* arguments[] = {&p};
        const Launch launch = stage_input_launch(p, element);
        if (p.linked) { EXPECT_LE(launch.grid_x, 264u); }
        emulation::launch(launch, arguments);
      };
      void* address = outer.data();
      stage_input({.x = outer.data(), .y = direct.data(), .count = count});
      stage_input({.y = linked.data(), .count = count, .linked = &address});
      ASSERT_EQ(std::memcmp(direct.data(), linked.data(), at(count) * sizeof(float)), 0);
      address = back.data();
      ConvertArguments out{.x = linked.data(), .count = count, .linked = &address};
      void* arguments[] = {&out};
      emulation::launch(stage_output_launch(out, element), arguments);
      ASSERT_EQ(std::memcmp(outer.data(), back.data(), at(count) * width), 0) << static_cast<int>(element);
    }
}

TEST(CudaClear, ClearsExactlyTheGivenWords) {
  SKIP_WITHOUT_EMULATION();
  for (const int count : {1, 127, 128, 1000}) {
    Buffer words(Storage::f32, at(count));
    std::vector<Expected> expected;
    for (int i = 0; i < count; ++i) expected.push_back({at(i), 0, 0});
    ClearArguments p{static_cast<unsigned*>(words.data()), count};
    check_kernel(launch_of(p), &p, words, expected);
  }
}

/// Returns any layout of `shape`, with dimensions in any order and gaps. If `with_repeats`, some strides are 0.
View random_view(Random& random, const View& shape, bool with_repeats) {
  std::vector<int> order;
  for (int d = 0; d < shape.rank; ++d) order.push_back(d);
  if (random.chance(0.6))
    for (int d = shape.rank - 1; d > 0; --d) std::swap(order[at(d)], order[at(random.whole(0, d))]);
  View view = shape;
  long long stride = random.chance(0.1) ? 2 : 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const int d = order[i];
    view.stride[d] = with_repeats && random.chance(0.1) ? 0 : stride;
    if (view.stride[d] != 0) stride *= shape.shape[d];
    if (random.chance(0.2)) stride += random.one_of({1, 8, 16});
  }
  return view;
}
View random_shape(Random& random) {
  std::vector<int> shape(at(random.whole(0, 5)));
  for (auto& extent : shape) extent = random.one_of({1, 2, 3, 4, 9});
  if (!shape.empty()) shape[at(random.whole(0, static_cast<int>(shape.size()) - 1))] = random.one_of({8, 16, 35, 40});
  if (!shape.empty() && random.chance(0.5)) shape.back() = random.one_of({8, 16, 35, 40});
  return dense_view(shape);
}

TEST(CudaCopy, MatchesReference) {
  SKIP_WITHOUT_EMULATION();
  Random random(2);
  int transposed = 0;
  for (int i = 0; i < 150 && !HasFailure(); ++i)
    for (const auto from : storages)
      for (const auto to : storages) {
        CopyArguments p;
        p.y_view = random_view(random, random_shape(random), false);
        p.x_view = random_view(random, p.y_view, true);
        if (random.chance(0.3)) p.activation = {ActivationArguments::leaky_relu, 0.25F, 0};
        Buffer x(from, view_size(p.x_view), random.chance(0.2) ? 4 : 0),
            y(to, view_size(p.y_view), random.chance(0.2) ? 2 : 0);
        random.fill(x);
        x.protect();
        p.x = x.data();
        p.y = y.data();
        std::vector<Expected> expected;
        each_view_index(p.y_view, [&](const std::vector<int>& index) {
          expected.push_back(
              {at(view_offset(p.y_view, index)), activated(x.get(at(view_offset(p.x_view, index))), p.activation), 0});
        });
        SCOPED_TRACE(i);
        check_kernel(launch_of(p, from, to), &p, y, expected);
        simplify(p);
        SCOPED_TRACE("simplified");
        const auto launch = launch_of(p, from, to);
        transposed += std::string(launch.name).starts_with("transpose") ? 1 : 0;
        check_kernel(launch, &p, y, expected);
      }
  EXPECT_GT(transposed, 30);
}

TEST(CudaCopy, CopiesIntegersUnchanged) {
  SKIP_WITHOUT_EMULATION();
  Random random(6);
  for (int i = 0; i < 80 && !HasFailure(); ++i)
    for (const auto storage : {Storage::s8, Storage::s16, Storage::s64}) {
      CopyArguments p;
      p.y_view = random_view(random, random_shape(random), false);
      p.x_view = random_view(random, p.y_view, true);
      Buffer x(storage, view_size(p.x_view), random.chance(0.2) ? 4 : 0),
          y(storage, view_size(p.y_view), random.chance(0.2) ? 1 : 0);
      fill(random, x);
      x.protect();
      p.x = x.data();
      p.y = y.data();
      std::vector<Expected> expected;
      each_view_index(p.y_view, [&](const std::vector<int>& index) {
        expected.push_back({at(view_offset(p.y_view, index)), x.get(at(view_offset(p.x_view, index))),
                            storage == Storage::s8 ? -0.4 : 0});
      });
      SCOPED_TRACE(i);
      check_kernel(launch_of(p, storage, storage), &p, y, expected);
      simplify(p);
      SCOPED_TRACE("simplified");
      check_kernel(launch_of(p, storage, storage), &p, y, expected);
    }
}

TEST(CudaCopy, CopiesReversedDimensions) { // a slice with a negative step
  SKIP_WITHOUT_EMULATION();
  CopyArguments p;
  p.x_view = p.y_view = dense_view({3, 16});
  p.x_view.stride[1] = -1;
  for (const auto storage : storages) {
    Buffer x(storage, 48), y(storage, 48);
    std::vector<Expected> expected;
    for (int i = 0; i < 48; ++i) {
      x.set(at(i), i);
      expected.push_back({at(i), i / 16 * 16 + 15.0 - i % 16, 0});
    }
    p.x = static_cast<const char*>(x.data()) + (storage == Storage::f32 ? 60 : 30);
    p.y = y.data();
    auto simple = p;
    simplify(simple);
    check_kernel(launch_of(p, storage, storage), &p, y, expected);
    check_kernel(launch_of(simple, storage, storage), &simple, y, expected);
  }
}

TEST(CudaCopy, RoundsAndOverflowsAsIeee754Requires) {
  SKIP_WITHOUT_EMULATION();
  const double values[] = {0.1,      65504,        65519, 65520, -1e6, 1e-8, 3e-8, 6.1e-5,
                           HUGE_VAL, std::nan(""), -0.0,  2049,  2051, 1,    2,    3};
  constexpr std::size_t count = std::size(values);
  CopyArguments p;
  p.x_view = p.y_view = dense_view({static_cast<int>(count)});
  Buffer x(Storage::f32, count), y(Storage::f16, count), rounded(Storage::f16, count), back(Storage::f32, count);
  std::vector<Expected> expected;
  for (std::size_t i = 0; i < count; ++i) {
    x.set(i, values[i]);
    rounded.set(i, x.get(i));
    expected.push_back({i, rounded.get(i), 0});
  }
  p.x = x.data();
  p.y = y.data();
  check_kernel(launch_of(p, Storage::f32, Storage::f16), &p, y, expected);
  for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(y.get(i) == rounded.get(i) || std::isnan(values[i])) << values[i];
  p.x = y.data();
  p.y = back.data();
  void* pointers[] = {&p};
  emulation::launch(launch_of(p, Storage::f16, Storage::f32), pointers);
  for (std::size_t i = 0; i < count; ++i)
    EXPECT_TRUE(back.get(i) == rounded.get(i) || std::isnan(values[i])) << values[i];
}

TEST(CudaGather, MatchesReference) {
  SKIP_WITHOUT_EMULATION();
  Random random(3);
  for (int i = 0; i < 120 && !HasFailure(); ++i)
    for (const auto storage : moved) {
      GatherConstantArguments p;
      View shape = random_shape(random);
      if (shape.rank == 0) shape = dense_view({8});
      p.axis = random.whole(0, shape.rank - 1);
      const int extent = shape.shape[p.axis]; // the extent of x
      p.x_view = random_view(random, shape, false);
      const std::size_t size = view_size(p.x_view);
      std::vector<int> indices(at(random.one_of({1, 2, 7, 8, 16})));
      for (auto& index : indices) index = random.whole(0, extent - 1);
      p.x_view.shape[p.axis] = static_cast<int>(indices.size());
      p.y_view = random_view(random, p.x_view, false);
      Buffer x(storage, size, random.chance(0.2) ? 1 : 0), y(storage, view_size(p.y_view));
      fill(random, x);
      x.protect();
      p.x = x.data();
      p.y = y.data();
      p.indices = indices.data();
      std::vector<Expected> expected;
      each_view_index(p.y_view, [&](std::vector<int> index) {
        const auto to = at(view_offset(p.y_view, index));
        index[at(p.axis)] = indices[at(index[at(p.axis)])];
        expected.push_back({to, x.get(at(view_offset(p.x_view, index))), 0});
      });
      SCOPED_TRACE(i);
      check_kernel(launch_of(p, storage), &p, y, expected);
      simplify(p);
      SCOPED_TRACE("simplified");
      check_kernel(launch_of(p, storage), &p, y, expected);
    }
}

TEST(CudaPad, MatchesReference) {
  SKIP_WITHOUT_EMULATION();
  Random random(4);
  for (int i = 0; i < 150 && !HasFailure(); ++i)
    for (const auto storage : moved) {
      PadArguments p;
      const View shape = random_shape(random);
      p.x_view = random_view(random, shape, false);
      View padded = shape;
      for (int d = 0; d < shape.rank; ++d)
        if (random.chance(0.4)) {
          p.before[d] = random.one_of({0, 1, 3, 8, -1}); // negative: x is cut
          padded.shape[d] = std::max(1, shape.shape[d] + p.before[d] + random.one_of({0, 1, 3, 8, -1}));
        }
      p.y_view = random_view(random, padded, false);
      const bool integers = holds_integers(storage);
      p.value = integers ? random.one_of({0.0F, 100.0F})
                         : random.one_of({0.0F, -3.5F, -std::numeric_limits<float>::infinity()});
      p.wide_value = integers ? static_cast<long long>(p.value) : 0;
      Buffer x(storage, view_size(p.x_view)), y(storage, view_size(p.y_view), random.chance(0.2) ? 1 : 0);
      fill(random, x);
      x.protect();
      p.x = x.data();
      p.y = y.data();
      std::vector<Expected> expected;
      each_view_index(p.y_view, [&](std::vector<int> index) {
        const auto to = at(view_offset(p.y_view, index));
        bool inside = true;
        for (int d = 0; d < p.x_view.rank; ++d) {
          index[at(d)] -= p.before[d];
          inside = inside && index[at(d)] >= 0 && index[at(d)] < p.x_view.shape[d];
        }
        expected.push_back({to, inside ? x.get(at(view_offset(p.x_view, index))) : static_cast<double>(p.value), 0});
      });
      SCOPED_TRACE(i);
      check_kernel(launch_of(p, storage), &p, y, expected);
      simplify(p);
      SCOPED_TRACE("simplified");
      check_kernel(launch_of(p, storage), &p, y, expected);
    }
}

TEST(CudaViewSimplification, MergesContiguousDimensions) {
  BinaryArguments same;
  same.a_view = same.b_view = same.y_view = dense_view({2, 1, 13, 13, 64});
  simplify(same);
  EXPECT_EQ(same.y_view.rank, 1);
  EXPECT_EQ(same.y_view.shape[0], 2 * 13 * 13 * 64);

  BinaryArguments scaled; // one factor for each channel
  scaled.a_view = scaled.y_view = scaled.b_view = dense_view({1, 13, 13, 64});
  scaled.b_view.stride[1] = scaled.b_view.stride[2] = 0;
  simplify(scaled);
  EXPECT_EQ(scaled.y_view.rank, 2);
  EXPECT_EQ(scaled.y_view.shape[0], 169);
  EXPECT_EQ(scaled.b_view.stride[0], 0);

  CopyArguments out; // from channels last to channels first
  out.y_view = dense_view({1, 64, 13, 13});
  out.x_view = out.y_view;
  const long long strides[] = {169 * 64, 1, 13 * 64, 64};
  std::copy_n(strides, 4, out.x_view.stride);
  simplify(out);
  EXPECT_EQ(out.y_view.rank, 2);
  EXPECT_STREQ(launch_of(out, Storage::f16, Storage::f32).name, "transpose_hf");

  CopyArguments in_place; // dimensions in an order other than memory, but one contiguous run
  in_place.x_view = in_place.y_view = out.x_view = dense_view({4, 8});
  std::swap(in_place.x_view.stride[0], in_place.x_view.stride[1]);
  std::swap(in_place.x_view.shape[0], in_place.x_view.shape[1]);
  in_place.y_view = in_place.x_view;
  simplify(in_place);
  EXPECT_EQ(in_place.y_view.rank, 1);
  EXPECT_EQ(in_place.y_view.stride[0], 1);
}

TEST(CudaLaunches, NameExistingKernels) {
  SKIP_WITHOUT_EMULATION();
  for (const auto storage : storages)
    for (const auto& launch :
         {launch_of(ImageInArguments{}, storage), launch_of(ClearArguments{}), launch_of(PoolArguments{}, storage),
          launch_of(GlobalAverageArguments{}, storage), launch_of(ScaleShiftArguments{}, storage),
          launch_of(BinaryArguments{}, storage), launch_of(CopyArguments{}, storage, Storage::f32),
          launch_of(CopyArguments{}, storage, Storage::f16), launch_of(GatherConstantArguments{}, storage),
          launch_of(PadArguments{}, storage), launch_of(ResizeArguments{}, storage), reduce_launch({}, storage),
          softmax_launch({}, storage), launch_of(LrnArguments{}, storage), launch_of(GemmArguments{}, storage),
          launch_of(ConvArguments{}, storage), conv_rows_launch({}, storage), conv_direct_launch({}, storage)}) {
      EXPECT_NE(emulation::find_kernel(launch.name), nullptr) << launch.name;
      EXPECT_GE(launch.grid_x, 1U);
      EXPECT_GE(launch.threads, 32U) << launch.name;
    }
}

TEST(CudaLaunches, SmallLayersUseManyBlocks) {
  PoolArguments pool;
  pool.height = pool.width = pool.out_height = pool.out_width = 13;
  pool.channels = pool.x_stride = pool.y_stride = 2048;
  EXPECT_GE(launch_of(pool, Storage::f16).grid_x, 264U);
  GlobalAverageArguments average;
  average.pixels = 208 * 208;
  average.channels = average.x_stride = average.y_stride = 32;
  average.splits = split(average).splits;
  EXPECT_GE(launch_of(average, Storage::f32).grid_y, 132U);
}

} // namespace
} // namespace rtexec::test
