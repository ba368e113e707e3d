// Tests rtexecd's server with clients in other processes: sockets, shared-memory regions, passed chunks, ends of
// processes.
#include "rtexec/sharing/client/client.hpp"
#include "rtexec/sharing/daemon/line_limit.hpp"
#include "rtexec/sharing/daemon/listening.hpp"
#include "rtexec/sharing/protocol/channel.hpp"
#include "test/rtexec/sharing/host_client_memory.hpp"
#include "test/rtexec/sharing/running_server.hpp"
#include "test/support/eventually.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace rtexec::daemon {
namespace {

using namespace std::chrono_literals;
using client::Client;
using client::test::HostClientMemory;
using test::connect;
using test::exit_code;
using test::RunningServer;
using test::start;
using testing::HasSubstr;

// The thread sanitizer permits no threads in a process that was forked from one with threads.
#if defined(__SANITIZE_THREAD__)
constexpr bool forks = false;
#else
constexpr bool forks = true;
#endif

constexpr std::uint32_t slots = 6;

/// Writes own contents to each slot in each job, and checks those of the previous job. Reports its first job to `told`,
/// if set.
int compute(const std::filesystem::path& directory, const std::string& name, int jobs, bool stays = false,
            int told = -1) {
  HostClientMemory memory(slots, 2 << 20);
  const auto connected = connect(directory, name, memory);
  if (!connected) return 10;
  Client& client = **connected;
  if (!client.grow(slots)) return 11;
  for (int job = 0; job < jobs; ++job) {
    if (!client.begin()) return 12;
    if (job == 0 && told >= 0 && ::write(told, "b", 1) != 1) return 14;
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      std::uint64_t found = 0;
      const std::uint64_t mine = static_cast<std::uint64_t>(::getpid()) << 32 | slot << 16;
      std::byte* const last = memory.slot(slot) + memory.chunk() - sizeof found;
      std::memcpy(&found, last, sizeof found);
      if (found != (job == 0 ? 0 : mine + static_cast<unsigned>(job - 1))) return 13;
      found = mine + static_cast<unsigned>(job);
      std::memcpy(last, &found, sizeof found);
    }
    if (stays) ::pause();
    client.end();
  }
  return 0;
}

TEST(DaemonServer, EightProcessesShareHalfTheMemoryTheyNeed) {
  if (!forks) GTEST_SKIP() << "forks";
  const rtexec::test::ScratchFolder folder;
  const RunningServer server(folder.path() / "d", slots * 4);
  std::vector<pid_t> processes;
  for (int i = 0; i < 8; ++i)
    processes.push_back(start([&] { return compute(folder.path() / "d", "c" + std::to_string(i), 20); }));
  for (const pid_t process : processes) EXPECT_EQ(exit_code(process), 0);
}

TEST(DaemonServer, ClientKilledWhileHoldingDeviceBlocksNoOther) {
  if (!forks) GTEST_SKIP() << "forks";
  const rtexec::test::ScratchFolder folder;
  const RunningServer server(folder.path() / "d", slots * 2);
  std::array<int, 2> began{};
  ASSERT_EQ(::pipe(began.data()), 0);
  for (int round = 0; round < 3; ++round) {
    const pid_t killed = start([&] { return compute(folder.path() / "d", "killed", 1, true, began[1]); });
    char token = 0;
    ASSERT_EQ(::read(began[0], &token, 1), 1);
    ::kill(killed, SIGKILL);
    EXPECT_EQ(exit_code(killed), 128 + SIGKILL);
    std::vector<pid_t> processes;
    for (int i = 0; i < 3; ++i) processes.push_back(start([&] { return compute(folder.path() / "d", "c", 5); }));
    for (const pid_t process : processes) EXPECT_EQ(exit_code(process), 0);
  }
  for (const int end : began) ::close(end);
}

