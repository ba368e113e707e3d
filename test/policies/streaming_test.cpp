// Tests streams on a simulated device: engines shared with a load, top-class work between layers, more urgent levels
// that hold the job and take frames, early ends. No job exceeds a bound, and deliberately wrong bounds are exceeded.
// Choices of resident chunks are compared with trying all.
#include "policies/segments/streaming.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <numeric>
#include <random>

namespace rtexec::policies {
namespace {

using Random = std::mt19937_64;

Nanos draw(Random& random, Nanos low, Nanos high) { return std::uniform_int_distribution<Nanos>(low, high)(random); }
bool one_in(Random& random, Nanos n) { return draw(random, 1, n) == 1; }

// ---- random streams ----

/// Draws layers. A layer may read the last chunk of the previous one.
std::vector<StreamLayer> network(Random& random, Nanos count, Nanos max_chunks, Nanos max_time = 20) {
  std::vector<StreamLayer> layers;
  std::uint32_t chunk = 0;
  for (Nanos j = 0; j < count; ++j) {
    const std::uint32_t shared = chunk > 0 && one_in(random, 3) ? 1 : 0;
    const auto chunks = static_cast<std::uint32_t>(one_in(random, 4) ? 0 : draw(random, 0, max_chunks));
    layers.push_back({draw(random, 0, max_time), chunk - shared, chunk + chunks});
    chunk += chunks;
  }
  return layers;
}

/// Everything that a device and its engines may do to a stream.
struct Situation {
  std::vector<StreamLayer> layers;
  std::uint32_t ring = 1;
  unsigned engines = 1;
  unsigned depth = 1; // operations in flight on each engine
  Nanos in = 1, out = 1, copy = 1;
  Nanos begin = 0;  // delay of the stream's copies behind others
  Nanos fixed = 0;  // phi of the load
  Nanos chunks = 0; // of the load
  Nanos free = 0;   // frames for it
  Nanos staged = 0; // when the load begins
  struct Work {
    Nanos at, length;
    std::uint32_t from_ring = 0, from_load = 0; // frames that it takes
  };
  std::vector<Work> top_class, holds; // by time
  bool worst = true;                  // everything takes as long as it may

  [[nodiscard]] StreamCosts costs() const {
    const Nanos longest = std::max(engines == 1 ? std::max(in, out) : in, copy);
    return {.copy = copy, .begin = begin, .resume = fixed, .in_flight = in_flight(depth, longest, begin, fixed)};
  }
  [[nodiscard]] Nanos alpha() const { return engines == 1 ? in + out : std::max(in, out); }
  [[nodiscard]] Nanos beta() const { return engines == 1 ? 0 : std::min(in, out); }
};

Situation situation(Random& random) {
  Situation s;
  do {
    s.layers = network(random, draw(random, 1, 8), 3);
    s.ring = static_cast<std::uint32_t>(draw(random, 1, 6));
  } while (!stream_times(s.layers, {}, s.ring));
  s.engines = static_cast<unsigned>(draw(random, 1, 2));
  s.depth = static_cast<unsigned>(draw(random, 1, 3));
  s.in = draw(random, 0, 12);
  s.out = one_in(random, 2) ? draw(random, 0, 1) : draw(random, 0, 12);
  s.copy = s.in + draw(random, 0, 1);
  s.fixed = one_in(random, 2) ? 0 : draw(random, 0, 12);
  s.begin = one_in(random, 2) ? 0 : draw(random, 0, 4);
  s.chunks = one_in(random, 5) ? 0 : draw(random, 1, 16);
  s.free = draw(random, 0, s.chunks);
  s.staged = one_in(random, 2) ? 0 : draw(random, 0, 60);
  s.worst = !one_in(random, 3);
  const auto arrivals = [&](std::vector<Situation::Work>& work) {
    for (Nanos n = one_in(random, 2) ? 0 : draw(random, 1, 3); n > 0; --n)
      work.push_back({draw(random, 0, 120), draw(random, 1, 15)});
    std::ranges::sort(work, {}, &Situation::Work::at);
  };
  arrivals(s.top_class);
  arrivals(s.holds);
  for (Situation::Work& hold : s.holds) {
    hold.from_ring = static_cast<std::uint32_t>(draw(random, 0, s.ring));
    hold.from_load = static_cast<std::uint32_t>(draw(random, 0, 2));
  }
  return s;
}

// ---- the device ----

/// The outcome of one situation.
struct Outcome {
  Nanos end = 0, loaded = 0; // of the job, and of the load
  // Work that came before these ends:
  Nanos top_class = 0, held_job = 0, held_load = 0;
  Nanos taken_job = 0, taken_load = 0; // frames
  Nanos needed_job = 0;                // of these frames, those with chunks still to be read
  Nanos holds_job = 0, holds_load = 0;
};

class Device {
 public:
  Device(const Situation& s, Random& random)
      : s_(s), random_(random), chunks_(s.layers.back().end), missing_(s.chunks), free_(s.free) {
    readers_.resize(chunks_);
    for (std::size_t j = 0; j < s.layers.size(); ++j)
      for (auto chunk = s.layers[j].begin; chunk < s.layers[j].end; ++chunk) readers_[chunk] = j;
    landed_.assign(chunks_, false);
    for (std::uint32_t chunk = 0; chunk < std::min(chunks_, s.ring); ++chunk) landed_[chunk] = true;
    next_ = std::min(chunks_, s.ring);
    loaded_ = s.chunks == 0;
    outcome_.loaded = s.staged;
  }

