// Tests which data are valid messages.
#include "rtexec/runtime/channels/message.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

namespace rtexec::channels::test {
namespace {

rtexec_message header_of(std::uint8_t element, const std::vector<std::uint64_t>& shape, std::uint64_t bytes) {
  rtexec_message header{};
  header.magic = RTEXEC_MESSAGE_MAGIC;
  header.version = RTEXEC_MESSAGE_VERSION;
  header.element = element;
  header.rank = static_cast<std::uint8_t>(shape.size());
  header.bytes = bytes;
  std::ranges::copy(shape, header.shape);
  return header;
}

std::vector<std::byte> sample(const rtexec_message& header, std::size_t payload) {
  std::vector<std::byte> bytes(RTEXEC_MESSAGE_HEADER + payload);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

TEST(Message, ConsistsOfHeaderAndDeclaredPayloadSize) {
  const auto bytes = sample(header_of(RTEXEC_ELEMENT_FLOAT32, {1, 3, 5}, 60), 100);
  const auto message = read_message(bytes);
  ASSERT_TRUE(message);
  EXPECT_EQ(static_cast<const void*>(message->header), bytes.data());
  EXPECT_EQ(message->payload.data(), bytes.data() + 128);
  EXPECT_EQ(message->payload.size(), 60u);
  EXPECT_EQ(std::memcmp(bytes.data(), "RTXM", 4), 0);
}

TEST(Message, MayBeScalarOrEmpty) {
  EXPECT_TRUE(read_message(sample(header_of(RTEXEC_ELEMENT_INT64, {}, 8), 8)));
  EXPECT_TRUE(read_message(sample(header_of(RTEXEC_ELEMENT_INT64, {4, 0}, 0), 0)));
}

TEST(Message, IsRejectedWhenAnyHeaderFieldIsWrong) {
  const rtexec_message right = header_of(RTEXEC_ELEMENT_UINT16, {2, 3}, 12);
  const auto taken = [](rtexec_message header, auto change) {
    change(header);
    return read_message(sample(header, 12)).has_value();
  };
  EXPECT_TRUE(taken(right, [](auto&) {}));
  EXPECT_FALSE(taken(right, [](auto& header) { header.magic ^= 1; }));
  EXPECT_FALSE(taken(right, [](auto& header) { header.version = 2; }));
  EXPECT_FALSE(taken(right, [](auto& header) { header.element = 0; }));
  EXPECT_FALSE(taken(right, [](auto& header) { header.element = 13; }));
  EXPECT_FALSE(taken(right, [](auto& header) { header.rank = 1; }));
  EXPECT_FALSE(taken(right, [](auto& header) { header.rank = 9; }));
  EXPECT_FALSE(taken(right, [](auto& header) { header.rank = 255; }));
  EXPECT_FALSE(taken(right, [](auto& header) { header.bytes = 11; }));
  EXPECT_FALSE(taken(right, [](auto& header) { header.shape[1] = 4; }));
  EXPECT_FALSE(taken(right, [](auto& header) { header.shape[1] = 4, header.bytes = 16; })) << "more than there is";
  EXPECT_FALSE(taken(right, [](auto& header) {
    header.shape[0] = std::uint64_t{1} << 63, header.shape[1] = 2, header.bytes = 0;
  })) << "a size that overflows to 0";
  EXPECT_FALSE(read_message({}));
  const auto whole = sample(right, 12);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_message(std::span(whole).first(size))) << size;
}

/// Compares with sizes in wide arithmetic, for shapes of all sizes.
TEST(Message, PayloadSizeIsProductOfElementSizeAndShape) {
  const std::map<int, int> sizes{{1, 1}, {2, 1}, {3, 2}, {4, 2},  {5, 4},  {6, 8},
                                 {7, 2}, {8, 4}, {9, 8}, {10, 1}, {11, 4}, {12, 8}};
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    rtexec_message header{};
    header.element = static_cast<std::uint8_t>(random() % 14);
    header.rank = static_cast<std::uint8_t>(random() % 10);
    const auto size = sizes.find(header.element);
    bool known = size != sizes.end() && header.rank <= 8;
    auto expected = static_cast<long double>(known ? size->second : 0);
    for (int d = 0; d < 8; ++d) {
      header.shape[d] = random() >> (random() % 64);
      if (d < header.rank) expected *= static_cast<long double>(header.shape[d]);
      if (expected > 18446744073709551615.0L) known = false; // an overflow of an intermediate size suffices
    }
    const auto found = payload_size(header);
    ASSERT_EQ(found.has_value(), known);
    if (known) { ASSERT_EQ(static_cast<long double>(found->count), expected); }
  }
}

} // namespace
} // namespace rtexec::channels::test
