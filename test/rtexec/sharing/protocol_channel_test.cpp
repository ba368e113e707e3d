// Tests channels with a hostile peer: invalid messages, and unexpected file descriptors.
#include "rtexec/sharing/protocol/channel.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace rtexec::protocol {
namespace {

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

struct Pair {
  Pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) std::abort();
    ours = Channel(config::Descriptor(ends[0]));
    theirs = config::Descriptor(ends[1]);
  }
  Channel ours{config::Descriptor()};
  config::Descriptor theirs;
};

/// Sends bytes and descriptors as a peer that ignores the protocol may.
void send_raw(int socket, std::span<const std::byte> bytes, const std::vector<int>& descriptors, int parts = 1) {
  iovec content{const_cast<std::byte*>(bytes.data()), bytes.size()};
  std::vector<std::byte> control;
  const std::size_t room = CMSG_SPACE(descriptors.size() * sizeof(int));
  control.resize(room * static_cast<std::size_t>(parts));
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    for (int part = 0; part < parts; ++part) {
      auto* const header = reinterpret_cast<cmsghdr*>(control.data() + static_cast<std::size_t>(part) * room);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
    }
  }
  ASSERT_GE(::sendmsg(socket, &message, MSG_NOSIGNAL), 0) << std::strerror(errno);
}

std::vector<std::byte> some_bytes(std::size_t size) { return std::vector<std::byte>(size, std::byte{7}); }

TEST(ProtocolChannel, DeliversMessagesWithAndWithoutDescriptor) {
  Pair pair;
  Channel theirs(std::move(pair.theirs));
  const auto before = test::allocations();
  Letter letter;
  EXPECT_EQ(theirs.receive(letter), Delivery::nothing);
  EXPECT_EQ(pair.ours.send(Grow{.header = {}, .slots = 5}), Delivery::done);
  EXPECT_EQ(pair.ours.send(Frame{.header = {}, .frame = 6}, STDERR_FILENO), Delivery::done);
  ASSERT_EQ(theirs.receive(letter), Delivery::done);
  EXPECT_EQ(read<Grow>(letter.bytes())->slots, 5u);
  EXPECT_LT(letter.descriptor.get(), 0);
  ASSERT_EQ(theirs.receive(letter), Delivery::done);
  EXPECT_EQ(read<Frame>(letter.bytes())->frame, 6u);
  ASSERT_GE(letter.descriptor.get(), 0);
  EXPECT_NE(::fcntl(letter.descriptor.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(test::allocations(), before);
}

TEST(ProtocolChannel, ClosesUntakenDescriptorOnNextMessage) {
  Pair pair;
  Channel theirs(std::move(pair.theirs));
  Letter letter;
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(pair.ours.send(Grow{.header = {}, .slots = 5}, STDERR_FILENO), Delivery::done);
    ASSERT_EQ(theirs.receive(letter), Delivery::done);
  }
  letter = {};
  EXPECT_EQ(open_descriptors(), before);
}

TEST(ProtocolChannel, RefusesAndClosesMoreThanOneDescriptor) {
  Letter letter;
  for (const std::size_t count : {2u, 3u, 16u, 17u, 100u, 253u}) {
    Pair pair;
    const std::size_t before = open_descriptors();
    send_raw(pair.theirs.get(), some_bytes(16), std::vector<int>(count, STDERR_FILENO));
    EXPECT_EQ(pair.ours.receive(letter), Delivery::refused) << count;
    EXPECT_LT(letter.descriptor.get(), 0);
    EXPECT_EQ(open_descriptors(), before) << count;
    // The channel continues to work.
    send_raw(pair.theirs.get(), some_bytes(16), {});
    EXPECT_EQ(pair.ours.receive(letter), Delivery::done);
  }
}

TEST(ProtocolChannel, RefusesTooLongMessageWithItsDescriptor) {
  Pair pair;
  Letter letter;
  const std::size_t before = open_descriptors();
  send_raw(pair.theirs.get(), some_bytes(longest_message + 1), {STDERR_FILENO});
  EXPECT_EQ(pair.ours.receive(letter), Delivery::refused);
  EXPECT_EQ(open_descriptors(), before);
  send_raw(pair.theirs.get(), some_bytes(longest_message), {});
  EXPECT_EQ(pair.ours.receive(letter), Delivery::done);
  EXPECT_EQ(letter.size, longest_message);
}

TEST(ProtocolChannel, TreatsEmptyMessageAsEndOrRefusesIt) {
  Pair pair;
  Letter letter;
  const std::size_t before = open_descriptors();
  send_raw(pair.theirs.get(), {}, {STDERR_FILENO});
  EXPECT_EQ(pair.ours.receive(letter), Delivery::refused);
  EXPECT_EQ(open_descriptors(), before);
  send_raw(pair.theirs.get(), {}, {});
  EXPECT_EQ(pair.ours.receive(letter), Delivery::closed);
}

TEST(ProtocolChannel, ReportsThatOtherSideHasClosed) {
  Pair pair;
  pair.theirs.reset();
  Letter letter;
  EXPECT_EQ(pair.ours.receive(letter), Delivery::closed);
  EXPECT_EQ(pair.ours.send(Status{}), Delivery::closed);
}

TEST(ProtocolChannel, DoesNotBlockWhenReceiverDoesNotRead) {
  Pair pair;
  Delivery delivery = Delivery::done;
  for (int i = 0; i < 1'000'000 && delivery == Delivery::done; ++i) delivery = pair.ours.send(StatusPart{});
  EXPECT_EQ(delivery, Delivery::nothing);
}

TEST(ProtocolChannel, LeaksNoDescriptorOnRandomMessages) {
  Pair pair;
  Letter letter;
  std::mt19937_64 random(3);
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 2000; ++i) {
    const std::vector<int> descriptors(random() % 3 == 0 ? random() % 40 : random() % 2, STDERR_FILENO);
    send_raw(pair.theirs.get(), some_bytes(1 + random() % 700), descriptors, 1);
    const Delivery delivery = pair.ours.receive(letter);
    ASSERT_TRUE(delivery == Delivery::done || delivery == Delivery::refused);
    ASSERT_EQ(letter.descriptor.get() >= 0, delivery == Delivery::done && descriptors.size() == 1);
  }
  letter = {};
  EXPECT_EQ(open_descriptors(), before);
}

TEST(ProtocolChannel, ConnectsOnlyToListeningSocket) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("rtexec-channel-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const auto nobody = Channel::connect(folder / "socket");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Errc::cancelled);
  const auto too_long = Channel::connect(folder / std::string(200, 'x'));
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, Errc::bad_input);

  config::Descriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy((folder / "socket").native(), address.sun_path);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_TRUE(Channel::connect(folder / "socket"));
  listener.reset();
  EXPECT_EQ(Channel::connect(folder / "socket").error().code, Errc::cancelled);
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace rtexec::protocol
