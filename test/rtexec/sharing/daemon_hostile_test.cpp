// Tests rtexecd's server with clients that violate the protocol: they end in parts, and send arbitrary data.
#include "rtexec/sharing/client/client.hpp"
#include "rtexec/sharing/protocol/channel.hpp"
#include "rtexec/sharing/protocol/segment.hpp"
#include "test/rtexec/sharing/host_client_memory.hpp"
#include "test/rtexec/sharing/running_server.hpp"
#include "test/support/eventually.hpp"
#include "test/support/test_files.hpp"
#include "test/support/sanitized.hpp"
#include "test/support/thread_class.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace rtexec::daemon {
namespace {

using namespace std::chrono_literals;
using client::Client;
using client::test::HostClientMemory;
using protocol::Entry;
using protocol::EntryKind;
using test::exit_code;
using test::RunningServer;
using test::start;

// The thread sanitizer permits no threads in a process that was forked from one with threads.
#if defined(__SANITIZE_THREAD__)
constexpr bool forks = false;
#else
constexpr bool forks = true;
#endif

constexpr std::uint32_t slots = 4;
/// A factor for the times of processes that others wait for, since a sanitizer slows down the machine.
constexpr int slowness = rtexec::test::sanitized ? 5 : 1;

/// A client made of the protocol alone.
struct Bare {
  static std::optional<Bare> connect(const std::filesystem::path& directory) {
    auto channel = protocol::Channel::connect(directory / "socket");
    if (!channel) return std::nullopt;
    protocol::Letter letter;
    const auto sent = channel->send(protocol::Hello{.header = {},
                                                    .name = protocol::text<64>("bare"),
                                                    .granularity = 4096,
                                                    .chunk_bytes = 0,
                                                    .can_export = 1,
                                                    .slots = 0});
    if (sent != protocol::Delivery::done || channel->receive(letter) != protocol::Delivery::done ||
        !protocol::read<protocol::Welcome>(letter.bytes()))
      return std::nullopt;
    auto segment = protocol::SharedSegment::open(std::move(letter.descriptor));
    if (!segment) return std::nullopt;
    return Bare{std::move(*channel), std::move(*segment)};
  }
  bool grow(std::uint32_t to) {
    protocol::Letter letter;
    return channel.send(protocol::Grow{.header = {}, .slots = to}) == protocol::Delivery::done &&
           channel.receive(letter) == protocol::Delivery::done &&
           protocol::read<protocol::Grown>(letter.bytes()).has_value();
  }
  void say(const Entry& entry) {
    static_cast<void>(entries.push(entry));
    segment->to_daemon_bell.raise();
  }
  /// Executes a job on the device with all slots.
  void execute_once() {
    say({.kind = static_cast<std::uint16_t>(EntryKind::request), .job = 1});
    while (segment->state.job() != protocol::JobVerdict{1, protocol::Verdict::granted}) {
      Entry command;
      if (commands.pop(command) != protocol::Turn::done) continue;
      command.kind = static_cast<std::uint16_t>(EntryKind::loaded);
      say(command);
    }
    say({.kind = static_cast<std::uint16_t>(EntryKind::done), .job = 1});
  }

