#include "config/content.hpp"
#include "config/profile_file.hpp"
#include <rtexec/board.hpp>
#include <rtexec/task_set.hpp>
#include "test/config/config_files.hpp"
#include "test/support/test_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rtexec::config {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

const std::string task_set =
    "[[task]]\nname = \"a\"\nworkload = \"synthetic\"\nperiod = \"10ms\"\nwcet = \"1ms\"\n"
    "footprint = \"1MiB\"\n";
const std::string profile =
    "machine = \"m\"\ndevice = \"host\"\n[[task]]\nname = \"a\"\nworkload = \"w\"\nwcet = \"1ms\"\n"
    "wcet_before = \"0ns\"\nwcet_after = \"0ns\"\nobserved = \"1ms\"\nobserved_before = \"0ns\"\n"
    "observed_after = \"0ns\"\nsamples = 3\nmargin = 1.2\n";
const std::string onnx = "\x08\x08\x12\x07pytorch:"s;

TEST(Content, IsRecognizedByFirstBytesOrKeys) {
  const std::string board = test::read_text(test::folder() / "../../boards/host.toml");
  EXPECT_EQ(content_of(task_set), Content::task_set);
  EXPECT_EQ(content_of(profile), Content::profile);
  EXPECT_EQ(content_of(board), Content::board);
  EXPECT_EQ(content_of(onnx), Content::onnx);
  EXPECT_EQ(content_of("\x89PNG\r\n\x1a\n\0\0"s), Content::picture);
  EXPECT_EQ(content_of("\xff\xd8\xff\xe0"), Content::picture);
  EXPECT_EQ(content_of("\x93NUMPY\1\0"s), Content::tensor);
  EXPECT_EQ(content_of("{\"verdict\": 1}"), Content::json);
  EXPECT_EQ(content_of("[\n  {\"machine\": 1}]"), Content::json);
  for (const std::string& other :
       {""s, "Dear Sir,"s, "\0\0"s, "[[task]]\nname = \"a\"\n"s, "[executive]\n"s, std::string(2 << 20, ' ') + "{"})
    EXPECT_FALSE(content_of(other)) << other.substr(0, 20);
}

class WrongFile : public testing::Test {
 protected:
  std::string put(const std::string& content) {
    test::write_text(folder_ / "f", content);
    return (folder_ / "f").string();
  }
  template <class Read> std::string problem(const std::string& content, Read read) {
    const auto result = read(std::filesystem::path(put(content)));
    return result ? "none" : result.error().what;
  }
  test::ScratchFolder folder_;
  const std::string name_ = (folder_ / "f").string();
};

TEST_F(WrongFile, IsReportedWithItsActualKind) {
  EXPECT_EQ(problem(profile, read_task_set),
            name_ + ": error: this is a profile, not a task set: try `rtexec check SET.toml --wcet " + name_ + "`");
  EXPECT_THAT(problem(onnx, read_task_set),
              HasSubstr("this is an ONNX model, not a task set: try `rtexec infer " + name_));
  EXPECT_THAT(problem(onnx + std::string(2 << 20, '\1'), read_task_set), HasSubstr("this is an ONNX model"));
  EXPECT_THAT(problem("\xff\xd8\xff\xe0 and so on", read_task_set), HasSubstr("this is a picture, not a task set"));
  EXPECT_THAT(problem(task_set, read_profile),
              HasSubstr("this is a task set, not a profile: try `rtexec check " + name_));
  EXPECT_THAT(problem(task_set, [](const auto& file) { return read_board(file.string()); }),
              HasSubstr("this is a task set, not a board"));
}

TEST_F(WrongFile, IsNotReportedForFileOfRightKind) {
  EXPECT_EQ(problem(task_set, read_task_set), "none");
  EXPECT_THAT(problem("machine = \"m\"\n" + task_set, read_task_set), HasSubstr("unknown key 'machine'"));
  EXPECT_THAT(problem(std::string(2 << 20, '\n'), read_task_set), HasSubstr("larger than 1048576 bytes"));
}

} // namespace
} // namespace rtexec::config
