// Tests the layout of tensors on a GPU without having one: strides, halves, concatenations, scratch, and the names of
// methods.
#include "tasks/engine/cuda/concat_plan.hpp"
#include "tasks/engine/cuda/row_layout.hpp"
#include "tasks/engine/cuda/conv_method.hpp"
#include "tasks/engine/cuda/executor.hpp"
#include "tasks/base/half.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "tasks/engine/cuda/gpu_lowering.hpp"
#include "tasks/engine/cuda/scratch_plan.hpp"
#include "tasks/engine/cuda/strides.hpp"
#include "test/support/expected_result.hpp"
#include "test/tasks/cuda_cases.hpp"

#include <cmath>
#include <limits>
#include <set>

namespace rtexec::tasks::cuda {
namespace {

// ---- strides

/// Returns the addresses of all elements in row-major order.
std::vector<std::int64_t> addresses(const Shape& shape, const Strides& strides, std::int64_t offset = 0) {
  std::vector<std::int64_t> result{offset};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<std::int64_t> next;
    for (const auto at : result)
      for (std::int64_t i = 0; i < shape[d]; ++i) next.push_back(at + i * strides[d]);
    result = std::move(next);
  }
  return result;
}

TEST(CudaStrides, ReshapeWithoutCopyKeepsElementOrder) {
  const std::vector<Shape> shapes{{24}, {2, 12}, {1, 4, 2, 3}, {4, 6}, {2, 2, 2, 3}, {1, 24, 1, 1}, {3, 8}, {2, 1, 12}};
  std::size_t free = 0;
  for (const auto& from : shapes)
    for (const auto& to : shapes)
      for (const auto& strides :
           {dense_strides(from), from.size() > 1 ? channels_last(from, round_up(from[1], 4)) : Strides{3}})
        if (const auto found = reshape(from, strides, to)) {
          ++free;
          EXPECT_EQ(addresses(to, *found), addresses(from, strides))
              << tasks::to_string(from) << " as " << tasks::to_string(to);
        }
  EXPECT_GT(free, shapes.size() * shapes.size())
      << "every dense tensor can be reshaped without a copy, and some images";
}

TEST(CudaStrides, ReshapeOfImageFailsWhenElementOrderChanges) {
  const Shape image{1, 12, 4, 4};
  const auto last = channels_last(image, 12);
  EXPECT_FALSE(reshape(image, last, {1, 192})) << "channels and pixels change places";
  EXPECT_EQ(reshape(image, last, {1, 3, 4, 4, 4}), (Strides{0, 4, 1, 48, 12})) << "channels in groups";
  EXPECT_EQ(reshape({1, 12, 1, 1}, channels_last({1, 12, 1, 1}, 12), {1, 12}), (Strides{0, 1}));
  EXPECT_EQ(reshape(image, last, {1, 12, 16}), (Strides{0, 1, 12}));
}

TEST(CudaStrides, ViewWithoutCopyAddressesRequestedElements) {
  const Shape from{2, 3, 4};
  const Strides strides{100, 1, 10};
  const auto all = addresses(from, strides);
  const auto expect = [&](const tasks::View& view, const Shape& to) {
    const auto found = view_of(view, to, from, strides);
    ASSERT_TRUE(found);
    std::vector<std::int64_t> named;
    for (const auto index : addresses(to, view.strides, view.offset))
      named.push_back(all[static_cast<std::size_t>(index)]);
    EXPECT_EQ(addresses(to, found->strides, found->offset), named);
  };
  expect({0, {1, 12, 4}}, {4, 2, 3});     // transposed
  expect({5, {12, 4, 1}}, {2, 2, 3});     // cut
  expect({23, {-12, -4, -1}}, {2, 3, 4}); // backwards
  expect({4, {0, 12}}, {5, 2});           // expanded
  EXPECT_FALSE(view_of({1, {3}}, {5}, from, strides)) << "carries";
  EXPECT_FALSE(view_of({2, {1}}, {3}, from, strides)) << "runs over the end of a row";
}

TEST(CudaStrides, ChannelsLastImagesAreRecognised) {
  const auto image = image_of({2, 3, 4, 5}, channels_last({2, 3, 4, 5}, 8), 4);
  ASSERT_TRUE(image);
  EXPECT_EQ(image->pixel, 8);
  EXPECT_FALSE(image_of({2, 3, 4, 5}, dense_strides({2, 3, 4, 5}), 4));
  EXPECT_EQ(image_of({1, 3, 1, 1}, {9, 1, 7, 7}, 4)->pixel, 4) << "of one pixel, the stride is free";
  EXPECT_TRUE(image_of({1, 1, 4, 5}, {20, 20, 5, 1}, 4)) << "one channel lies both ways";
  EXPECT_FALSE(image_of({2, 3, 4, 5}, {200, 1, 40, 8}, 4)) << "a gap between images";
}

// ---- halves

TEST(CudaHalf, EveryHalfSurvivesRoundTripThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const auto value = from_half(half);
    if (std::isnan(value)) EXPECT_TRUE(std::isnan(from_half(to_half(value))));
    else EXPECT_EQ(to_half(value), half) << value;
  }
}

