// networks [--seed N] [--count N] [--time SECONDS]: tries random models, seed after seed, until one limit is reached.
// Prints each seed that breaks a rule; a sanitizer ends the program, and the last line printed names the seed.
#include "test/tasks/isolated_nodes.hpp"
#include "test/tasks/random_onnx.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <map>
#include <string>
#include <string_view>

namespace {

std::uint64_t option(int argc, char** argv, std::string_view name, std::uint64_t fallback) {
  for (int i = 1; i + 1 < argc; i += 2)
    if (argv[i] == name) return std::strtoull(argv[i + 1], nullptr, 10);
  return fallback;
}

} // namespace

int main(int argc, char** argv) {
  constexpr auto endless = std::numeric_limits<std::uint32_t>::max();
  const auto first = option(argc, argv, "--seed", 1), count = option(argc, argv, "--count", endless);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(option(argc, argv, "--time", endless));
  std::map<std::string, std::uint64_t> outcomes;
  for (auto seed = first; seed < first + count && std::chrono::steady_clock::now() < end; ++seed) {
    std::cerr << "\rseed " << seed << std::flush;
    try {
      ++outcomes[rtexec::test::try_model(rtexec::test::random_onnx(seed), seed)];
    } catch (const std::exception& broken) {
      ++outcomes["broken"];
      std::cerr << ": " << broken.what() << '\n';
    }
  }
  std::cerr << '\n';
  for (const auto& [outcome, times] : outcomes) std::cout << outcome << ": " << times << '\n';
  return outcomes.contains("broken") ? 1 : 0;
}
