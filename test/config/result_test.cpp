#include <rtexec/result.hpp>

#include <gtest/gtest.h>

namespace rtexec {
namespace {

TEST(ExitCodes, MapErrorsToDocumentedValues) {
  EXPECT_EQ(exit_code(Errc::bad_input), 2);
  EXPECT_EQ(exit_code(Errc::unsupported), 2);
  EXPECT_EQ(exit_code(Errc::not_proved), 3);
  EXPECT_EQ(exit_code(Errc::missed), 4);
  for (const Errc code : {Errc::refused, Errc::out_of_memory, Errc::device_fault, Errc::cancelled})
    EXPECT_EQ(exit_code(code), 5);
}

} // namespace
} // namespace rtexec
