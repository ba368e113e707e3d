// Tests publishers and subscribers with a real iceoryx: which messages arrive, which are passed over, and the effects
// of a dying process. Each test has its own daemon.
#include "rtexec/runtime/channels/iceoryx.hpp"

#include "hal/thread.hpp"
#include "rtexec/runtime/channels/iceoryx_binding.hpp"
#include "rtexec/runtime/channels/roudi.hpp"
#include "test/rtexec/runtime/isolated.hpp"
#include "test/support/eventually.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/sanitized.hpp"
#include "test/support/thread_counts.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>

namespace rtexec::channels::iceoryx::test {
namespace {

using namespace rtexec::test;
using namespace std::chrono_literals;
using Wake = Subscriber::Wake;

const Service there{"rtexec", "test", "there"};

void with_own_daemon(const std::function<void()>& body) {
  if (const auto binding = open_binding(); !binding) GTEST_SKIP() << problem(binding);
  isolated(body);
}

std::unique_ptr<Publisher> publisher(Bytes largest = {64}, const Service& service = there) {
  auto opened = Publisher::open(service, largest);
  EXPECT_TRUE(opened) << problem(opened);
  return opened ? std::move(*opened) : nullptr;
}

std::unique_ptr<Subscriber> subscriber(const Service& service = there) {
  auto opened = Subscriber::open(service);
  EXPECT_TRUE(opened) << problem(opened);
  return opened ? std::move(*opened) : nullptr;
}

rtexec_message numbers(std::uint64_t count, std::uint64_t job) {
  rtexec_message header{};
  header.element = RTEXEC_ELEMENT_UINT8;
  header.rank = 1;
  header.shape[0] = count;
  header.job = job;
  header.sampled_ns = static_cast<std::int64_t>(10 * job + 1);
  header.released_ns = static_cast<std::int64_t>(10 * job + 2);
  return header;
}

Status send(Publisher& to, std::uint64_t job, std::uint64_t bytes = 64) {
  const auto loan = to.loan({bytes});
  if (!loan) return Unexpected(loan.error());
  std::ranges::fill(*loan, static_cast<std::byte>(job));
  return to.publish(numbers(bytes, job));
}

bool shows(const Message& message, std::uint64_t job) {
  return message.header->job == job && message.header->sampled_ns == static_cast<std::int64_t>(10 * job + 1) &&
         message.header->released_ns == static_cast<std::int64_t>(10 * job + 2) &&
         std::ranges::all_of(message.payload, [&](std::byte each) { return each == static_cast<std::byte>(job); });
}

Message newest(Subscriber& from) {
  const auto found = from.newest();
  EXPECT_TRUE(found && *found);
  return found && *found ? **found : Message{};
}

bool nothing_new(Subscriber& from) {
  const auto found = from.newest();
  return found && !*found;
}

/// Both ends in this process, connected.
struct Ends {
  std::unique_ptr<Publisher> out = publisher();
  std::unique_ptr<Subscriber> in = subscriber();
  Ends() {
    EXPECT_TRUE(eventually([&] { return out->has_subscribers(); }));
  }
};

/// Silences iceoryx's own output; other output is unaffected.
class Silence {
 public:
  Silence() {
    (void)open_binding();
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
  }
  ~Silence() {
    std::cerr << "heard " << 1 << std::endl;
    EXPECT_EQ(testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr(), "heard 1\n");
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
};

/// The second process of the tests below. Its argument says what it does.
TEST(IceoryxClientProcess, RunsRequestedRole) {
  const char* told = peer_argument();
  if (told == nullptr) return;
  const std::string deed = told;
  if (deed == "publish") {
    const auto out = publisher();
    for (std::uint64_t job = 0;; ++job, std::this_thread::sleep_for(1ms)) ASSERT_TRUE(send(*out, job));
  }
  if (deed == "publish a few") {
    const auto out = publisher();
    for (std::uint64_t job = 0; job < 10; ++job) ASSERT_TRUE(send(*out, job));
    write_text("/tmp/through/" + std::to_string(::getpid()), "");
    ASSERT_TRUE(eventually([] { return std::filesystem::exists("/tmp/leave"); }));
  }
  if (deed == "subscribe") {
    const auto in = subscriber();
    for (;;) (void)in->await(hal::now() + 1s), (void)in->newest();
  }
}
constexpr const char* peer = "IceoryxClientProcess.RunsRequestedRole";

/// Lets processes end that publish a few messages, once `count` of them are done.
void let_leave(std::ptrdiff_t count) {
  EXPECT_TRUE(eventually([count] {
    std::error_code none;
    return std::distance(std::filesystem::directory_iterator("/tmp/through", none), {}) == count;
  }));
  write_text("/tmp/leave", "");
}

// ---- without iceoryx ----

TEST(IceoryxBinding, NamesPackageToInstallWhenMissing) {
  EXPECT_TRUE(fails(load_binding("libiceoryx_binding_c.so.0"), Errc::unsupported, "apt-get install iceoryx"));
  EXPECT_TRUE(fails(load_binding("libm.so.6"), Errc::unsupported, "has no function iox_set_loglevel"));
}

TEST(IceoryxBinding, RejectsInvalidServiceNamesAndSizes) {
  EXPECT_TRUE(fails(Subscriber::open({"", "b", "c"}), Errc::bad_input, "1 to 100 characters"));
  EXPECT_TRUE(fails(Publisher::open({"a", std::string(101, 'b'), "c"}, {1}), Errc::bad_input, "1 to 100 characters"));
  EXPECT_TRUE(fails(Publisher::open(there, {std::uint64_t{1} << 40}), Errc::bad_input, "larger than"));
}

// ---- the daemon ----

TEST(IceoryxDaemon, IsStartedWhenAbsentAndEndsWithProcess) {
  with_own_daemon([] {
    EXPECT_FALSE(daemon_listens());
    EXPECT_EQ(daemon_memory(), 0u);
    OtherProcess other(peer, "publish a few");
    EXPECT_TRUE(eventually(daemon_listens));
    let_leave(1);
    EXPECT_EQ(other.wait(), 0);
    EXPECT_FALSE(daemon_listens());
  });
}

TEST(IceoryxDaemon, StaysWhileAnotherProcessUsesIt) {
  with_own_daemon([] {
    OtherProcess first(peer, "publish");
    ASSERT_TRUE(eventually([] { return daemon_memory() != 0; }));
    OtherProcess second(peer, "publish a few");
    let_leave(1);
    EXPECT_EQ(second.wait(), 0);
    EXPECT_TRUE(daemon_listens());
    const auto in = subscriber();
    EXPECT_EQ(in->await(hal::now() + 20s), Wake::message);
    first.kill(); // its daemon continues
    EXPECT_TRUE(connection_state());
    EXPECT_TRUE(daemon_listens());
  });
}

/// Makes a program of this name in a folder that becomes PATH.
void replace_daemon(const std::string& script) {
  write_text("/tmp/programs/iox-roudi", "#!/bin/sh\n" + script);
  ::chmod("/tmp/programs/iox-roudi", 0755);
  ::setenv("PATH", "/tmp/programs", 1);
}

TEST(IceoryxDaemon, SupportsConcurrentStartByManyProcesses) {
  with_own_daemon([] {
    std::vector<std::unique_ptr<OtherProcess>> others;
    for (int i = 0; i < 5; ++i) others.push_back(std::make_unique<OtherProcess>(peer, "publish a few"));
    let_leave(5);
    for (const auto& other : others) EXPECT_EQ(other->wait(), 0);
  });
}

TEST(IceoryxDaemon, NamesPackageToInstallWhenMissing) {
  with_own_daemon([] {
    ::setenv("PATH", "/nonexistent", 1);
    EXPECT_TRUE(fails(Publisher::open(there, {64}), Errc::unsupported, "apt-get install iceoryx"));
  });
}

TEST(IceoryxDaemon, OutputIsReportedWhenItExitsAtStart) {
  with_own_daemon([] {
    const std::string path = std::getenv("PATH");
    replace_daemon("printf '\\033[0;1;31mthere is\\033[m no shared memory\\n' >&2; exit 1");
    EXPECT_TRUE(fails(Publisher::open(there, {64}), Errc::refused, "there is no shared memory\n"));
    ::setenv("PATH", path.c_str(), 1);
    (void)publisher(); // the second attempt works
  });
}

TEST(IceoryxDaemon, TimeoutIsReportedWhenItDoesNotAnswer) {
  with_own_daemon([] {
    const int silent = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = "/tmp/roudi"};
    ASSERT_EQ(::bind(silent, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_TRUE(fails(Publisher::open(there, {64}), Errc::device_lost, "did not answer within 5.00 s"));
    EXPECT_TRUE(fails(Subscriber::open(there), Errc::device_lost, "did not answer")); // at once
  });
}

std::vector<pid_t> daemons() {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc"))
    if (read_text(entry.path() / "comm") == "iox-roudi\n") found.push_back(std::stoi(entry.path().filename()));
  return found;
}

TEST(IceoryxDaemon, HangIsReportedWhileConnectedClientsContinue) {
  with_own_daemon([] {
    Ends ends;
    for (const pid_t daemon : daemons()) ::kill(daemon, SIGSTOP);
    EXPECT_TRUE(fails(Publisher::open(there, {64}), Errc::device_lost, "did not answer"));
    EXPECT_TRUE(fails(connection_state(), Errc::device_lost, "did not answer"));
    ASSERT_TRUE(send(*ends.out, 1));
    EXPECT_TRUE(shows(newest(*ends.in), 1));
  });
}

TEST(IceoryxDaemon, DeathLeavesExistingConnectionsWorking) {
  with_own_daemon([] {
    OtherProcess other(peer, "publish");
    const auto in = subscriber();
    ASSERT_EQ(in->await(hal::now() + 20s), Wake::message);
    for (const pid_t daemon : daemons()) ::kill(daemon, SIGKILL);
    ASSERT_TRUE(eventually([] { return !daemon_listens(); }));
    {
      const Silence silence; // iceoryx reports that it cannot send its keep-alive to the daemon
      std::this_thread::sleep_for(1s);
    }
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(in->await(hal::now() + 20s), Wake::message);
      (void)newest(*in);
    }
    EXPECT_TRUE(fails(connection_state(), Errc::device_lost, "ended while this process used it"));
    EXPECT_TRUE(fails(Publisher::open(there, {64}), Errc::device_lost, "Start this program again"));

    OtherProcess next(peer, "publish"); // starts a new daemon
    ASSERT_TRUE(eventually(daemon_listens));
    ASSERT_TRUE(eventually([] { return !connection_state(); }));
    EXPECT_TRUE(eventually([] { return problem(connection_state()).find("was restarted") != std::string::npos; }));
    EXPECT_TRUE(fails(Subscriber::open(there), Errc::device_lost, "was restarted"));
    (void)in->newest();
    ASSERT_EQ(in->await(hal::now() + 20s), Wake::message) << "of the first";
  });
}

// ---- messages ----

TEST(Iceoryx, CarriesMessagesAndKeepsNewest) {
  with_own_daemon([] {
    Ends ends;
    EXPECT_TRUE(nothing_new(*ends.in));
    ASSERT_TRUE(send(*ends.out, 1));
    const Message message = newest(*ends.in);
    EXPECT_TRUE(shows(message, 1));
    EXPECT_EQ(message.payload.size(), 64u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(message.payload.data()) % 64, 0u);
    EXPECT_EQ(message.header->rank, 1);
    EXPECT_EQ(message.header->shape[0], 64u);
    EXPECT_TRUE(nothing_new(*ends.in));
    for (std::uint64_t job = 2; job < 12; ++job) ASSERT_TRUE(send(*ends.out, job));
    EXPECT_TRUE(shows(message, 1)) << "in use still";
    EXPECT_TRUE(shows(newest(*ends.in), 11));
    const auto counts = ends.in->counts();
    EXPECT_EQ(counts.messages, 2u);
    EXPECT_EQ(counts.passed_over, 1u); // the queue holds two
    EXPECT_EQ(counts.lost, 8u);
    EXPECT_EQ(counts.malformed, 0u);
  });
}

/// The subscriber sees the memory that the publisher filled.
TEST(Iceoryx, DeliversPublishedMemoryWithoutCopy) {
  with_own_daemon([] {
    Ends ends;
    const auto loan = ends.out->loan({64});
    ASSERT_TRUE(loan);
    ASSERT_TRUE(ends.out->publish(numbers(64, 0)));
    EXPECT_EQ(newest(*ends.in).payload.data(), loan->data());
  });
}

TEST(Iceoryx, ReusesReleasedMemoryForNextMessage) {
  with_own_daemon([] {
    Ends ends;
    const auto memory_of = [&](std::uint64_t job) {
      EXPECT_TRUE(send(*ends.out, job));
      const Message message = newest(*ends.in);
      EXPECT_TRUE(shows(message, job));
      return message.payload.data();
    };
    const std::byte* const first = memory_of(1);
    EXPECT_NE(memory_of(2), first) << "a message that is kept stays";
    ends.in->release();
    ends.in->release(); // no message is kept
    EXPECT_TRUE(nothing_new(*ends.in));
    const std::byte* const third = memory_of(3);
    ends.in->release();
    EXPECT_EQ(memory_of(4), third);
  });
}

TEST(Iceoryx, CountsEveryMessageOfFastPublisher) {
  if (sanitized) GTEST_SKIP() << "the thread sanitizer does not see what iceoryx orders";
  with_own_daemon([] {
    Ends ends;
    constexpr std::uint64_t count = 20'000;
    ASSERT_TRUE(send(*ends.out, 0)); // messages lost before the first one are unknown
    (void)newest(*ends.in);
    std::thread fast([&] {
      for (std::uint64_t job = 0; job < count; ++job) ASSERT_TRUE(send(*ends.out, job % 251));
      ASSERT_TRUE(send(*ends.out, 255));
    });
    for (std::uint64_t last = 0; last != 255;) {
      ASSERT_EQ(ends.in->await(hal::now() + 20s), Wake::message);
      const auto found = ends.in->newest();
      ASSERT_TRUE(found);
      if (!*found) continue;
      last = (*found)->header->job;
      ASSERT_TRUE(shows(**found, last));
    }
    fast.join();
    const auto counts = ends.in->counts();
    EXPECT_EQ(counts.messages + counts.passed_over + counts.lost, count + 2);
  });
}

TEST(Iceoryx, AllowsOneLoanAtATimeOfItsExactSize) {
  with_own_daemon([] {
    Ends ends;
    EXPECT_TRUE(fails(ends.out->publish(numbers(64, 0)), Errc::bad_input)) << "no loan";
    EXPECT_EQ(ends.out->loan({65}).error(), Errc::bad_input);
    ASSERT_TRUE(ends.out->loan({32}));
    EXPECT_EQ(ends.out->loan({32}).error(), Errc::bad_input);
    EXPECT_TRUE(fails(ends.out->publish(numbers(64, 0)), Errc::bad_input));
    rtexec_message header = numbers(32, 0);
    header.element = 77;
    EXPECT_TRUE(fails(ends.out->publish(header), Errc::bad_input));
    EXPECT_TRUE(nothing_new(*ends.in));
    ends.out->cancel();
    ends.out->cancel();
    ASSERT_TRUE(send(*ends.out, 3, 16));
    EXPECT_EQ(newest(*ends.in).payload.size(), 16u);
    for (std::uint64_t i = 0; i < 1000; ++i) { // no message is kept
      ASSERT_TRUE(ends.out->loan({64}));
      ends.out->cancel();
    }
  });
}

TEST(Iceoryx, ReportsExhaustedMemoryPool) {
  with_own_daemon([] {
    const Silence silence;
    EXPECT_TRUE(fails(Publisher::open(there, {64 << 20}), Errc::refused, "roudi_config.toml"));
    // Ten chunks of 4 MiB exist.
    std::vector<std::unique_ptr<Publisher>> all;
    constexpr Bytes large{4'000'000};
    for (int i = 0; i < 11; ++i) all.push_back(publisher(large));
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(all[static_cast<std::size_t>(i)]->loan(large));
    EXPECT_EQ(all.back()->loan(large).error(), Errc::out_of_memory);
    all.front()->cancel();
    EXPECT_TRUE(all.back()->loan(large));
  });
}

/// A program that publishes data that are not messages of rtexec.
class Stranger {
 public:
  Stranger() {
    PublisherOptions options;
    binding_.publisher_options(&options);
    handle_ = binding_.publisher_create(&storage_, "rtexec", "test", "there", &options);
    EXPECT_TRUE(eventually([&] { return binding_.has_subscribers(handle_); }));
  }
  ~Stranger() { binding_.publisher_destroy(handle_); }
  void publish(std::span<const std::byte> bytes) {
    void* memory = nullptr;
    ASSERT_EQ(binding_.loan(handle_, &memory, static_cast<std::uint32_t>(bytes.size()), 8), allocated);
    std::memcpy(memory, bytes.data(), bytes.size());
    binding_.publish(handle_, memory);
  }

