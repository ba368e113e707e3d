#include "test/traces/programs.hpp"
#include "traces/reading/babeltrace.hpp"

#include <gtest/gtest.h>

#include <string_view>

// The plug-in of babeltrace2 2.0 leaks the parts that it has read of a truncated event or of truncated metadata. Calls
// of glib show no caller. The plug-in stays loaded, because its name is known only while it is loaded.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:babeltrace-plugin-ctf\nleak:libglib-2.0\n"; }

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--program")
    return rtexec::traces::test::run_program({argv + 2, argv + argc});
  [[maybe_unused]] static const auto* const kept = new auto(rtexec::traces::CtfSource::find());
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