TEST(DaemonServer, ClientsContinueAfterDaemonRestart) {
  if (!forks) GTEST_SKIP() << "forks";
  const rtexec::test::ScratchFolder folder;
  auto first = std::make_unique<RunningServer>(folder.path() / "d", slots * 2);
  std::array<int, 2> began{};
  ASSERT_EQ(::pipe(began.data()), 0);
  std::vector<pid_t> processes;
  for (int i = 0; i < 4; ++i)
    processes.push_back(start([&] { return compute(folder.path() / "d", "c", 60, false, began[1]); }));
  char token = 0;
  for (int i = 0; i < 4; ++i) ASSERT_EQ(::read(began[0], &token, 1), 1); // all are connected
  first.reset();
  std::this_thread::sleep_for(50ms);
  const RunningServer second(folder.path() / "d", slots * 2);
  for (const pid_t process : processes) EXPECT_EQ(exit_code(process), 0);
  for (const int end : began) ::close(end);
}

TEST(DaemonServer, ClientReconnectsAfterChangingItsWorkingFolder) {
  if (!forks) GTEST_SKIP() << "forks";
  const rtexec::test::ScratchFolder folder;
  auto first = std::make_unique<RunningServer>(folder.path() / "d", slots * 2);
  std::array<int, 2> began{}, next{};
  ASSERT_EQ(::pipe(began.data()), 0);
  ASSERT_EQ(::pipe(next.data()), 0);
  const pid_t process = start([&] {
    char token = 0;
    std::filesystem::current_path(folder.path());
    HostClientMemory memory(slots, 2 << 20);
    const auto connected = connect("d", "c", memory);
    std::filesystem::current_path("/");
    if (!connected || !(*connected)->begin()) return 10;
    (*connected)->end();
    if (::write(began[1], "b", 1) != 1 || ::read(next[0], &token, 1) != 1) return 12; // another daemon runs
    ::alarm(30);
    return (*connected)->begin() ? 0 : 11;
  });
  ::close(began[1]); // so that reading ends when the process ends
  char token = 0;
  EXPECT_EQ(::read(began[0], &token, 1), 1);
  first.reset();
  const RunningServer second(folder.path() / "d", slots * 2);
  EXPECT_EQ(::write(next[1], "n", 1), 1);
  EXPECT_EQ(exit_code(process), 0);
  for (const int end : {began[0], next[0], next[1]}) ::close(end);
}

std::unique_ptr<Client> connected(const std::filesystem::path& directory, const std::string& name,
                                  HostClientMemory& memory) {
  auto client = connect(directory, name, memory);
  EXPECT_TRUE(client) << client.error().what;
  return client ? std::move(*client) : nullptr;
}

TEST(DaemonServer, RefusesInfeasibleDeclarationWithFigures) {
  const rtexec::test::ScratchFolder folder;
  const RunningServer server(folder.path() / "d", slots * 2);
  HostClientMemory one_memory(slots, 2 << 20), other_memory(slots, 2 << 20);
  const auto one = connected(folder.path() / "d", "one", one_memory),
             other = connected(folder.path() / "d", "other", other_memory);
  ASSERT_TRUE(one && other);
  const auto promised =
      one->declare({.header = {}, .period_ns = 100'000'000, .deadline_ns = 100'000'000, .wcet_ns = 45'000'000});
  EXPECT_TRUE(promised) << promised.error().what;
  const auto refused =
      other->declare({.header = {}, .period_ns = 100'000'000, .deadline_ns = 60'000'000, .wcet_ns = 40'000'000});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::not_proved);
  EXPECT_THAT(refused.error().what, testing::AllOf(HasSubstr("40ms"), HasSubstr("blocks for 45ms")));
  const auto smaller =
      other->declare({.header = {}, .period_ns = 100'000'000, .deadline_ns = 100'000'000, .wcet_ns = 4'000'000});
  EXPECT_TRUE(smaller) << smaller.error().what;
}

protocol::Declare each_100_ms(std::int64_t wcet_ns) {
  return {.header = {}, .period_ns = 100'000'000, .deadline_ns = 100'000'000, .wcet_ns = wcet_ns};
}

