#include "policies/segment_cuts.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <numeric>
#include <tuple>
#include <utility>

namespace rtexec::policies {
namespace {

/// Boundaries are numbered by the layers before them: 0 is the begin of the job, the number of layers its end.
class Boundaries {
 public:
  explicit Boundaries(const Layers& layers) : layers_(layers), before_(layers.times.size() + 1) {
    std::partial_sum(layers.times.begin(), layers.times.end(), before_.begin() + 1);
  }

  [[nodiscard]] std::size_t end() const { return before_.size() - 1; }
  [[nodiscard]] Nanos overhead(std::size_t boundary) const {
    return boundary == 0 || boundary == end() ? 0 : layers_.overheads[boundary - 1];
  }
  [[nodiscard]] bool allowed(std::size_t boundary) const { return overhead(boundary) < unbounded; }
  [[nodiscard]] Nanos execution(std::size_t from, std::size_t to) const { return before_[to] - before_[from]; }
  [[nodiscard]] Nanos segment(std::size_t from, std::size_t to) const {
    return bounded(Wide{std::max(execution(from, to), to == end() ? 0 : layers_.least)} + overhead(to));
  }

 private:
  const Layers& layers_;
  std::vector<Nanos> before_; // the time of all layers before each boundary
};

/// The carry within a segment, of which the tensors that cross one of its ends live there.
class Carry {
 public:
  explicit Carry(const Layers& layers) : size_(layers.times.size() + 1), alive_(size_ * size_) {
    for (const Tensor& tensor : layers.tensors) at(tensor.first + 1, tensor.last) += tensor.size.count;
    for (std::size_t boundary = 1; boundary < size_; ++boundary)
      for (std::size_t layer = size_ - 1; layer-- > 0;)
        at(boundary, layer) += at(boundary - 1, layer) + at(boundary, layer + 1) - at(boundary - 1, layer + 1);
  }

  [[nodiscard]] Bytes within(std::size_t from, std::size_t to) const {
    std::uint64_t most = 0;
    for (std::size_t layer = from; layer < to; ++layer) most = std::max(most, at(from, layer) + at(layer + 1, to));
    return {most - at(from, to)};
  }

 private:
  /// Bytes of the tensors that are made before this boundary and read by this layer or a later one.
  [[nodiscard]] std::uint64_t at(std::size_t boundary, std::size_t layer) const {
    return alive_[boundary * size_ + layer];
  }
  std::uint64_t& at(std::size_t boundary, std::size_t layer) { return alive_[boundary * size_ + layer]; }

  std::size_t size_;
  std::vector<std::uint64_t> alive_;
};

/// Way up to a boundary.
struct Label {
  Nanos price = 0;
  std::uint32_t cuts = 0;
  Bytes carry;
  std::array<Nanos, most_launch_ahead> recent{}; // the time of the last segment, the last two, ..
  std::size_t boundary = 0, index = 0;           // of the label that it goes on from

  [[nodiscard]] auto costs() const { return std::tie(price, cuts, carry, recent); }
};

/// Whatever `b` leads to, `a` leads to at no higher cost.
bool dominates(const Label& a, const Label& b) {
  return std::tie(a.price, a.cuts) <= std::tie(b.price, b.cuts) && a.carry <= b.carry &&
         std::ranges::equal(a.recent, b.recent, std::ranges::less_equal{});
}

void keep_best(std::vector<Label>& labels) {
  std::ranges::sort(labels, {}, &Label::costs);
  std::size_t kept = 0;
  for (const Label& label : labels) {
    const auto best = std::span(labels).first(kept);
    if (std::ranges::none_of(best, [&](const Label& other) { return dominates(other, label); })) labels[kept++] = label;
  }
  labels.resize(kept);
}

/// Shortest paths over the boundaries, with several costs.
class Search {
 public:
  /// `price(boundary)`: what a cut there costs, least in sum.
  template <class Price>
  Search(const Layers& layers, Nanos tolerance, unsigned launch_ahead, Price price)
      : boundaries_(layers), tolerance_(tolerance), launch_ahead_(launch_ahead), labels_(boundaries_.end() + 1) {
    const Carry carry(layers);
    labels_.front().emplace_back();
    for (std::size_t from = 0; from < boundaries_.end(); ++from) {
      keep_best(labels_[from]);
      if (labels_[from].empty()) continue;
      for (std::size_t to = from + 1; to <= boundaries_.end() && boundaries_.execution(from, to) <= tolerance; ++to)
        if (fits(from, to)) extend(from, to, to == boundaries_.end() ? 0 : price(to), carry.within(from, to));
    }
    keep_best(labels_.back());
  }

  [[nodiscard]] CutChoice result() const {
    CutChoice choice;
    for (const Label& label : labels_.back()) {
      Segmentation& way = choice.ways.emplace_back();
      way.carry = label.carry;
      for (const Label* at = &label; at->boundary > 0; at = &labels_[at->boundary][at->index]) {
        way.cuts.push_back(static_cast<std::uint32_t>(at->boundary - 1));
        way.overhead += boundaries_.overhead(at->boundary);
      }
      std::ranges::reverse(way.cuts);
    }
    if (choice.ways.empty()) choice.too_long = obstacles();
    return choice;
  }

 private:
  [[nodiscard]] bool fits(std::size_t from, std::size_t to) const {
    return boundaries_.allowed(to) && boundaries_.segment(from, to) <= tolerance_;
  }

