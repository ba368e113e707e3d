// A test program that crashes on purpose, for system/crash_report.sh.
#include <cstdlib>
#include <gtest/gtest.h>

TEST(CrashReport, DISABLED_Crashes) { std::abort(); }
