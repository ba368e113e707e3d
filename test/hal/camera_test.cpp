// Tests cameras with a simulated V4L2 driver: negotiation, choice of the newest frame, and errors.
#include "hal/camera.hpp"
#include "hal/linux/probe.hpp"
#include "test/hal/fake_camera.hpp"
#include "test/hal/hal_support.hpp"
#include "test/support/thread_counts.hpp"

#include <algorithm>
#include <functional>
#include <gmock/gmock.h>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <unistd.h>

namespace rtexec::hal::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Stamp = CameraFrame::Stamp;
using Wake = Camera::Wake;

constexpr CameraWanted small{.width = 64, .height = 48};

std::unique_ptr<Camera> open_camera(const CameraWanted& wanted = small) {
  auto opened = Camera::open(FakeCamera::path, wanted);
  EXPECT_TRUE(opened) << problem(opened);
  return opened ? std::move(*opened) : nullptr;
}

std::unique_ptr<Camera> started(const CameraWanted& wanted = small) {
  auto camera = open_camera(wanted);
  const auto outcome = camera->start();
  EXPECT_TRUE(outcome) << problem(outcome);
  return camera;
}

/// Returns the newest frame, which must exist.
CameraFrame newest(Camera& camera) {
  const auto found = camera.newest();
  EXPECT_TRUE(found && *found) << (found ? "nothing new" : name(found.error()));
  return found && *found ? **found : CameraFrame{};
}

bool nothing_new(Camera& camera) {
  const auto found = camera.newest();
  return found && !*found;
}

bool shows(const CameraFrame& frame, std::uint32_t number) {
  return frame.sequence == number && std::ranges::all_of(frame.bytes, [&](std::byte each) {
           return each == static_cast<std::byte>(number & 0xff);
         });
}

auto refuses(const CameraWanted& wanted, Errc code, std::string_view part) {
  return fails(Camera::open(FakeCamera::path, wanted), code, part);
}

// ---- negotiation ----

TEST(CameraFormat, UsesPreferredSupportedFormatUnlessOneIsRequested) {
  FakeCamera fake;
  EXPECT_EQ(open_camera()->settings().format, PixelFormat::rgb24);
  EXPECT_EQ(open_camera({.width = 64, .height = 48, .format = PixelFormat::yuyv})->settings().format,
            PixelFormat::yuyv);
  fake.formats = {V4L2_PIX_FMT_MJPEG, V4L2_PIX_FMT_NV12};
  EXPECT_EQ(open_camera()->settings().format, PixelFormat::nv12);
  EXPECT_EQ(open_camera({.width = 64, .height = 48, .format = PixelFormat::mjpg})->settings().format,
            PixelFormat::mjpg);
  EXPECT_TRUE(refuses({.width = 64, .height = 48, .format = PixelFormat::bgr24}, Errc::unsupported,
                      "(Fake) has no pictures in BGR24; its formats: MJPG, NV12."));
  fake.formats = {V4L2_PIX_FMT_MJPEG};
  EXPECT_EQ(open_camera()->settings().format, PixelFormat::mjpg);
  fake.formats = {V4L2_PIX_FMT_H264};
  EXPECT_TRUE(refuses(small, Errc::unsupported, "RGB24, BGR24, YUYV, NV12 or MJPG; its formats: H264."));
  fake.formats = {};
  EXPECT_TRUE(refuses(small, Errc::unsupported, "its formats: none."));
}