TEST(CudaHalf, RoundsToTheNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) { // between any two neighbours
    const auto low = static_cast<std::uint16_t>(bits), high = static_cast<std::uint16_t>(bits + 1);
    const float a = from_half(low), b = high == 0x7c00 ? 65536.0F : from_half(high), middle = (a + b) / 2;
    EXPECT_EQ(to_half(middle), bits % 2 ? high : low);
    EXPECT_EQ(to_half(std::nextafter(middle, 0.0F)), low);
    EXPECT_EQ(to_half(std::nextafter(middle, std::numeric_limits<float>::infinity())), high);
  }
  EXPECT_EQ(to_half(1e10F), 0x7c00);
  EXPECT_EQ(to_half(-1e-10F), 0x8000);
}

// ---- concatenations

TEST(CudaConcat, AlignedPartsAreWrittenInPlace) {
  TestGraph g;
  const auto x = g.input({1, 4, 2, 2});
  const auto a = conv(g, x, 8, 1), b = conv(g, x, 5, 1), c = conv(g, x, 4, 1);
  const auto all = g.concat({a, b, c});
  const auto plan = plan_concats(g.graph, row_layout(g.graph), 4);
  ASSERT_EQ(plan.groups.size(), 1U);
  EXPECT_EQ(plan.groups[0].pixel, 20) << "17 channels";
  EXPECT_EQ(plan.slots[all].first, 0);
  EXPECT_EQ(plan.slots[a].first, 0);
  EXPECT_EQ(plan.slots[b].first, 8);
  EXPECT_EQ(plan.slots[c].group, ConcatPlan::Slot::none) << "begins at channel 13";
  EXPECT_EQ(plan.slots[x].group, ConcatPlan::Slot::none);
}

TEST(CudaConcat, DenseNetChainSharesOneBuffer) {
  TestGraph g;
  std::vector<TensorId> features{conv(g, g.input({1, 4, 2, 2}), 8, 1)};
  std::vector<TensorId> chain;
  for (int i = 0; i < 4; ++i) {
    chain.push_back(features.size() > 1 ? g.concat(features) : features[0]);
    features.push_back(conv(g, chain.back(), 4, 1));
  }
  chain.push_back(g.concat(features));
  const auto plan = plan_concats(g.graph, row_layout(g.graph), 4);
  EXPECT_EQ(plan.groups.size(), 1U);
  for (const auto id : chain) EXPECT_EQ(plan.slots[id].first, 0);
  g.output(chain.back());
  const auto program = lower(g.graph, Precision::fp32);
  ASSERT_TRUE(program) << test::problem(program);
  EXPECT_EQ(program->layers.size(), 5U) << "no concatenation is left to do";
}

