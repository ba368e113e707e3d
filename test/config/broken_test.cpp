// Every file in broken/ begins with the expected messages, "# expect: LINE:COLUMN: text" for each, in order. Files
// named board-* and profile-* are read as boards and profiles.
#include "config/profile_file.hpp"
#include <rtexec/board.hpp>
#include <rtexec/task_set.hpp>
#include "test/config/config_files.hpp"
#include "test/support/test_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace rtexec {
namespace {

constexpr std::string_view expectation = "# expect: ";

std::vector<std::filesystem::path> broken_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(test::folder() / "broken"))
    files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

Result<> read(const std::filesystem::path& file) {
  const auto failure = [](const auto& result) { return result ? Result<>{} : Unexpected(result.error()); };
  const std::string name = file.filename().string();
  if (name.starts_with("board-")) return failure(read_board(file.string()));
  if (name.starts_with("profile-")) return failure(read_profile(file));
  return failure(read_task_set(file));
}

std::string expected_messages(const std::filesystem::path& file) {
  std::istringstream lines(test::read_text(file));
  std::string messages;
  for (std::string line; std::getline(lines, line) && line.starts_with(expectation);) {
    const std::string_view rest = std::string_view(line).substr(expectation.size());
    const std::size_t text = rest.find(": ");
    messages += file.filename().string() + ":" + std::string(rest.substr(0, text)) + ": error" +
                std::string(rest.substr(text)) + "\n";
  }
  return messages;
}

std::string without(std::string text, const std::string& part) {
  for (std::size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
  return text;
}

class BrokenFile : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(BrokenFile, ReportsExpectedMessages) {
  const Result<> result = read(GetParam());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::bad_input);
  const std::string messages =
      without(without(result.error().what, (test::folder() / "broken/").string()), (test::folder() / "").string());
  EXPECT_EQ(messages + "\n", expected_messages(GetParam()));
}

std::string test_name(const testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name = info.param.stem().string();
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Of, BrokenFile, testing::ValuesIn(broken_files()), test_name);

TEST(BrokenFiles, NumberAtLeast150) { EXPECT_GE(broken_files().size(), 150u); }

} // namespace
} // namespace rtexec