  void extend(std::size_t from, std::size_t to, Nanos price, Bytes carry) {
    const Nanos segment = boundaries_.segment(from, to);
    const bool last = to == boundaries_.end();
    for (std::size_t index = 0; index < labels_[from].size(); ++index) {
      const Label& label = labels_[from][index];
      if (launch_ahead_ > 0 && label.recent[launch_ahead_ - 1] + segment > tolerance_) continue;
      Label next{.price = label.price + price,
                 .cuts = label.cuts + !last,
                 .carry = std::max(label.carry, carry),
                 .boundary = from,
                 .index = index};
      for (unsigned k = 0; k < launch_ahead_ && !last; ++k)
        next.recent[k] = segment + (k == 0 ? 0 : label.recent[k - 1]);
      labels_[to].push_back(next);
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> obstacles() const {
    std::vector<std::uint32_t> layers;
    for (std::size_t from = 0, covered = 0; from < boundaries_.end(); ++from) {
      for (std::size_t to = from + 1; boundaries_.allowed(from) && to <= boundaries_.end(); ++to)
        if (fits(from, to)) covered = std::max(covered, to);
      if (covered <= from) layers.push_back(static_cast<std::uint32_t>(from));
    }
    if (!layers.empty()) return layers;
    std::size_t stop = boundaries_.end();
    while (labels_[stop].empty()) --stop;
    do layers.push_back(static_cast<std::uint32_t>(stop++));
    while (!boundaries_.allowed(stop));
    return layers;
  }

  Boundaries boundaries_;
  Nanos tolerance_;
  unsigned launch_ahead_;
  std::vector<std::vector<Label>> labels_; // by boundary
};

CutChoice fewest_cuts(const Layers& layers, Nanos tolerance, unsigned launch_ahead) {
  return Search(layers, tolerance, launch_ahead, [](std::size_t) { return Nanos{0}; }).result();
}

} // namespace

std::vector<Nanos> segments_of(const Layers& layers, const Cuts& cuts) {
  const Boundaries boundaries(layers);
  std::vector<Nanos> segments;
  std::size_t from = 0;
  for (const std::uint32_t cut : cuts) segments.push_back(boundaries.segment(std::exchange(from, cut + 1), cut + 1));
  segments.push_back(boundaries.segment(from, boundaries.end()));
  return segments;
}

Nanos longest_run(std::span<const Nanos> segments, unsigned launch_ahead) {
  Nanos run = 0, longest = 0;
  for (std::size_t k = 0; k < segments.size(); ++k) {
    run += segments[k] - (k > launch_ahead ? segments[k - launch_ahead - 1] : 0);
    longest = std::max(longest, run);
  }
  return longest;
}

Segmentation segmentation_of(const Layers& layers, const Cuts& cuts) {
  const Boundaries boundaries(layers);
  const Carry carry(layers);
  Segmentation result{.cuts = cuts, .overhead = 0, .carry = {}};
  std::size_t from = 0;
  for (const std::uint32_t cut : cuts) {
    result.overhead += boundaries.overhead(cut + 1);
    result.carry = std::max(result.carry, carry.within(from, cut + 1));
    from = cut + 1;
  }
  result.carry = std::max(result.carry, carry.within(from, boundaries.end()));
  return result;
}

CutChoice choose_cuts(const Layers& layers, Nanos tolerance, unsigned launch_ahead) {
  return Search(layers, tolerance, launch_ahead, [&](std::size_t boundary) { return layers.overheads[boundary - 1]; })
      .result();
}

CutChoice cut_into(const Layers& layers, std::uint32_t segments, unsigned launch_ahead) {
  const auto within = [&](const Layers& some, Nanos run) {
    CutChoice choice = fewest_cuts(some, run, launch_ahead);
    std::erase_if(choice.ways, [&](const Segmentation& way) { return way.cuts.size() >= segments; });
    return choice;
  };
  const Layers times{layers.times, layers.overheads, {}, layers.least};
  const Nanos all = std::reduce(layers.times.begin(), layers.times.end());
  Nanos too_short = -1, enough = all;
  while (enough - too_short > 1) {
    const Nanos run = too_short + (enough - too_short) / 2;
    (within(times, run).ways.empty() ? too_short : enough) = run;
  }
  return within(layers, enough);
}

std::optional<Nanos> most_blocking(Nanos longest, const std::function<bool(Nanos)>& tolerated) {
  if (!tolerated(0)) return std::nullopt;
  if (tolerated(longest)) return longest;
  Nanos least = 0;
  for (Nanos above = longest; above - least > 1;) {
    const Nanos run = least + (above - least) / 2;
    (tolerated(run) ? least : above) = run;
  }
  return least;
}

std::vector<CutChoice> cut_set(std::span<const Layers> tasks, const std::function<Nanos(SetSegments)>& tolerance,
                               unsigned launch_ahead) {
  std::vector<CutChoice> choices;
  std::vector<std::vector<Nanos>> segments;
  for (const Layers& task : tasks) {
    const CutChoice& choice = choices.emplace_back(choose_cuts(task, tolerance(segments), launch_ahead));
    if (choice.ways.empty()) break;
    segments.push_back(segments_of(task, choice.ways.front().cuts));
  }
  return choices;
}

} // namespace rtexec::policies