/// Both halves of a tensor, and a tensor computed from one of them, as in YOLO's stages.
TEST(CudaConcat, SlicedTensorIsWrittenInPlaceWhenItsSlicesAreAdjacent) {
  for (const bool swapped : {false, true}) {
    TestGraph g;
    const auto x = conv(g, g.input({1, 4, 2, 2}), 16, 1);
    const auto first = slice(g, x, 0, 8), second = slice(g, x, 8, 8);
    const auto more = conv(g, second, 8, 1);
    const auto all = swapped ? g.concat({second, first, more}) : g.concat({first, second, more});
    g.output(g.relu(all));
    const auto plan = plan_concats(g.graph, row_layout(g.graph), 4);
    EXPECT_EQ(plan.slots[x].group == plan.slots[all].group, !swapped);
    EXPECT_EQ(plan.slots[more].first, 16);
    const auto program = lower(g.graph, Precision::fp32);
    ASSERT_TRUE(program) << test::problem(program);
    EXPECT_EQ(program->layers.size(), swapped ? 4U : 3U) << "two convolutions, a ReLU, and copies where they must be";
  }
}

// ---- programs

/// A call must not overwrite a tensor that a later call reads: buffers that live at the same time never overlap in
/// scratch.
TEST(CudaScratch, SimultaneouslyLiveBuffersNeverOverlap) {
  for (const auto& each : gpu_cases()) {
    TestGraph g;
    each.build(g);
    for (const auto precision : {Precision::fp32, Precision::fp16}) {
      const auto program = lower(g.graph, precision);
      ASSERT_TRUE(program) << each.name << ": " << test::problem(program);
      std::vector<ConvMethod> methods(program->calls.size());
      for (std::size_t i = 0; i < methods.size(); ++i)
        if (const auto* call = std::get_if<ConvCall>(&program->calls[i].what))
          methods[i] = default_conv_method(precision, *call);
      const auto plan = plan_scratch(*program, methods).places.scratch;
      struct Life {
        std::size_t first = std::numeric_limits<std::size_t>::max(), last = 0;
      };
      std::vector<Life> lives(program->buffers.size());
      const auto touch = [&](const MemoryLocation& location, std::size_t time) {
        if (location.region != MemoryLocation::Region::buffer) return;
        lives[location.buffer].first = std::min(lives[location.buffer].first, time);
        lives[location.buffer].last = std::max(lives[location.buffer].last, time);
      };
      for (const auto& input : program->inputs) touch(input.location, 0);
      for (std::size_t i = 0; i < program->calls.size(); ++i) {
        if (const auto* kernel = std::get_if<KernelCall>(&program->calls[i].what))
          for (const auto& pointer : kernel->pointers) touch(pointer.location, i + 1);
        else
          for (const auto* location :
               {&std::get<ConvCall>(program->calls[i].what).x, &std::get<ConvCall>(program->calls[i].what).y,
                &std::get<ConvCall>(program->calls[i].what).residual})
            touch(*location, i + 1);
      }
      for (const auto& output : program->outputs) touch(output.location, program->calls.size() + 1);
      for (std::size_t a = 1; a < lives.size(); ++a) {
        if (lives[a].last == 0 && lives[a].first > 0) continue;
        EXPECT_EQ(plan.offsets[a] % ScratchPlan::alignment, 0U);
        EXPECT_LE(plan.offsets[a] + program->buffers[a], plan.size);
        for (std::size_t b = 1; b < a; ++b) {
          if (lives[a].first > lives[b].last || lives[b].first > lives[a].last || lives[b].first > lives[b].last)
            continue;
          EXPECT_TRUE(plan.offsets[a] + program->buffers[a] <= plan.offsets[b] ||
                      plan.offsets[b] + program->buffers[b] <= plan.offsets[a])
              << each.name << ": " << a << " and " << b;
        }
      }
    }
  }
}

TEST(CudaLowering, RejectsComputedScaleAndNamesNode) {
  TestGraph g;
  const auto scale = g.relu(g.input({4}));
  g.output(g.node(ScaleShift{}, {g.input({1, 4, 2, 2}), scale, scale}, {1, 4, 2, 2}));
  EXPECT_TRUE(test::fails(lower(g.graph, Precision::fp32), Errc::unsupported, "node1"));
}

