// Two stops of the machine, each in the span of one job: the first makes a more urgent job late until it meets the
// second job, the second lets the next one of the more urgent task in as well. Shows why releases are charged as 2 S
// later (policies/proofs/hold-ups.md).
#pragma once

#include "test/policies/plan_sets.hpp"

#include <vector>

namespace rtexec::policies::test {

struct TwoStops {
  static constexpr Duration ms = std::chrono::milliseconds(1), us = std::chrono::microseconds(1);
  static constexpr Duration hold_up = ms;

  TaskSet tasks = set_of({task_of("j", 9099 * us, {2 * ms, us, us}), task_of("i", 40 * ms, {5 * ms, us, us})},
                         Order::static_priority);
  Duration response_of_i = 10'104 * us; // in what follows

  struct Release {
    Duration at, latency;
  };
  std::vector<std::vector<Release>> releases = {{{20 * ms, 100 * us}, {29'099 * us, Duration(0)}},
                                                {{21 * ms, 100 * us}}}; // by task
  std::vector<Duration> stops = {20 * ms, 23'200 * us};

  static Board board(Duration stop = hold_up) {
    Board board = board_of();
    board.release_latency = 100 * us;
    board.hold_up = stop;
    return board;
  }
};

} // namespace rtexec::policies::test
