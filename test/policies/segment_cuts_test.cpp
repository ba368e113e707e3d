// Tests cut points against trying all of them, with a second implementation of the definitions. Also tests sets of
// tasks against trying all cuts of all tasks.
#include "policies/segments/segment_cuts.hpp"
#include <rtexec/task_set.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <ranges>
#include <tuple>

namespace rtexec::policies {
namespace {

using Random = std::mt19937;

Nanos draw(Random& random, Nanos low, Nanos high) { return std::uniform_int_distribution<Nanos>(low, high)(random); }

// ---- a second implementation of the definitions ----

enum class Mistake {
  none,
  no_overhead,        // segments take no overhead
  last_overhead_only, // only the last segment of a run has overhead
  one_segment_less,   // a run has one segment less
  carry_at_cuts,      // live tensors count only where they cross a cut, not for their whole lives
  every_tensor,       // every tensor counts, whether it crosses a cut or not
};

bool is_cut(const Cuts& cuts, std::size_t layer) { return std::ranges::binary_search(cuts, layer); }

Nanos run_of(const Layers& layers, const Cuts& cuts, unsigned launch_ahead, Mistake mistake = Mistake::none) {
  const std::size_t count = layers.times.size();
  if (mistake == Mistake::one_segment_less && launch_ahead > 0) --launch_ahead;
  Nanos longest = 0;
  for (std::size_t begin = 0; begin < count; ++begin) {
    if (begin > 0 && !is_cut(cuts, begin - 1)) continue;
    Nanos run = 0, overhead = 0;
    unsigned segments = 0;
    for (std::size_t layer = begin; layer < count && segments <= launch_ahead; ++layer) {
      run += layers.times[layer];
      if (!is_cut(cuts, layer)) continue;
      ++segments;
      overhead = layers.overheads[layer] + (mistake == Mistake::last_overhead_only ? 0 : overhead);
    }
    longest = std::max(longest, run + (mistake == Mistake::no_overhead ? 0 : overhead));
  }
  return longest;
}

bool crosses(const Tensor& tensor, const Cuts& cuts) {
  return std::ranges::any_of(cuts, [&](auto cut) { return tensor.first <= cut && cut < tensor.last; });
}

Bytes carry_of(const Layers& layers, const Cuts& cuts, Mistake mistake = Mistake::none) {
  Bytes most{0};
  for (std::uint32_t layer = 0; layer < layers.times.size(); ++layer) {
    if (mistake == Mistake::carry_at_cuts && !is_cut(cuts, layer)) continue;
    Bytes alive{0};
    for (const Tensor& tensor : layers.tensors) {
      const bool lives = mistake == Mistake::carry_at_cuts ? tensor.first <= layer && layer < tensor.last
                                                           : tensor.first <= layer && layer <= tensor.last;
      if (lives && (mistake == Mistake::every_tensor || crosses(tensor, cuts))) alive += tensor.size;
    }
    most = std::max(most, alive);
  }
  return most;
}

Nanos overhead_of(const Layers& layers, const Cuts& cuts) {
  Nanos sum = 0;
  for (const auto cut : cuts) sum += layers.overheads[cut];
  return sum;
}

std::vector<Cuts> all_cuts(const Layers& layers) {
  std::vector<Cuts> all;
  const std::size_t boundaries = layers.times.size() - 1;
  for (std::uint32_t set = 0; set < 1U << boundaries; ++set) {
    Cuts cuts;
    for (std::uint32_t layer = 0; layer < boundaries; ++layer)
      if (set >> layer & 1) cuts.push_back(layer);
    if (std::ranges::all_of(cuts, [&](auto cut) { return layers.overheads[cut] < unbounded; }))
      all.push_back(std::move(cuts));
  }
  return all;
}

/// Overhead, number of cuts, bytes live across cuts.
using Costs = std::tuple<Nanos, std::size_t, Bytes>;

/// Returns the Pareto front by trying all.
std::vector<Costs> front_of(const Layers& layers, Nanos tolerance, unsigned launch_ahead,
                            Mistake mistake = Mistake::none) {
  std::vector<Costs> within;
  for (const Cuts& cuts : all_cuts(layers))
    if (run_of(layers, cuts, launch_ahead, mistake) <= tolerance)
      within.emplace_back(overhead_of(layers, cuts), cuts.size(), carry_of(layers, cuts, mistake));
  std::ranges::sort(within);
  std::vector<Costs> front;
  for (const Costs& costs : within)
    if (front.empty() || std::get<Bytes>(costs) < std::get<Bytes>(front.back())) front.push_back(costs);
  return front;
}

std::vector<Costs> costs_of(const CutChoice& choice) {
  std::vector<Costs> costs;
  for (const Segmentation& way : choice.segmentations) costs.emplace_back(way.overhead, way.cuts.size(), way.carry);
  return costs;
}

// ---- random networks ----

/// Draws a chain with skip connections. Some boundaries cannot be cut. Some networks have one overhead everywhere, some
/// have none.
Layers network(Random& random, std::size_t count) {
  Layers layers;
  const Nanos overhead = draw(random, 0, 3), forbidden = draw(random, 0, 2) == 0 ? 6 : 0;
  const bool equal = draw(random, 0, 1) == 0;
  for (std::size_t layer = 0; layer < count; ++layer) layers.times.push_back(draw(random, 0, 12));
  for (std::size_t layer = 0; layer + 1 < count; ++layer)
    layers.overheads.push_back(draw(random, 1, 12) <= forbidden / 2 ? unbounded
                                                                    : (equal ? overhead : draw(random, 0, 4)));
  const auto last = static_cast<std::uint32_t>(count - 1);
  for (std::uint32_t layer = 0; layer < last; ++layer)
    layers.tensors.push_back({{static_cast<std::uint64_t>(draw(random, 0, 9))}, layer, layer + 1});
  for (Nanos skips = draw(random, 0, 4); skips > 0; --skips) {
    const auto a = static_cast<std::uint32_t>(draw(random, 0, last)),
               b = static_cast<std::uint32_t>(draw(random, 0, last));
    layers.tensors.push_back({{static_cast<std::uint64_t>(draw(random, 0, 9))}, std::min(a, b), std::max(a, b)});
  }
  return layers;
}

TEST(SegmentCuts, MatchExhaustiveSearch) {
  Random random(1);
  std::size_t possible = 0, impossible = 0, several = 0, networks = 0;
  std::map<Mistake, std::size_t> seen;
  for (unsigned launch_ahead = 0; launch_ahead <= max_launch_ahead; ++launch_ahead)
    for (int round = 0; round < 1500; ++round, ++networks) {
      const auto count = static_cast<std::size_t>(round < 100 ? 12 : draw(random, 1, 9));
      const Layers layers = network(random, count);
      const Nanos tolerance = draw(random, 8, 24 + 12 * launch_ahead);
      const CutChoice choice = choose_cuts(layers, tolerance, launch_ahead);
      const std::vector<Costs> front = front_of(layers, tolerance, launch_ahead);
      ASSERT_EQ(costs_of(choice), front) << "network " << networks;
      for (const Segmentation& way : choice.segmentations) {
        ASSERT_EQ(overhead_of(layers, way.cuts), way.overhead);
        ASSERT_EQ(carry_of(layers, way.cuts), way.carry);
        ASSERT_LE(run_of(layers, way.cuts, launch_ahead), tolerance);
        ASSERT_EQ(longest_run(segments_of(layers, way.cuts), launch_ahead), run_of(layers, way.cuts, launch_ahead));
      }
      ASSERT_EQ(choice.too_long.empty(), !front.empty());
      (front.empty() ? impossible : possible)++;
      several += front.size() > 1;
      for (const Mistake mistake : {Mistake::no_overhead, Mistake::last_overhead_only, Mistake::one_segment_less,
                                    Mistake::carry_at_cuts, Mistake::every_tensor})
        seen[mistake] += front_of(layers, tolerance, launch_ahead, mistake) != front;
    }
  EXPECT_GT(possible, networks / 3);
  EXPECT_GT(impossible, networks / 10);
  EXPECT_GT(several, networks / 20);
  for (const auto& [mistake, times] : seen) EXPECT_GT(times, 50U) << "mistake " << static_cast<int>(mistake);
}

/// With one overhead everywhere, the fewest cuts are as late as the tolerance allows.
TEST(SegmentCuts, AreAsFewAsGreedyLateCutsWhenOverheadsAreEqual) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    Layers layers = network(random, 40);
    const Nanos overhead = draw(random, 1, 3), tolerance = draw(random, 15, 60);
    std::ranges::fill(layers.overheads, overhead);
    std::size_t segments = 0;
    for (std::size_t begin = 0, end = 0; begin < 40; begin = end, ++segments) {
      Nanos time = 0;
      for (std::size_t layer = begin; layer < 40; ++layer) {
        time += layers.times[layer];
        if (time + (layer == 39 ? 0 : overhead) <= tolerance) end = layer + 1;
      }
    }
    ASSERT_EQ(choose_cuts(layers, tolerance, 0).segmentations.front().cuts.size() + 1, segments);
  }
}