  Outcome run() {
    for (;;) {
      while (decide()) {}
      if (ended() && loaded_) return outcome_;
      Nanos next = unbounded;
      if (busy()) next = std::min(next, busy_until_);
      for (const auto& engine : engines_)
        if (!engine.empty()) next = std::min(next, engine.front().end);
      if (!held_ && hold_ < s_.holds.size()) next = std::min(next, std::max(now_ + 1, s_.holds[hold_].at));
      if (held_) next = std::min(next, std::max(now_ + 1, release_));
      if (top_class_ < s_.top_class.size()) next = std::min(next, std::max(now_ + 1, s_.top_class[top_class_].at));
      if (now_ < s_.staged) next = std::min(next, s_.staged);
      now_ = next; // some event is due
    }
  }

 private:
  enum class Target { none, job, load };
  enum class Kind { stream, load_in, load_out, restore_in, restore_out };
  struct Operation {
    Kind kind;
    Nanos end;
    std::uint32_t chunk = 0;
  };
  /// A frame of the ring that a hold took, with the chunk that was in it, or none if no chunk is still to be read.
  struct Lost {
    std::uint32_t chunk = 0;
    bool needed = false;
  };

  [[nodiscard]] bool ended() const { return layer_ == s_.layers.size(); }
  [[nodiscard]] bool busy() const { return busy_until_ >= 0; }
  Nanos takes(Nanos most) { return s_.worst || one_in(random_, 2) ? most : draw(random_, 0, most); }

  /// Takes one step. Returns true if anything changed.
  bool decide() { return finish() || arrive() || move() || execute(); }

  bool finish() {
    if (busy() && busy_until_ <= now_) {
      busy_until_ = -1;
      if (std::exchange(top_class_runs_, false)) return true;
      ++layer_;
      if (ended()) outcome_.end = now_;
      return true;
    }
    for (auto& engine : engines_)
      if (!engine.empty() && engine.front().end <= now_) {
        const Operation operation = engine.front();
        engine.pop_front();
        land(operation);
        return true;
      }
    return false;
  }

