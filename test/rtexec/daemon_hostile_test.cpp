// rtexecd's server with clients that keep to nothing: they end in parts, and they say what they like.
#include "rtexec/client/client.hpp"
#include "rtexec/protocol/channel.hpp"
#include "rtexec/protocol/segment.hpp"
#include "test/rtexec/host_client_memory.hpp"
#include "test/rtexec/running_server.hpp"
#include "test/support/files.hpp"
#include "test/support/sanitized.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>

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

constexpr std::uint32_t slots = 4;

/// A client that is made of the protocol alone.
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
    segment->to_daemon_bell.ring();
  }
  /// Has the device, with all slots, and gives it back.
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

/// Its agent ends, and the process takes its time: as one does that is killed, whose driver takes its memory down.
TEST(DaemonHostile, AClientWhoseAgentHasEndedKeepsNoFrames) {
  const rtexec::test::ScratchFolder folder;
  const auto directory = folder.path() / "d";
  const RunningServer server(directory, slots);
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
    return std::chrono::steady_clock::now() - begun < 250ms ? 0 : 12; // it was to save them, within 500 ms
  });
  EXPECT_EQ(exit_code(goes_on), 0);
  EXPECT_EQ(exit_code(ends), 128 + SIGKILL) << "who is no client any more and lives on is ended";
  ::close(gone[0]);
  ::close(gone[1]);
}

/// What threads of this process whose name begins so have had of a core.
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

TEST(DaemonHostile, WhoRingsWithoutAPauseCostsLittleOfACore) {
  const rtexec::test::ScratchFolder folder;
  const auto directory = folder.path() / "d";
  auto server = std::make_unique<RunningServer>(directory, slots);
  const pid_t rings = start([&] {
    auto bare = Bare::connect(directory);
    if (!bare) return 10;
    auto& word = *reinterpret_cast<std::atomic<std::uint32_t>*>(&bare->segment->lifeline);
    for (std::uint32_t i = 0;; ++i) {
      bare->segment->to_daemon_bell.ring();
      word.store(i & 0xffff);
    }
  });
  std::this_thread::sleep_for(200ms);
  const auto begun = std::chrono::steady_clock::now();
  const Duration before = used_by_threads("rtexecd-0");
  std::this_thread::sleep_for(500ms);
  const Duration used = used_by_threads("rtexecd-0") - before;
  EXPECT_GT(used, 0ms);
  EXPECT_LT(used, (std::chrono::steady_clock::now() - begun) / (rtexec::test::sanitized ? 2 : 3));
  server.reset(); // which it cannot hinder
  ::kill(rings, SIGKILL);
  EXPECT_EQ(exit_code(rings), 128 + SIGKILL);
}

/// Messages and entries at random, with file descriptors, and a ring whose indices jump.
int talk_rubbish(const std::filesystem::path& directory, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto until = std::chrono::steady_clock::now() + 300ms;
  while (std::chrono::steady_clock::now() < until) {
    auto bare = Bare::connect(directory);
    if (!bare) continue;
    static_cast<void>(bare->grow(static_cast<std::uint32_t>(random() % (slots + 1))));
    for (auto count = random() % 300; count > 0; --count) {
      std::array<std::byte, 600> bytes;
      for (std::byte& each : bytes) each = static_cast<std::byte>(random());
      const std::size_t size = 1 + random() % bytes.size();
      const protocol::Header header{static_cast<std::uint16_t>(random() % 13), static_cast<std::uint16_t>(size)};
      if (size >= sizeof header) std::memcpy(bytes.data(), &header, sizeof header);
      if (random() % 8 == 0) static_cast<void>(bare->channel.send(std::span(bytes).first(size), STDERR_FILENO));
      bare->say({.kind = static_cast<std::uint16_t>(random() % 6),
                 .status = static_cast<std::uint16_t>(random() % 2),
                 .slot = static_cast<std::uint32_t>(random() % (slots + 1)),
                 .frame = static_cast<std::uint32_t>(random() % (slots + 1)),
                 .reserved = 0,
                 .job = random() % 16 == 0 ? random() : count,
                 .time_ns = 0});
    }
    auto* const ring = reinterpret_cast<std::byte*>(&bare->segment->to_daemon);
    if (random() % 4 == 0) std::memset(ring, static_cast<int>(random() % 256), 128);
    bare->segment->to_daemon_bell.ring();
  }
  return 0;
}

TEST(DaemonHostile, RubbishHurtsNobodyElse) {
  const rtexec::test::ScratchFolder folder;
  const auto directory = folder.path() / "d";
  const RunningServer server(directory, 2 * slots);
  std::vector<pid_t> good, bad;
  for (int i = 0; i < 2; ++i)
    good.push_back(start([&] {
      HostClientMemory memory(slots, 2 << 20);
      const auto client = honest(directory, memory);
      if (!client) return 10;
      const auto until = std::chrono::steady_clock::now() + 2s;
      for (std::byte written{}; std::chrono::steady_clock::now() < until; written = std::byte(int(written) + 1)) {
        if (!client->begin()) return 11;
        for (std::uint32_t slot = 0; slot < slots; ++slot)
          if (std::exchange(*memory.slot(slot), std::byte(int(written) + 1)) != written) return 12;
        client->end();
      }
      return 0;
    }));
  std::this_thread::sleep_for(100ms);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    bad.push_back(start([&] { return talk_rubbish(directory, seed); }));
    if (seed % 3 != 0) continue;
    for (const pid_t each : bad) {
      const int code = exit_code(each);
      EXPECT_TRUE(code == 0 || code == 128 + SIGKILL) << code;
    }
    bad.clear();
  }
  for (const pid_t each : good) EXPECT_EQ(exit_code(each), 0);
  auto channel = protocol::Channel::connect(directory / "socket");
  ASSERT_TRUE(channel);
  EXPECT_EQ(channel->send(protocol::Status{}), protocol::Delivery::done);
  protocol::Letter letter;
  EXPECT_EQ(channel->receive(letter), protocol::Delivery::done);
}

} // namespace
} // namespace rtexec::daemon
