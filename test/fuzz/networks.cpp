// networks [--seed N] [--count N] [--time SECONDS] [--sets N]: tries random models, seed after seed, until one limit is
// reached, each on N sets of hostile inputs (default: 1 of 20).
// Prints each seed that breaks a rule or takes too much memory; a sanitizer ends the program, and the last line printed
// names the seed.
#include "test/tasks/isolated_nodes.hpp"
#include "test/tasks/random_onnx.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <malloc.h>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

std::size_t memory = 0, peak_memory = 0; // bytes allocated by operator new

void* counted(void* address) {
  if (address == nullptr) throw std::bad_alloc();
  memory += ::malloc_usable_size(address);
  peak_memory = std::max(peak_memory, memory);
  return address;
}

void release(void* address) noexcept {
  memory -= ::malloc_usable_size(address);
  std::free(address);
}

} // namespace

void* operator new(std::size_t size) { return counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t to) {
  void* address = nullptr;
  return counted(::posix_memalign(&address, static_cast<std::size_t>(to), size) == 0 ? address : nullptr);
}
void operator delete(void* address) noexcept { release(address); }
void operator delete(void* address, std::size_t) noexcept { release(address); }
void operator delete(void* address, std::align_val_t) noexcept { release(address); }
void operator delete(void* address, std::size_t, std::align_val_t) noexcept { release(address); }

namespace {

using namespace rtexec::test;

std::uint64_t option(int argc, char** argv, std::string_view name, std::uint64_t fallback) {
  for (int i = 1; i + 1 < argc; i += 2)
    if (argv[i] == name) return std::strtoull(argv[i + 1], nullptr, 10);
  return fallback;
}

/// Tries the model of a seed. Throws std::runtime_error if more memory is used than 256 MiB and four times the graph's
/// constants.
std::string try_seed(std::uint64_t seed, std::size_t sets) {
  const auto model = random_onnx(seed);
  peak_memory = memory;
  const auto before = memory;
  const auto [outcome, constants] = try_model(model, seed, sets);
  const auto taken = peak_memory - before;
  if (taken > std::max(std::size_t{256} << 20, 4 * constants))
    throw std::runtime_error(outcome + ", and it took " + std::to_string(taken >> 20) + " MiB");
  return outcome;
}

} // namespace

int main(int argc, char** argv) {
  constexpr auto endless = std::numeric_limits<std::uint32_t>::max();
  const auto first = option(argc, argv, "--seed", 1), count = option(argc, argv, "--count", endless);
  const auto sets = option(argc, argv, "--sets", 1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(option(argc, argv, "--time", endless));
  std::map<std::string, std::uint64_t> outcomes;
  for (auto seed = first; seed < first + count && std::chrono::steady_clock::now() < end; ++seed) {
    std::cerr << "\rseed " << seed << std::flush;
    try {
      ++outcomes[try_seed(seed, sets)];
    } catch (const std::exception& broken) {
      ++outcomes["broken"];
      std::cerr << ": " << broken.what() << '\n';
    }
  }
  std::cerr << '\n';
  for (const auto& [outcome, times] : outcomes) std::cout << outcome << ": " << times << '\n';
  return outcomes.contains("broken") ? 1 : 0;
}