TEST(CameraFormat, ReportsSizeStrideAndIntervalSetByDriver) {
  FakeCamera fake;
  fake.width = 80;
  fake.height = 60;
  fake.stride = 256;
  fake.only_interval = v4l2_fract{.numerator = 1001, .denominator = 30'000};
  const auto camera = open_camera({.width = 64, .height = 48, .rate = Frequency{25}});
  EXPECT_EQ(camera->settings().camera, "Fake");
  EXPECT_EQ(camera->settings().width, 80u);
  EXPECT_EQ(camera->settings().height, 60u);
  EXPECT_EQ(camera->settings().stride, Bytes{256});
  EXPECT_EQ(camera->settings().interval, 33'366'666ns);
}

TEST(CameraFormat, SetsRequestedRateOrRefusesWithoutRateSupport) {
  FakeCamera fake;
  EXPECT_EQ(open_camera({.width = 64, .height = 48, .rate = Frequency{50}})->settings().interval, 20ms);
  fake.fail(VIDIOC_G_PARM, ENOTTY, -1);
  EXPECT_EQ(open_camera()->settings().interval, std::nullopt);
  EXPECT_TRUE(refuses({.width = 64, .height = 48, .rate = Frequency{50}}, Errc::unsupported, "Leave the rate out"));
}

TEST(CameraFormat, RefusesUnsettableRateOnlyIfRequested) {
  FakeCamera fake;
  fake.sets_rate = false;
  EXPECT_EQ(open_camera()->settings().interval, 33'333'333ns);
  EXPECT_TRUE(refuses({.width = 64, .height = 48, .rate = Frequency{25}}, Errc::unsupported, "Leave the rate out"));
}

TEST(CameraFormat, RefusesInconsistentDriverAnswers) {
  FakeCamera fake;
  fake.answers_format = V4L2_PIX_FMT_MJPEG;
  EXPECT_TRUE(refuses(small, Errc::unsupported, "was set to give RGB24, but gives MJPG"));
  fake.answers_format.reset();
  fake.stride = 191; // of 192
  EXPECT_TRUE(refuses(small, Errc::refused, "in lines of 191 bytes"));
  fake.stride = 0;
  fake.image_size = 192 * 48 - 1;
  EXPECT_TRUE(refuses(small, Errc::refused, "pictures of 9215 bytes"));
  fake.image_size = 0;
  fake.field = V4L2_FIELD_ALTERNATE;
  EXPECT_TRUE(refuses(small, Errc::unsupported, "interlaced pictures"));
  fake.field = V4L2_FIELD_NONE;
  fake.max_buffers = 3;
  EXPECT_TRUE(refuses(small, Errc::refused, "gives 3 buffers, and 4 are needed"));
}

TEST(CameraFormat, RejectsZeroSizeAndRateOutOfRange) {
  FakeCamera fake;
  EXPECT_TRUE(refuses({.width = 0, .height = 48}, Errc::bad_input, "more than 0"));
  EXPECT_TRUE(refuses({.width = 64, .height = 0}, Errc::bad_input, "more than 0"));
  EXPECT_TRUE(refuses({.width = 64, .height = 48, .rate = Frequency{0}}, Errc::bad_input, "1 Hz"));
  EXPECT_TRUE(refuses({.width = 64, .height = 48, .rate = Frequency{1'000'001}}, Errc::bad_input, "1 MHz"));
}

TEST(CameraFormat, Nv12FrameIncludesChromaPlane) {
  FakeCamera fake;
  fake.formats = {V4L2_PIX_FMT_NV12};
  fake.stride = 100;
  const auto camera = started();
  fake.make_frames(1);
  EXPECT_EQ(newest(*camera).bytes.size(), 100u * 72u);
}

// ---- cameras that do not open ----

TEST(CameraOpen, ReportsCauseAndRemedyOfFailures) {
  FakeCamera fake;
  EXPECT_TRUE(fails(Camera::open("/dev/video9", small), Errc::refused, "Cameras here: /dev/video7 (Fake)."));
  fake.capabilities = V4L2_CAP_META_CAPTURE | V4L2_CAP_STREAMING;
  EXPECT_TRUE(refuses(small, Errc::unsupported, "gives no pictures: it is not a capture device."));
  EXPECT_TRUE(fails(Camera::open("/dev/video9", small), Errc::refused, "--device /dev/video9"));
  fake.capabilities = V4L2_CAP_VIDEO_CAPTURE_MPLANE | V4L2_CAP_STREAMING;
  EXPECT_TRUE(refuses(small, Errc::unsupported, "multi-planar format"));
  fake.capabilities = V4L2_CAP_VIDEO_CAPTURE;
  EXPECT_TRUE(refuses(small, Errc::unsupported, "does not support streaming"));
  fake.fail(0, EACCES);
  EXPECT_TRUE(refuses(small, Errc::refused, "usermod -aG video"));
  fake.fail(0, EBUSY);
  EXPECT_TRUE(refuses(small, Errc::refused, "fuser /dev/video7"));
  fake.fail(VIDIOC_QUERYCAP, ENOTTY);
  EXPECT_TRUE(refuses(small, Errc::unsupported, "is not a camera"));
  EXPECT_TRUE(fails(Camera::open("/dev/null", small), Errc::unsupported, "is not a camera"));
}

TEST(CameraOpen, ReportsDriverErrorsAndLeaksNothing) {
  for (const unsigned long request :
       {VIDIOC_QUERYCAP, VIDIOC_S_FMT, VIDIOC_G_FMT, VIDIOC_S_PARM, VIDIOC_REQBUFS, VIDIOC_QUERYBUF})
    for (const int error : {EBUSY, EIO, ENODEV, ENOMEM}) {
      const Held before = held();
      FakeCamera fake;
      fake.fail(request, error);
      EXPECT_TRUE(refuses({.width = 64, .height = 48, .rate = Frequency{25}}, Errc::refused, "failed: "));
      EXPECT_EQ(fake.opened, 0);
      EXPECT_EQ(held(), before);
    }
}

TEST(CameraOpen, ReportsFailedBufferMappingsAsOutOfMemory) {
  for (int nth = 1; nth <= static_cast<int>(Camera::min_buffers); ++nth) {
    FakeCamera fake;
    static System failing;
    static int left;
    failing = sys();
    left = nth;
    static System through;
    through = failing;
    failing.mmap = [](void* address, std::size_t size, int protection, int flags, int file, off_t offset) {
      if (--left != 0) return through.mmap(address, size, protection, flags, file, offset);
      errno = ENOMEM;
      return MAP_FAILED;
    };
    const SystemOverride override(failing);
    EXPECT_TRUE(refuses(small, Errc::out_of_memory, "a buffer of the camera"));
    EXPECT_EQ(fake.opened, 0);
  }
}

TEST(CameraOpen, RepeatsInterruptedCalls) {
  FakeCamera fake;
  for (const unsigned long request : {VIDIOC_QUERYCAP, VIDIOC_ENUM_FMT, VIDIOC_S_FMT, VIDIOC_G_FMT, VIDIOC_G_PARM,
                                      VIDIOC_REQBUFS, VIDIOC_QUERYBUF, VIDIOC_QBUF, VIDIOC_STREAMON, VIDIOC_DQBUF})
    fake.fail(request, EINTR, 2);
  const auto camera = started();
  fake.make_frames(1);
  EXPECT_TRUE(shows(newest(*camera), 0));
}

TEST(CameraOpen, StartCanBeRepeatedAfterFailure) {
  FakeCamera fake;
  const auto camera = open_camera();
  EXPECT_TRUE(fails(camera->newest().has_value() ? Status() : Unexpected(camera->newest().error()), Errc::bad_input));
  fake.fail(VIDIOC_STREAMON, ENOSPC);
  EXPECT_TRUE(fails(camera->start(), Errc::refused, "bandwidth"));
  fake.fail(VIDIOC_QBUF, EIO);
  EXPECT_TRUE(fails(camera->start(), Errc::refused, "starting"));
  EXPECT_EQ(fake.queued(), 0u);
  EXPECT_TRUE(camera->start());
  EXPECT_EQ(fake.queued(), Camera::min_buffers);
}

// ---- choice of the frame ----

TEST(CameraNewest, ReturnsLastFrameAndKeepsItsBytesUntilTheNext) {
  FakeCamera fake;
  const auto camera = started();
  EXPECT_TRUE(nothing_new(*camera));
  fake.make_frames(3);
  const CameraFrame frame = newest(*camera);
  EXPECT_TRUE(shows(frame, 2));
  EXPECT_EQ(frame.bytes.size(), 64u * 48u * 3u);
  EXPECT_TRUE(nothing_new(*camera));
  fake.make_frames(20); // no buffer is returned: the camera may write to those that it has
  EXPECT_TRUE(shows(frame, 2));
  const CameraFrame next = newest(*camera);
  EXPECT_TRUE(shows(next, 5)); // three buffers were free
  EXPECT_EQ(camera->counts().frames, 2u);
  EXPECT_EQ(camera->counts().passed_over, 4u);
  EXPECT_EQ(camera->counts().lost, 0u);
  fake.make_frames(1);
  EXPECT_TRUE(shows(newest(*camera), 23));
  EXPECT_EQ(camera->counts().lost, 17u);
}

/// A slow reader also gets the newest frame, as long as it reads within the limit given when the camera was opened.
/// Only its own reads return buffers.
TEST(CameraNewest, ReturnsLastFrameToSlowReaderWithinItsGap) {
  for (const int frames : {1, 3, 4, 10, 25, 29}) {
    FakeCamera fake;
    const auto camera = started({.width = 64, .height = 48, .gap = frames * 33'333'333ns});
    std::mt19937 random(static_cast<unsigned>(frames));
    std::uint32_t made = 0;
    for (int look = 0; look < 50; ++look) {
      const unsigned more = look % 2 == 0 ? static_cast<unsigned>(frames)
                                          : static_cast<unsigned>(random() % static_cast<unsigned>(frames) + 1);
      fake.make_frames(static_cast<int>(more));
      made += more;
      ASSERT_TRUE(shows(newest(*camera), made - 1)) << "one of each " << frames;
    }
    EXPECT_EQ(camera->counts().lost, 0u);
  }
}

TEST(CameraNewest, AllocatesBuffersForReadGapUpToDriverLimit) {
  FakeCamera fake;
  const auto buffers = [&](Duration gap) {
    return open_camera({.width = 64, .height = 48, .gap = gap})->settings().buffers;
  };
  EXPECT_EQ(buffers(0ns), 4u);
  EXPECT_EQ(buffers(66ms), 4u);
  EXPECT_EQ(buffers(67ms), 5u);
  EXPECT_EQ(buffers(200ms), 9u);
  EXPECT_EQ(buffers(1h), Camera::max_buffers);
  fake.max_buffers = 6;
  EXPECT_EQ(buffers(200ms), 6u);
  fake.fail(VIDIOC_REQBUFS, ENOMEM, 2);
  EXPECT_EQ(buffers(1h), 6u) << "of 32, 16 and 8";
  fake.fail(VIDIOC_REQBUFS, ENOMEM, 4);
  EXPECT_TRUE(refuses({.width = 64, .height = 48, .gap = 1h}, Errc::refused, "asking for the buffers"));
  fake.fail(VIDIOC_G_PARM, ENOTTY, -1);
  fake.max_buffers = 32;
  EXPECT_EQ(buffers(200ms), 9u) << "as of 30 Hz";
}

/// Frames beyond the buffers are lost, and counted. The next read finds all buffers free.
TEST(CameraNewest, ReturnsLastBufferedFrameAndCountsLossIfReadTooLate) {
  FakeCamera fake;
  fake.max_buffers = 10;
  const auto camera = started({.width = 64, .height = 48, .gap = 1s});
  fake.set_time(now() - 10s);
  fake.make_frames(30);
  const CameraFrame late = newest(*camera);
  EXPECT_TRUE(shows(late, 9));
  EXPECT_NEAR(static_cast<double>((fake.time() - late.taken).count()), 21 * 33'333'333.0, 1'000) << "its own stamp";
  fake.make_frames(5);
  EXPECT_TRUE(shows(newest(*camera), 34));
  EXPECT_EQ(camera->counts().lost, 20u);
}

/// If the driver has no usable clock, a frame that may have waited in a full queue counts as old as the last read.
TEST(CameraNewest, DatesQueuedFrameToLastReadWithoutDriverClock) {
  FakeCamera fake;
  fake.flags = V4L2_BUF_FLAG_TIMESTAMP_UNKNOWN;
  const auto camera = started();
  fake.make_frames(1);
  const Instant before = now();
  (void)newest(*camera);
  const Instant after = now();
  std::this_thread::sleep_for(5ms);
  fake.make_frames(20);
  const CameraFrame old = newest(*camera);
  EXPECT_GE(old.taken, before);
  EXPECT_LE(old.taken, after);
  fake.make_frames(1);
  const Instant then = now();
  EXPECT_GE(newest(*camera).taken, then);
}

TEST(CameraNewest, CountsLostFramesAcrossSequenceWrapAndRestart) {
  FakeCamera fake;
  const auto camera = started();
  fake.skip(UINT32_MAX - 1);
  fake.make_frames(3); // UINT32_MAX - 1, UINT32_MAX, 0
  EXPECT_EQ(newest(*camera).sequence, 0u);
  EXPECT_EQ(camera->counts().lost, 0u);
  fake.skip(5);
  fake.make_frames(1);
  EXPECT_EQ(newest(*camera).sequence, 6u);
  EXPECT_EQ(camera->counts().lost, 5u);
  fake.skip(UINT32_MAX - 3); // back to 3
  fake.make_frames(1);
  EXPECT_EQ(newest(*camera).sequence, 3u);
  EXPECT_EQ(camera->counts().lost, 5u);
}

TEST(CameraNewest, SkipsAndCountsBrokenFrames) {
  FakeCamera fake;
  const auto camera = started();
  fake.spoil = [](v4l2_buffer& buffer) {
    if (buffer.sequence % 4 == 1) buffer.flags |= V4L2_BUF_FLAG_ERROR;
    if (buffer.sequence % 4 == 2) buffer.bytesused -= 1;
    if (buffer.sequence % 4 == 3) buffer.bytesused = buffer.length + 1;
  };
  fake.make_frames(4);
  EXPECT_TRUE(shows(newest(*camera), 0));
  EXPECT_EQ(camera->counts().broken, 3u);
  EXPECT_EQ(camera->counts().passed_over, 0u);
  fake.skip(1);
  fake.make_frames(3);
  EXPECT_TRUE(nothing_new(*camera));
  EXPECT_EQ(fake.queued(), Camera::min_buffers - 1);
}

/// Each compressed picture has another length.
TEST(CameraNewest, CompressedFrameHasLengthGivenByDriver) {
  FakeCamera fake;
  fake.formats = {V4L2_PIX_FMT_MJPEG};
  const auto camera = started();
  fake.spoil = [](v4l2_buffer& buffer) { buffer.bytesused = 100 + buffer.sequence; };
  fake.make_frames(2);
  EXPECT_EQ(newest(*camera).bytes.size(), 101u);
  fake.spoil = [](v4l2_buffer& buffer) { buffer.bytesused = 0; };
  fake.make_frames(1);
  EXPECT_TRUE(nothing_new(*camera));
  EXPECT_EQ(camera->counts().broken, 1u);
}

TEST(CameraNewest, StampsFrameWithDriverClockElseWithDequeueTime) {
  FakeCamera fake;
  const auto camera = started();
  const auto stamp_of = [&](std::uint32_t flags, Instant time) {
    fake.flags = flags;
    fake.set_time(time);
    fake.make_frames(1);
    return newest(*camera);
  };
  const Instant begin = now();
  const Instant stamp(std::chrono::floor<std::chrono::microseconds>(begin));
  CameraFrame frame = stamp_of(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC, stamp - 5ms);
  EXPECT_EQ(frame.taken, stamp - 5ms);
  EXPECT_EQ(frame.stamp, Stamp::end_of_frame);
  frame = stamp_of(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC | V4L2_BUF_FLAG_TSTAMP_SRC_SOE, stamp - 4ms);
  EXPECT_EQ(frame.taken, stamp - 4ms);
  EXPECT_EQ(frame.stamp, Stamp::start_of_exposure);
  const auto by_itself = [&](std::uint32_t flags, Instant time) {
    const Instant before = now();
    frame = stamp_of(flags, time);
    return frame.stamp == Stamp::dequeued && frame.taken >= before && frame.taken <= now();
  };
  EXPECT_TRUE(by_itself(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC, begin + 1h)) << "of the future";
  EXPECT_TRUE(by_itself(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC, begin - 1s)) << "before the last one";
  EXPECT_TRUE(by_itself(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC, Instant{})) << "none";
  EXPECT_TRUE(by_itself(V4L2_BUF_FLAG_TIMESTAMP_UNKNOWN, now())) << "of some clock";
  EXPECT_TRUE(by_itself(V4L2_BUF_FLAG_TIMESTAMP_COPY, now())) << "of whoever filled it";
}

TEST(CameraNewest, RecoversAfterDriverError) {
  FakeCamera fake;
  const auto camera = started();
  fake.fail(VIDIOC_DQBUF, EIO);
  EXPECT_EQ(camera->newest().error(), Errc::io_error);
  fake.make_frames(1);
  EXPECT_TRUE(shows(newest(*camera), 0));
  fake.make_frames(2);
  fake.fail(VIDIOC_QBUF, EIO); // the buffer of frame 1 is not accepted
  EXPECT_TRUE(shows(newest(*camera), 2));
  EXPECT_TRUE(nothing_new(*camera)); // now it is accepted
  EXPECT_EQ(fake.queued(), Camera::min_buffers - 1);
  EXPECT_EQ(camera->counts().failures, 2u);
  fake.spoil = [](v4l2_buffer& buffer) { buffer.index = 77; };
  fake.make_frames(1);
  EXPECT_EQ(camera->newest().error(), Errc::io_error);
}

TEST(CameraNewest, ReportsDeviceLostPermanentlyAfterUnplug) {
  FakeCamera fake;
  const auto camera = started();
  fake.make_frames(1);
  const CameraFrame frame = newest(*camera);
  fake.make_frames(1);
  fake.unplug();
  EXPECT_EQ(camera->newest().error(), Errc::device_lost);
  EXPECT_TRUE(shows(frame, 0)) << "its memory stays mapped";
  fake.gone = false;
  EXPECT_EQ(camera->newest().error(), Errc::device_lost);
  EXPECT_EQ(camera->await(now() + 10s).error(), Errc::device_lost);
  EXPECT_TRUE(fails(camera->start(), Errc::device_lost, "open it again"));
  EXPECT_TRUE(camera->stop());
}

TEST(CameraNewest, DropsOldFramesAndCountsAfterRestart) {
  FakeCamera fake;
  const auto camera = started();
  fake.make_frames(3);
  (void)newest(*camera);
  ASSERT_TRUE(camera->stop());
  EXPECT_EQ(camera->newest().error(), Errc::bad_input);
  EXPECT_EQ(camera->await(now() + 10s).error(), Errc::bad_input);
  ASSERT_TRUE(camera->start());
  EXPECT_EQ(fake.queued(), Camera::min_buffers);
  EXPECT_TRUE(nothing_new(*camera));
  fake.make_frames(1);
  EXPECT_TRUE(shows(newest(*camera), 3));
  EXPECT_EQ(camera->counts().frames, 1u);
  EXPECT_EQ(camera->counts().passed_over, 0u);
}

/// Compares with a model: whatever a camera does, every frame is returned, passed over, broken or lost, and every
/// buffer belongs to the camera or the reader.
TEST(CameraNewest, AccountsForEveryFrameAndEveryBuffer) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
    FakeCamera fake;
    fake.spoil = [&](v4l2_buffer& buffer) {
      if (chance(20)) buffer.flags |= V4L2_BUF_FLAG_ERROR;
    };
    const auto camera = started({.width = 64, .height = 48, .gap = seed % 4 * 100ms});
    std::uint32_t made = 0;
    std::optional<std::uint32_t> last;
    for (int step = 0; step < 500; ++step) {
      const int count = static_cast<int>(random() % (2 * camera->settings().buffers - 1));
      fake.make_frames(count);
      made += static_cast<std::uint32_t>(count);
      if (chance(10)) fake.fail(VIDIOC_DQBUF, chance(50) ? EINTR : EIO);
      if (chance(10)) fake.fail(VIDIOC_QBUF, chance(50) ? EINTR : EIO);
      const auto found = camera->newest();
      if (!found) { ASSERT_EQ(found.error(), Errc::io_error); }
      if (!found || !*found) continue;
      ASSERT_TRUE(shows(**found, (*found)->sequence));
      if (last) { ASSERT_GT((*found)->sequence, *last); }
      last = (*found)->sequence;
    }
    fake.spoil = nullptr;
    (void)camera->newest(); // remaining errors
    (void)camera->newest();
    (void)camera->newest();
    fake.make_frames(1);
    (void)newest(*camera);
    const CameraCounts counts = camera->counts();
    EXPECT_EQ(counts.frames + counts.passed_over + counts.broken + counts.lost, made + 1) << "seed " << seed;
    EXPECT_EQ(fake.queued(), camera->settings().buffers - 1) << "seed " << seed;
  }
}