TEST(SegmentCuts, AreAbsentWhenWholeJobIsTolerated) {
  const Layers layers{{3, 4, 5}, {1, 1}, {{{100}, 0, 2}}};
  const CutChoice choice = choose_cuts(layers, 12, 0);
  ASSERT_EQ(choice.segmentations.size(), 1U);
  EXPECT_EQ(choice.segmentations[0].cuts, Cuts{});
  EXPECT_EQ(choice.segmentations[0].carry, Bytes{0});
  EXPECT_EQ(choose_cuts({}, 0, 0).segmentations.size(), 1U) << "no layers";
}

/// With a cubic search of all segments this would take minutes.
TEST(SegmentCuts, ScaleToThousandsOfLayers) {
  Random random(6);
  constexpr std::size_t count = 3000;
  Layers layers;
  for (std::uint32_t layer = 0; layer < count; ++layer) {
    layers.times.push_back(draw(random, 1, 1000));
    if (layer + 1 == count) break;
    layers.overheads.push_back(20);
    layers.tensors.push_back({{static_cast<std::uint64_t>(draw(random, 1, 100))}, layer, layer + 1});
  }
  const Nanos all = sum_of(layers.times);
  EXPECT_EQ(choose_cuts(layers, all, 0).segmentations.front().cuts, Cuts{});
  EXPECT_EQ(choose_cuts(layers, all / 2 + 1000, 0).segmentations.front().cuts.size(), 1U);
  layers.times[1500] = all;
  EXPECT_EQ(choose_cuts(layers, all - 1, 0).too_long, std::vector<std::uint32_t>{1500});
  EXPECT_EQ(cut_into(layers, 3, 0).segmentations.front().cuts.size(), 2U);
}

