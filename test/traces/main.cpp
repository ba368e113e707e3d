#include "test/traces/programs.hpp"
#include "traces/reading/babeltrace.hpp"

#include <gtest/gtest.h>

#include <string_view>

// The plug-in of babeltrace2 2.0 leaks what it has read of an event, or of metadata, that is cut off; calls of glib
// show no caller. The plug-in is kept loaded, for its name is known only as long as it is.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:babeltrace-plugin-ctf\nleak:libglib-2.0\n"; }

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--program")
    return rtexec::traces::test::run_program({argv + 2, argv + argc});
  [[maybe_unused]] static const auto* const kept = new auto(rtexec::traces::CtfSource::find());
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