 private:
  const Binding& binding_ = **open_binding();
  Storage storage_;
  PublisherHandle handle_ = nullptr;
};

TEST(Iceoryx, SkipsAndCountsMalformedMessages) {
  with_own_daemon([] {
    Ends ends;
    Stranger stranger;
    const std::array<std::byte, 8> few{};
    stranger.publish(few);
    EXPECT_EQ(ends.in->newest().error(), Errc::bad_input);
    EXPECT_TRUE(nothing_new(*ends.in));
    ASSERT_TRUE(send(*ends.out, 7));
    rtexec_message header = numbers(1 << 20, 8); // claims to be larger than it is
    header.magic = RTEXEC_MESSAGE_MAGIC;
    header.version = RTEXEC_MESSAGE_VERSION;
    header.bytes = 1 << 20;
    stranger.publish(std::as_bytes(std::span(&header, 1)));
    EXPECT_TRUE(shows(newest(*ends.in), 7)) << "the newest that is one";
    EXPECT_EQ(ends.in->counts().malformed, 2u);
  });
}

// ---- waiting ----

TEST(Iceoryx, WaitEndsAtMessageWakeUpOrTimeout) {
  with_own_daemon([] {
    Ends ends;
    const Instant begin = hal::now();
    EXPECT_EQ(ends.in->await(begin + 20ms), Wake::time);
    EXPECT_GE(hal::now(), begin + 20ms);
    EXPECT_EQ(ends.in->await(begin), Wake::time);
    ends.in->wake();
    EXPECT_EQ(ends.in->await(hal::now() + 20s), Wake::woken);
    EXPECT_EQ(ends.in->await(hal::now()), Wake::time);
    ASSERT_TRUE(send(*ends.out, 1));
    EXPECT_EQ(ends.in->await(hal::now() + 20s), Wake::message);
    EXPECT_EQ(ends.in->await(hal::now() + 20s), Wake::message) << "it is there still";
    (void)newest(*ends.in);
    EXPECT_EQ(ends.in->await(hal::now()), Wake::time);
    for (const bool wakes : {true, false}) {
      std::thread other([&] {
        std::this_thread::sleep_for(5ms);
        if (wakes) ends.in->wake();
        else ASSERT_TRUE(send(*ends.out, 2));
      });
      EXPECT_EQ(ends.in->await(hal::now() + 20s), wakes ? Wake::woken : Wake::message);
      other.join();
    }
  });
}

// ---- dying processes ----

TEST(Iceoryx, KilledPublisherLeavesLastMessageAndNextOneIsReceived) {
  with_own_daemon([] {
    const auto in = subscriber();
    auto first = std::make_unique<OtherProcess>(peer, "publish");
    ASSERT_EQ(in->await(hal::now() + 20s), Wake::message);
    const Message message = newest(*in);
    const std::uint64_t job = message.header->job;
    first->kill();
    EXPECT_TRUE(shows(message, job));
    (void)in->newest();
    EXPECT_EQ(in->await(hal::now() + 3s), Wake::time); // until the daemon notices
    EXPECT_TRUE(nothing_new(*in));
    OtherProcess second(peer, "publish");
    EXPECT_EQ(in->await(hal::now() + 20s), Wake::message);
    (void)newest(*in);
  });
}

TEST(Iceoryx, KilledOrStoppedSubscriberDoesNotBlockPublisher) {
  with_own_daemon([] {
    const auto out = publisher();
    OtherProcess stops(peer, "subscribe");
    ASSERT_TRUE(eventually([&] { return out->has_subscribers(); }));
    const auto in = subscriber();
    const auto all_arrive = [&](std::uint64_t count) {
      for (std::uint64_t job = 0; job < count; ++job, std::this_thread::sleep_for(1ms)) {
        const Instant begin = hal::now();
        if (!send(*out, job)) return false;
        if (hal::now() - begin > 1s) return false;
      }
      return true;
    };
    stops.signal(SIGSTOP);
    EXPECT_TRUE(all_arrive(500));
    stops.signal(SIGCONT);
    stops.kill();
    EXPECT_TRUE(all_arrive(3000)); // meanwhile the daemon notices
    EXPECT_GT(newest(*in).header->job, 0u);
  });
}

// ---- real time ----

TEST(Iceoryx, RoundTripNeitherAllocatesNorFaultsAndReceiveTakesNoLock) {
  if (sanitized) GTEST_SKIP() << "the thread sanitizer does not see what iceoryx orders";
  with_own_daemon([] {
    Ends ends;
    (void)::mlockall(MCL_CURRENT | MCL_FUTURE);
    struct Costs {
      ThreadCounts publish, newest, await;
      long faults = 0;
    } costs;
    const auto cost_of = [](ThreadCounts& sum, auto call) {
      const ThreadCounts before = counts_of(::gettid());
      call();
      const ThreadCounts after = counts_of(::gettid());
      sum.allocations += after.allocations - before.allocations;
      sum.locks += after.locks - before.locks;
    };
    std::thread([&] {
      for (std::uint64_t i = 0; i < 1100; ++i) {
        if (i == 100) { // after warming up
          rusage use{};
          ::getrusage(RUSAGE_THREAD, &use);
          costs = {.publish = {}, .newest = {}, .await = {}, .faults = use.ru_minflt};
        }
        cost_of(costs.publish, [&] { (void)send(*ends.out, i % 100); });
        cost_of(costs.await, [&] { (void)ends.in->await(hal::now() + 1s); });
        cost_of(costs.newest, [&] {
          (void)ends.in->newest();
          if (i % 2 == 0) ends.in->release();
        });
        if (i % 10 == 0) cost_of(costs.await, [&] { (void)ends.in->await(hal::now()); });
      }
      rusage use{};
      ::getrusage(RUSAGE_THREAD, &use);
      costs.faults = use.ru_minflt - costs.faults;
    }).join();
    EXPECT_EQ(ends.in->counts().messages, 1100u);
    EXPECT_EQ(costs.publish.allocations + costs.newest.allocations + costs.await.allocations, 0u);
    EXPECT_EQ(costs.newest.locks, 0u);
    EXPECT_EQ(costs.await.locks, 0u);
    EXPECT_EQ(costs.faults, 0);
    RecordProperty("locks_of_1000_publish", static_cast<int>(costs.publish.locks));
    EXPECT_EQ(costs.publish.locks, 3 * 1000u)
        << "of its own list of subscribers twice, of each subscriber's queue once";
  });
}

} // namespace
} // namespace rtexec::channels::iceoryx::test
