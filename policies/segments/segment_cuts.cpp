#include "policies/segments/segment_cuts.hpp"
#include <rtexec/task_set.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <numeric>
#include <tuple>
#include <utility>

namespace rtexec::policies {
namespace {

/// The boundaries between the layers of a job. The number of a boundary is the number of layers before it: boundary 0
/// is the beginning of the job, and the last boundary is its end.
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
  std::vector<Nanos> before_; // by boundary: the total time of the layers before it
};

/// Computes the carry within one segment while layers are added to the end of the segment. The carry is the maximum
/// number of bytes of tensors that live at the same time in the segment and cross its beginning or its end.
///
/// How: each tensor that crosses the beginning or the end of the segment adds its bytes to all layers of its life. A
/// tree of maxima holds the sums. Layers behind the segment have no more bytes than the segment's last layer. So the
/// maximum over all layers is the maximum over the segment.
class Carry {
 public:
  explicit Carry(const Layers& layers)
      : leaves_(std::bit_ceil(std::max<std::size_t>(layers.times.size(), 1))),
        most_(2 * leaves_),
        added_(2 * leaves_),
        made_(layers.times.size()),
        last_read_(layers.times.size()) {
    for (const Tensor& tensor : layers.tensors) {
      if (tensor.first == tensor.last || tensor.size.count == 0) continue; // crosses no cut
      made_[tensor.first].push_back(tensor);
      last_read_[tensor.last].push_back(tensor);
    }
  }

  /// Starts with an empty segment at boundary `from`.
  void begin(std::size_t from) {
    std::ranges::fill(most_, 0);
    std::ranges::fill(added_, 0);
    from_ = end_ = from;
    for (std::size_t layer = 0; layer < from; ++layer)
      for (const Tensor& tensor : made_[layer])
        if (tensor.last >= from) add(tensor, tensor.size.count);
  }

  /// Adds the next layer to the segment, and returns the carry within the segment.
  Bytes extend() {
    for (const Tensor& tensor : last_read_[end_])
      if (tensor.first >= from_) add(tensor, -tensor.size.count);
    for (const Tensor& tensor : made_[end_]) add(tensor, tensor.size.count);
    ++end_;
    return {most_[1]};
  }

 private:
  /// Adds `bytes` to all layers in the life of a tensor. Sums are modulo 2^64, so that `bytes` can represent a negative
  /// number. The sum in a node never becomes negative.
  void add(const Tensor& tensor, std::uint64_t bytes) {
    const std::size_t first = std::max<std::size_t>(tensor.first, from_) + leaves_;
    const std::size_t last = tensor.last + leaves_;
    for (std::size_t low = first, high = last + 1; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) add_to(low++, bytes);
      if (high % 2 == 1) add_to(--high, bytes);
    }
    update_above(first);
    update_above(last);
  }
  void add_to(std::size_t node, std::uint64_t bytes) {
    most_[node] += bytes;
    added_[node] += bytes;
  }
  void update_above(std::size_t node) {
    while ((node /= 2) > 0) most_[node] = std::max(most_[2 * node], most_[2 * node + 1]) + added_[node];
  }

  std::size_t leaves_;
  /// By node: the maximum over the layers below it, without bytes that were added to nodes above it
  std::vector<std::uint64_t> most_;
  std::vector<std::uint64_t> added_;                  // by node: the bytes added to all layers below it
  std::vector<std::vector<Tensor>> made_, last_read_; // by layer
  std::size_t from_ = 0, end_ = 0;
};

/// The costs of one choice of cuts between the beginning of the job and a boundary. The last cut is at that boundary.
struct Label {
  Nanos price = 0;
  std::uint32_t cuts = 0;
  Bytes carry;
  /// The time of the last segment, of the last two segments together, and so on
  std::array<Nanos, max_launch_ahead> recent{};
  Nanos longest_run = 0; // the time of the longest run (see keep()); decides between labels of equal costs
  /// The label that this label extends by one segment: its boundary, and its index among the labels of that boundary
  std::size_t boundary = 0, index = 0;

