// Tests every variant of the tuned convolutions on the emulation: full and partial tiles, and sums split through memory
// and through clusters.
#include "tasks/engine/cuda/conv_plan.hpp"
#include "test/support/rounds.hpp"
#include "test/tasks/cuda_emulation/kernel_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rtexec::test {
namespace {

using namespace tasks::cuda;

bool is_half(const ConvVariant& variant) { return variant.math == ConvMath::simt_h || variant.math == ConvMath::half; }

bool is_int8(const ConvVariant& variant) { return variant.math == ConvMath::simt_b || variant.math == ConvMath::int8; }

/// Returns the relative error of one product, for sums of up to a few hundred terms.
double error_of(ConvMath math) { return math == ConvMath::tf32 ? 0x1p-10 : math == ConvMath::tf32x3 ? 2e-6 : 1e-6; }

/// Draws a convolution that the tiles support (16-byte pixels, channels and weights), with partial tiles in every
/// direction.
ConvArguments random_conv(Random& random, const ConvVariant& variant) {
  const int chunk = is_int8(variant) ? 16 : is_half(variant) ? 8 : 4;
  ConvArguments c;
  do {
    c.batch = random.whole(1, 2);
    c.height = random.whole(1, 12);
    c.width = random.whole(1, 12);
    c.kernel_h = random.whole(1, 3);
    c.kernel_w = random.whole(1, 3);
    c.stride_h = random.whole(1, 2);
    c.stride_w = random.whole(1, 2);
    c.dilation_h = random.whole(1, 2);
    c.dilation_w = random.whole(1, 2);
    c.pad_top = random.whole(0, 2);
    c.pad_left = random.whole(0, 2);
    c.out_height = (c.height + c.pad_top + random.whole(0, 2) - (c.kernel_h - 1) * c.dilation_h - 1) / c.stride_h + 1;
    c.out_width = (c.width + c.pad_left + random.whole(0, 2) - (c.kernel_w - 1) * c.dilation_w - 1) / c.stride_w + 1;
  } while (c.out_height < 1 || c.out_width < 1 || c.height + c.pad_top <= (c.kernel_h - 1) * c.dilation_h ||
           c.width + c.pad_left <= (c.kernel_w - 1) * c.dilation_w);
  c.groups = random.one_of({1, 1, 2});
  c.channels = chunk * random.one_of({1, 3, 8, 20});
  c.out_channels = random.one_of({3, 8, 24, variant.columns, variant.columns + 5});
  c.x_stride = c.groups * c.channels + chunk * random.whole(0, 2);
  c.y_stride = c.groups * c.out_channels + random.one_of({0, 1, 8});
  c.residual_stride = c.groups * c.out_channels + random.one_of({0, 1, 8});
  c.residual_last = random.chance(0.3);
  const auto activations = all_activations();
  do c.activation = activations[static_cast<std::size_t>(random.whole(0, static_cast<int>(activations.size()) - 1))];
  // Their errors have no bound.
  while (c.activation.kind == ActivationArguments::sqrt ||
         (c.activation.kind == ActivationArguments::exp && c.channels > 40));
  if (is_int8(variant)) make_int8(random, c);
  return c;
}

void check_choice(const ConvChoice& choice, ConvArguments conv, ConvCheck check) {
  SCOPED_TRACE(to_string(choice));
  const auto planned = plan_conv(choice, conv);
  conv.splits = choice.splits;
  conv.in_cluster = choice.in_cluster ? 1 : 0;
  check.storage = is_half(*choice.variant) ? Storage::f16 : Storage::f32;
  check.per_product = error_of(choice.variant->math);
  check.partials = planned.partial;
  check.counters = planned.counters;
  check_conv(planned.kernel, conv, check);
}

class CudaConvTile : public ::testing::TestWithParam<ConvVariant> {};

TEST_P(CudaConvTile, MatchesReference) {
  SKIP_WITHOUT_EMULATION();
  const auto& variant = GetParam();
  ASSERT_NE(emulation::find_kernel(variant.kernel), nullptr);
  Random random(static_cast<unsigned>(variant.rows * 1000 + variant.columns));
  for (unsigned i = 0; i < test::rounds(8U) && !HasFailure(); ++i) {
    const auto conv = random_conv(random, variant);
    ConvCheck check{
        .bias = random.chance(0.5), .residual = random.chance(0.5), .offsets = random.chance(0.8), .seed = i};
    for (auto* offset : {&check.residual_offset, &check.y_offset})
      *offset = random.chance(0.2) ? static_cast<std::size_t>(random.whole(1, 7)) : 0;
    ASSERT_TRUE(applies(variant, conv));
    check_choice({&variant, 1, false}, conv, check);
    const int splits = std::min(random.whole(2, max_in_cluster), max_splits(variant, conv));
    if (splits == 1) continue;
    check_choice({&variant, splits, false}, conv, check);
    check_choice({&variant, splits, true}, conv, check);
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, CudaConvTile, ::testing::ValuesIn(conv_variants().begin(), conv_variants().end()),
                         [](const auto& variant) { return std::string(variant.param.kernel); });

} // namespace
} // namespace rtexec::test