  void land(const Operation& operation) {
    switch (operation.kind) {
    case Kind::stream: landed_[operation.chunk] = true; break;
    case Kind::load_in: ++in_place_; break;
    case Kind::load_out: --leaving_, ++free_; break;
    case Kind::restore_out: emptied_.push_back(operation.chunk); break;
    case Kind::restore_in:
      landed_[operation.chunk] = true;
      --restoring_;
      break;
    }
    if (!loaded_ && in_place_ == s_.chunks) {
      loaded_ = true;
      outcome_.loaded = now_;
    }
  }

  /// Lets a more urgent level stop the device and the loader of this level until its work is done and nothing is in
  /// flight.
  bool arrive() {
    if (!held_ && hold_ < s_.holds.size() && s_.holds[hold_].at <= now_ && restoring_ == 0 && lost_.empty()) {
      held_ = true;
      since_ = now_;
      release_ = now_ + s_.holds[hold_].length;
      return true;
    }
    if (!held_ || now_ < release_ || busy() || !engines_[0].empty() || !engines_[1].empty()) return false;
    held_ = false;
    const auto& hold = s_.holds[hold_++];
    Nanos taken = 0, needed = 0;
    if (!ended())
      for (std::uint32_t frame = 0; frame < s_.ring && taken < hold.from_ring; ++frame) {
        const std::uint32_t chunk = next_ - std::min(next_, s_.ring) + frame;
        if (chunk >= chunks_ || !landed_[chunk]) continue;
        const bool read = readers_[chunk] < layer_;
        lost_.push_back({chunk, !read});
        landed_[chunk] = read;
        ++restoring_, ++taken, needed += !read;
      }
    const Nanos from_load = loaded_ ? 0 : std::min<Nanos>(hold.from_load, in_place_);
    in_place_ -= from_load;
    missing_ += from_load;
    target_ = Target::none;
    const Nanos held = now_ - since_;
    if (!ended()) {
      outcome_.held_job += held, outcome_.taken_job += taken + from_load, outcome_.needed_job += needed + from_load;
      ++outcome_.holds_job;
    }
    if (!loaded_) {
      outcome_.held_load += held, outcome_.taken_load += taken + from_load;
      ++outcome_.holds_load;
    }
    return true;
  }

  [[nodiscard]] bool frame_is_free() const {
    return next_ < chunks_ && (next_ < s_.ring || readers_[next_ - s_.ring] < layer_);
  }

  /// Begins one more operation on an engine: restores first, then the stream, then the load.
  bool move() {
    if (held_) return false;
    auto &ins = engines_[0], &outs = engines_[s_.engines - 1];
    const auto fixed = [&](Kind kind) {
      const Target target = kind == Kind::load_in || kind == Kind::load_out ? Target::load : Target::job;
      if (std::exchange(target_, target) == target) return Nanos{0};
      return kind == Kind::stream ? s_.begin : s_.fixed;
    };
    const auto start = [&](auto& engine, Kind kind, Nanos most, std::uint32_t chunk = 0) {
      const Nanos begin = engine.empty() ? now_ : engine.back().end;
      engine.push_back({kind, begin + takes(most), chunk});
      return true;
    };
    if (!emptied_.empty() && ins.size() < s_.depth) {
      const std::uint32_t chunk = emptied_.front();
      emptied_.pop_front();
      const bool needed = !landed_[chunk];
      if (!needed) return --restoring_, true;
      return start(ins, Kind::restore_in, fixed(Kind::restore_in) + s_.in, chunk);
    }
    if (!lost_.empty() && outs.size() < s_.depth) {
      const Lost lost = lost_.front();
      lost_.pop_front();
      return start(outs, Kind::restore_out, (s_.engines == 1 ? fixed(Kind::restore_out) : 0) + s_.out, lost.chunk);
    }
    if (restoring_ > 0) return false;
    if (!ended() && frame_is_free() && ins.size() < s_.depth) {
      start(ins, Kind::stream, fixed(Kind::stream) + s_.copy, next_);
      ++next_;
      return true;
    }
    if (now_ < s_.staged || loaded_) return false;
    if (missing_ > 0 && free_ > 0 && ins.size() < s_.depth) {
      --missing_, --free_;
      return start(ins, Kind::load_in, fixed(Kind::load_in) + s_.in);
    }
    if (missing_ > free_ + leaving_ && outs.size() < s_.depth) {
      ++leaving_;
      return start(outs, Kind::load_out, (s_.engines == 1 ? fixed(Kind::load_out) : 0) + s_.out);
    }
    return false;
  }

