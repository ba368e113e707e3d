#include "config/base/file_names.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rtexec::config {
namespace {

using Names = std::vector<std::string>;

TEST(FileNames, KeepNamesThatFilesCanHave) {
  const Names names{"boxes", "größe", "a_b", "a_b_2"};
  EXPECT_EQ(file_names(names), names);
}

TEST(FileNames, NumberNamesThatCollide) {
  EXPECT_EQ(file_names(Names{"a/b", "a_b"}), (Names{"a_b_2", "a_b"})) << "the other one has that name already";
  EXPECT_EQ(file_names(Names{"x\ty", "x/y", "x\ny"}), (Names{"x_y", "x_y_2", "x_y_3"}));
  EXPECT_EQ(file_names(Names{"a/b", "a_b", "a_b_2"}), (Names{"a_b_3", "a_b", "a_b_2"}));
}

TEST(FileNames, CutLongNamesBetweenCharacters) {
  const std::string letters(300, 'x');
  const Names files = file_names(Names{letters, letters + "y", std::string(max_file_name_bytes - 1, 'z') + "ß"});
  EXPECT_EQ(files[0].size(), max_file_name_bytes);
  EXPECT_EQ(files[1], files[0] + "_2");
  EXPECT_EQ(files[2], std::string(max_file_name_bytes - 1, 'z'));
}

} // namespace
} // namespace rtexec::config
