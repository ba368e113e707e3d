// Tests the costs of swapping: the fit, and a calibration of the host device from its measurements to the board's file.
#include "rtexec/runtime/measuring/calibrator.hpp"

#include "config/board_writer.hpp"
#include "config/builtin_boards.hpp"
#include "rtexec/runtime/planning/loaded_set.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace rtexec::executive {
namespace {

TEST(SwapFit, FindsExactLine) {
  const SwapFit line = fit({{1, 1700}, {4, 2300}, {16, 4700}, {64, 14300}});
  EXPECT_NEAR(line.fixed_ns, 1500, 1e-6);
  EXPECT_NEAR(line.per_chunk_ns, 200, 1e-6);
  EXPECT_NEAR(line.residual_ns, 0, 1e-6);
  EXPECT_NEAR(line.r_squared, 1, 1e-12);
}

TEST(SwapFit, MinimizesSquaresAndCoversEverySampleByResidual) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 5000);
  std::vector<Sample> samples;
  for (const int chunks : {1, 4, 16, 64})
    for (int i = 0; i < 200; ++i)
      samples.push_back({static_cast<double>(chunks), 100'000 + 20'000.0 * chunks + noise(random)});
  const SwapFit line = fit(samples);
  EXPECT_NEAR(line.fixed_ns, 100'000, 1000);
  EXPECT_NEAR(line.per_chunk_ns, 20'000, 50);
  EXPECT_GT(line.r_squared, 0.999);
  double above = 0, gradient = 0, moment = 0;
  for (const Sample& sample : samples) {
    const double excess = sample.nanoseconds - line.fixed_ns - line.per_chunk_ns * sample.chunks;
    above = std::max(above, excess);
    gradient += excess;
    moment += excess * sample.chunks;
  }
  EXPECT_DOUBLE_EQ(line.residual_ns, above);
  EXPECT_NEAR(gradient, 0, 1e-3); // no other line has a smaller sum of squares
  EXPECT_NEAR(moment, 0, 1e-1);
}

TEST(SwapFit, HasNoFixedCostWhenAllSamplesHaveOneSize) {
  const SwapFit line = fit({{4, 800}, {4, 1200}});
  EXPECT_NEAR(line.per_chunk_ns, 250, 1e-9);
  EXPECT_NEAR(line.fixed_ns, 0, 1e-9);
  EXPECT_NEAR(line.residual_ns, 200, 1e-9);
}

CalibrationOptions small_volume() {
  CalibrationOptions options;
  options.chunks = {Bytes{2 << 20}};
  options.volume = Bytes{8 << 20};
  options.jobs = 5;
  return options;
}

TEST(SwapCalibration, OfHostDeviceYieldsReadableBoard) {
  const auto measured = calibrate("host", small_volume(), {});
  ASSERT_TRUE(measured) << test::problem(measured);
  EXPECT_EQ(measured->device, "host");
  EXPECT_EQ(measured->chosen, Bytes{2 << 20});
  ASSERT_EQ(measured->chunks.size(), 1u);
  const auto& [cost, in, out] = measured->chunks.front();
  EXPECT_EQ(cost.chunk, Bytes{2 << 20});
  for (const Duration each : {cost.in_per_chunk, cost.out_per_chunk, cost.drop_per_chunk}) EXPECT_GT(each, Duration{0});
  for (const Duration each : {cost.in_fixed, cost.out_fixed, cost.residual}) EXPECT_GE(each, Duration{0});
  EXPECT_GE(static_cast<double>(cost.in_per_chunk.count()), in.per_chunk_ns) << "the margin is on top";
  EXPECT_GE(static_cast<double>(cost.out_per_chunk.count()), out.per_chunk_ns);

  const auto builtin = config::builtin_boards();
  const auto host = std::ranges::find(builtin, "host", &config::BuiltinBoard::name);
  ASSERT_NE(host, builtin.end());
  const auto text = with_swap_costs(host->toml, measured->chosen, std::vector{cost});
  ASSERT_TRUE(text) << test::problem(text);
  const test::ScratchFolder folder;
  test::write_text(folder / "calibrated.toml", *text);
  const auto board = read_board((folder / "calibrated.toml").string());
  ASSERT_TRUE(board) << test::problem(board);
  ASSERT_EQ(board->swap_costs.size(), 1u);
  EXPECT_EQ(board->swap_costs.front().in_per_chunk, cost.in_per_chunk);
  EXPECT_EQ(board->swap_costs.front().out_fixed, cost.out_fixed);
}

TEST(SwapCalibration, ReportsEstimateFirstAndThenRemainingTime) {
  std::vector<CalibrationEstimate> estimates;
  std::size_t last = 0, wanted = 0;
  bool known = true;
  const CalibrationObserver observer{
      .estimated = [&](const CalibrationEstimate& estimate) { estimates.push_back(estimate); },
      .measuring =
          [&](std::size_t done, std::size_t of, std::optional<Duration> left) {
            known &= left.has_value() == !estimates.empty() && done >= last && done <= of;
            if (done == of) known &= left == Duration{0};
            last = done;
            wanted = of;
            return true;
          }};
  ASSERT_TRUE(calibrate("host", small_volume(), observer));
  EXPECT_TRUE(known);
  EXPECT_EQ(wanted, 3u); // one and four chunks of state, and four of constants
  EXPECT_EQ(last, wanted);
  ASSERT_EQ(estimates.size(), 1u);
  EXPECT_EQ(estimates.front().chunk, Bytes{2 << 20});
  EXPECT_EQ(std::pair(estimates.front().sizes, estimates.front().runs), std::pair(std::size_t{1}, std::size_t{3}));
  EXPECT_GT(std::min(estimates.front().in, estimates.front().out), Duration{0});
  EXPECT_GT(estimates.front().takes, std::chrono::milliseconds(3 * 15 * 4)); // runs, turns, and the shortest turn
}

TEST(SwapCalibration, StopsWhenCancelled) {
  EXPECT_TRUE(
      test::fails(calibrate("host", small_volume(), {.estimated = {}, .measuring = [](auto...) { return false; }}),
                  Errc::cancelled, "cancelled"));
}

TEST(SwapCalibration, StopsWithinRunWhenCancelled) {
  int questions = 0; // queries of the first run: one before it
  const CalibrationObserver observer{.estimated = {}, .measuring = [&](auto...) { return ++questions < 3; }};
  EXPECT_TRUE(test::fails(calibrate("host", small_volume(), observer), Errc::cancelled, "cancelled"));
  EXPECT_EQ(questions, 3);
}

TEST(SwapCalibration, RejectsChunkLargerThanVolume) {
  CalibrationOptions options = small_volume();
  options.chunks = {Bytes{16 << 20}};
  EXPECT_TRUE(test::fails(calibrate("host", options, {}), Errc::bad_input, "16MiB"));
}

TEST(SwapCalibration, RejectsVolumeTooSmallForEveryDefaultChunk) {
  CalibrationOptions options = small_volume();
  options.chunks.clear();
  options.volume = Bytes{4 << 20};
  EXPECT_TRUE(test::fails(calibrate("host", options, {}), Errc::bad_input, "4MiB"));
}

} // namespace
} // namespace rtexec::executive
