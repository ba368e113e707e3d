// Tests the daemon's status of its clients, for readers that are slow or ask very often.
#include "rtexec/sharing/daemon/status.hpp"
#include "rtexec/sharing/daemon/published.hpp"
#include "test/rtexec/sharing/host_client_memory.hpp"
#include "test/rtexec/sharing/running_server.hpp"
#include "test/support/eventually.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <fcntl.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

namespace rtexec::daemon {
namespace {

using namespace std::chrono_literals;
using client::Client;
using client::test::HostClientMemory;
using protocol::Activity;
using protocol::Delivery;
using test::RunningServer;
using testing::HasSubstr;

TEST(Published, ReadersNeverSeeTornOrOlderValues) {
  using Value = std::array<std::uint64_t, 16>;
  Published<Value> published;
  std::atomic<bool> done{false};
  std::vector<std::jthread> readers;
  std::atomic<std::uint64_t> reads{0}, torn{0}, back{0};
  for (int i = 0; i < 2; ++i)
    readers.emplace_back([&] {
      for (std::uint64_t last = 0; !done; ++reads) {
        const Value value = published.read();
        if (std::ranges::count(value, value[0]) != 16) ++torn;
        if (value[0] < last) ++back;
        last = value[0];
      }
    });
  for (std::uint64_t i = 1; i <= 200'000 || reads < 1000; ++i) {
    Value value;
    value.fill(i);
    published.publish(value);
  }
  done = true;
  readers.clear();
  EXPECT_EQ(torn, 0U);
  EXPECT_EQ(back, 0U);
}

/// A server, and a client of it in this process.
class DaemonStatus : public testing::Test {
 protected:
  static constexpr std::uint32_t slots = 4;
  std::unique_ptr<Client> connected(const std::string& name, HostClientMemory& memory) {
    auto client = test::connect(directory, name, memory);
    EXPECT_TRUE(client) << client.error().what;
    return client ? std::move(*client) : nullptr;
  }
  ServerStatus status() {
    auto reader = StatusReader::connect(directory);
    EXPECT_TRUE(reader) << reader.error().what;
    auto read = reader->read();
    EXPECT_TRUE(read) << read.error().what;
    return *read;
  }