TEST(SegmentCuts, ReportLayersThatAreTooLong) {
  const auto names = [](const Layers& layers, Nanos tolerance, unsigned launch_ahead = 0) {
    return choose_cuts(layers, tolerance, launch_ahead).too_long;
  };
  EXPECT_EQ(names({{3, 20, 5, 30, 1}, {1, 1, 1, 1}, {}}, 10), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(names({{3, 10, 5}, {1, 1}, {}}, 10), (std::vector<std::uint32_t>{1})) << "with its overhead";
  EXPECT_EQ(names({{3, 5, 10}, {1, 1}, {}}, 10), (std::vector<std::uint32_t>{})) << "the end has none";
  EXPECT_EQ(names({{3, 6, 6, 3}, {1, unbounded, 1}, {}}, 10), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(names({{6, 6}, {1}, {}}, 10, 1), (std::vector<std::uint32_t>{1})) << "committed behind the first";
}

/// No segment that is short enough contains a named layer. If each layer fits into some segment, none is named.
TEST(SegmentCuts, ReportExactlyLayersThatFitIntoNoSegment) {
  Random random(3);
  std::size_t named = 0;
  for (int round = 0; round < 3000; ++round) {
    const Layers layers = network(random, static_cast<std::size_t>(draw(random, 1, 7)));
    const Nanos tolerance = draw(random, 3, 12);
    const CutChoice choice = choose_cuts(layers, tolerance, 0);
    if (!choice.segmentations.empty()) continue;
    std::vector<bool> held(layers.times.size());
    for (const Cuts& cuts : all_cuts(layers)) {
      const std::vector<Nanos> segments = segments_of(layers, cuts);
      for (std::size_t layer = 0, segment = 0; layer < held.size(); ++layer) {
        if (segments[segment] <= tolerance) held[layer] = true;
        segment += is_cut(cuts, layer);
      }
    }
    if (std::ranges::all_of(held, std::identity{})) continue;
    ++named;
    for (std::uint32_t layer = 0; layer < held.size(); ++layer)
      ASSERT_EQ(std::ranges::binary_search(choice.too_long, layer), !held[layer]) << "round " << round;
  }
  EXPECT_GT(named, 1000U);
}

TEST(SegmentCuts, MinimiseLongestRunForGivenNumberOfSegments) {
  Random random(4);
  for (int round = 0; round < 2000; ++round) {
    const Layers layers = network(random, static_cast<std::size_t>(draw(random, 1, 8)));
    const auto segments = static_cast<std::uint32_t>(draw(random, 1, 8));
    const auto launch_ahead = static_cast<unsigned>(draw(random, 0, max_launch_ahead));
    Nanos shortest = unbounded;
    for (const Cuts& cuts : all_cuts(layers))
      if (cuts.size() < segments) shortest = std::min(shortest, run_of(layers, cuts, launch_ahead));
    std::map<std::size_t, Bytes> least; // least bytes live across cuts, by number of cuts
    for (const Cuts& cuts : all_cuts(layers))
      if (cuts.size() < segments && run_of(layers, cuts, launch_ahead) == shortest) {
        const Bytes carry = carry_of(layers, cuts);
        const auto [at, added] = least.try_emplace(cuts.size(), carry);
        at->second = std::min(at->second, carry);
      }
    const CutChoice choice = cut_into(layers, segments, launch_ahead);
    ASSERT_FALSE(choice.segmentations.empty());
    ASSERT_EQ(choice.segmentations.front().cuts.size(), least.begin()->first);
    ASSERT_EQ(choice.segmentations.back().carry, std::ranges::min(least | std::views::values));
    for (const Segmentation& way : choice.segmentations) {
      ASSERT_EQ(run_of(layers, way.cuts, launch_ahead), shortest);
      ASSERT_EQ(way.carry, least.at(way.cuts.size()));
    }
  }
}

TEST(SegmentCuts, MaxBlockingIsLastToleratedValue) {
  for (Nanos limit = 0; limit <= 20; ++limit)
    EXPECT_EQ(max_blocking(20, [&](Nanos run) { return run <= limit; }), limit);
  EXPECT_EQ(max_blocking(20, [](Nanos) { return true; }), 20);
  EXPECT_EQ(max_blocking(20, [](Nanos) { return false; }), std::nullopt);
  EXPECT_EQ(max_blocking(0, [](Nanos) { return true; }), 0);
}

// ---- sets ----

struct Timing {
  Nanos period = 1, deadline = 1;
};

/// Tests limited-preemptive EDF of tasks without chunks: for every L, the jobs due within it and the longest run of a
/// task due later. `timings` are in order of deadline; only those of tasks with segments count.
bool admitted(std::span<const Timing> timings, SetSegments segments, unsigned launch_ahead) {
  for (Nanos window = 1; window <= 200; ++window) {
    if (window < timings.front().deadline) continue;
    Nanos demand = 0, blocking = 0;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const auto& [period, deadline] = timings[i];
      Nanos execution = 0;
      for (const Nanos segment : segments[i]) execution += segment;
      if (deadline <= window) demand += ((window - deadline) / period + 1) * execution;
      else blocking = std::max(blocking, longest_run(segments[i], launch_ahead));
    }
    if (demand + blocking > window) return false;
  }
  return true;
}

struct CutProblem {
  std::vector<Timing> timings;
  std::vector<Layers> tasks;
};

CutProblem cut_problem(Random& random) {
  CutProblem problem;
  for (Nanos tasks = draw(random, 2, 3); tasks > 0; --tasks) {
    const Nanos period = draw(random, 12, 70);
    problem.timings.push_back({period, draw(random, period * 2 / 3, period)});
  }
  std::ranges::sort(problem.timings, {}, &Timing::deadline);
  for (const Timing& timing : problem.timings) {
    Layers& layers = problem.tasks.emplace_back(network(random, static_cast<std::size_t>(draw(random, 1, 5))));
    for (Nanos& time : layers.times) time = draw(random, 1, std::max<Nanos>(1, timing.period / 8));
    for (Nanos& overhead : layers.overheads) overhead = std::min<Nanos>(overhead, 3);
  }
  return problem;
}

/// Returns the least time that the jobs of the first tasks leave in any window shorter than the next task's deadline.
Nanos tolerance_of(std::span<const Timing> timings, SetSegments segments) {
  Nanos least = 1000;
  for (Nanos window = timings.front().deadline; window < timings[segments.size()].deadline; ++window) {
    Nanos left = window;
    for (std::size_t i = 0; i < segments.size(); ++i)
      for (const Nanos segment : segments[i])
        if (timings[i].deadline <= window) left -= ((window - timings[i].deadline) / timings[i].period + 1) * segment;
    least = std::min(least, left);
  }
  return least;
}

bool any_cuts_are_admitted(const CutProblem& problem, unsigned launch_ahead,
                           std::vector<std::vector<Nanos>>& segments) {
  if (segments.size() == problem.tasks.size()) return admitted(problem.timings, segments, launch_ahead);
  const Layers& task = problem.tasks[segments.size()];
  for (const Cuts& cuts : all_cuts(task)) {
    segments.push_back(segments_of(task, cuts));
    const bool found = any_cuts_are_admitted(problem, launch_ahead, segments);
    segments.pop_back();
    if (found) return true;
  }
  return false;
}

/// Cuts by deadline, each with the least overhead that the tasks before it tolerate: if any cuts are admitted, these
/// are.
TEST(SegmentCuts, AdmitTaskSetWheneverAnyCutsDo) {
  Random random(5);
  std::size_t yes = 0, no = 0, cut = 0;
  for (int round = 0; round < 1200; ++round) {
    const CutProblem problem = cut_problem(random);
    const auto launch_ahead = static_cast<unsigned>(draw(random, 0, 1));
    const auto found = cut_set(
        problem.tasks, [&](SetSegments segments) { return tolerance_of(problem.timings, segments); }, launch_ahead);
    std::vector<std::vector<Nanos>> segments, none;
    for (std::size_t i = 0; i < found.size() && !found[i].segmentations.empty(); ++i)
      segments.push_back(segments_of(problem.tasks[i], found[i].segmentations.front().cuts));
    const bool proved = segments.size() == problem.tasks.size() && admitted(problem.timings, segments, launch_ahead);
    ASSERT_EQ(proved, any_cuts_are_admitted(problem, launch_ahead, none)) << "round " << round;
    (proved ? yes : no)++;
    for (const CutChoice& choice : found) cut += proved && !choice.segmentations.front().cuts.empty();
  }
  EXPECT_GT(yes, 200U);
  EXPECT_GT(no, 200U);
  EXPECT_GT(cut, 100U);
}

TEST(SegmentCuts, StopAtFirstTaskThatCannotBeCut) {
  const std::vector<Layers> tasks{{{5, 5}, {1}, {}}, {{5, 50, 5}, {1, 1}, {}}, {{5}, {}, {}}};
  const auto cuts = cut_set(
      tasks, [](auto) { return Nanos{20}; }, 0);
  ASSERT_EQ(cuts.size(), 2U);
  EXPECT_EQ(cuts[1].too_long, (std::vector<std::uint32_t>{1}));
}

} // namespace
} // namespace rtexec::policies
