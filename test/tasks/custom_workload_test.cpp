// A workload given in C does what any workload does; one that cannot be used is refused, and ended.
#include "tasks/custom/custom_workload.hpp"

#include "test/support/result.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rtexec {
namespace {

using tasks::CustomWorkload;
using test::fails;

/// Writes down what is called.
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

TEST(CustomWorkload, CallsTheFunctionsItWasGiven) {
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

TEST(CustomWorkload, PartsMayBeAbsent) {
  rtexec_workload given{};
  given.size = sizeof given;
  given.fingerprint = "nothing";
  const auto workload = CustomWorkload::adopt(&given).value();
  EXPECT_FALSE(workload->uses_device());
  EXPECT_TRUE(workload->before(0));
  EXPECT_TRUE(workload->execute());
  EXPECT_TRUE(workload->after(0));
}

TEST(CustomWorkload, ItsFingerprintIsOfTextAndCode) {
  Log log;
  rtexec_workload given = logging(log);
  const std::string first = fingerprint(given, "a");
  EXPECT_EQ(fingerprint(given, "a"), first);
  EXPECT_NE(fingerprint(given, "b"), first);
  given.fingerprint = "v2";
  EXPECT_NE(fingerprint(given, "a"), first);
}

TEST(CustomWorkload, WhatIsNoneIsRefused) {
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
}

TEST(CustomWorkload, ALibraryThatIsNoneIsNamed) {
  Task task;
  task.name = "control";
  task.workload = WorkloadKind::custom;
  task.library = "Makefile";
  EXPECT_TRUE(fails(CustomWorkload::load(task), Errc::bad_input, "Makefile"));
  task.library = "/nonexistent/libcontrol.so";
  EXPECT_TRUE(fails(CustomWorkload::load(task), Errc::bad_input, "libcontrol.so"));
}

} // namespace
} // namespace rtexec
