#include "rtexec/cli/text/name_list.hpp"

#include <gtest/gtest.h>

namespace rtexec::report {
namespace {

std::string text_of(int names) {
  NameList list;
  for (int i = 0; i < names; ++i) list.add("t" + std::to_string(i));
  return list.text();
}

TEST(NameList, ShowsTheFirstNamesAndCountsTheOthers) {
  EXPECT_TRUE(NameList().empty());
  EXPECT_EQ(text_of(0), "");
  EXPECT_EQ(text_of(1), "t0");
  EXPECT_EQ(text_of(4), "t0, t1, t2, t3");
  EXPECT_EQ(text_of(5), "t0, t1, t2, t3 and 1 more");
  EXPECT_EQ(text_of(150), "t0, t1, t2, t3 and 146 more");
}

} // namespace
} // namespace rtexec::report