  bool execute() {
    if (busy()) return false;
    if (top_class_ < s_.top_class.size() && s_.top_class[top_class_].at <= now_) {
      const Nanos length = s_.top_class[top_class_++].length;
      if (!ended()) outcome_.top_class += length;
      busy_until_ = now_ + length;
      top_class_runs_ = true;
      return true;
    }
    if (held_ || ended() || restoring_ > 0) return false;
    const StreamLayer& layer = s_.layers[layer_];
    for (auto chunk = layer.begin; chunk < layer.end; ++chunk)
      if (!landed_[chunk]) return false;
    busy_until_ = now_ + takes(layer.time);
    return true;
  }

  const Situation& s_;
  Random& random_;
  Nanos now_ = 0;
  // The job.
  std::size_t layer_ = 0;
  std::uint32_t chunks_ = 0, next_ = 0; // the next chunk to copy
  std::vector<std::size_t> readers_;
  std::vector<bool> landed_;
  Nanos busy_until_ = -1;
  std::size_t top_class_ = 0;
  bool top_class_runs_ = false;
  // The load.
  Nanos missing_, free_, leaving_ = 0, in_place_ = 0;
  bool loaded_ = false;
  // The engines. If there is only one, both kinds of copies use the first.
  std::array<std::deque<Operation>, 2> engines_;
  Target target_ = Target::none; // of the last operation since the last hold
  // The holds.
  std::size_t hold_ = 0;
  bool held_ = false;
  Nanos since_ = 0, release_ = 0;
  std::deque<Lost> lost_;
  std::deque<std::uint32_t> emptied_;
  Nanos restoring_ = 0;
  Outcome outcome_;
};

// ---- bounds, and deliberately wrong ones ----

enum class Mistake {
  none,
  nothing_in_flight,
  one_in_flight, // one operation in flight, although there may be several
  no_fixed_in_flight,
  one_fixed_in_flight, // one fixed cost in flight, although operations take turns
  no_begin,
  one_frame_more,
  first_reader_frees,
  copies_are_free,   // copies cost the load nothing
  no_resume,         // the load has no cost of resuming
  one_copy_less,     // S has one copy less
  no_restore,        // no restores of frames that holds took
  restore_of_needed, // restores only of chunks that are still needed
  no_top_class,
  no_hold,
  count
};

struct Bounds {
  Nanos end = 0, loaded = 0;
};

Bounds bounds(const Situation& s, const Outcome& outcome, Mistake mistake) {
  StreamCosts costs = s.costs();
  std::vector<StreamLayer> layers = s.layers;
  if (mistake == Mistake::nothing_in_flight) costs.in_flight = 0;
  if (mistake == Mistake::one_in_flight) costs.in_flight = std::min(costs.in_flight, std::max(s.in, s.out) + s.fixed);
  if (mistake == Mistake::no_fixed_in_flight) costs.in_flight -= s.fixed * ((s.depth + 1) / 2);
  if (mistake == Mistake::one_fixed_in_flight)
    costs.in_flight -= s.fixed * ((s.depth - 1) / 2) + s.begin * (s.depth / 2);
  if (mistake == Mistake::no_begin) costs.begin = 0;
  if (mistake == Mistake::no_resume) costs.resume = 0;
  if (mistake == Mistake::first_reader_frees)
    for (std::size_t j = 1; j < layers.size(); ++j) layers[j].begin = layers[j - 1].end;
  StreamTimes times = *stream_times(layers, costs, s.ring + (mistake == Mistake::one_frame_more ? 1 : 0));
  if (mistake == Mistake::copies_are_free) times.copies = 0;
  if (mistake == Mistake::one_copy_less && times.copies > 0) times.copies -= costs.copy + costs.begin + costs.resume;
  const auto restores = [&](Nanos taken, Nanos needed, Nanos holds) {
    if (mistake == Mistake::no_restore) return Nanos{0};
    return s.alpha() * (mistake == Mistake::restore_of_needed ? needed : taken) +
           holds * (std::max(s.fixed, s.begin) + s.fixed + 2 * s.beta());
  };
  const Nanos load = s.chunks == 0 ? 0 : s.fixed + s.beta() + s.alpha() * s.chunks;
  const bool held = mistake != Mistake::no_hold;
  return {times.execution + (mistake == Mistake::no_top_class ? 0 : outcome.top_class) + (held ? outcome.held_job : 0) +
              restores(outcome.taken_job, outcome.needed_job, outcome.holds_job),
          s.staged + load + times.copies + (held ? outcome.held_load : 0) +
              restores(outcome.taken_load, outcome.taken_load, outcome.holds_load)};
}

/// RTEXEC_STREAMS=5000000 tries more streams than usual.
TEST(Streaming, NeverExceedsItsBoundsInSimulation) {
  const char* asked = std::getenv("RTEXEC_STREAMS");
  const std::uint64_t streams = asked == nullptr ? 200'000 : std::strtoull(asked, nullptr, 10);
  Random random(1);
  std::uint64_t jobs_met = 0, loads_met = 0, copied = 0, held = 0, restored = 0, beside = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(Mistake::count)> exceeded{};
  for (std::uint64_t n = 0; n < streams; ++n) {
    const Situation s = situation(random);
    const Outcome outcome = Device(s, random).run();
    for (std::size_t mistake = 0; mistake < exceeded.size(); ++mistake) {
      const Bounds limits = bounds(s, outcome, static_cast<Mistake>(mistake));
      exceeded[mistake] += outcome.end > limits.end || outcome.loaded > limits.loaded;
    }
    const Bounds right = bounds(s, outcome, Mistake::none);
    ASSERT_LE(outcome.end, right.end) << "stream " << n;
    ASSERT_LE(outcome.loaded, right.loaded) << "stream " << n;
    const bool streams_some = s.layers.back().end > s.ring;
    jobs_met += streams_some && outcome.end == right.end;
    loads_met += streams_some && outcome.loaded == right.loaded;
    copied += streams_some, held += static_cast<std::uint64_t>(outcome.holds_job), restored += outcome.taken_job > 0,
        beside += s.chunks > 0;
  }
  std::cout << streams << " streams, of which " << copied << " copy and " << beside << " have a load beside them; "
            << held << " holds, of which " << restored << " take frames; " << jobs_met << " executions and "
            << loads_met << " loads as long as their bounds; exceeded by mistake:";
  for (const auto times : exceeded) std::cout << " " << times;
  std::cout << "\n";
  EXPECT_GT(copied, streams / 3);
  EXPECT_GT(jobs_met, streams / 100);
  EXPECT_GT(loads_met, streams / 100);
  EXPECT_GT(restored, streams / 100);
  for (std::size_t mistake = 1; mistake < exceeded.size(); ++mistake)
    EXPECT_GE(exceeded[mistake], 5U) << "mistake " << mistake;
}

// ---- times computed by hand ----

/// Four layers of 10 with a chunk each, in a ring of two. Copies take 6 and begin at most 1 + 2 after the end of a
/// layer. Chunk 2 is there at 10 + 3 + 6 = 19, in time for layer 2; chunk 3 at 20 + 3 + 6 = 29.
TEST(Streaming, OverlapsCopiesWithLayers) {
  const std::vector<StreamLayer> layers{{10, 0, 1}, {10, 1, 2}, {10, 2, 3}, {10, 3, 4}};
  const StreamCosts costs{.copy = 6, .begin = 1, .resume = 4, .in_flight = 2};
  EXPECT_EQ(stream_times(layers, costs, 2), (StreamTimes{40, 2 * (6 + 1 + 4)}));
  EXPECT_EQ(stream_times(layers, costs, 1), (StreamTimes{10 + 3 * (9 + 10), 3 * 11})) << "one frame: one by one";
  EXPECT_EQ(stream_times(layers, costs, 4), (StreamTimes{40, 0}));
  EXPECT_EQ(stream_times(layers, costs, 9), (StreamTimes{40, 0}));
  EXPECT_EQ(stream_times(layers, {.copy = 15, .begin = 1, .resume = 4, .in_flight = 2}, 2),
            (StreamTimes{10 + 3 + 15 + 15 + 10, 2 * 20}))
      << "bound by copies, which follow each other";
  EXPECT_EQ(min_ring(layers, costs, 40), 2U);
  EXPECT_EQ(min_ring(layers, costs, 67), 1U);
  EXPECT_EQ(min_ring(layers, costs, 39), std::nullopt);
}

TEST(Streaming, NeedsFramesForAllChunksOfALayer) {
  const std::vector<StreamLayer> layers{{10, 0, 1}, {10, 1, 4}};
  EXPECT_EQ(stream_times(layers, {}, 2), std::nullopt);
  EXPECT_EQ(stream_times(layers, {}, 0), std::nullopt);
  EXPECT_EQ(stream_times(layers, {}, 3), (StreamTimes{20, 0}));
  EXPECT_EQ(stream_times(std::vector<StreamLayer>{{10, 0, 2}, {10, 1, 3}}, {}, 1), std::nullopt)
      << "the second chunk is read by both layers";
  EXPECT_EQ(stream_times({}, {}, 0), (StreamTimes{0, 0}));
  EXPECT_EQ(stream_times(std::vector<StreamLayer>{{10, 0, 0}}, {}, 0), (StreamTimes{10, 0}));
}

TEST(Streaming, RenumbersChunksWhenSomeAreRemoved) {
  const std::vector<StreamLayer> layers{{10, 0, 2}, {11, 1, 4}, {12, 4, 4}, {13, 4, 6}},
      rest = without(layers, std::vector<std::uint32_t>{1, 4});
  const std::vector<std::array<std::uint32_t, 2>> ranges{{0, 1}, {1, 3}, {3, 3}, {3, 4}};
  for (std::size_t j = 0; j < layers.size(); ++j) {
    EXPECT_EQ(rest[j].time, layers[j].time);
    EXPECT_EQ((std::array{rest[j].begin, rest[j].end}), ranges[j]);
  }
}

// ---- resident chunks ----

StreamCosts random_costs(Random& random) {
  return {.copy = draw(random, 1, 20),
          .begin = draw(random, 0, 3),
          .resume = draw(random, 0, 3),
          .in_flight = draw(random, 0, 20)};
}

/// Returns the time with the best of all choices of `resident` chunks.
Nanos shortest(const std::vector<StreamLayer>& layers, const StreamCosts& costs, std::uint32_t ring,
               std::uint32_t resident) {
  const std::uint32_t chunks = layers.back().end;
  Nanos best = unbounded;
  for (std::uint32_t set = 0; set < 1U << chunks; ++set) {
    if (static_cast<std::uint32_t>(std::popcount(set)) != std::min(resident, chunks)) continue;
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk)
      if (set >> chunk & 1) chosen.push_back(chunk);
    if (const auto times = stream_times(without(layers, chosen), costs, ring)) best = std::min(best, times->execution);
  }
  return best;
}

TEST(Streaming, KeepsResidentChunksThatMinimiseExecutionTime) {
  Random random(2);
  std::size_t decided = 0, impossible = 0, differs = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::vector<StreamLayer> layers = network(random, draw(random, 1, 8), 3);
    if (layers.back().end > 12) continue;
    const StreamCosts costs = random_costs(random);
    const auto ring = static_cast<std::uint32_t>(draw(random, 0, 4)),
               resident = static_cast<std::uint32_t>(draw(random, 0, 6));
    const Nanos best = shortest(layers, costs, ring, resident);
    const auto plan = keep_resident(layers, costs, ring, resident);
    ASSERT_EQ(plan.has_value(), best < unbounded) << "round " << round;
    if (!plan) {
      ++impossible;
      continue;
    }
    ++decided;
    ASSERT_EQ(plan->times.execution, best) << "round " << round;
    ASSERT_EQ(plan->least, best);
    ASSERT_EQ(plan->resident.size(), std::min(resident, layers.back().end));
    ASSERT_EQ(stream_times(without(layers, plan->resident), costs, ring), plan->times);
    std::vector<std::uint32_t> first(plan->resident.size());
    std::iota(first.begin(), first.end(), 0U);
    const auto of_first = stream_times(without(layers, first), costs, ring);
    differs += !of_first || of_first->execution > best;
  }
  EXPECT_GT(decided, 2000U);
  EXPECT_GT(impossible, 100U);
  EXPECT_GT(differs, 300U) << "than keeping the first ones";
}

