#include "test/traces/programs.hpp"

#include <gtest/gtest.h>

#include <string_view>

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--program")
    return rtexec::traces::test::run_program({argv + 2, argv + argc});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