/// Its job has delayed one that continues. There is not enough time for both until that has ended; then there is.
TEST(DaemonServer, RestartedProgramWaitsUntilJobsItDelayedHaveEnded) {
  if (!forks) GTEST_SKIP() << "forks";
  const rtexec::test::ScratchFolder folder;
  const RunningServer server(folder.path() / "d", slots * 2);
  std::array<int, 2> holds{};
  ASSERT_EQ(::pipe(holds.data()), 0);
  const auto run = [&] {
    HostClientMemory memory(slots, 2 << 20);
    const auto client = connect(folder.path() / "d", "again", memory);
    if (!client || !(*client)->declare(each_100_ms(45'000'000))) return 10;
    if (!(*client)->begin() || ::write(holds[1], "h", 1) != 1) return 11;
    std::this_thread::sleep_for(100ms);
    (*client)->end();
    return 0;
  };
  const pid_t first = start(run);
  HostClientMemory memory(slots, 2 << 20);
  const auto other = connected(folder.path() / "d", "other", memory);
  ASSERT_TRUE(other);
  ASSERT_TRUE(other->declare(each_100_ms(45'000'000)));
  char token = 0;
  ASSERT_EQ(::read(holds[0], &token, 1), 1);
  ASSERT_TRUE(other->begin()) << "after the first one";
  EXPECT_EQ(exit_code(first), 0);
  const pid_t second = start(run);
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(::waitpid(second, nullptr, WNOHANG), 0) << "it asks again";
  pollfd came{.fd = holds[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&came, 1, 0), 0) << "and does not have the device";
  other->end();
  EXPECT_EQ(exit_code(second), 0);
  ::close(holds[0]);
  ::close(holds[1]);
}

/// Otherwise other clients would wait for its job.
TEST(DaemonServer, DeclarationWhileHoldingDeviceFailsInsteadOfWaiting) {
  const rtexec::test::ScratchFolder folder;
  const RunningServer server(folder.path() / "d", slots * 2);
  HostClientMemory one_memory(slots, 2 << 20), other_memory(slots, 2 << 20);
  const auto one = connected(folder.path() / "d", "one", one_memory),
             other = connected(folder.path() / "d", "other", other_memory);
  ASSERT_TRUE(one && other && one->declare(each_100_ms(45'000'000)));
  ASSERT_TRUE(other->begin()); // for at most 5 ms, since it declared nothing else
  const Instant asked = hal::now();
  const auto refused = other->declare(each_100_ms(52'000'000));
  EXPECT_LT(hal::now(), asked + 10s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::not_proved);
  EXPECT_THAT(refused.error().what, HasSubstr("try again"));
  other->end();
  const auto promised = other->declare(each_100_ms(52'000'000));
  EXPECT_TRUE(promised) << promised.error().what;
}

/// If it can get more memory only later, its job ends first, since others may wait for the device.
TEST(DaemonServer, ClientThatMustRetryGrowthReleasesDeviceFirst) {
  const rtexec::test::ScratchFolder folder;
  auto listener = listen_in(folder.path() / "d", "");
  ASSERT_TRUE(listener) << listener.error().what;
  std::vector<std::uint32_t> held; // slots at each of its requests for more memory
  std::thread daemon([&] {
    pollfd comes{.fd = listener->get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&comes, 1, 10'000), 1);
    protocol::Channel channel(config::Descriptor(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC)));
    auto segment = protocol::SharedSegment::create();
    ASSERT_TRUE(segment);
    protocol::Letter letter;
    ASSERT_EQ(channel.receive(letter), protocol::Delivery::done);
    (*segment)->state.set_job({1, protocol::Verdict::granted});
    ASSERT_EQ(
        channel.send(protocol::Welcome{.header = {}, .chunk_bytes = 2 << 20, .frames = slots, .limit_slots = slots},
                     segment->descriptor()),
        protocol::Delivery::done);
    while (held.size() < 4) {
      ASSERT_EQ(channel.receive(letter), protocol::Delivery::done);
      const auto asked = protocol::read<protocol::Grow>(letter.bytes());
      ASSERT_TRUE(asked);
      held.push_back(asked->holds);
      if (held.size() < 4)
        ASSERT_EQ(channel.send(protocol::Refused{.header = {}, .code = protocol::Refusal::later}),
                  protocol::Delivery::done);
      else ASSERT_EQ(channel.send(protocol::Grown{.header = {}, .slots = asked->slots}), protocol::Delivery::done);
    }
    while (channel.receive(letter) == protocol::Delivery::done) {} // until it leaves
  });
  {
    HostClientMemory memory(slots, 2 << 20);
    const auto client = connected(folder.path() / "d", "grows", memory);
    ASSERT_TRUE(client && client->begin());
    EXPECT_TRUE(client->grow(2));
    EXPECT_FALSE(client->holds());
  }
  daemon.join();
  EXPECT_EQ(held, (std::vector<std::uint32_t>{1, 0, 0, 0}));
}

