// Tests contents of constants that use many addresses and little memory.
#include "tasks/base/constant_image.hpp"

#include "test/support/expected_result.hpp"
#include "test/support/sanitized.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sys/mman.h>
#include <vector>

namespace rtexec::tasks {
namespace {

constexpr std::size_t page = 4096;
constexpr Bytes mebi{1 << 20};

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

/// Returns the proportional set size of this process: each page is divided by the number of its mappings.
Bytes proportional_size() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string word; file >> word;)
    if (std::uint64_t kibi = 0; word == "Pss:" && file >> kibi) return {kibi << 10};
  return {};
}

/// Returns the memory that the image from `make` takes with every page in use.
template <class Make> Bytes taken_by(Make make) {
  const Bytes before = proportional_size();
  const auto image = make();
  EXPECT_EQ(test::problem(image), "none");
  const auto bytes = image->bytes();
  unsigned sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += page) sum += static_cast<unsigned>(bytes[at]);
  EXPECT_GT(sum, 0U);
  if (::mlock(bytes.data(), bytes.size()) == 0) ::munlock(bytes.data(), bytes.size()); // not every user may lock memory
  const Bytes after = proportional_size();
  return after > before ? after - before : Bytes{};
}

TEST(ConstantImage, IsEmptyWhenSizeIsZero) {
  EXPECT_TRUE(ConstantImage().bytes().empty());
  EXPECT_TRUE(ConstantImage::pattern(1, Bytes{0})->bytes().empty());
  EXPECT_TRUE(ConstantImage::zeros_behind({}, Bytes{0})->bytes().empty());
}

TEST(ConstantImage, FillsWithZerosBehindGivenBytes) {
  for (const std::size_t head : {std::size_t{0}, std::size_t{1}, page - 1, page, page + 1, 3 * page}) {
    const auto bytes = some_bytes(head);
    const auto image = ConstantImage::zeros_behind(bytes, Bytes{3 * page + 5});
    ASSERT_EQ(test::problem(image), "none");
    ASSERT_EQ(image->bytes().size(), 3 * page + 5);
    EXPECT_TRUE(std::ranges::equal(image->bytes().first(head), bytes));
    EXPECT_TRUE(std::ranges::all_of(image->bytes().subspan(head), [](std::byte byte) { return byte == std::byte{0}; }));
  }
}

TEST(ConstantImage, RepeatsPatternAfterFixedNumberOfPages) {
  const std::size_t period = hal::page_size().count * ConstantImage::pattern_pages;
  const auto image = ConstantImage::pattern(7, Bytes{2 * period + 100});
  ASSERT_EQ(test::problem(image), "none");
  const auto bytes = image->bytes();
  ASSERT_EQ(bytes.size(), 2 * period + 100);
  EXPECT_TRUE(std::ranges::equal(bytes.first(period), bytes.subspan(period, period)));
  EXPECT_TRUE(std::ranges::equal(bytes.first(100), bytes.last(100)));
  std::vector<std::uint64_t> words;
  for (std::size_t at = 0; at < period; at += 8) words.push_back(word_at(bytes, at));
  std::ranges::sort(words);
  EXPECT_EQ(std::ranges::adjacent_find(words), words.end());
}

TEST(ConstantImage, PatternDiffersBetweenChunks) {
  for (const Bytes chunk : {mebi * 2, mebi * 64}) {
    const auto image = ConstantImage::pattern(7, mebi * 4096);
    ASSERT_EQ(test::problem(image), "none");
    std::set<std::uint64_t> words;
    for (std::size_t at = 0; at < image->bytes().size(); at += chunk.count) words.insert(word_at(image->bytes(), at));
    EXPECT_EQ(words.size(), image->bytes().size() / chunk.count);
  }
}

TEST(ConstantImage, PatternDependsOnSeed) {
  const auto one = ConstantImage::pattern(1, mebi), same = ConstantImage::pattern(1, mebi),
             two = ConstantImage::pattern(2, mebi);
  EXPECT_TRUE(std::ranges::equal(one->bytes(), same->bytes()));
  EXPECT_NE(word_at(one->bytes(), 0), word_at(two->bytes(), 0));
}

TEST(ConstantImage, UsesLittleMemoryWhenReadAndLocked) {
  if (test::sanitized || proportional_size() == Bytes{}) GTEST_SKIP() << "memory is not counted here";
  EXPECT_LT(taken_by([] { return ConstantImage::pattern(1, mebi * 512); }), mebi * 64);
  const auto head = some_bytes(page);
  EXPECT_LT(taken_by([&] { return ConstantImage::zeros_behind(head, mebi * 512); }), mebi * 64);
}

TEST(ConstantImage, RejectsPatternAboveSizeLimit) {
  EXPECT_TRUE(test::fails(ConstantImage::pattern(1, mebi * (std::uint64_t{1} << 22)), Errc::bad_input,
                          "4TiB of synthetic constants"));
  EXPECT_TRUE(test::fails(ConstantImage::pattern(1, ConstantImage::max_pattern + Bytes{1}), Errc::bad_input, "512GiB"));
}

/// Counts down to the call that fails. It is global because the functions of System have no context.
int calls_left = 0;
bool fails_now() {
  errno = ENOMEM;
  return --calls_left == 0;
}

TEST(ConstantImage, ReportsEachFailingSystemCall) {
  hal::System failing = hal::linux_system();
  failing.mmap = [](void* address, std::size_t size, int protection, int flags, int file, off_t offset) {
    return fails_now() ? MAP_FAILED : hal::linux_system().mmap(address, size, protection, flags, file, offset);
  };
  failing.mprotect = [](void* address, std::size_t size, int protection) {
    return fails_now() ? -1 : hal::linux_system().mprotect(address, size, protection);
  };
  failing.memfd_create = [](const char* name, unsigned flags) {
    return fails_now() ? -1 : hal::linux_system().memfd_create(name, flags);
  };
  failing.ftruncate = [](int file, off_t size) { return fails_now() ? -1 : hal::linux_system().ftruncate(file, size); };
  const auto head = some_bytes(10);
  const auto failures = [&](const auto& make) {
    int nth = 1;
    for (;; ++nth) {
      const hal::SystemOverride override(failing);
      calls_left = nth;
      const auto image = make();
      if (image) return nth - 1;
      EXPECT_TRUE(test::fails(image, image.error().code, "contents of constants"));
      EXPECT_TRUE(test::fails(image, image.error().code, "Cannot allocate memory"));
    }
  };
  EXPECT_EQ(failures([&] { return ConstantImage::zeros_behind(head, mebi * 2); }), 3);
  EXPECT_EQ(failures([&] { return ConstantImage::pattern(1, mebi * 40); }), 7); // three blocks
}

} // namespace
} // namespace rtexec::tasks
