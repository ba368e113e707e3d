// Tests which streams have work while other threads submit some: the driver submits during a query.
#include "rtexec/sharing/preload/busy_streams.hpp"

#include <gtest/gtest.h>

namespace rtexec::preload {
namespace {

using hal::cuda::Code;
using hal::cuda::Stream;

BusyStreams* busy = nullptr;
bool has_work = false;

Code synchronize(Stream stream) {
  has_work = true; // another thread's work, submitted when the earlier work has ended
  EXPECT_TRUE(busy->mark(stream, false));
  return Code::success;
}
Code query(Stream) { return has_work ? Code::not_ready : Code::success; }
Code is_capturing(Stream, int* state) {
  *state = 0;
  return Code::success;
}

TEST(BusyStreams, RemembersWorkSubmittedDuringSynchronisation) {
  RealDriver driver{};
  driver.stream_synchronize = synchronize;
  driver.stream_query = query;
  driver.stream_is_capturing = is_capturing;
  BusyStreams streams;
  busy = &streams;
  has_work = false;
  ASSERT_TRUE(streams.mark(reinterpret_cast<Stream>(4096), false));
  streams.await(driver);
  EXPECT_FALSE(streams.idle(driver, false));
  has_work = false;
  EXPECT_TRUE(streams.idle(driver, false));
}

} // namespace
} // namespace rtexec::preload
