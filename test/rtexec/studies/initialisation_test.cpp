// Tests the experiment of initialisation: its results for a platform model, the model against the figures printed in
// the paper, and its runs on the host device and on a simulated GPU.
#include "rtexec/studies/experiments/initialisation.hpp"

#include <rtexec/board.hpp>
#include "hal/cuda/cuda_device.hpp"
#include "hal/host/host_device.hpp"
#include "rtexec/studies/experiments/initialisation_machine.hpp"
#include "rtexec/cli/reports/initialisation_report.hpp"
#include "test/hal/fake_cuda_driver.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace rtexec::study {
namespace {

using tasks::initialise::TileTimes;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using Way = InitialisationMethod;

constexpr Bytes kibibytes(std::uint64_t count) { return {count << 10}; }
const auto always = [] { return true; };

/// A platform model. The host takes a ns per byte, faults half of that, tiles 20 us and (tiles - 4)^2 us. Each third
/// measurement of a case is disturbed.
class PlainPlatform : public InitialisationPlatform {
 public:
  std::vector<std::string> workloads() const override { return {"first", "second"}; }
  std::vector<PageStart> starts() const override { return {PageStart::untouched, PageStart::on_host}; }
  bool has_gpu() const override { return gpu; }
  Bytes size_of(const std::string&, Bytes size) const override { return {size.count / 100 * 100}; }
  Result<InitialisationMeasure> measure(const InitialisationCase& wanted) override {
    EXPECT_TRUE(!wanted.kernel || wanted.start == PageStart::on_host);
    if (wanted.workload == broken) return fail(Errc::device_fault, "broken");
    const auto bytes = static_cast<std::int64_t>(wanted.size.count);
    const std::int64_t off = wanted.tiles - std::int64_t{4};
    const Duration disturbed{++measured % 3 == 0 ? 1'000'000'000 : 0};
    const Duration time{wanted.method == Way::host     ? bytes
                        : wanted.method == Way::faults ? bytes / 2
                                                       : 20'000 + 1000 * off * off};
    return InitialisationMeasure{time + disturbed, wanted.kernel ? Duration(100 * wanted.tiles) : Duration(0)};
  }
  Result<std::vector<TileTimes>> timeline(const InitialisationCase& wanted) override {
    shown = wanted;
    return std::vector<TileTimes>(gpu ? wanted.tiles : 0);
  }
  bool gpu = true;
  std::string broken;
  std::int64_t measured = 0;
  InitialisationCase shown;
};

InitialisationStudy small_study() {
  return {.workloads = {"first"}, .sizes = {kibibytes(8), kibibytes(128)}, .tiles = {}, .repetitions = 3};
}

TEST(Initialisation, ReportsMediansAndFastestTileCount) {
  PlainPlatform platform;
  std::size_t asked = 0;
  const auto found = run_initialisation(platform, small_study(), [&] { return ++asked > 0; });
  ASSERT_EQ(test::problem(found), "none");
  EXPECT_EQ(asked, count_measurements(platform, small_study()));
  const auto& result = found->results.at(0);
  ASSERT_EQ(result.sizes.size(), 2U);
  const InitialisationSize& size = result.sizes[1];
  EXPECT_EQ(size.size, Bytes{131'000}) << "that the workload can have";
  ASSERT_EQ(size.rows.size(), 2U);
  for (const auto& row : size.rows) {
    EXPECT_EQ(row.host, Duration(131'000));
    EXPECT_EQ(row.faults, Duration(65'500));
    EXPECT_EQ(row.tiles[row.best].tiles, 4U);
    EXPECT_EQ(row.enhanced(), Duration(20'000));
    EXPECT_EQ(row.tiles.size(), 6U);
  }
  EXPECT_EQ(size.kernel_unified, Duration(100));
  EXPECT_EQ(size.kernel_enhanced, Duration(400)) << "behind the best tiles";
  EXPECT_EQ(result.crossover, Bytes{32'700}) << "one tile takes 29 us";
  EXPECT_EQ(platform.shown.size, Bytes{131'000});
  EXPECT_EQ(platform.shown.tiles, 8U);
}

TEST(Initialisation, UsesGivenTileCount) {
  PlainPlatform platform;
  auto study = small_study();
  study.tiles = 2;
  const auto found = run_initialisation(platform, study, always).value();
  EXPECT_EQ(found.results[0].sizes[0].rows[0].tiles.size(), 1U);
  EXPECT_EQ(found.results[0].sizes[0].rows[0].enhanced(), Duration(24'000));
}

TEST(Initialisation, OmitsCrossoverWithoutGpu) {
  PlainPlatform platform;
  platform.gpu = false;
  std::size_t asked = 0;
  const auto found = run_initialisation(platform, small_study(), [&] { return ++asked > 0; }).value();
  EXPECT_EQ(asked, count_measurements(platform, small_study()));
  EXPECT_TRUE(found.results[0].small.empty());
  EXPECT_FALSE(found.timeline);
  std::vector<std::string> names;
  for (const auto& [name, contents] : files_of({false, "measured", "here"}, found)) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("initialisation.csv", "kernel.csv", "initialisation-untouched.svg",
                                 "initialisation-on-host.svg", "kernel.svg"));
}

TEST(Initialisation, EndsOnErrorOrCancellation) {
  PlainPlatform platform;
  auto study = small_study();
  study.workloads.emplace_back("second");
  platform.broken = "second";
  EXPECT_TRUE(test::fails(run_initialisation(platform, study, always), Errc::device_fault, "broken"));
  std::size_t asked = 0;
  EXPECT_TRUE(test::fails(run_initialisation(platform, small_study(), [&] { return ++asked < 5; }), Errc::cancelled,
                          "cancelled"));
  study.workloads = {"frist"};
  EXPECT_TRUE(test::fails(run_initialisation(platform, study, always), Errc::bad_input, "workload frist"));
}

TEST(Initialisation, OverlapIsShareOfTimeInWhichPrefetchAndFillCoincide) {
  const auto tile = [](int a, int b, int c, int d) {
    return TileTimes{Duration(a), Duration(b), Duration(c), Duration(d)};
  };
  EXPECT_EQ(overlap({}), 0);
  EXPECT_EQ(overlap({tile(0, 10, 10, 20)}), 0) << "one tile";
  EXPECT_THAT(overlap({tile(0, 10, 10, 20), tile(10, 20, 20, 30)}), DoubleNear(10.0 / 30, 1e-9));
  EXPECT_THAT(overlap({tile(0, 10, 10, 50), tile(10, 20, 50, 60), tile(20, 30, 60, 70)}), DoubleNear(20.0 / 70, 1e-9));
}

// ---- the model ----

struct Printed {
  double initialisation, kernel; // reductions in percent; 0: not printed
};

/// The largest gains according to the paper.
TEST(InitialisationModel, ReproducesReductionsPrintedInThePaper) {
  const std::map<std::string, std::map<std::string, Printed>> boards{
      {"tx2",
       {{"matrix-add", {76.2, 61.0}},
        {"matrix-multiply", {99.4, 63.0}},
        {"needleman-wunsch", {59.4, 10.1}},
        {"random-access", {0, 76.9}}}},
      {"xavier", {{"matrix-add", {93.4, 0}}, {"matrix-multiply", {97.3, 0}}, {"needleman-wunsch", {87.4, 0}}}}};
  for (const auto& [board, workloads] : boards) {
    const auto platform = modelled_initialisation(board);
    for (const auto& [workload, printed] : workloads) {
      const auto found =
          run_initialisation(
              *platform, {.workloads = {workload}, .sizes = {Bytes{64 << 10}, Bytes{64 << 20}}, .tiles = {}}, always)
              .value();
      const InitialisationSize& largest = found.results[0].sizes[1];
      const auto reduction = [](Duration from, Duration to) {
        return 100 * (1 - static_cast<double>(to.count()) / static_cast<double>(from.count()));
      };
      const InitialisationRow& row = largest.rows[0];
      const std::string which = board + ", " + workload;
      if (printed.initialisation > 0) {
        EXPECT_THAT(reduction(row.host, row.enhanced()), DoubleNear(printed.initialisation, 2)) << which;
      }
      if (printed.kernel > 0) {
        EXPECT_THAT(reduction(largest.kernel_unified, largest.kernel_enhanced), DoubleNear(printed.kernel, 0.1))
            << which;
      }
      EXPECT_LT(row.enhanced(), row.faults) << "overlap hides mapping";
      EXPECT_GT(row.tiles[row.best].tiles, 1U);
      const InitialisationRow& smallest = found.results[0].sizes[0].rows[0];
      const bool gains = smallest.enhanced() < smallest.host;
      EXPECT_TRUE(workload == "needleman-wunsch" ? gains : workload != "matrix-add" || !gains) << which;
      ASSERT_TRUE(found.timeline);
      EXPECT_GT(overlap(found.timeline->tiles), 0.5);
    }
  }
  EXPECT_EQ(modelled_initialisation("nano"), nullptr);
}

// ---- reports ----

InitialisationFound of_model() {
  return run_initialisation(
             *modelled_initialisation("tx2"),
             {.workloads = {"matrix-add", "random-access"}, .sizes = {Bytes{64 << 10}, Bytes{64 << 20}}, .tiles = {}},
             always)
      .value();
}

std::vector<std::vector<std::string>> cells(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(field);
  }
  return rows;
}

TEST(InitialisationReport, LabelsEveryOutputAsModel) {
  const InitialisationSource source{true, "model of tx2", "A model, not a measurement"};
  const auto found = of_model();
  std::ostringstream text;
  print(text, source, found);
  EXPECT_THAT(text.str(), HasSubstr("A model, not a measurement"));
  EXPECT_THAT(text.str(), HasSubstr("From 4.00 MiB on the GPU is faster than the host."));
  EXPECT_EQ(to_json(source, found)["simulated"], true);
  for (const auto& [name, contents] : files_of(source, found)) EXPECT_THAT(contents, HasSubstr("model of tx2")) << name;
}

TEST(InitialisationReport, CsvAgreesWithJson) {
  const InitialisationSource source{true, "model of tx2", ""};
  const auto found = of_model();
  const auto json = to_json(source, found);
  std::map<std::string, std::vector<std::vector<std::string>>> tables;
  for (const auto& [name, contents] : files_of(source, found))
    if (name.ends_with(".csv")) tables[name] = cells(contents);
  for (const auto& [name, rows] : tables)
    for (const auto& row : rows) EXPECT_EQ(row.size(), rows.front().size()) << name;
  EXPECT_EQ(tables.at("initialisation.csv").size(), 1U + 2 * 2 * (2 + 6)) << "workloads, sizes, ways";
  EXPECT_EQ(tables.at("kernel.csv").size(), 1U + 2 * 2);
  EXPECT_EQ(tables.at("crossover.csv").size(), 1U + 2 * json["workloads"][0]["small"].size());
  EXPECT_EQ(tables.at("timeline.csv").size(), 1U + 8);
  std::size_t best = 0;
  for (const auto& row : tables.at("initialisation.csv")) {
    if (row[6] != "1") continue;
    const auto& workload = json["workloads"][best / 2];
    const auto& of_row = workload["sizes"][best % 2]["initialisation"][0];
    EXPECT_EQ(row[1], workload["name"].get<std::string>());
    EXPECT_EQ(row[5], std::to_string(of_row["best_tiles"].get<unsigned>()));
    EXPECT_EQ(row[7], std::to_string(of_row["enhanced_ns"].get<std::int64_t>()));
    ++best;
  }
  EXPECT_EQ(best, 4U);
}

// ---- machines ----

TEST(InitialisationMachine, RunsOnTheHostDevice) {
  const auto device = std::move(*hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20}));
  const auto platform = initialisation_platform(*device).value();
  EXPECT_FALSE(platform->has_gpu());
  const InitialisationStudy study{
      .workloads = platform->workloads(), .sizes = {kibibytes(16), kibibytes(64)}, .tiles = 2, .repetitions = 1};
  const auto found = run_initialisation(*platform, study, always);
  ASSERT_EQ(test::problem(found), "none");
  EXPECT_EQ(found->results.size(), 4U);
  for (const auto& result : found->results) {
    ASSERT_EQ(result.sizes.size(), 2U);
    EXPECT_LE(result.sizes[1].size, kibibytes(64));
    EXPECT_GT(result.sizes[1].size, kibibytes(60));
    EXPECT_GT(result.sizes[1].kernel_unified, Duration(0));
  }
}

constexpr char image[] = "an image";
const hal::cuda::KernelImage images[] = {{"kernels", 50, true, image, sizeof image}};

/// Tests the GPU operations of one measurement, between the preparation and the kernels.
class OnGpu : public testing::Test {
 protected:
  OnGpu() {
    driver_.accept_unknown_kernels(true);
    device_ = std::move(*hal::CudaDevice::open({.capacity = Bytes{1 << 20}, .chunk = Bytes{1 << 16}}));
    platform_ = initialisation_platform(*device_, images).value();
  }
  std::vector<std::string> done(const InitialisationCase& wanted) {
    EXPECT_EQ(test::problem(platform_->measure(wanted)), "none"); // the first call prepares
    driver_.watch_work();
    EXPECT_EQ(test::problem(platform_->measure(wanted)), "none");
    std::vector<std::string> names;
    for (const auto& each : driver_.work())
      if (each.what != "record" && each.what != "wait") names.push_back(each.what);
    return names;
  }
  hal::test::FakeCudaDriver driver_;
  std::unique_ptr<hal::CudaDevice> device_;
  std::unique_ptr<InitialisationPlatform> platform_;
};

TEST_F(OnGpu, InitialisationIsMeasuredEachWayFromHostPages) {
  InitialisationCase wanted{.workload = "random-access", .size = kibibytes(128)};
  EXPECT_THAT(done(wanted), ElementsAre("to host"));
  wanted.kernel = true;
  EXPECT_THAT(done(wanted), ElementsAre("to host", "benchmark_update")) << "the kernel faults";
  wanted.method = Way::faults;
  EXPECT_THAT(done(wanted), ElementsAre("to host", "benchmark_fill", "benchmark_update"));
  wanted.method = Way::tiles;
  EXPECT_THAT(done(wanted), ElementsAre("to host", "to device 0", "benchmark_fill", "benchmark_update"));
  wanted.tiles = 2;
  EXPECT_THAT(done(wanted), ElementsAre("to host", "to device 0", "benchmark_fill", "to device 0", "benchmark_fill",
                                        "benchmark_update"));
}

TEST_F(OnGpu, InitialisationIsMeasuredEachWayFromUntouchedPages) {
  EXPECT_THAT(platform_->starts(), ElementsAre(PageStart::untouched, PageStart::on_host));
  InitialisationCase wanted{.workload = "matrix-add", .size = kibibytes(256), .start = PageStart::untouched};
  EXPECT_THAT(done(wanted), ElementsAre());
  wanted.method = Way::faults;
  EXPECT_THAT(done(wanted), ElementsAre("benchmark_fill", "benchmark_fill")) << "a and b";
  const auto before = driver_.objects();
  wanted.method = Way::tiles;
  EXPECT_THAT(done(wanted), ElementsAre("to device 0", "benchmark_fill", "to device 0", "benchmark_fill"));
  EXPECT_EQ(driver_.objects().buffers, before.buffers) << "given back";
}

TEST_F(OnGpu, InitialisationTimelineCoversEachTile) {
  const InitialisationCase wanted{
      .workload = "needleman-wunsch", .size = kibibytes(1024), .method = Way::tiles, .tiles = 4};
  const auto tiles = platform_->timeline(wanted);
  ASSERT_EQ(test::problem(tiles), "none");
  EXPECT_EQ(tiles->size(), 4U) << "of the table of scores";
}

TEST_F(OnGpu, InitialisationRefusesSizeAboveFreeMemory) {
  const int asked = driver_.calls<&hal::cuda::Driver::allocate_managed>();
  EXPECT_TRUE(test::fails(platform_->measure({.workload = "random-access", .size = Bytes{std::uint64_t{1} << 30}}),
                          Errc::out_of_memory, "are free on Fake GPU"));
  EXPECT_EQ(driver_.calls<&hal::cuda::Driver::allocate_managed>(), asked);
}

TEST_F(OnGpu, InitialisationReportsFailedKernelLaunch) {
  InitialisationCase wanted{.workload = "random-access", .size = kibibytes(128), .method = Way::tiles, .kernel = true};
  (void)done(wanted);
  driver_.fail<&hal::cuda::Driver::graph_launch>(hal::cuda::Code::launch_failed);
  EXPECT_TRUE(test::fails(platform_->measure(wanted), Errc::device_fault, "kernels of random-access failed"));
}

} // namespace
} // namespace rtexec::study
