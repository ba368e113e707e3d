#include "test/rtexec/daemon_device.hpp"

#include <chrono>

namespace rtexec::daemon::test {

Terms terms_of(std::uint32_t frames, std::uint32_t places) {
  using namespace std::chrono_literals;
  constexpr Bytes chunk{std::uint64_t{2} << 20};
  Board board;
  board.name = "host";
  board.capacity = chunk * frames;
  board.chunk = chunk;
  board.copy_engines = 2;
  board.memory_policies = {MemoryPolicy::device};
  board.swap_costs = {{.chunk = chunk, .in_per_chunk = 100us, .out_per_chunk = 100us}};
  Terms terms;
  terms.device = rtexec::test::resolved({}, board);
  terms.places = places;
  terms.best_effort_wcet = 5ms;
  return terms;
}

} // namespace rtexec::daemon::test