  protocol::Channel channel;
  protocol::SharedSegment segment;
  protocol::Producer entries{segment->to_daemon};
  protocol::Consumer commands{segment->to_client};
};

std::unique_ptr<Client> honest(const std::filesystem::path& directory, HostClientMemory& memory) {
  auto connected = test::connect(directory, "honest", memory);
  return connected && (*connected)->grow(slots) ? std::move(*connected) : nullptr;
}

/// Its agent ends, but the process takes some time. A killed process does so while its driver releases its memory.
TEST(HostileClient, LosesItsFramesWhenItsAgentEnds) {
  if (!forks) GTEST_SKIP() << "forks";
  const rtexec::test::ScratchFolder folder;
  const auto directory = folder.path() / "d";
  const RunningServer server(directory, slots, 8, 20s);
  std::array<int, 2> gone{};
  ASSERT_EQ(::pipe(gone.data()), 0);
  const pid_t ends = start([&] {
    auto bare = Bare::connect(directory);
    if (!bare || !bare->grow(slots)) return 10;
    bare->execute_once();
    std::thread([&] { static_cast<void>(bare->segment->lifeline.hold()); }).join();
    static_cast<void>(!::write(gone[1], "x", 1));
    ::pause();
    return 0;
  });
  const pid_t goes_on = start([&] {
    HostClientMemory memory(slots, 2 << 20);
    const auto client = honest(directory, memory);
    char told = 0;
    if (!client || ::read(gone[0], &told, 1) != 1) return 10;
    const auto begun = std::chrono::steady_clock::now();
    if (!client->begin()) return 11;
    client->end();
    return std::chrono::steady_clock::now() - begun < 10s ? 0 : 12; // it had to save them within 20 s
  });
  EXPECT_EQ(exit_code(goes_on), 0);
  EXPECT_EQ(exit_code(ends), 128 + SIGKILL) << "who is no client any more and lives on is ended";
  ::close(gone[0]);
  ::close(gone[1]);
}

/// It is no client any more, and cannot change that: its address space with all mappings is gone.
TEST(HostileClient, IsNotKilledAfterExecOfAnotherProgram) {
  if (!forks) GTEST_SKIP() << "forks";
  const rtexec::test::ScratchFolder folder;
  const auto directory = folder.path() / "d";
  const RunningServer server(directory, slots);
  std::array<int, 2> gone{};
  ASSERT_EQ(::pipe2(gone.data(), O_CLOEXEC), 0);
  const pid_t executes = start([&] {
    ::close(gone[0]);
    auto bare = Bare::connect(directory);
    if (!bare || !bare->grow(slots)) return 10;
    bare->execute_once();
    std::atomic<bool> held{false};
    std::thread([&] {
      static_cast<void>(bare->segment->lifeline.hold());
      held = true;
      ::pause();
    }).detach();
    while (!held) std::this_thread::sleep_for(1ms);
    ::execl("/bin/sleep", "sleep", "2.5", nullptr);
    return 11;
  });
  const pid_t goes_on = start([&] {
    HostClientMemory memory(slots, 2 << 20);
    char told = 0;
    ::close(gone[1]);
    static_cast<void>(!::read(gone[0], &told, 1));
    std::this_thread::sleep_for(1500ms);
    const auto client = honest(directory, memory);
    if (!client || !client->begin()) return 10;
    client->end();
    return 0;
  });
  ::close(gone[0]);
  ::close(gone[1]); // its last end closes with the exec
  EXPECT_EQ(exit_code(goes_on), 0);
  EXPECT_EQ(exit_code(executes), 0);
}

/// Returns the CPU time of the threads of this process whose names begin with `name`.
Duration used_by_threads(const std::string& name) {
  Duration sum{0};
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string called;
    std::int64_t ns = 0;
    std::ifstream(task.path() / "comm") >> called;
    if (called.starts_with(name) && std::ifstream(task.path() / "schedstat") >> ns) sum += Duration(ns);
  }
  return sum;
}

TEST(HostileClient, CostsLittleCpuTimeWhenItRingsWithoutPause) {
  if (!forks) GTEST_SKIP() << "forks";
  const rtexec::test::ScratchFolder folder;
  const auto directory = folder.path() / "d";
  auto server = std::make_unique<RunningServer>(directory, slots);
  const pid_t rings = start([&] {
    auto bare = Bare::connect(directory);
    if (!bare) return 10;
    auto& word = *reinterpret_cast<std::atomic<std::uint32_t>*>(&bare->segment->lifeline);
    for (std::uint32_t i = 0;; ++i) {
      bare->segment->to_daemon_bell.raise();
      word.store(i & 0xffff);
    }
  });
  const Duration idle = used_by_threads("rtexecd-0");
  ASSERT_TRUE(rtexec::test::eventually([&] { return used_by_threads("rtexecd-0") > idle + 5ms; })) << "it rings";
  const auto begun = std::chrono::steady_clock::now();
  const Duration before = used_by_threads("rtexecd-0");
  std::this_thread::sleep_for(500ms);
  const Duration used = used_by_threads("rtexecd-0") - before;
  EXPECT_GT(used, 0ms);
  EXPECT_LT(used, (std::chrono::steady_clock::now() - begun) / (rtexec::test::sanitized ? 2 : 3));
  server.reset(); // the client cannot prevent this
  ::kill(rings, SIGKILL);
  EXPECT_EQ(exit_code(rings), 128 + SIGKILL);
}

