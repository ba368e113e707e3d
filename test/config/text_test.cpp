#include "config/base/text.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace rtexec::config {
namespace {

using namespace std::string_literals;

TEST(Text, PrintableKeepsValidText) {
  for (const std::string text : {"", "front", "'a' \"b\" \\c", "größer → 漢字 😀", "\xc2\xa0"})
    EXPECT_EQ(printable(text), text);
}

TEST(Text, PrintableEscapesControlCharactersAndInvalidUtf8) {
  EXPECT_EQ(printable("\x1b[2J\r\n\t\x7f\0"s), "\\u001B[2J\\u000D\\u000A\\u0009\\u007F\\u0000");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009B31m"); // the single character that begins an escape sequence
  EXPECT_EQ(printable("\x9b"), "\\x9B");
  EXPECT_EQ(printable("a\xc3"), "a\\xC3");                          // truncated
  EXPECT_EQ(printable("\xc0\x9b"), "\\xC0\\x9B");                   // an overlong encoding
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xED\\xA0\\x80");          // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80"); // beyond the last character
}

TEST(Text, ShellWordQuotesSpecialCharacters) {
  EXPECT_EQ(shell_word("build/my-set_1.toml"), "build/my-set_1.toml");
  EXPECT_EQ(shell_word("my set.toml"), "'my set.toml'");
  EXPECT_EQ(shell_word("it's $HOME/*.toml"), "'it'\\''s $HOME/*.toml'");
  EXPECT_EQ(shell_word("~/set.toml"), "'~/set.toml'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Text, TomlStringEscapesQuotesAndControlCharacters) {
  EXPECT_EQ(toml_string("\"a\\b\" \x1b\xc2\x9b ä"), "\"\\\"a\\\\b\\\" \\u001B\\u009B ä\"");
}

TEST(Text, PrintableTruncatesBetweenCharactersWithEllipsis) {
  EXPECT_EQ(printable("abcd", 4), "abcd");
  EXPECT_EQ(printable("abcde", 4), "abcd...");
  EXPECT_EQ(printable("abcä", 4), "abc...");
  EXPECT_EQ(printable("abc\x1b", 4), "abc...");
  EXPECT_EQ(quoted(std::string(5'000'000, 'x'), 3), "'xxx...'");
}

TEST(Text, PrintableIsIdempotentBoundedAndFreeOfControlCharacters) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::size_t k = random() % 40; k > 0; --k)
      text += static_cast<char>(random() % 3 ? random() : 0x80 + random() % 0x80);
    const std::string shown = printable(text, 50);
    EXPECT_LE(shown.size(), 53u);
    EXPECT_EQ(printable(shown), shown) << "what is printable stays";
    for (const char c : shown) EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f);
  }
}

} // namespace
} // namespace rtexec::config