TEST(CudaLowering, ConcatenationsSlicesAndReshapesNeedNoKernel) {
  TestGraph g;
  const auto x = conv(g, g.input({1, 4, 4, 4}), 16, 1);
  const auto both = g.concat({conv(g, x, 16, 1), conv(g, slice(g, x, 8, 8), 8, 1)});
  const auto mean = g.node(Reduce{Reduce::Kind::mean, 24, 16, 1}, {both}, {1, 24, 1, 1});
  g.output(g.node(Gemm{}, {reshape(g, mean, {1, 24}), g.random({24, 5})}, {1, 5}));
  const auto program = lower(g.graph, Precision::fp32);
  ASSERT_TRUE(program) << test::problem(program);
  EXPECT_EQ(program->layers, (std::vector<std::string>{"node0", "node1", "node3", "node5", "node7"}));
  EXPECT_EQ(program->calls.size(), 6U) << "those, and one for the input";
}

TEST(CudaLowering, MergesProductsOfSameInput) {
  TestGraph g;
  const auto x = g.input({6, 12});
  const auto product = [&](std::int64_t columns) { return g.node(Gemm{}, {x, g.random({12, columns})}, {6, columns}); };
  g.output(g.node(MatMul{false, true}, {product(8), product(8)}, {6, 6}));
  g.output(g.relu(product(4)));
  g.output(product(5)); // the next tensor would not be aligned
  const auto program = lower(g.graph, Precision::fp32);
  ASSERT_TRUE(program) << test::problem(program);
  EXPECT_EQ(program->layers, (std::vector<std::string>{"node0", "node2", "node4", "node5"}));
}

TEST(CudaLowering, StoresConstantsInKernelLayout) {
  TestGraph g;
  g.output(g.node(Recurrent{}, {g.input({3, 1, 9}), g.random({9, 9}), g.random({1, 9})}, {3, 1, 9}));
  const auto program = lower(g.graph, Precision::fp32);
  ASSERT_TRUE(program) << test::problem(program);
  EXPECT_EQ(program->calls.size(), 1U) << "none moves them";
}

TEST(CudaLowering, MergesRecurrentLayersIntoOneCallWhenTheyFitIntoBlocks) {
  const auto calls = [](const std::vector<std::int64_t>& widths, std::int64_t inputs = 8, std::int64_t steps = 40) {
    TestGraph g;
    g.output(fused_lstm(g, g.input({steps, 2, inputs}), widths));
    const auto program = lower(g.graph, Precision::fp32);
    EXPECT_TRUE(program) << test::problem(program);
    return program ? program->calls.size() : 0;
  };
  const auto alone = calls({8});
  EXPECT_EQ(alone, 2U) << "the product, and the steps";
  EXPECT_EQ(calls({8}, 8, 10), 1U) << "few steps";
  EXPECT_EQ(calls({8, 8}), 1U);
  EXPECT_EQ(calls({64, 9, 20, 64, 7, 8, 9, 10}, 64), 1U);
  EXPECT_EQ(calls({8, 8, 8, 8, 8, 8, 8, 8, 8}), 1U + alone) << "a cluster has eight blocks";
  EXPECT_EQ(calls({72, 8, 8}), alone + 1U);
  EXPECT_EQ(calls({40, 40, 40}, 80), alone + 1U);
  EXPECT_EQ(calls({32, 32}, 80), 1U);
}

TEST(CudaLowering, DoesNotPadRowsShorterThanOneVector) {
  const auto calls = [](std::int64_t terms) {
    TestGraph g;
    g.output(g.node(Gemm{},
                    {g.node(Gemm{}, {g.input({40, 12}), g.random({12, terms})}, {40, terms}), g.random({terms, 8})},
                    {40, 8}));
    const auto program = lower(g.graph, Precision::fp32);
    EXPECT_TRUE(program) << test::problem(program);
    return program ? program->calls.size() : 0;
  };
  EXPECT_EQ(calls(3), calls(4));
  EXPECT_EQ(calls(5), calls(4) + 1);
}