  [[nodiscard]] auto costs() const { return std::tie(price, cuts, carry, recent); }
};

/// True if every continuation of `b` is also possible for `a`, at no higher cost. A continuation is a choice of the
/// later cuts.
bool dominates(const Label& a, const Label& b) {
  return std::tie(a.price, a.cuts) <= std::tie(b.price, b.cuts) && a.carry <= b.carry &&
         std::ranges::equal(a.recent, b.recent, std::ranges::less_equal{});
}

/// Adds a label to the labels of one boundary, and removes labels that another label dominates. A *run* is a sequence
/// of 1 + `launch_ahead` consecutive segments, or of all segments if there are fewer. Of two labels with equal costs,
/// only one stays: the label whose longest run takes less time.
void keep(std::vector<Label>& labels, const Label& label) {
  if (const auto equal = std::ranges::find(labels, label.costs(), &Label::costs); equal != labels.end()) {
    if (label.longest_run < equal->longest_run) *equal = label;
    return;
  }
  if (std::ranges::any_of(labels, [&](const Label& other) { return dominates(other, label); })) return;
  std::erase_if(labels, [&](const Label& other) { return dominates(label, other); });
  labels.push_back(label);
}

/// Finds the best cuts as shortest paths over the boundaries. Each path has several costs.
class Search {
 public:
  /// `tolerance`: the longest allowed run (1 + `launch_ahead` consecutive segments). `price(boundary)` returns the cost
  /// of a cut at that boundary; the search minimises the sum.
  template <class Price>
  Search(const Layers& layers, Nanos tolerance, unsigned launch_ahead, Price price)
      : boundaries_(layers), tolerance_(tolerance), launch_ahead_(launch_ahead), labels_(boundaries_.end() + 1) {
    labels_.front().emplace_back();
    if (boundaries_.segment(0, boundaries_.end()) <= tolerance) labels_.back() = labels_.front();
    else if (too_long_ = layers_without_segment(); too_long_.empty()) find_ways(layers, price);
  }

  [[nodiscard]] CutChoice result() const {
    CutChoice choice;
    std::vector<Label> best = labels_.back();
    std::ranges::sort(best, {}, &Label::costs);
    for (const Label& label : best) {
      Segmentation& segmentation = choice.segmentations.emplace_back();
      segmentation.carry = label.carry;
      for (const Label* at = &label; at->boundary > 0; at = &labels_[at->boundary][at->index]) {
        segmentation.cuts.push_back(static_cast<std::uint32_t>(at->boundary - 1));
        segmentation.overhead += boundaries_.overhead(at->boundary);
      }
      std::ranges::reverse(segmentation.cuts);
    }
    if (choice.segmentations.empty())
      choice.too_long = too_long_.empty() ? layers_after_last_segmentation() : too_long_;
    return choice;
  }

 private:
  template <class Price> void find_ways(const Layers& layers, Price price) {
    const std::size_t end = boundaries_.end();
    Carry carry(layers);
    for (std::size_t from = 0; from < end; ++from) {
      if (labels_[from].empty()) continue;
      carry.begin(from);
      for (std::size_t to = from + 1; to <= end && boundaries_.execution(from, to) <= tolerance_; ++to) {
        const Bytes within = carry.extend();
        const Nanos segment = boundaries_.segment(from, to);
        if (segment <= tolerance_ && boundaries_.allowed(to))
          extend(from, to, segment, to == end ? 0 : price(to), within);
      }
    }
  }

  [[nodiscard]] bool fits(std::size_t from, std::size_t to) const {
    return boundaries_.allowed(to) && boundaries_.segment(from, to) <= tolerance_;
  }

