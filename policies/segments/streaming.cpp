#include "policies/segments/streaming.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace rtexec::policies {
namespace {

/// The maximum number of partial solutions that the search for resident chunks keeps after each chunk
constexpr std::size_t max_choices = 256;

std::uint32_t chunks_of(std::span<const StreamLayer> layers) { return layers.empty() ? 0 : layers.back().end; }

/// Returns for each chunk the last layer that reads it.
std::vector<std::uint32_t> last_readers(std::span<const StreamLayer> layers) {
  std::vector<std::uint32_t> readers(chunks_of(layers));
  for (std::uint32_t j = 0; j < layers.size(); ++j)
    for (std::uint32_t chunk = layers[j].begin; chunk < layers[j].end; ++chunk) readers[chunk] = j;
  return readers;
}

/// Returns the time by which `copied` copies of the stream delay a concurrent load, if each copy interrupts the load.
Nanos copies(std::uint64_t copied, const StreamCosts& costs) {
  return bounded(Wide{copied} * (Wide{costs.copy} + costs.begin + costs.resume));
}

/// Returns the instant at which a chunk has been loaded into a frame that becomes free at `free`. `landed`: the instant
/// at which the previous chunk was loaded.
Nanos landing(Nanos landed, Nanos free, const StreamCosts& costs) {
  return bounded(std::max<Wide>(landed, Wide{free} + costs.in_flight + costs.begin) + costs.copy);
}

// ---- which chunks are resident ----

/// A frame of the ring, and the chunk in it.
struct Frame {
  std::uint32_t reader = 0; // the last layer that reads the chunk
  Nanos free = unbounded;   // the end of that layer; unbounded: the layer has not ended yet
};

/// A partial solution of ResidentSearch. The search decides for each chunk, in the order of first use, whether the
/// chunk is resident or streamed. A choice stores the decisions so far, and the execution up to the current layer.
struct Choice {
  Nanos end = 0;    // the end of the last executed layer
  Nanos landed = 0; // the instant at which the last copied chunk was loaded
  std::vector<std::uint32_t> resident;
  std::vector<Frame> frames; // sorted by age, the oldest chunk first; may have fewer entries than the ring has frames
  Nanos least = 0;           // a lower bound on the execution time, whatever is decided for later chunks
};

/// Returns a sort key of the k-th newest frame of the ring (0: the newest). A smaller key means that the frame becomes
/// free earlier. A frame becomes free when the last layer that reads its chunk has ended. Frames whose last reader has
/// ended come first, in the order of these ends. The other frames follow in the order of their last readers. A frame
/// that does not exist gets the smallest key.
std::pair<std::uint32_t, Nanos> newest(const Choice& choice, std::size_t k) {
  if (k >= choice.frames.size()) return {0, -1};
  const Frame& frame = choice.frames[choice.frames.size() - 1 - k];
  return frame.free < unbounded ? std::pair{0U, frame.free} : std::pair{frame.reader + 1, Nanos{0}};
}

/// True if `a` leads to no longer execution than `b`, whatever is decided for later chunks.
bool dominates(const Choice& a, const Choice& b) {
  if (a.end > b.end || a.landed > b.landed || a.resident.size() > b.resident.size()) return false;
  for (std::size_t k = 0; k < a.frames.size(); ++k)
    if (newest(a, k) > newest(b, k)) return false;
  return true;
}

class ResidentSearch {
 public:
  ResidentSearch(std::span<const StreamLayer> layers, const StreamCosts& costs, std::uint32_t ring,
                 std::uint32_t resident, Nanos longest)
      : layers_(layers),
        costs_(costs),
        ring_(ring),
        resident_(resident),
        longest_(longest),
        readers_(last_readers(layers)),
        choices_(1) {
    rest_.resize(layers.size() + 1);
    for (std::size_t j = layers.size(); j-- > 0;) rest_[j] = rest_[j + 1] + layers[j].time;
    std::uint32_t chunk = 0;
    for (std::uint32_t j = 0; j < layers.size(); ++j) {
      for (; chunk < layers[j].end; ++chunk) choose(j, chunk);
      for (Choice& choice : choices_) execute(j, choice);
    }
  }

  [[nodiscard]] std::optional<StreamPlan> result() const {
    if (choices_.empty()) return std::nullopt;
    const Choice& best = *std::ranges::min_element(choices_, {}, &Choice::end);
    StreamPlan plan{.ring = ring_, .resident = best.resident, .times = {}, .least = std::min(best.end, dropped_)};
    for (auto chunk = chunks_of(layers_); plan.resident.size() < resident_ && chunk-- > 0;) {
      const auto at = std::ranges::lower_bound(plan.resident, chunk);
      if (at == plan.resident.end() || *at != chunk) plan.resident.insert(at, chunk);
    }
    plan.times = *stream_times(without(layers_, plan.resident), costs_, ring_);
    return plan;
  }

 private:
  void choose(std::uint32_t layer, std::uint32_t chunk) {
    std::vector<Choice> next;
    for (Choice& choice : choices_) {
      if (choice.resident.size() < resident_) next.emplace_back(choice).resident.push_back(chunk);
      if (stream(choice, chunk)) next.push_back(std::move(choice));
    }
    for (Choice& choice : next) choice.least = least(layer, chunk + 1, choice);
    keep_best(std::move(next));
  }