  rtexec::test::ScratchFolder folder;
  std::filesystem::path directory = folder.path() / "d";
};

TEST_F(DaemonStatus, ReportsClientsAndTheirStatistics) {
  const RunningServer server(directory, 2 * slots);
  EXPECT_TRUE(status().clients.empty());
  HostClientMemory one_memory(slots, 2 << 20), other_memory(slots, 2 << 20);
  const auto one = connected("one", one_memory), other = connected("other", other_memory);
  ASSERT_TRUE(one && other);
  ASSERT_TRUE(one->grow(slots) && other->grow(2));
  const auto declared =
      one->declare({.header = {}, .period_ns = 500'000'000, .deadline_ns = 400'000'000, .wcet_ns = 20'000'000});
  ASSERT_TRUE(declared) << declared.error().what;
  ASSERT_TRUE(one->begin());
  std::jthread waiting([&] {
    ASSERT_TRUE(other->begin());
    other->end();
  });
  EXPECT_TRUE(rtexec::test::eventually([&] { return status().clients.at(1).activity == Activity::waits; }));
  const ServerStatus seen = status();
  ASSERT_EQ(seen.clients.size(), 2U);
  const protocol::StatusPart& first = seen.clients[0];
  EXPECT_EQ(protocol::view(first.name), "one");
  EXPECT_EQ(first.process, ::getpid());
  EXPECT_EQ(protocol::view(first.executable), std::filesystem::read_symlink("/proc/self/exe").string());
  EXPECT_EQ(first.activity, Activity::runs);
  EXPECT_EQ(first.slots, slots);
  EXPECT_EQ(first.resident, slots);
  EXPECT_EQ(first.period_ns, 500'000'000);
  EXPECT_EQ(first.deadline_ns, 400'000'000);
  EXPECT_GT(first.response_bound_ns, 20'000'000);
  EXPECT_EQ(first.jobs, 0U);
  EXPECT_EQ(seen.clients[1].declared, 0U);
  EXPECT_EQ(seen.daemon.frames, 2 * slots);
  EXPECT_EQ(seen.daemon.came, 2U);

  one->end();
  waiting.join();
  EXPECT_TRUE(rtexec::test::eventually([&] { return status().clients.at(1).jobs == 1; }));
  const ServerStatus after = status();
  EXPECT_EQ(after.clients[0].jobs, 1U);
  EXPECT_GT(after.clients[0].executed_ns, 0);
  EXPECT_EQ(after.clients[0].executed_ns, after.clients[0].longest_execution_ns);
  EXPECT_EQ(after.clients[0].loaded - after.clients[0].saved, after.clients[0].resident);
  EXPECT_EQ(after.clients[1].loaded, 2U);
}

TEST_F(DaemonStatus, SlowReaderDelaysNobodyAndGetsCompleteStatus) {
  const RunningServer server(directory, slots);
  HostClientMemory memory(slots, 2 << 20);
  const auto client = connected("client", memory);
  ASSERT_TRUE(client && client->grow(slots));
  auto slow = protocol::Channel::connect(directory / "socket");
  ASSERT_TRUE(slow);
  ASSERT_EQ(::fcntl(slow->descriptor(), F_SETFL, O_NONBLOCK), 0);
  int asked = 0;
  for (int refused = 0; refused < 20;) {
    if (slow->send(protocol::Status{}) == Delivery::done) {
      ++asked;
      continue;
    }
    ++refused; // permanently: the server ignores clients that do not read
    std::this_thread::sleep_for(5ms);
    for (int job = 0; job < 3; ++job) {
      ASSERT_TRUE(client->begin());
      client->end();
    }
    ASSERT_EQ(status().clients.size(), 1U);
  }
  ASSERT_GT(asked, 100);
  int parts = 0, ends = 0;
  EXPECT_TRUE(rtexec::test::eventually([&] {
    protocol::Letter letter;
    while (slow->receive(letter) == Delivery::done) {
      parts += protocol::read<protocol::StatusPart>(letter.bytes()) ? 1 : 0;
      ends += protocol::read<protocol::StatusEnd>(letter.bytes()) ? 1 : 0;
    }
    return ends == asked;
  }));
  EXPECT_EQ(parts, asked);
}

TEST_F(DaemonStatus, ContinuousQueriesDoNotStopJobs) {
  const RunningServer server(directory, slots);
  HostClientMemory memory(slots, 2 << 20);
  const auto client = connected("client", memory);
  ASSERT_TRUE(client && client->grow(slots));
  std::atomic<bool> done{false};
  std::vector<std::jthread> askers;
  for (int i = 0; i < 3; ++i)
    askers.emplace_back([&] {
      auto reader = StatusReader::connect(directory);
      ASSERT_TRUE(reader);
      while (!done) ASSERT_TRUE(reader->read());
    });
  for (int job = 0; job < 200; ++job) {
    ASSERT_TRUE(client->begin());
    client->end();
  }
  done = true;
}

TEST_F(DaemonStatus, ReportsMissingOrStoppedDaemon) {
  const auto nobody = StatusReader::connect(directory);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Errc::cancelled);
  EXPECT_THAT(nobody.error().what, HasSubstr("no rtexecd listens at " + directory.string()));

  std::optional<RunningServer> server(std::in_place, directory, slots);
  auto reader = StatusReader::connect(directory);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->read());
  server.reset();
  const auto gone = reader->read();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::cancelled);
}

/// Asks a stranger that listens and answers with `answer`, or not at all.
Result<ServerStatus> ask_a_stranger(const std::filesystem::path& directory, std::vector<std::byte> answer) {
  std::filesystem::create_directories(directory);
  const auto address = *protocol::socket_address(directory / "socket");
  const config::Descriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
  EXPECT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(listener.get(), 4), 0);
  auto reader = StatusReader::connect(directory, 300ms);
  EXPECT_TRUE(reader);
  protocol::Channel other(config::Descriptor(::accept(listener.get(), nullptr, nullptr)));
  if (!answer.empty()) { EXPECT_EQ(other.send(answer), Delivery::done); }
  return reader->read();
}

TEST_F(DaemonStatus, RejectsMissingOrForeignAnswer) {
  const auto silent = ask_a_stranger(directory / "silent", {});
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, Errc::refused);
  EXPECT_THAT(silent.error().what, HasSubstr("does not answer"));

  protocol::StatusEnd end{};
  const auto bytes = protocol::bytes_of(end);
  std::vector<std::byte> other(bytes.begin(), bytes.end());
  other[offsetof(protocol::Header, version)] = std::byte{77};
  const auto versions = ask_a_stranger(directory / "other", other);
  ASSERT_FALSE(versions);
  EXPECT_EQ(versions.error().code, Errc::unsupported);
  EXPECT_THAT(versions.error().what, HasSubstr("version 77"));

  EXPECT_FALSE(ask_a_stranger(directory / "rubbish", std::vector<std::byte>(100, std::byte{'x'})));
}

} // namespace
} // namespace rtexec::daemon
