// Tests what the tap of a task passes to its observers: complete values, in time, and without an uncounted cost.
#include "rtexec/runtime/channels/picture_observer.hpp"

#include "hal/thread.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "tasks/engine/models/models.hpp"
#include "test/rtexec/runtime/own_workload.hpp"
#include "test/rtexec/runtime/real_time.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace rtexec {
namespace {

using namespace test;
using channels::PictureObserver;
using testing::HasSubstr;

constexpr std::size_t side = 64, values = 3 * side * side;

/// Returns a workload whose jobs fill their input, a picture, with their number.
std::unique_ptr<Workload> painter() {
  return std::make_unique<OwnWorkload>(
      std::vector<OwnWorkload::Values>{{"other", ElementType::int64, {4}},
                                       {"image", ElementType::uint8, {1, 3, side, side}}},
      std::vector<OwnWorkload::Values>{}, [](std::uint64_t job, std::span<const Tensor> in, std::span<const Tensor>) {
        std::ranges::fill(in[1].as<std::uint8_t>(), static_cast<std::uint8_t>(job));
      });
}

Result<Executive> executive_of(TaskSet set, const std::shared_ptr<PictureObserver>& observer,
                               std::unique_ptr<Workload> workload) {
  executive::Setup setup;
  setup.workloads["front"] = std::move(workload);
  setup.observer = observer;
  return executive::create(std::move(set), std::move(setup));
}

TaskSet front(Duration duration) {
  TaskSet set = set_of({own_task("front", 10ms)}, duration);
  for (const char* input : {"other", "image"})
    set.tasks[0].inputs.push_back({.tensor = input, .source = SourceKind::noise, .from = {}});
  return set;
}

TEST(TaskObserver, SeesCompletePicturesWithoutAllocationInRun) {
  const auto observer = std::make_shared<PictureObserver>("front");
  auto executive = executive_of(front(1500ms), observer, painter());
  ASSERT_EQ(problem(executive), "none");
  EXPECT_FALSE(observer->newest());
  EXPECT_FALSE(observer->recognises());
  std::atomic<bool> ended{false};
  std::uint64_t seen = 0, last = 0, torn = 0, back = 0;
  std::thread looker([&] {
    while (!ended.load())
      if (const auto found = observer->newest(); found) {
        const auto job = static_cast<std::byte>(found->job);
        torn += found->input.size() != values || !std::ranges::all_of(found->input, [&](auto b) { return b == job; });
        back += found->number < last;
        seen += found->number != std::exchange(last, found->number);
      }
  });
  ASSERT_EQ(problem(executive->start()), "none");
  const Report report = expect_real_time(*executive, [&] { executive->wait(); });
  ended.store(true);
  looker.join();
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(back, 0u);
  EXPECT_GE(seen, 3u);
  EXPECT_LE(last, 17u) << "ten a second of " << report.tasks[0].completed << " jobs";
}

TEST(TaskObserver, CostIsAddedToWcet) {
  auto observer = std::make_shared<PictureObserver>("front");
  auto executive = executive_of(front(100ms), observer, painter());
  // On a shared machine, the copies that measure the cost only get longer.
  for (int again = 0; again < 10 && observer->cost() >= 5ms; ++again) {
    observer = std::make_shared<PictureObserver>("front");
    executive = executive_of(front(100ms), observer, painter());
  }
  ASSERT_EQ(problem(executive), "none");
  EXPECT_GT(observer->cost(), Duration(0));
  EXPECT_LT(observer->cost(), 5ms);
  EXPECT_EQ(executive->set().tasks.tasks[0].wcet->after, own_task("front", 10ms).wcet->after + observer->cost());
  EXPECT_EQ(executive->set().tasks.tasks[0].wcet->before, own_task("front", 10ms).wcet->before);
}

TEST(TaskObserver, IsRejectedWhenDeadlineLeavesNoTimeForCopy) {
  TaskSet set = front(100ms);
  set.tasks[0].wcet->before = 10ms - set.tasks[0].wcet->after;
  const auto refused = problem(executive_of(set, std::make_shared<PictureObserver>("front"), painter()));
  EXPECT_THAT(refused, HasSubstr("for a picture in the last part of 'front'"));
  EXPECT_THAT(refused, HasSubstr("longer than the deadline"));
}

TEST(TaskObserver, RejectsUnknownTaskAndTaskWithoutPicture) {
  const auto refused = [](const std::string& task, std::vector<OwnWorkload::Values> inputs) {
    TaskSet set = set_of({own_task("front", 10ms)}, 100ms);
    for (const auto& input : inputs)
      set.tasks[0].inputs.push_back({.tensor = input.name, .source = SourceKind::noise, .from = {}});
    return problem(executive_of(
        set, std::make_shared<PictureObserver>(task),
        std::make_unique<OwnWorkload>(inputs, std::vector<OwnWorkload::Values>{}, [](auto, auto, auto) {})));
  };
  EXPECT_THAT(refused("rear", {}), HasSubstr("there is no task 'rear' to be shown; expected one of front"));
  EXPECT_THAT(refused("front", {}), HasSubstr("task 'front' cannot be shown: it has no input that can be shown as a "
                                              "picture: its workload has no inputs"));
  EXPECT_THAT(refused("front", {{"x", ElementType::float32, {1, 10}}, {"y", ElementType::int32, {1, 3, 4, 4}}}),
              testing::AllOf(HasSubstr("'x' is float32 1x10"), HasSubstr("'y' is int32 1x3x4x4"),
                             HasSubstr("name a task whose network has a picture as input")));
}

TEST(TaskObserver, SeesBestClassesOfClassifier) {
  const ScratchFolder folder;
  const auto model = folder / "net.onnx";
  ASSERT_EQ(problem(tasks::write_model("mobilenet_v3", {.size = 32, .classes = 7, .seed = 3}, model.string())), "none");
  TaskSet set = set_of({own_task("front", 200ms)}, 1s);
  set.tasks[0].workload = WorkloadKind::dnn;
  set.tasks[0].model = model;
  set.tasks[0].wcet->device = 50ms;
  executive::Setup setup;
  setup.force = true;
  setup.observer = std::make_shared<PictureObserver>("front");
  const auto observer = setup.observer;
  auto executive = executive::create(set, std::move(setup));
  ASSERT_EQ(problem(executive), "none");
  EXPECT_TRUE(observer->recognises());
  ASSERT_EQ(problem(executive->start()), "none");
  executive->wait();
  executive->stop();
  const auto seen = observer->newest();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->boxes.size(), 0u);
  ASSERT_EQ(seen->classes.size(), 5u);
  EXPECT_TRUE(std::ranges::is_sorted(seen->classes, std::greater{}, &RankedClass::score));
  EXPECT_GT(seen->classes[0].score, 0);
}

} // namespace
} // namespace rtexec