  void extend(std::size_t from, std::size_t to, Nanos segment, Nanos price, Bytes carry) {
    const bool last = to == boundaries_.end();
    for (std::size_t index = 0; index < labels_[from].size(); ++index) {
      const Label& label = labels_[from][index];
      const Nanos run = segment + (launch_ahead_ > 0 ? label.recent[launch_ahead_ - 1] : 0);
      if (run > tolerance_) continue;
      Label next{.price = label.price + price,
                 .cuts = label.cuts + !last,
                 .carry = std::max(label.carry, carry),
                 .longest_run = std::max(label.longest_run, run),
                 .boundary = from,
                 .index = index};
      for (unsigned k = 0; k < launch_ahead_ && !last; ++k)
        next.recent[k] = segment + (k == 0 ? 0 : label.recent[k - 1]);
      keep(labels_[to], next);
    }
  }

  /// Returns the layers that fit into no segment within the tolerance.
  [[nodiscard]] std::vector<std::uint32_t> layers_without_segment() const {
    std::vector<std::uint32_t> layers;
    for (std::size_t from = 0, covered = 0; from < boundaries_.end(); ++from) {
      for (std::size_t to = std::max(from, covered) + 1;
           boundaries_.allowed(from) && to <= boundaries_.end() && boundaries_.execution(from, to) <= tolerance_; ++to)
        if (fits(from, to)) covered = to;
      if (covered <= from) layers.push_back(static_cast<std::uint32_t>(from));
    }
    return layers;
  }

  /// Returns the layers from the last boundary that the search reached (that has a label) up to the next allowed cut.
  [[nodiscard]] std::vector<std::uint32_t> layers_after_last_segmentation() const {
    std::vector<std::uint32_t> layers;
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
  std::vector<std::uint32_t> too_long_;    // layers that fit into no segment
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
  Carry carry(layers);
  Segmentation result{.cuts = cuts, .overhead = 0, .carry = {}};
  std::size_t from = 0;
  const auto add_segment = [&](std::size_t to) {
    Bytes within;
    for (carry.begin(from); from < to; ++from) within = carry.extend();
    result.overhead += boundaries.overhead(to);
    result.carry = std::max(result.carry, within);
  };
  for (const std::uint32_t cut : cuts) add_segment(cut + 1);
  add_segment(boundaries.end());
  return result;
}

CutChoice choose_cuts(const Layers& layers, Nanos tolerance, unsigned launch_ahead) {
  return Search(layers, tolerance, launch_ahead, [&](std::size_t boundary) { return layers.overheads[boundary - 1]; })
      .result();
}

CutChoice cut_into(const Layers& layers, std::uint32_t segments, unsigned launch_ahead) {
  const auto within = [&](const Layers& some, Nanos run) {
    CutChoice choice = fewest_cuts(some, run, launch_ahead);
    std::erase_if(choice.segmentations,
                  [&](const Segmentation& segmentation) { return segmentation.cuts.size() >= segments; });
    return choice;
  };
  const Layers times{layers.times, layers.overheads, {}, layers.least};
  const Nanos all = std::reduce(layers.times.begin(), layers.times.end());
  // The longest run is at least the longest layer. The longest run is also at least the job's time divided by `runs`,
  // the number of consecutive runs that cover the job.
  const Nanos runs = (Nanos{segments} + launch_ahead) / (1 + launch_ahead);
  Nanos enough = std::max(layers.times.empty() ? 0 : std::ranges::max(layers.times), (all + runs - 1) / runs);
  Nanos too_short = enough - 1;
  for (Nanos step = 1 + enough / 16; enough < all && within(times, enough).segmentations.empty(); step *= 2) {
    too_short = enough;
    enough = std::min(all, enough + step);
  }
  while (enough - too_short > 1) {
    const Nanos run = too_short + (enough - too_short) / 2;
    (within(times, run).segmentations.empty() ? too_short : enough) = run;
  }
  return within(layers, enough);
}

std::optional<Nanos> max_blocking(Nanos longest, const std::function<bool(Nanos)>& tolerated) {
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
    if (choice.segmentations.empty()) break;
    segments.push_back(segments_of(task, choice.segmentations.front().cuts));
  }
  return choices;
}

} // namespace rtexec::policies
