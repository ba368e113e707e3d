// Tests the report of other load on the cores of a measured set.
#include "rtexec/runtime/observation/interference_load.hpp"
#include "hal/machine_files.hpp"
#include "test/support/eventually.hpp"
#include "test/support/thread_class.hpp"

#include <gtest/gtest.h>

namespace rtexec {
namespace {

using namespace test;
using executive::InterferenceLoad;

TEST(InterferenceLoad, RunsAsIdleClassThreadOnEachRequestedCore) {
  const auto online = hal::Machine().online_cores();
  const std::set<unsigned> cores(online.begin(), online.end());
  const auto name = [](unsigned core) { return "beside/" + std::to_string(core); };
  {
    auto started = InterferenceLoad::start(cores, nullptr);
    ASSERT_TRUE(started) << started.error().what;
    const InterferenceLoad moved = std::move(*started);
    for (const unsigned core : cores) EXPECT_EQ(class_of(name(core)), SCHED_IDLE);
  }
  for (const unsigned core : cores)
    EXPECT_TRUE(eventually([&] { return class_of(name(core)) == -1; }))
        << "/proc lists a thread for a moment after it was joined";
}

} // namespace
} // namespace rtexec