TEST(DaemonServer, RefusesClientWithOtherChunkSize) {
  const rtexec::test::ScratchFolder folder;
  const RunningServer server(folder.path() / "d", 4);
  for (const std::uint64_t chunk : {2u << 20, 4u << 20}) {
    auto channel = protocol::Channel::connect(folder.path() / "d" / "socket");
    ASSERT_TRUE(channel);
    protocol::Letter letter;
    ASSERT_EQ(channel->send(protocol::Hello{.header = {},
                                            .name = protocol::text<64>("old"),
                                            .granularity = 4096,
                                            .chunk_bytes = chunk,
                                            .can_export = 1,
                                            .slots = 1}),
              protocol::Delivery::done);
    ASSERT_EQ(channel->receive(letter), protocol::Delivery::done);
    const auto refused = protocol::read<protocol::Refused>(letter.bytes());
    ASSERT_EQ(refused.has_value(), chunk != 2u << 20);
    const std::string text(refused ? protocol::view(refused->text) : "");
    EXPECT_THAT(text, refused ? HasSubstr("in chunks of 4MiB") : HasSubstr(""));
  }
}

TEST(DaemonServer, ClientReportsDaemonOfAnotherRelease) {
  const rtexec::test::ScratchFolder folder;
  const auto address = protocol::socket_address(folder.path() / "socket");
  const config::Descriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  std::thread other([&] {
    const config::Descriptor peer(::accept(listener.get(), nullptr, nullptr));
    protocol::Hello hello;
    EXPECT_EQ(::recv(peer.get(), &hello, sizeof hello, 0), static_cast<ssize_t>(sizeof hello));
    const protocol::Header header{.kind = 3, .size = sizeof header, .version = protocol::version + 1};
    EXPECT_EQ(::send(peer.get(), &header, sizeof header, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof header));
  });
  HostClientMemory memory(slots, 2 << 20);
  const auto refused = connect(folder.path(), "c", memory);
  other.join();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("install both from one release"));
}

TEST(DaemonServer, ForgetsClientThatDisconnectsWithoutMemory) {
  if (!forks) GTEST_SKIP() << "forks";
  const rtexec::test::ScratchFolder folder;
  const RunningServer server(folder.path() / "d", 4, 1);
  const pid_t leaves = start([&] { // as a library that finds that it cannot be a client
    {
      auto channel = protocol::Channel::connect(folder.path() / "d" / "socket");
      protocol::Letter letter;
      if (!channel || channel->send(protocol::Hello{.header = {},
                                                    .name = protocol::text<64>("leaves"),
                                                    .granularity = 4096,
                                                    .chunk_bytes = 0,
                                                    .can_export = 1,
                                                    .slots = 0}) != protocol::Delivery::done)
        return 10;
      if (channel->receive(letter) != protocol::Delivery::done || !protocol::read<protocol::Welcome>(letter.bytes()))
        return 11;
    }
    std::this_thread::sleep_for(1500ms);
    HostClientMemory memory(slots, 2 << 20);
    return connect(folder.path() / "d", "again", memory) ? 0 : 12; // the only place is free
  });
  EXPECT_EQ(exit_code(leaves), 0);
}

