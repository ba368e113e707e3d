// An example with two platform stalls, each within one job. The first makes a more urgent job so late that it meets the
// second job; the second stall lets that task's next job in as well. It shows why releases are charged as 2 S later
// (policies/proofs/platform-stalls.md).
#pragma once

#include "test/policies/plan_sets.hpp"

#include <vector>

namespace rtexec::policies::test {

struct TwoStops {
  static constexpr Duration ms = std::chrono::milliseconds(1), us = std::chrono::microseconds(1);
  static constexpr Duration platform_stall = ms;

  TaskSet tasks = set_of({task_of("j", 9099 * us, {2 * ms, us, us}), task_of("i", 40 * ms, {5 * ms, us, us})},
                         Order::static_priority);
  Duration response_of_i = 10'104 * us; // response of task i under the releases and stops below

  struct Release {
    Duration at, latency;
  };
  std::vector<std::vector<Release>> releases = {{{20 * ms, 100 * us}, {29'099 * us, Duration(0)}},
                                                {{21 * ms, 100 * us}}}; // by task
  std::vector<Duration> stops = {20 * ms, 23'200 * us};

  static Board board(Duration stop = platform_stall) {
    Board board = board_of();
    board.release_latency = 100 * us;
    board.platform_stall = stop;
    return board;
  }
};

} // namespace rtexec::policies::test