TEST(CudaLowering, MergesConvolutionsOfSameInput) {
  TestGraph g;
  const auto x = conv(g, g.input({1, 4, 8, 8}), 8, 1);
  const auto a = conv(g, x, 8, 3), b = conv(g, x, 16, 3);
  g.output(conv(g, g.concat({a, b, x}), 8, 1)); // in place
  const auto c = conv(g, x, 12, 3), d = conv(g, x, 4, 3);
  g.output(conv(g, conv(g, c, 4, 1), 4, 3));
  g.output(conv(g, d, 4, 1));
  g.output(conv(g, g.relu(conv(g, x, 8, 3)), 4, 1));         // with an activation
  g.output(conv(g, conv(g, x, 6, 3), 4, 1));                 // the next tensor would not be aligned
  g.output(conv(g, conv(g, x, 8, 3, 2), 4, 1));              // strided
  g.output(reshape(g, conv(g, x, 8, 3), {1, 2, 4 * 8 * 8})); // its output must be a separate tensor
  g.output(conv(g, x, 8, 3));
  optimise(g.graph);
  const auto program = lower(g.graph, Precision::fp32);
  ASSERT_TRUE(program) << test::problem(program);
  std::vector<std::string> beside; // another
  for (const auto& node : g.graph.nodes)
    if (std::holds_alternative<Conv>(node.operation) && std::ranges::count(program->layers, node.name) == 0)
      beside.push_back(node.name);
  EXPECT_EQ(beside, std::vector{g.graph.tensors[d].name});
}

/// The last convolution of the first branch adds the sum, as in stages with a short second branch.
TEST(CudaLowering, MergesFirstConvolutionsOfBothBranches) {
  for (const bool short_first : {false, true}) {
    TestGraph g;
    const auto x = conv(g, g.input({1, 4, 8, 8}), 8, 1);
    const auto way = [&](bool is_short) {
      const auto y = g.relu(conv(g, x, 8, 1));
      return is_short ? y : g.relu(conv(g, g.relu(conv(g, y, 8, 3)), 8, 3));
    };
    const auto a = way(short_first), b = way(!short_first);
    g.output(conv(g, g.add(a, b), 4, 1));
    const auto before = run(g.graph);
    optimise(g.graph);
    expect_near(run(g.graph), before);
    const auto program = lower(g.graph, Precision::fp32);
    ASSERT_TRUE(program) << test::problem(program);
    EXPECT_EQ(program->layers.size(), 5U);
  }
}

TEST(CudaLowering, GridSamplesReadRowsAndWriteConcatenationInPlace) {
  TestGraph g;
  const auto rows = g.node(Gemm{}, {g.input({20, 12}), g.random({12, 16})}, {20, 16});
  const auto sample = [&](std::int64_t offset, std::int64_t size) {
    const auto image = g.node(tasks::View{offset * 16, {8, 1, 16 * size, 16}}, {rows}, {2, 8, size, size});
    return g.node(GridSample{}, {image, g.input({2, 5, 3, 2})}, {2, 8, 5, 3});
  };
  const auto fine = sample(0, 4), coarse = sample(16, 2);
  g.output(g.relu(g.node(Concat{3}, {fine, coarse}, {2, 8, 5, 6})));
  const auto program = lower(g.graph, Precision::fp32);
  ASSERT_TRUE(program) << test::problem(program);
  EXPECT_EQ(program->layers.size(), 4U) << "the product, two samples, the activation";
}

// ---- methods

ConvCall small_conv() {
  ConvCall call;
  call.x = call.weights = call.bias = call.y = {MemoryLocation::Region::buffer, 1, 0};
  call.arguments.height = call.arguments.width = call.arguments.out_height = call.arguments.out_width = 8;
  call.arguments.channels = call.arguments.x_stride = 16;
  call.arguments.out_channels = call.arguments.y_stride = 32;
  return call;
}

ConvMethod own(const ConvVariant& variant, int splits = 1) {
  ConvMethod method;
  method.kind = ConvMethod::Kind::own;
  method.own.variant = &variant;
  method.own.splits = splits;
  return method;
}