TEST(Streaming, FindsLeastMemoryForGivenExecutionTime) {
  Random random(3);
  std::size_t decided = 0;
  for (int round = 0; round < 400; ++round) {
    const std::vector<StreamLayer> layers = network(random, draw(random, 1, 6), 3);
    const std::uint32_t chunks = layers.back().end;
    if (chunks > 9) continue;
    const StreamCosts costs = random_costs(random);
    Nanos compute = 0;
    for (const StreamLayer& layer : layers) compute += layer.time;
    const Nanos longest = compute + draw(random, -2, 60);
    std::optional<std::uint32_t> memory, ring;
    for (std::uint32_t frames = 0; frames <= chunks && !memory; ++frames)
      for (std::uint32_t some = 0; some <= frames && !memory; ++some)
        if (shortest(layers, costs, some, frames - some) <= longest) memory = frames, ring = some;
    const auto plan = min_memory(layers, costs, longest);
    ASSERT_EQ(plan.has_value(), memory.has_value());
    if (!plan) continue;
    ++decided;
    ASSERT_EQ(plan->memory(), *memory) << "round " << round;
    ASSERT_EQ(plan->ring, *ring);
    ASSERT_LE(plan->times.execution, longest);
  }
  EXPECT_GT(decided, 200U);
}

/// If not every choice is examined, the result says how much shorter another one could be.
TEST(Streaming, ReportsLowerBoundWhenNotAllChoicesAreExamined) {
  Random random(4);
  double worst = 0, sum = 0;
  int exact = 0;
  constexpr int networks = 60;
  for (int round = 0; round < networks; ++round) {
    const std::vector<StreamLayer> layers = network(random, 60, 2, 40'000);
    const std::uint32_t chunks = layers.back().end;
    Nanos compute = 0;
    for (const StreamLayer& layer : layers) compute += layer.time;
    const Nanos copy = compute * draw(random, 50, 200) / (100 * chunks);
    const StreamCosts costs{.copy = copy, .begin = copy / 20, .resume = copy / 20, .in_flight = copy};
    const auto plan = keep_resident(layers, costs, 3, chunks / 3);
    ASSERT_TRUE(plan);
    ASSERT_LE(plan->least, plan->times.execution);
    const double above = static_cast<double>(plan->times.execution) / static_cast<double>(plan->least) - 1;
    exact += plan->times.execution == plan->least;
    worst = std::max(worst, above);
    sum += above / networks;
  }
  std::cout << exact << " of " << networks << " choices are shortest; all are longer than can be by at most "
            << 100 * sum << " % in the mean, " << 100 * worst << " % at most\n";
  EXPECT_LT(worst, 0.2);
}

} // namespace
} // namespace rtexec::policies