  /// Streams the chunk: assigns a frame of the ring to it. Returns false if no frame is available, since later layers
  /// still have to read the chunks in all frames.
  bool stream(Choice& choice, std::uint32_t chunk) const {
    if (choice.frames.size() == ring_) {
      if (ring_ == 0 || choice.frames.front().free == unbounded) return false;
      choice.landed = landing(choice.landed, choice.frames.front().free, costs_);
      choice.frames.erase(choice.frames.begin());
    }
    choice.frames.push_back({readers_[chunk], unbounded});
    return true;
  }

  void execute(std::uint32_t layer, Choice& choice) const {
    choice.end = bounded(Wide{std::max(choice.end, choice.landed)} + layers_[layer].time);
    for (Frame& frame : choice.frames)
      if (frame.reader == layer) frame.free = choice.end;
  }

  /// Returns a lower bound on the execution time. The bound assumes that every frame is free at once, and that the
  /// chunks without a copy (resident or in the ring from the beginning) come first.
  [[nodiscard]] Nanos least(std::uint32_t layer, std::uint32_t chunk, const Choice& choice) const {
    const std::size_t spared = chunk + (resident_ - choice.resident.size()) + (ring_ - choice.frames.size());
    Wide most = Wide{std::max(choice.end, choice.landed)} + rest_[layer];
    for (std::size_t j = layer; j < layers_.size(); ++j)
      if (layers_[j].end > spared)
        most = std::max(most, choice.landed + Wide{costs_.copy} * (layers_[j].end - spared) + rest_[j]);
    return bounded(most);
  }

  void keep_best(std::vector<Choice> next) {
    std::ranges::sort(next, {}, [](const Choice& choice) {
      return std::tuple(choice.least, choice.resident.size(), choice.landed, choice.end);
    });
    choices_.clear();
    for (Choice& choice : next) {
      if (std::ranges::any_of(choices_, [&](const Choice& other) { return dominates(other, choice); })) continue;
      if (choices_.size() < max_choices && choice.least <= longest_) choices_.push_back(std::move(choice));
      else dropped_ = std::min(dropped_, choice.least);
    }
  }

  std::span<const StreamLayer> layers_;
  StreamCosts costs_;
  std::uint32_t ring_, resident_;
  Nanos longest_;
  std::vector<std::uint32_t> readers_;
  std::vector<Nanos> rest_; // by layer: the time of this layer and all later layers
  std::vector<Choice> choices_;
  Nanos dropped_ = unbounded; // the smallest lower bound among choices that were dropped although they may be better
};

} // namespace

std::optional<StreamTimes> stream_times(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                        std::uint32_t ring) {
  const std::vector<std::uint32_t> readers = last_readers(layers);
  std::vector<Nanos> ends(layers.size());
  Nanos landed = 0, end = 0;
  std::uint32_t chunk = ring;
  for (std::uint32_t j = 0; j < layers.size(); ++j) {
    for (; chunk < layers[j].end; ++chunk) {
      if (ring == 0 || readers[chunk - ring] >= j) return std::nullopt;
      landed = landing(landed, ends[readers[chunk - ring]], costs);
    }
    end = ends[j] = bounded(Wide{std::max(end, landed)} + layers[j].time);
  }
  return StreamTimes{end, copies(chunk - ring, costs)};
}

std::optional<std::uint32_t> min_ring(std::span<const StreamLayer> layers, const StreamCosts& costs, Nanos longest) {
  const auto within = [&](std::uint32_t ring) {
    const auto times = stream_times(layers, costs, ring);
    return times && times->execution <= longest;
  };
  std::uint32_t enough = chunks_of(layers);
  if (!within(enough)) return std::nullopt;
  for (std::uint32_t low = 0; low < enough;) {
    const std::uint32_t ring = low + (enough - low) / 2;
    if (within(ring)) enough = ring;
    else low = ring + 1;
  }
  return enough;
}

std::vector<StreamLayer> without(std::span<const StreamLayer> layers, std::span<const std::uint32_t> resident) {
  const auto streamed = [&](std::uint32_t chunk) {
    return chunk - static_cast<std::uint32_t>(std::ranges::lower_bound(resident, chunk) - resident.begin());
  };
  std::vector<StreamLayer> rest;
  for (const StreamLayer& layer : layers) rest.push_back({layer.time, streamed(layer.begin), streamed(layer.end)});
  return rest;
}

std::optional<StreamPlan> keep_resident(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                        std::uint32_t ring, std::uint32_t resident) {
  return ResidentSearch(layers, costs, ring, std::min(resident, chunks_of(layers)), unbounded).result();
}

std::optional<StreamPlan> min_memory(std::span<const StreamLayer> layers, const StreamCosts& costs, Nanos longest) {
  const auto within = [&](std::uint32_t memory) -> std::optional<StreamPlan> {
    for (std::uint32_t ring = 0; ring <= memory; ++ring)
      if (auto plan = ResidentSearch(layers, costs, ring, memory - ring, longest).result();
          plan && plan->times.execution <= longest)
        return plan;
    return std::nullopt;
  };
  std::optional<StreamPlan> best = within(chunks_of(layers));
  if (!best) return std::nullopt;
  for (std::uint32_t low = 0, enough = chunks_of(layers); low < enough;) {
    const std::uint32_t memory = low + (enough - low) / 2;
    if (auto plan = within(memory)) {
      best = std::move(plan);
      enough = memory;
    } else {
      low = memory + 1;
    }
  }
  return best;
}

} // namespace rtexec::policies