// ---- waiting ----

TEST(CameraAwait, ReturnsOnFrameWakeOrTimeout) {
  FakeCamera fake;
  const auto camera = started();
  const Instant begin = now();
  EXPECT_EQ(camera->await(begin + 20ms), Wake::time);
  EXPECT_GE(now(), begin + 20ms);
  EXPECT_EQ(camera->await(begin), Wake::time);
  camera->wake();
  camera->wake();
  EXPECT_EQ(camera->await(now() + 10s), Wake::woken);
  EXPECT_EQ(camera->await(now()), Wake::time);
  fake.make_frames(1);
  EXPECT_EQ(camera->await(now() + 10s), Wake::frame);
  EXPECT_EQ(camera->await(now() + 10s), Wake::frame) << "it is ready still";
  (void)newest(*camera);
  EXPECT_EQ(camera->await(now()), Wake::time);
}

TEST(CameraAwait, ReturnsOnFrameWakeOrUnplugByAnotherThread) {
  FakeCamera fake;
  const auto camera = started();
  for (const auto& [deed, outcome] :
       {std::pair<std::function<void()>, Expected<Wake, Errc>>{[&] { fake.make_frames(1); }, Wake::frame},
        {[&] { camera->wake(); }, Wake::woken},
        {[&] { fake.unplug(); }, Unexpected(Errc::device_lost)}}) {
    (void)camera->newest();
    std::thread other([&] {
      std::this_thread::sleep_for(5ms);
      deed();
    });
    EXPECT_EQ(camera->await(now() + 30s), outcome);
    other.join();
  }
}