/// Sends a message with random contents, within the protocol's limits or outside.
template <protocol::Message M> void say_at_random(protocol::Channel& channel, std::mt19937_64& random) {
  std::array<std::byte, sizeof(M)> bytes;
  for (std::byte& each : bytes) each = static_cast<std::byte>(random());
  M message;
  std::memcpy(static_cast<void*>(&message), bytes.data(), bytes.size());
  if constexpr (requires { message.slots; }) message.slots %= slots + 2;
  if constexpr (requires { message.frame; }) message.frame %= 3 * slots;
  if constexpr (requires { message.holds; }) message.holds %= 2;
  if constexpr (requires { message.reserved = 0; }) message.reserved = 0;
  if constexpr (requires { message.wcet_ns; })
    message = {.header = {},
               .period_ns = 100'000'000 + static_cast<std::int64_t>(random() % 1'000'000'000),
               .deadline_ns = 100'000'000,
               .wcet_ns = static_cast<std::int64_t>(1'000 + random() % 20'000'000),
               .priority = static_cast<std::int32_t>(random() % 100)};
  static_cast<void>(channel.send(message));
}

void say_something(Bare& bare, std::mt19937_64& random) {
  switch (random() % 8) {
  case 0: return say_at_random<protocol::Declare>(bare.channel, random);
  case 1: return say_at_random<protocol::Grow>(bare.channel, random);
  case 2: return say_at_random<protocol::NeedFrame>(bare.channel, random);
  case 3: return say_at_random<protocol::Hello>(bare.channel, random);
  case 4: return say_at_random<protocol::Status>(bare.channel, random);
  default: break;
  }
  std::array<std::byte, 600> bytes;
  for (std::byte& each : bytes) each = static_cast<std::byte>(random());
  const std::size_t size = 1 + random() % bytes.size();
  const protocol::Header header{static_cast<std::uint16_t>(random() % 13), static_cast<std::uint16_t>(size)};
  if (size >= sizeof header) std::memcpy(bytes.data(), &header, sizeof header);
  static_cast<void>(bare.channel.send(std::span(bytes).first(size), STDERR_FILENO));
}

/// Sends random messages and entries, with file descriptors, sometimes answers an order, and damages its ring and
/// lifeline. Ends by itself, unless the daemon ends it.
int talk_rubbish(const std::filesystem::path& directory, std::uint64_t seed) {
  static_cast<void>(::nice(19)); // leaves the machine's time to others
  std::mt19937_64 random(seed);
  const auto until = std::chrono::steady_clock::now() + 300ms;
  while (std::chrono::steady_clock::now() < until) {
    auto bare = Bare::connect(directory);
    if (!bare) continue;
    static_cast<void>(bare->grow(static_cast<std::uint32_t>(random() % (slots + 1))));
    std::uint64_t job = 0;
    for (auto count = random() % 300; count > 0; --count) {
      if (random() % 8 == 0) say_something(*bare, random);
      Entry command;
      if (random() % 2 == 0 && bare->commands.pop(command) == protocol::Turn::done) {
        command.kind = static_cast<std::uint16_t>(
            command.kind == static_cast<std::uint16_t>(EntryKind::load) ? EntryKind::loaded : EntryKind::saved);
        bare->say(command);
        continue;
      }
      job += random() % 2;
      bare->say({.kind = static_cast<std::uint16_t>(random() % 6),
                 .status = static_cast<std::uint16_t>(random() % 2),
                 .slot = static_cast<std::uint32_t>(random() % (slots + 1)),
                 .frame = static_cast<std::uint32_t>(random() % (slots + 1)),
                 .reserved = 0,
                 .job = random() % 16 == 0 ? random() : job,
                 .time_ns = 0});
    }
    auto* const ring = reinterpret_cast<std::byte*>(&bare->segment->to_daemon);
    if (random() % 4 == 0) std::memset(ring, static_cast<int>(random() % 256), 128);
    auto* const lifeline = reinterpret_cast<std::byte*>(&bare->segment->lifeline);
    if (random() % 4 == 0) std::memset(lifeline, static_cast<int>(random() % 256), sizeof(protocol::Lifeline));
    bare->segment->to_daemon_bell.raise();
  }
  return 0;
}

/// Returns how long hostile clients run: RTEXEC_HOSTILE_SECONDS.
std::chrono::seconds hostile_time() {
  const char* const seconds = std::getenv("RTEXEC_HOSTILE_SECONDS");
  return std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 2);
}

/// Runs a declared client that is admitted with a deadline, counts its jobs, and checks that each slot holds what it
/// wrote there.
int keep_deadlines(const std::filesystem::path& directory, std::chrono::steady_clock::time_point until, int told) {
  constexpr auto period = 500ms * slowness;
  const rtexec::test::Urgent urgent; // for its agent too: other programs use the machine as well
  HostClientMemory memory(slots, 2 << 20);
  const auto client = honest(directory, memory);
  if (!client) return 10;
  if (!client->declare({.header = {},
                        .period_ns = std::chrono::nanoseconds(period).count(),
                        .deadline_ns = std::chrono::nanoseconds(period).count(),
                        .wcet_ns = 20'000'000}))
    return 11;
  if (::write(told, "x", 1) != 1) return 12;
  std::byte written{};
  int jobs = 0, late = 0;
  for (auto release = std::chrono::steady_clock::now(); release < until; release += period) {
    std::this_thread::sleep_until(release);
    if (!client->begin()) return 13;
    const auto next = static_cast<std::byte>(static_cast<int>(written) + 1);
    for (std::uint32_t slot = 0; slot < slots; ++slot)
      if (std::exchange(*memory.slot(slot), next) != written) return 14;
    written = next;
    client->end();
    ++jobs;
    if (std::chrono::steady_clock::now() > release + period) ++late;
  }
  return late <= 1 + jobs / 10 ? 0 : 15; // the machine may stall, and others may use its cores
}

TEST(HostileClient, HarmsNoOtherClientWithRandomMessages) {
  if (!forks) GTEST_SKIP() << "forks";
  const rtexec::test::ScratchFolder folder;
  const auto directory = folder.path() / "d";
  const RunningServer server(directory, 2 * slots, 8, 60ms * slowness);
  const auto until = std::chrono::steady_clock::now() + hostile_time();
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe(told.data()), 0);
  std::vector<pid_t> good, bad;
  for (int i = 0; i < 2; ++i) good.push_back(start([&] { return keep_deadlines(directory, until, told[1]); }));
  char ready = 0;
  for (int i = 0; i < 2; ++i) ASSERT_EQ(::read(told[0], &ready, 1), 1);
  std::uint64_t rounds = 0, ended = 0;
  for (; std::chrono::steady_clock::now() < until; ++rounds) {
    for (std::uint64_t i = 0; i < 3; ++i) bad.push_back(start([&] { return talk_rubbish(directory, 3 * rounds + i); }));
    for (const pid_t each : bad) {
      const int code = exit_code(each);
      EXPECT_TRUE(code == 0 || code == 128 + SIGKILL) << code;
      ended += code == 0 ? 0U : 1U;
    }
    bad.clear();
  }
  for (const pid_t each : good) EXPECT_EQ(exit_code(each), 0);
  std::cout << 3 * rounds << " hostile processes, " << ended << " of which the daemon ended\n";
  auto channel = protocol::Channel::connect(directory / "socket");
  ASSERT_TRUE(channel);
  EXPECT_EQ(channel->send(protocol::Status{}), protocol::Delivery::done);
  protocol::Letter letter;
  EXPECT_EQ(channel->receive(letter), protocol::Delivery::done);
  for (const int each : told) ::close(each);
}

} // namespace
} // namespace rtexec::daemon
