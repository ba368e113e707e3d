// Tests the daemon's file: its values, which rule applies to which client, and what is refused.
#include "config/daemon_settings.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rtexec::config {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Result<DaemonSettings> parsed(const std::string& text) {
  return parse_daemon_settings(text, "/etc/rtexec/daemon.toml");
}

TEST(DaemonSettings, ReadsDaemonDeviceAndClientTables) {
  const auto settings = parsed(R"(
board = "h200"
[daemon]
directory = "run"
chunks = "separate"
[device]
capacity = "3GiB"
[[client]]
name = "detector"
executable = "/usr/bin/python3"
memory = "2GiB"
period = "50ms"
wcet = "12ms"
[[client]]
executable = "/usr/bin/python3"
memory = "1GiB"
)");
  ASSERT_TRUE(settings) << settings.error().what;
  EXPECT_EQ(settings->daemon.directory, "/etc/rtexec/run");
  EXPECT_EQ(settings->daemon.chunks, ChunkSharing::separate);
  EXPECT_EQ(settings->device.capacity, Bytes(3UL << 30));
  ASSERT_EQ(settings->clients.size(), 2u);
  ASSERT_TRUE(settings->clients[0].declaration);
  EXPECT_EQ(settings->clients[0].declaration->deadline, 50ms) << "the period";
  EXPECT_EQ(settings->clients[0].declaration->wcet, 12ms);
  EXPECT_FALSE(settings->clients[1].declaration);
}

TEST(DaemonSettings, RejectsInconsistentClientRules) {
  const auto problem = [](const std::string& client) { return test::problem(parsed("[[client]]\n" + client)); };
  EXPECT_THAT(problem("period = '10ms'"), HasSubstr("period: needs wcet too"));
  EXPECT_THAT(problem("wcet = '1ms'"), HasSubstr("wcet: needs a period too"));
  EXPECT_THAT(problem("period = '10ms'\nwcet = '1ms'\ndeadline = '20ms'"), HasSubstr("longer than the period, 10ms"));
  EXPECT_THAT(problem("period = '10ms'\nwcet = '11ms'"), HasSubstr("longer than the deadline, 10ms"));
  EXPECT_THAT(problem("executable = 'python3'"), HasSubstr("must be an absolute path"));
  EXPECT_THAT(problem("gap = '1ms'"), HasSubstr("gap: needs a period too"));
  EXPECT_THAT(
      problem("period = '10ms'\nwcet = '1ms'\npriority = 3"),
      HasSubstr("priority = 3: only with order = \"static-priority\" and priorities = \"explicit\" in [daemon]"));
  EXPECT_THAT(test::problem(parsed("[daemon]\norder = 'static-priority'\npriorities = 'explicit'\n[[client]]\nname = "
                                   "'a'\nperiod = '10ms'\nwcet = '1ms'")),
              HasSubstr("priority: priorities = \"explicit\" needs one"));
  EXPECT_THAT(test::problem(parsed("[swap]\npolicy = 'lru'")), HasSubstr("policy"));
}

TEST(DaemonSettings, RejectsClientRulesThatMatchNobody) {
  const auto problem = [](const std::string& clients) { return test::problem(parsed(clients)); };
  EXPECT_THAT(problem("[[client]]\nname = '" + std::string(64, 'n') + "'"), HasSubstr("at most 63 characters"));
  EXPECT_THAT(problem("[[client]]\nname = 'h\u00f6rer'"), HasSubstr("printable ASCII"));
  EXPECT_TRUE(parsed("[[client]]\nname = '" + std::string(63, 'n') + "'"));
  const std::string all = "[[client]]\nmemory = '1GiB'\n", named = "[[client]]\nname = 'a'\n",
                    executed = "[[client]]\nexecutable = '/bin/a'\n", both = named + "executable = '/bin/a'\n",
                    other = "[[client]]\nname = 'b'\n";
  for (const std::string& twice : {named + named, named + both, executed + both, all + named, all + all, both + both})
    EXPECT_THAT(problem(twice), HasSubstr("applies to no process: client 1")) << twice;
  EXPECT_THAT(problem(named + other + both), HasSubstr("client 1 comes first"));
  for (const std::string& right : {both + named, both + executed, named + other, named + executed, named + other + all})
    EXPECT_TRUE(parsed(right)) << right;
}

TEST(DaemonSettings, ReadsOldNameOfKeyWithWarning) {
  const auto settings = parsed("board = \"h200\"\n[daemon]\npatience = \"2s\"\n");
  ASSERT_TRUE(settings) << settings.error().what;
  EXPECT_EQ(settings->daemon.command_timeout, 2s);
  EXPECT_THAT(settings->warnings,
              testing::ElementsAre(HasSubstr(":3:1: warning: patience: its name is now command_timeout")));
}

} // namespace
} // namespace rtexec::config
