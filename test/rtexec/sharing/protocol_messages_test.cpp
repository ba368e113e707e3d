// Tests messages from a hostile peer: read() accepts all messages within the limits, and no others.
#include "rtexec/sharing/protocol/messages.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

namespace rtexec::protocol {
namespace {

using Raw = std::vector<std::byte>;

template <Message M> Raw raw(M message) {
  const auto bytes = bytes_of(message);
  return {bytes.begin(), bytes.end()};
}

Hello hello() { return {.header = {}, .name = text<64>("detector"), .granularity = 1u << 21, .can_export = 1}; }
Declare declaration() {
  return {.header = {}, .period_ns = 100'000'000, .deadline_ns = 50'000'000, .wcet_ns = 10'000'000};
}

TEST(ProtocolMessages, AreReadAsSent) {
  const auto got = read<Hello>(raw(hello()));
  ASSERT_TRUE(got);
  EXPECT_EQ(view(got->name), "detector");
  EXPECT_EQ(got->granularity, 1u << 21);
  EXPECT_TRUE(read<Declare>(raw(declaration())));
  EXPECT_TRUE(read<Status>(raw(Status{})));
  EXPECT_EQ(header_of(raw(hello()))->kind, static_cast<std::uint16_t>(MessageKind::hello));
}

TEST(ProtocolMessages, TooLongTextIsTruncated) {
  const auto cut = text<64>(std::string(100, 'x'));
  EXPECT_EQ(view(cut), std::string(63, 'x'));
}

TEST(ProtocolMessages, AreRejectedWithOtherSizeKindOrVersion) {
  const Raw good = raw(hello());
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(read<Hello>(std::span(good).first(size))) << size << " bytes";
  Raw longer = good;
  longer.push_back({});
  EXPECT_FALSE(read<Hello>(longer));
  EXPECT_FALSE(header_of(longer));
  EXPECT_FALSE(read<Declare>(good));

  Hello other = hello();
  Raw bytes = raw(other);
  other.header = {static_cast<std::uint16_t>(MessageKind::hello), sizeof other, version + 1};
  std::memcpy(bytes.data(), &other, sizeof other);
  EXPECT_FALSE(read<Hello>(bytes));
  EXPECT_EQ(header_of(bytes)->version, version + 1); // the sender can still be told why
}

TEST(ProtocolMessages, AreRejectedBeyondTheirLimits) {
  const auto with = [](auto message, auto change) {
    change(message);
    return read<decltype(message)>(raw(message)).has_value();
  };
  EXPECT_FALSE(with(hello(), [](Hello& m) { m.name.fill('x'); }));
  EXPECT_FALSE(with(hello(), [](Hello& m) { m.name = {}; }));
  EXPECT_FALSE(with(hello(), [](Hello& m) { m.name[0] = '\x1b'; }));
  EXPECT_FALSE(with(hello(), [](Hello& m) { m.name[63] = 'x'; }));
  EXPECT_FALSE(with(hello(), [](Hello& m) { m.name[20] = 'x'; })); // after its end
  EXPECT_FALSE(with(hello(), [](Hello& m) { m.granularity = 0; }));
  EXPECT_FALSE(with(hello(), [](Hello& m) { m.granularity = 3; }));
  EXPECT_FALSE(with(hello(), [](Hello& m) { m.granularity = largest_chunk * 2; }));
  EXPECT_FALSE(with(hello(), [](Hello& m) { m.can_export = 2; }));
  EXPECT_FALSE(with(hello(), [](Hello& m) { m.slots = max_slots + 1; }));
  EXPECT_FALSE(with(declaration(), [](Declare& m) { m.wcet_ns = m.deadline_ns + 1; }));
  EXPECT_FALSE(with(declaration(), [](Declare& m) { m.deadline_ns = m.period_ns + 1; }));
  EXPECT_FALSE(with(declaration(), [](Declare& m) { m.wcet_ns = -1; }));
  EXPECT_FALSE(with(declaration(), [](Declare& m) { m.period_ns = longest_time + 1; }));
  EXPECT_FALSE(with(declaration(), [](Declare& m) { m.priority = 100; }));
  EXPECT_FALSE(with(declaration(), [](Declare& m) { m.on_overrun = static_cast<OnOverrun>(3); }));
  EXPECT_FALSE(with(declaration(), [](Declare& m) { m.reserved[2] = 1; }));
  EXPECT_FALSE(with(Grow{.header = {}, .slots = max_slots + 1}, [](Grow&) {}));
  EXPECT_FALSE(with(Frame{.header = {}, .frame = max_slots}, [](Frame&) {}));
  EXPECT_FALSE(with(Refused{.header = {}, .code = static_cast<Refusal>(0)}, [](Refused&) {}));
  EXPECT_FALSE(with(Refused{.header = {}, .code = static_cast<Refusal>(10)}, [](Refused&) {}));
  EXPECT_TRUE(with(Refused{.header = {}, .code = Refusal::later}, [](Refused&) {}));
  EXPECT_FALSE(with(StatusPart{}, [](StatusPart& m) { m.executable[0] = '\x1b'; }));
  EXPECT_FALSE(with(StatusPart{}, [](StatusPart& m) { m.activity = static_cast<Activity>(5); }));
  EXPECT_FALSE(with(StatusPart{}, [](StatusPart& m) { m.place = max_places; }));
  EXPECT_FALSE(with(StatusPart{}, [](StatusPart& m) { m.period_ns = -1; }));
  EXPECT_FALSE(with(StatusEnd{}, [](StatusEnd& m) { m.release.fill('x'); }));
  EXPECT_FALSE(with(StatusEnd{}, [](StatusEnd& m) { m.started_ns = 1; }));
  EXPECT_TRUE(with(StatusPart{}, [](StatusPart& m) { m.activity = Activity::leaves; }));
  EXPECT_TRUE(with(hello(), [](Hello&) {}));
  EXPECT_TRUE(with(declaration(), [](Declare& m) { m.priority = 99; }));
}

template <Message M> void try_as(const Raw& bytes, std::uint64_t& taken) {
  const auto message = read<M>(bytes);
  if (!message) return;
  ++taken;
  ASSERT_EQ(bytes.size(), sizeof(M));
  ASSERT_TRUE(valid(*message));
  ASSERT_EQ(raw(*message), bytes) << "it is not what came";
}

template <class... M> struct All {
  static void try_each(const Raw& bytes, std::uint64_t& taken) { (try_as<M>(bytes, taken), ...); }
};
using Every =
    All<Hello, Welcome, Refused, Declare, Declared, Grow, Grown, Frame, NeedFrame, Status, StatusPart, StatusEnd>;

/// Tries bytes of all lengths, most of them with a header that fits or nearly does, and valid messages with a few
/// flipped bits.
TEST(ProtocolMessages, RandomBytesYieldOnlyValidMessages) {
  const auto seed = testing::UnitTest::GetInstance()->random_seed();
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  const std::vector<Raw> good{raw(hello()),
                              raw(declaration()),
                              raw(Grow{.header = {}, .slots = 7}),
                              raw(Status{}),
                              raw(Frame{.header = {}, .frame = 3}),
                              raw(StatusPart{}),
                              raw(StatusEnd{})};
  std::uint64_t taken = 0, tried = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < until) {
    for (int i = 0; i < 256; ++i, ++tried) {
      Raw bytes = good[random() % good.size()];
      if (random() % 2 == 0) {
        bytes.resize(random() % 520);
        for (std::byte& each : bytes) each = static_cast<std::byte>(random());
        if (bytes.size() >= sizeof(Header)) {
          const Header header{static_cast<std::uint16_t>(random() % 13), static_cast<std::uint16_t>(bytes.size())};
          std::memcpy(bytes.data(), &header, sizeof header);
        }
      }
      for (auto turns = random() % 4; turns > 0 && !bytes.empty(); --turns)
        bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
      Every::try_each(bytes, taken);
      if (HasFatalFailure()) FAIL() << "seed " << seed;
    }
  }
  EXPECT_GT(tried, 1000u);
  EXPECT_GT(taken, tried / 100);
  EXPECT_LT(taken, tried);
}

} // namespace
} // namespace rtexec::protocol
