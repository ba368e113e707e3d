// system/crash_report.sh runs it.
#include <cstdlib>
#include <gtest/gtest.h>

TEST(CrashReport, DISABLED_Crashes) { std::abort(); }