TEST(CudaConvMethod, RoundTripsThroughText) {
  std::vector<ConvMethod> methods{{}};
  for (const auto& variant : conv_variants())
    for (const int splits : {1, 3}) methods.push_back(own(variant, splits));
  methods.push_back({ConvMethod::Kind::cudnn, {}, 6, false, 12345});
  methods.push_back({ConvMethod::Kind::cudnn, {}, 1, true, 0});
  methods.push_back({ConvMethod::Kind::cublas, {}, 0, false, 8 << 20});
  std::set<std::string> texts;
  for (const auto& method : methods) {
    const auto text = to_text(method);
    texts.insert(text);
    const auto back = parse_conv_method(text);
    ASSERT_TRUE(back) << text << ": " << test::problem(back);
    EXPECT_EQ(to_text(*back), text);
  }
  EXPECT_EQ(texts.size(), methods.size());
}

TEST(CudaConvMethod, RejectsMalformedText) {
  for (const auto* splits : {" splits 0", " splits -1", " splits", ""})
    EXPECT_TRUE(test::fails(parse_conv_method(std::string("own ") + conv_variants()[0].kernel + splits),
                            Errc::bad_input, conv_variants()[0].kernel))
        << splits;
  for (const auto* text : {"", " ", "simple 1", "own", "own conv_none splits 1", "cudnn", "cudnn 8 workspace 0",
                           "cudnn -1 workspace 0", "cudnn 1 fused", "cudnn 1 workspace", "cudnn 1 workspace -5",
                           "cudnn 1 workspace 99999999999999999999", "cublas", "cublas workspace x", "nccl 1"})
    EXPECT_TRUE(test::fails(parse_conv_method(text), Errc::bad_input, "'")) << text;
}

TEST(CudaConvMethod, SupportsOnlyMatchingPrecisionAndShape) {
  const auto call = small_conv();
  auto of_bytes = call;
  of_bytes.arguments.is_int8 = 1;
  EXPECT_NE(geometry_of(of_bytes), geometry_of(call));
  for (const auto& variant : conv_variants()) {
    const bool half = variant.math == ConvMath::half || variant.math == ConvMath::simt_h,
               whole = variant.math == ConvMath::int8 || variant.math == ConvMath::simt_b,
               exact = variant.math != ConvMath::tf32;
    EXPECT_EQ(computes(own(variant), Precision::fp16, of_bytes), whole) << variant.kernel;
    EXPECT_EQ(computes(own(variant), Precision::fp32, of_bytes), whole) << variant.kernel;
    if (whole) continue;
    EXPECT_EQ(computes(own(variant), Precision::fp32, call), !half && exact) << variant.kernel;
    EXPECT_EQ(computes(own(variant), Precision::tf32, call), !half) << variant.kernel;
    EXPECT_EQ(computes(own(variant), Precision::fp16, call), half) << variant.kernel;
    EXPECT_FALSE(computes(own(variant, 1000), Precision::tf32, call)) << "there is not so much to split";
  }
  const auto& plain = *std::ranges::find(conv_variants(), ConvMath::simt_f, &ConvVariant::math);
  auto odd = call;
  odd.x.offset = 4;
  EXPECT_FALSE(computes(own(plain), Precision::fp32, odd)) << "not aligned";
  EXPECT_NE(geometry_of(odd), geometry_of(call));
  const auto named = [](const char* text) { return *parse_conv_method(text); };
  EXPECT_TRUE(computes(named("cublas workspace 0"), Precision::fp32, call));
  auto wide = call;
  wide.arguments.kernel_h = 3;
  EXPECT_FALSE(computes(named("cublas workspace 0"), Precision::fp32, wide));
  auto swish = call;
  swish.arguments.activation.kind = ActivationArguments::hard_swish;
  EXPECT_TRUE(computes(named("cudnn 1 fused workspace 0"), Precision::fp32, call));
  EXPECT_FALSE(computes(named("cudnn 1 fused workspace 0"), Precision::fp32, swish));
}

} // namespace
} // namespace rtexec::tasks::cuda