TEST(CameraAwait, ContinuesAfterSignalsAndReportsErrors) {
  FakeCamera fake;
  const auto camera = started();
  static System table;
  static int calls;
  static int error;
  static short answer;
  table = sys();
  table.ppoll = [](pollfd* files, std::size_t, const timespec*) {
    files[0].revents = answer;
    files[1].revents = 0;
    if (calls++ > 0 && error == EINTR) return 1;
    errno = error;
    return error != 0 ? -1 : 1;
  };
  const SystemOverride override(table);
  const auto awaited = [&](int with, short events) {
    calls = 0;
    error = with;
    answer = events;
    return camera->await(now() + 1min);
  };
  EXPECT_EQ(awaited(EINTR, POLLIN), Wake::frame);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(awaited(0, POLLERR), Unexpected(Errc::io_error)); // the error of a failed queue; newest() reports it too
  EXPECT_EQ(awaited(ENOMEM, 0), Unexpected(Errc::io_error));
  EXPECT_EQ(awaited(0, POLLERR | POLLHUP), Unexpected(Errc::device_lost));
}

TEST(CameraAwait, AwaitAndNewestNeitherAllocateNorLock) {
  FakeCamera fake;
  const auto camera = started();
  fake.make_frames(4);
  // Allocations and locks of the simulated driver do not count as the camera's.
  static System table;
  table = sys();
  static const System through = table;
  static ThreadCounts inside;
  table.device_control = [](int file, unsigned long request, void* argument) {
    const ThreadCounts before = counts_of(::gettid());
    const int outcome = through.device_control(file, request, argument);
    const ThreadCounts after = counts_of(::gettid());
    inside.allocations += after.allocations - before.allocations;
    inside.locks += after.locks - before.locks;
    return outcome;
  };
  const SystemOverride override(table);
  const ThreadCounts before = counts_of(::gettid());
  const auto found = camera->newest();
  const auto none = camera->newest();
  camera->wake();
  const auto woken = camera->await(now() + 1s);
  const auto time = camera->await(now());
  const ThreadCounts after = counts_of(::gettid());
  EXPECT_TRUE(found && *found && none && !*none && woken == Wake::woken && time == Wake::time);
  EXPECT_EQ(after.allocations - before.allocations, inside.allocations);
  EXPECT_EQ(after.locks - before.locks, inside.locks);
}

