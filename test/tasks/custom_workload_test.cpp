// Tests workloads given in C: they work as any other workload. One that cannot be used is refused and destroyed.
#include "tasks/backends/custom_workload.hpp"

#include "hal/host/host_device.hpp"
#include "test/support/expected_result.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace rtexec {
namespace {

using tasks::CustomWorkload;
using test::fails;

/// Records the calls.
struct Log {
  std::string calls;
  rtexec_code answer = RTEXEC_OK;
  static Log& of(void* self) { return *static_cast<Log*>(self); }
};

constexpr unsigned char constants[] = {1, 2, 3};

rtexec_workload logging(Log& log) {
  rtexec_workload workload{};
  workload.size = sizeof workload;
  workload.self = &log;
  workload.memory = {.constant = sizeof constants, .scratch = 10, .state = 20};
  workload.constants = constants;
  workload.fingerprint = "v1";
  workload.before = [](void* self, std::uint64_t job) {
    Log::of(self).calls += "before " + std::to_string(job) + " ";
    return Log::of(self).answer;
  };
  workload.execute = [](void* self) {
    Log::of(self).calls += "execute ";
    return Log::of(self).answer;
  };
  workload.after = [](void* self, std::uint64_t job) {
    Log::of(self).calls += "after " + std::to_string(job) + " ";
    return Log::of(self).answer;
  };
  workload.destroy = [](void* self) { Log::of(self).calls += "destroy"; };
  return workload;
}

std::string fingerprint(const rtexec_workload& workload, std::string_view code = {}) {
  return CustomWorkload::adopt(&workload, code).value()->fingerprint();
}

TEST(CustomWorkload, CallsFunctionsOfUser) {
  Log log;
  const rtexec_workload given = logging(log);
  {
    const auto workload = CustomWorkload::adopt(&given).value();
    EXPECT_TRUE(workload->uses_device());
    EXPECT_EQ(workload->memory().constant, Bytes{3});
    EXPECT_EQ(workload->memory().scratch, Bytes{10});
    EXPECT_EQ(workload->memory().state, Bytes{20});
    EXPECT_EQ(static_cast<const void*>(workload->constants().data()), constants);
    EXPECT_EQ(workload->constants().size(), 3u);
    EXPECT_TRUE(workload->before(7));
    EXPECT_TRUE(workload->execute());
    EXPECT_TRUE(workload->after(7));
    log.answer = RTEXEC_CORRUPTED;
    EXPECT_EQ(workload->before(8), Status(Unexpected(Errc::corrupted)));
  }
  EXPECT_EQ(log.calls, "before 7 execute after 7 before 8 destroy");
}

TEST(CustomWorkload, ExposesDeclaredTensors) {
  Log log;
  rtexec_workload given = logging(log);
  const std::int64_t shape[] = {1, 2, 3};
  float frame[6] = {};
  std::int64_t count = 0;
  std::uint8_t classes[6] = {};
  const rtexec_tensor inputs[] = {{sizeof(rtexec_tensor), "frame", RTEXEC_FLOAT32, 3, shape, frame, sizeof frame},
                                  {sizeof(rtexec_tensor), "count", RTEXEC_INT64, 0, nullptr, &count, sizeof count}};
  const rtexec_tensor output{sizeof(rtexec_tensor), "classes", RTEXEC_UINT8, 3, shape, classes, sizeof classes};
  given.inputs = inputs;
  given.input_count = 2;
  given.outputs = &output;
  given.output_count = 1;
  const auto workload = CustomWorkload::adopt(&given).value();
  ASSERT_EQ(workload->inputs().size(), 2u);
  EXPECT_EQ(workload->inputs()[0].name, "frame");
  EXPECT_EQ(workload->inputs()[0].shape, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(workload->inputs()[0].as<float>().data(), frame);
  EXPECT_EQ(workload->inputs()[0].as<float>().size(), 6u);
  EXPECT_TRUE(workload->inputs()[0].as<std::int32_t>().empty()) << "it is of another type";
  EXPECT_TRUE(workload->inputs()[1].shape.empty());
  workload->inputs()[1].as<std::int64_t>().front() = 7;
  EXPECT_EQ(count, 7);
  ASSERT_EQ(workload->outputs().size(), 1u);
  EXPECT_EQ(workload->outputs()[0].as<const std::uint8_t>().data(), classes);
  EXPECT_TRUE(workload->detections().empty());
}

TEST(CustomWorkload, ReadsTensorArraysOfLaterVersionByElementSize) {
  struct Later {
    rtexec_tensor tensor;
    std::uint64_t added;
  };
  std::uint8_t data[2] = {};
  const Later inputs[] = {{{sizeof(Later), "a", RTEXEC_UINT8, 0, nullptr, &data[0], 1}, 1},
                          {{sizeof(Later), "b", RTEXEC_UINT8, 0, nullptr, &data[1], 1}, 2}};
  Log log;
  rtexec_workload given = logging(log);
  given.inputs = &inputs[0].tensor;
  given.input_count = 2;
  const auto workload = CustomWorkload::adopt(&given).value();
  EXPECT_EQ(workload->inputs()[1].name, "b");
}

TEST(CustomWorkload, HasNoTensorsInFirstVersion) {
  Log log;
  rtexec_workload given = logging(log);
  given.size = offsetof(rtexec_workload, inputs);
  given.input_count = 3; // beyond its end
  EXPECT_TRUE(CustomWorkload::adopt(&given).value()->inputs().empty());
}

TEST(CustomWorkload, ExecutesItsPiecesInSegments) {
  Log log;
  rtexec_workload given = logging(log);
  given.carry = 40;
  given.segments = 3;
  given.execute_segment = [](void* self, std::size_t segment) {
    Log::of(self).calls += std::to_string(segment) + " ";
    return Log::of(self).answer;
  };
  const auto calls = [&](const auto& execute) {
    log.calls.clear();
    EXPECT_TRUE(execute());
    return log.calls;
  };
  const auto workload = CustomWorkload::adopt(&given).value();
  EXPECT_TRUE(workload->uses_device());
  EXPECT_EQ(workload->memory().carry, Bytes{40});
  EXPECT_EQ(workload->layers().size(), 3u);
  EXPECT_EQ(workload->live_ranges(), (std::vector<LiveRange>{{Bytes{40}, 0, 2}}));
  EXPECT_EQ(calls([&] { return workload->execute(); }), "0 1 2 ");
  EXPECT_EQ(calls([&] { return workload->execute_segment(0); }), "0 1 2 ");
  ASSERT_TRUE(workload->cut(std::vector<std::uint32_t>{1}));
  EXPECT_EQ(calls([&] { return workload->execute_segment(0); }), "0 1 ");
  EXPECT_EQ(calls([&] { return workload->execute_segment(1); }), "2 ");
  EXPECT_EQ(calls([&] { return workload->execute(); }), "0 1 2 ");
  EXPECT_TRUE(fails(workload->cut(std::vector<std::uint32_t>{2}), Errc::bad_input, "after layer 2 of 3"));
  log = {.calls = "", .answer = RTEXEC_CORRUPTED};
  EXPECT_EQ(workload->execute_segment(0), Status(Unexpected(Errc::corrupted)));
  EXPECT_EQ(log.calls, "0 ");
}

TEST(CustomWorkload, RejectsCutPointsInEarlierVersion) {
  Log log;
  rtexec_workload given = logging(log);
  given.size = offsetof(rtexec_workload, segments);
  given.segments = 3; // beyond its end
  const auto workload = CustomWorkload::adopt(&given).value();
  EXPECT_TRUE(workload->live_ranges().empty());
  EXPECT_TRUE(workload->cut({}));
  EXPECT_TRUE(fails(workload->cut(std::vector<std::uint32_t>{0}), Errc::bad_input, "after layer 0 of 0"));
  EXPECT_TRUE(workload->execute_segment(0));
  EXPECT_EQ(log.calls, "execute ");
}

TEST(CustomWorkload, RejectsInconsistentTensors) {
  alignas(8) std::uint8_t data[64] = {};
  const std::int64_t shape[] = {2, 3}, empty[] = {2, 0}, vast[] = {INT64_MAX, INT64_MAX};
  const rtexec_tensor whole{sizeof(rtexec_tensor), "x", RTEXEC_INT32, 2, shape, data, 24};
  const auto refused = [&](void (*spoil)(rtexec_tensor&), const char* why) {
    Log log;
    rtexec_workload given = logging(log);
    rtexec_tensor tensor = whole;
    spoil(tensor);
    if (tensor.shape == nullptr && tensor.rank == 3) tensor.rank = 2, tensor.shape = vast;
    if (tensor.rank == 4) tensor.rank = 2, tensor.shape = empty;
    given.outputs = &tensor;
    given.output_count = 1;
    EXPECT_TRUE(fails(CustomWorkload::adopt(&given), Errc::bad_input, why));
    EXPECT_EQ(log.calls, "destroy") << why;
  };
  refused([](rtexec_tensor& t) { t.size = 8; }, "outputs are missing, or their struct size");
  refused([](rtexec_tensor& t) { t.name = nullptr; }, "its output 0 has no name");
  refused([](rtexec_tensor& t) { t.name = ""; }, "has no name");
  refused([](rtexec_tensor& t) { t.type = static_cast<rtexec_element_type>(12); }, "has an unknown element type: 12");
  refused([](rtexec_tensor& t) { t.shape = nullptr; }, "has no shape");
  refused([](rtexec_tensor& t) { t.shape = nullptr, t.rank = 3; }, "a dimension of 9223372036854775807");
  refused([](rtexec_tensor& t) { t.rank = 4; }, "a dimension of 0");
  refused([](rtexec_tensor& t) { t.bytes = 23; }, "has 23 bytes, but its type and shape need 24");
  refused([](rtexec_tensor& t) { t.data = nullptr; }, "must have data that are aligned");
  refused([](rtexec_tensor& t) { t.data = static_cast<std::uint8_t*>(t.data) + 1; }, "must have data that are aligned");
}

TEST(CustomWorkload, AcceptsMissingOptionalFunctions) {
  rtexec_workload given{};
  given.size = sizeof given;
  given.fingerprint = "nothing";
  const auto workload = CustomWorkload::adopt(&given).value();
  EXPECT_FALSE(workload->uses_device());
  EXPECT_TRUE(workload->before(0));
  EXPECT_TRUE(workload->execute());
  EXPECT_TRUE(workload->after(0));
}

TEST(CustomWorkload, FingerprintDependsOnTextAndCode) {
  Log log;
  rtexec_workload given = logging(log);
  const std::string first = fingerprint(given, "a");
  EXPECT_EQ(fingerprint(given, "a"), first);
  EXPECT_NE(fingerprint(given, "b"), first);
  given.fingerprint = "v2";
  EXPECT_NE(fingerprint(given, "a"), first);
}

TEST(CustomWorkload, RejectsIncompleteWorkload) {
  Log log;
  rtexec_workload given = logging(log);
  EXPECT_TRUE(fails(CustomWorkload::adopt(nullptr), Errc::bad_input, "no workload"));
  given.size = 8;
  EXPECT_TRUE(fails(CustomWorkload::adopt(&given), Errc::bad_input, "8 bytes"));
  EXPECT_EQ(log.calls, "") << "where destroy stands is not known";
  given = logging(log);
  given.constants = nullptr;
  EXPECT_TRUE(fails(CustomWorkload::adopt(&given), Errc::bad_input, "constants"));
  EXPECT_EQ(log.calls, "destroy");
  given = logging(log);
  given.fingerprint = nullptr;
  EXPECT_TRUE(fails(CustomWorkload::adopt(&given), Errc::bad_input, "fingerprint"));
  given = logging(log);
  given.segments = 2;
  EXPECT_TRUE(fails(CustomWorkload::adopt(&given), Errc::bad_input, "segments is 2, and execute_segment() is missing"));
}

TEST(CustomWorkload, NamesLibraryThatCannotBeLoaded) {
  Task task;
  task.name = "control";
  task.workload = WorkloadKind::custom;
  task.library = "Makefile";
  EXPECT_TRUE(fails(CustomWorkload::load(task), Errc::bad_input, "Makefile"));
  task.library = "/nonexistent/libcontrol.so";
  EXPECT_TRUE(fails(CustomWorkload::load(task), Errc::bad_input, "libcontrol.so"));
}

/// The optional functions of a back end, in addition to the parts of a job.
struct Reach {
  std::string calls;
  rtexec_box box{1, 2, 3, 4, 0.5f, 6};
  std::string choices;
  rtexec_workload* given = nullptr;
};
Reach& of(void* self) { return *static_cast<Reach*>(self); }

rtexec_workload reaching(Reach& reach) {
  rtexec_workload given{};
  given.size = sizeof given;
  given.self = &reach;
  given.fingerprint = "reach";
  given.segments = 2;
  given.execute_segment = [](void* at, std::size_t piece) {
    of(at).calls += "execute " + std::to_string(piece) + " ";
    return RTEXEC_OK;
  };
  given.launch_segment = [](void* at, std::size_t piece) {
    of(at).calls += "launch " + std::to_string(piece) + " ";
    return RTEXEC_OK;
  };
  given.own_device = 1000;
  given.own_host = 2000;
  static const char* const names[] = {"backbone", nullptr};
  given.segment_names = names;
  given.tune = [](void* at, const rtexec_device* device, const char** choices, rtexec_error*) {
    of(at).calls += std::string("tune on ") + device->name + " ";
    of(at).given->own_device = 1500;
    *choices = "fast\nwide";
    return RTEXEC_OK;
  };
  given.use = [](void* at, const char* choices, rtexec_error* error) {
    of(at).choices = choices;
    of(at).given->memory.constant = of(at).choices == "too much" ? 1 : 0;
    if (of(at).choices != "unknown") return RTEXEC_OK;
    error->code = RTEXEC_BAD_INPUT;
    std::strcpy(error->what, "choices of another version");
    return RTEXEC_BAD_INPUT;
  };
  given.link_input = [](void* at, std::size_t input) { of(at).calls += "link " + std::to_string(input) + " "; };
  given.link_output = [](void* at, std::size_t, int on_host) {
    of(at).calls += on_host != 0 ? "link for both " : "link for the device ";
  };
  given.take_input = [](void* at, std::size_t, const void* from) { of(at).calls += from == at ? "take " : "? "; };
  given.give_output = [](void* at, std::size_t, void* to) { of(at).calls += to == at ? "give " : "? "; };
  given.boxes = [](void* at, const rtexec_box** boxes) {
    *boxes = &of(at).box;
    return std::size_t{1};
  };
  given.begin_to_keep = [](void* at) { of(at).calls += "keep "; };
  return given;
}

TEST(CustomWorkload, SupportsAllOptionalFunctions) {
  Reach reach;
  rtexec_workload given = reaching(reach);
  reach.given = &given;
  const auto workload = CustomWorkload::adopt(&given).value();
  EXPECT_EQ(workload->memory().outside, Bytes{1000});
  EXPECT_EQ(workload->memory().host, Bytes{2000});
  EXPECT_EQ(workload->layers()[0], "backbone");
  EXPECT_EQ(workload->layers()[1], "segment 1");
  EXPECT_EQ(workload->recognises(), Recognition::boxes);
  EXPECT_EQ(workload->detections()[0].label, 6U);
  EXPECT_EQ(workload->detections()[0].bottom, 4);
  EXPECT_TRUE(workload->classes().empty());
  ASSERT_TRUE(workload->links_on_device());
  ASSERT_TRUE(workload->launches_segments());
  const std::uint32_t cut[] = {0};
  ASSERT_TRUE(workload->cut(cut));
  workload->link_input(3);
  workload->link_output(0, false);
  workload->link_output(0, true);
  workload->take_input(0, reinterpret_cast<const std::byte*>(&reach));
  workload->give_output(0, reinterpret_cast<std::byte*>(&reach));
  EXPECT_TRUE(workload->launch_segment(1));
  EXPECT_TRUE(workload->execute_segment(1));
  workload->begin_to_keep();
  EXPECT_EQ(reach.calls, "link 3 link for the device link for both take give launch 1 execute 1 keep ");
}

TEST(CustomWorkload, PassesTuningChoicesUnchanged) {
  Reach reach;
  rtexec_workload given = reaching(reach);
  reach.given = &given;
  const auto workload = CustomWorkload::adopt(&given).value();
  const auto device = hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20});
  const auto lines = workload->tune(**device, {});
  ASSERT_TRUE(lines.has_value());
  EXPECT_EQ(*lines, (std::vector<std::string>{"fast", "wide"}));
  EXPECT_EQ(workload->memory().outside, Bytes{1500}) << "as it is tuned";
  EXPECT_TRUE(workload->use(*lines));
  EXPECT_EQ(reach.choices, "fast\nwide");
  EXPECT_TRUE(fails(workload->use(std::vector<std::string>{"unknown"}), Errc::bad_input, "choices of another version"));
  EXPECT_TRUE(fails(workload->use(std::vector<std::string>{"too much"}), Errc::bad_input, "constants is missing"));
}

TEST(CustomWorkload, RejectsIncompleteGroupsOfFunctions) {
  Reach reach;
  const auto refused = [&](const char* why, auto change) {
    rtexec_workload given = reaching(reach);
    reach.given = &given;
    change(given);
    EXPECT_TRUE(fails(CustomWorkload::adopt(&given), Errc::bad_input, why)) << why;
  };
  refused("tune() or use() is missing", [](auto& given) { given.use = nullptr; });
  refused("is missing: give all four, or none", [](auto& given) { given.take_input = nullptr; });
  refused("needs execute_segment(), which waits",
          [](auto& given) { given.segments = 0, given.execute_segment = nullptr; });
  refused("must be either a detector or a classifier",
          [](auto& given) { given.classes = [](void*, const rtexec_ranked_class**) { return std::size_t{0}; }; });
  refused("constant_ranges[1] is from 0 to 1, but memory.constant is 0", [](auto& given) {
    static constexpr rtexec_constant_range ranges[] = {{0, 0}, {0, 1}};
    given.constant_ranges = ranges;
  });
}

} // namespace
} // namespace rtexec