TEST(DaemonServer, AcceptsAtMostSixteenConnectionsPerProcess) {
  const rtexec::test::ScratchFolder folder;
  const RunningServer server(folder / "run", 8);
  const auto connected = [&] { return protocol::Channel::connect(folder / "run/socket", 10s).value(); };
  const auto answer_to_status = [](protocol::Channel& channel) {
    static_cast<void>(channel.send(protocol::Status{}));
    protocol::Letter letter;
    const auto came = channel.receive(letter);
    const auto refused = protocol::read<protocol::Refused>(letter.bytes());
    return came == protocol::Delivery::done && !refused
               ? std::string("status")
               : std::string(refused ? protocol::view(refused->text) : "closed");
  };
  std::vector<protocol::Channel> taken;
  for (int i = 0; i < 16; ++i) {
    taken.push_back(connected());
    EXPECT_EQ(answer_to_status(taken.back()), "status") << i;
  }
  auto another = connected();
  EXPECT_THAT(answer_to_status(another), HasSubstr("Process " + std::to_string(::getpid()) + " has 16 connections"));
  taken.pop_back();
  EXPECT_TRUE(rtexec::test::eventually([&] {
    auto last = connected();
    return answer_to_status(last) == "status";
  })) << "there is room again";
}

TEST(LineLimitTest, LimitsLinesPerUserBeyondABurst) {
  LineLimit limit;
  Instant now{1h};
  for (int i = 0; i < LineLimit::burst; ++i) ASSERT_EQ(limit.ask(1, now), 0u) << i;
  for (int i = 0; i < 7; ++i) EXPECT_EQ(limit.ask(1, now), std::nullopt);
  EXPECT_EQ(limit.ask(2, now), 0u) << "another user's lines are written";
  now += LineLimit::pause;
  EXPECT_EQ(limit.ask(1, now), 7u);
  EXPECT_EQ(limit.ask(1, now), std::nullopt);
  now += LineLimit::pause * LineLimit::burst;
  for (int i = 0; i < LineLimit::burst; ++i) ASSERT_EQ(limit.ask(1, now), i == 0 ? 1u : 0u) << i;
}

TEST(DaemonServer, RefusesSecondDaemonInSameDirectory) {
  const rtexec::test::ScratchFolder folder;
  const RunningServer server(folder.path() / "d", 4);
  EXPECT_THROW(RunningServer(folder.path() / "d", 4), std::runtime_error);
  EXPECT_EQ(std::filesystem::status(folder.path() / "d").permissions(), std::filesystem::perms::owner_all);
}

TEST(DaemonServer, RefusesSharedDirectoryThatIsNotEmpty) {
  using std::filesystem::perms;
  const rtexec::test::ScratchFolder folder;
  const auto of_all =
      perms::owner_all | perms::group_read | perms::group_exec | perms::others_read | perms::others_exec;
  std::filesystem::permissions(folder.path(), of_all);
  std::ofstream(folder.path() / "theirs") << "here";
  EXPECT_THROW(RunningServer(folder.path(), 4), std::runtime_error);
  EXPECT_EQ(std::filesystem::status(folder.path()).permissions(), of_all);

  std::filesystem::remove(folder.path() / "theirs");
  { const RunningServer server(folder.path(), 4); }
  EXPECT_EQ(std::filesystem::status(folder.path()).permissions(), perms::owner_all);
  std::ofstream(folder.path() / "recording") << "of the daemon";
  const RunningServer again(folder.path(), 4);
}

Duration time_of_this_process() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

TEST(DaemonServer, WaitsIdleWithoutFreeDescriptorAndAcceptsLater) {
  const rtexec::test::ScratchFolder folder;
  const RunningServer server(folder.path() / "d", 4);
  const auto address = protocol::socket_address(folder.path() / "d" / "socket");
  protocol::Letter letter;
  auto first = protocol::Channel::connect(folder.path() / "d" / "socket"); // its initial socket is closed by then
  ASSERT_TRUE(first);
  ASSERT_EQ(first->send(protocol::Status{}), protocol::Delivery::done);
  ASSERT_EQ(first->receive(letter), protocol::Delivery::done);
  protocol::Channel waits(config::Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = static_cast<rlim_t>(waits.descriptor()), .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(::connect(waits.descriptor(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address), 0);
  const Duration used = time_of_this_process();
  std::this_thread::sleep_for(500ms);
  EXPECT_LT(time_of_this_process() - used, 150ms);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_EQ(waits.send(protocol::Status{}), protocol::Delivery::done);
  EXPECT_EQ(waits.receive(letter), protocol::Delivery::done);
}

} // namespace
} // namespace rtexec::daemon