TEST(CameraAwait, CameraDestructionLeavesNothingOpen) {
  const Held before = held();
  {
    FakeCamera fake;
    const auto camera = started();
    fake.make_frames(3);
    (void)newest(*camera);
  }
  EXPECT_EQ(held(), before);
}

// ---- the probe ----

TEST(CameraProbe, ListsCamerasAndTheirFormats) {
  FakeCamera fake;
  const auto found = cameras();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].state, "/dev/video7, Fake: MJPG, YUYV, RGB24");
  fake.fail(0, EACCES);
  const auto refused = cameras();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].grade, Finding::Grade::note);
  EXPECT_THAT(refused[0].advice, HasSubstr("group `video`"));
  fake.capabilities = V4L2_CAP_META_CAPTURE;
  EXPECT_EQ(cameras()[0].state, "none");
}

// ---- kernel drivers: vivid, v4l2loopback ----

TEST(CameraOfThisMachine, DeliversFramesWithIncreasingTimes) {
  std::string path;
  for (int number = 0; number < 64 && path.empty(); ++number)
    if (Camera::open("/dev/video" + std::to_string(number), {.width = 640, .height = 480}))
      path = "/dev/video" + std::to_string(number);
  if (path.empty()) GTEST_SKIP() << "no camera here; `modprobe vivid` makes one";
  auto camera = Camera::open(path, {.width = 640, .height = 480});
  ASSERT_TRUE(camera) << problem(camera);
  ASSERT_TRUE((*camera)->start());
  std::optional<CameraFrame> last;
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ((*camera)->await(now() + 5s), Wake::frame);
    const auto frame = (*camera)->newest();
    ASSERT_TRUE(frame);
    if (!*frame) continue;
    if (last) { EXPECT_GT((*frame)->taken, last->taken); }
    EXPECT_LE((*frame)->taken, now());
    last = *frame;
  }
  EXPECT_TRUE(last);
}

} // namespace
} // namespace rtexec::hal::test
