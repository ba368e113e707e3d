// Tests rings, bells and the shared-memory region with an honest peer, and with one that writes arbitrary data.
#include "rtexec/sharing/protocol/segment.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <random>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace rtexec::protocol {
namespace {

Entry entry(std::uint64_t job) {
  return {.kind = static_cast<std::uint16_t>(EntryKind::request), .slot = 3, .frame = 5, .job = job, .time_ns = -1};
}

TEST(ProtocolRing, ReturnsEntriesInOrder) {
  auto ring = std::make_unique<Ring>();
  Producer producer(*ring);
  Consumer consumer(*ring);
  std::uint64_t given = 0, taken = 0;
  std::mt19937_64 random(1);
  const auto before = test::allocations();
  while (taken < 100'000) {
    for (auto count = random() % (ring_capacity + 9); count > 0; --count) {
      const Turn turn = producer.push(entry(given));
      ASSERT_EQ(turn, given - taken == ring_capacity ? Turn::not_now : Turn::done);
      given += turn == Turn::done;
    }
    for (auto count = random() % (ring_capacity + 9); count > 0; --count) {
      Entry out;
      const Turn turn = consumer.pop(out);
      ASSERT_EQ(turn, given == taken ? Turn::not_now : Turn::done);
      if (turn != Turn::done) continue;
      ASSERT_EQ(out, entry(taken++));
    }
  }
  EXPECT_EQ(test::allocations(), before);
}

/// The ring's words as the peer can write them through its mapping.
struct Words {
  explicit Words(Ring& ring) : at(reinterpret_cast<unsigned char*>(&ring)) {}
  void set(std::size_t offset, std::uint32_t value) { std::memcpy(at + offset, &value, sizeof value); }
  unsigned char* at;
};
constexpr std::size_t head = 0, tail = 64;

TEST(ProtocolRing, ReportsBrokenWhenIndexOfOtherSideIsImpossible) {
  for (const std::uint32_t given : {ring_capacity + 1, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    auto ring = std::make_unique<Ring>();
    Consumer consumer(*ring);
    Words(*ring).set(tail, given);
    Entry out = entry(9);
    EXPECT_EQ(consumer.pop(out), Turn::broken) << given;
    EXPECT_EQ(out, entry(9));
  }
  for (const std::uint32_t taken : {1u, 2u, 0x7fffffffu, 0x80000000u, 0u - ring_capacity - 1}) {
    auto ring = std::make_unique<Ring>();
    Producer producer(*ring);
    Words(*ring).set(head, taken);
    EXPECT_EQ(producer.push(entry(1)), Turn::broken) << taken;
  }
}

TEST(ProtocolRing, NeverReadsBackOwnIndex) {
  auto ring = std::make_unique<Ring>();
  Producer producer(*ring);
  Consumer consumer(*ring);
  Entry out;
  for (std::uint64_t job = 0; job < 3 * ring_capacity; ++job) {
    Words(*ring).set(tail, 12345); // the producer's own word
    ASSERT_EQ(producer.push(entry(job)), Turn::done);
    Words(*ring).set(head, 54321); // the consumer's own word
    ASSERT_EQ(consumer.pop(out), Turn::done);
    ASSERT_EQ(out, entry(job));
  }
}

/// The memory around the ring stays unchanged, and each call ends, whatever the peer writes meanwhile.
TEST(ProtocolRing, StaysWithinItsMemoryUnderRandomWrites) {
  struct Guarded {
    std::array<unsigned char, 4096> before;
    Ring ring;
    std::array<unsigned char, 4096> after;
  };
  auto guarded = std::make_unique<Guarded>();
  guarded->before.fill(0xa5);
  guarded->after.fill(0xa5);
  std::mt19937_64 random(2);
  std::uint64_t turns[3] = {};
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < until) {
    Producer producer(guarded->ring);
    Consumer consumer(guarded->ring);
    for (int i = 0; i < 300; ++i) {
      Words words(guarded->ring);
      const auto value = static_cast<std::uint32_t>(random() % 3 == 0 ? random() : random() % (2 * ring_capacity));
      words.set(random() % 2 == 0 ? head : tail, value);
      words.set(random() % (sizeof(Ring) / 4) * 4, static_cast<std::uint32_t>(random()));
      Entry out;
      ++turns[static_cast<int>(random() % 2 == 0 ? producer.push(entry(1)) : consumer.pop(out))];
    }
  }
  for (const unsigned char each : guarded->before) ASSERT_EQ(each, 0xa5);
  for (const unsigned char each : guarded->after) ASSERT_EQ(each, 0xa5);
  for (const std::uint64_t count : turns) EXPECT_GT(count, 100u);
}

TEST(ProtocolRing, LosesAndTearsNothingBetweenTwoThreads) {
  auto shared = SharedSegment::create();
  ASSERT_TRUE(shared) << shared.error().what;
  Segment& segment = **shared;
  constexpr std::uint64_t count = 200'000;
  std::jthread client([&] {
    Producer producer(segment.to_daemon);
    for (std::uint64_t job = 0; job < count;) {
      Entry each = entry(job);
      each.time_ns = static_cast<std::int64_t>(job);
      if (producer.push(each) == Turn::done) {
        ++job;
        segment.to_daemon_bell.raise();
      } else {
        std::this_thread::yield();
      }
    }
  });
  Consumer consumer(segment.to_daemon);
  for (std::uint64_t job = 0; job < count;) {
    const std::uint32_t seen = segment.to_daemon_bell.value();
    Entry out;
    if (consumer.pop(out) != Turn::done) {
      segment.to_daemon_bell.wait(seen);
      continue;
    }
    ASSERT_EQ(out.job, job);
    ASSERT_EQ(out.time_ns, static_cast<std::int64_t>(job));
    ++job;
  }
}

config::Descriptor copy_of(const SharedSegment& segment) {
  return config::Descriptor(::fcntl(segment.descriptor(), F_DUPFD_CLOEXEC, 0));
}

TEST(ProtocolSegment, IsSharedWithStateReadOnlyForClient) {
  auto daemon = SharedSegment::create();
  ASSERT_TRUE(daemon) << daemon.error().what;
  auto client = SharedSegment::open(copy_of(*daemon));
  ASSERT_TRUE(client) << client.error().what;
  EXPECT_EQ((*client)->state.job(), (JobVerdict{0, Verdict::waiting}));
  (*daemon)->state.set_job({max_jobs - 1, Verdict::failed});
  EXPECT_EQ((*client)->state.job(), (JobVerdict{max_jobs - 1, Verdict::failed}));
  (*client)->to_daemon_bell.raise();
  EXPECT_EQ((*daemon)->to_daemon_bell.value(), 1u);

  const pid_t child = ::fork();
  if (child == 0) {
    (*client)->state.set_job({1, Verdict::granted});
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "it could write";
  EXPECT_EQ((*daemon)->state.job().job, max_jobs - 1);
}

TEST(ProtocolSegment, WaitsOnABellInReadOnlyMemory) {
  auto daemon = SharedSegment::create();
  auto client = SharedSegment::open(copy_of(*daemon));
  ASSERT_TRUE(client);
  const auto now = std::chrono::steady_clock::now();
  EXPECT_FALSE((*client)->state.bell.wait_until(0, now + std::chrono::milliseconds(5)));
  std::jthread rings([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    (*daemon)->state.bell.raise();
  });
  while ((*client)->state.bell.value() == 0)
    ASSERT_TRUE((*client)->state.bell.wait_until(0, now + std::chrono::seconds(10)));
  EXPECT_TRUE((*client)->state.bell.wait_until(0, now + std::chrono::seconds(10))); // at once
}

/// The client was killed, ended by itself, lost its agent's thread, or became another program: each is reported at
/// once.
TEST(ProtocolSegment, ReportsEndOfClientAgent) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer allows no threads in a process that was forked from one with threads";
#endif
  enum class End { killed, exits, agent_exits, executes_another };
  for (const End end : {End::killed, End::exits, End::agent_exits, End::executes_another}) {
    auto daemon = SharedSegment::create();
    ASSERT_TRUE(daemon);
    EXPECT_FALSE((*daemon)->lifeline.broken());
    int ready[2], go[2]; // ready: it holds its lifeline; go: it may end
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(go), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(go[1]);
      char told = 0;
      auto client = SharedSegment::open(copy_of(*daemon));
      std::thread agent([&] {
        const char held = client && (*client)->lifeline.hold() ? 1 : 0;
        static_cast<void>(!::write(ready[1], &held, 1));
        if (end == End::agent_exits) static_cast<void>(!::read(go[0], &told, 1));
        else ::pause();
      });
      if (end == End::killed || end == End::agent_exits) ::pause();
      static_cast<void>(!::read(go[0], &told, 1));
      if (end == End::executes_another) ::execl("/bin/sleep", "sleep", "10", static_cast<char*>(nullptr));
      ::_exit(0);
    }
    ::close(ready[1]);
    ::close(go[0]);
    pollfd told{.fd = ready[0], .events = POLLIN, .revents = 0};
    char held = 0;
    if (::poll(&told, 1, 10'000) != 1 || ::read(ready[0], &held, 1) != 1) {
      ::kill(child, SIGKILL);
      FAIL() << "the client says nothing";
    }
    ASSERT_EQ(held, 1);
    EXPECT_FALSE((*daemon)->lifeline.broken());
    if (end == End::killed) ::kill(child, SIGKILL);
    else EXPECT_EQ(::write(go[1], "e", 1), 1);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!(*daemon)->lifeline.broken() && std::chrono::steady_clock::now() < until) ::usleep(200);
    EXPECT_TRUE((*daemon)->lifeline.broken()) << static_cast<int>(end);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]);
    ::close(go[1]);
  }
}

TEST(ProtocolSegment, CannotBeResized) {
  auto daemon = SharedSegment::create();
  ASSERT_TRUE(daemon);
  EXPECT_NE(::ftruncate(daemon->descriptor(), 0), 0);
  EXPECT_NE(::ftruncate(daemon->descriptor(), sizeof(Segment) * 2), 0);
}

TEST(ProtocolSegment, RefusesSmallOrUnsealedMemory) {
  config::Descriptor small(::memfd_create("small", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_FALSE(SharedSegment::open(std::move(small)));
  config::Descriptor unsealed(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(unsealed.get(), sizeof(Segment)), 0);
  const auto refused = SharedSegment::open(std::move(unsealed));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("not sealed"), std::string::npos);
  EXPECT_FALSE(SharedSegment::open(config::Descriptor(-1)));
}

} // namespace
} // namespace rtexec::protocol
