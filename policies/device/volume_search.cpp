#include "policies/device/volume_search.hpp"

#include "policies/device/overlap.hpp"
#include "policies/device/swap_charges.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace rtexec::policies {
namespace {

std::uint64_t total_of(const Volumes& volumes) {
  return std::accumulate(volumes.begin(), volumes.end(), std::uint64_t{0});
}

bool given(const DeviceTask& task) { return task.least == task.most; }

/// Returns the number of frames (physical chunks) whose load takes as long as the execution of a job of the task, for
/// condition (M): no job delays a concurrent load. The length of the execution is the longer of two values: without
/// charges, and with the charges of the end-to-end analysis.
std::uint64_t frames_for_others(const DeviceTask& task, Nanos alpha) {
  return frames_loaded_in(std::max(task.execution, task.charged), alpha);
}

/// Returns the tasks in the order in which they should swap. Best-effort tasks come first, since their jobs only block.
/// Real-time tasks follow, the least urgent first.
std::vector<std::size_t> least_urgent_first(const DeviceSet& set, Order order, bool by_deadline = false) {
  std::vector<std::size_t> tasks(set.tasks.size());
  std::iota(tasks.begin(), tasks.end(), std::size_t{0});
  std::ranges::sort(tasks, {}, [&](std::size_t i) {
    const DeviceTask& task = set.tasks[i];
    const bool edf = order == Order::edf;
    const Nanos first = by_deadline ? task.deadline : task.period;
    return std::tuple(task.real_time, edf ? -first : 0, edf ? -task.deadline : 0,
                      edf ? static_cast<std::ptrdiff_t>(i) : -static_cast<std::ptrdiff_t>(i));
  });
  return tasks;
}

/// Distributes `total` chunks over the tasks, in two rounds with the tasks in the order `order`. The first round gives
/// each task up to `first` chunks. The second round gives each task up to its cap in `caps` (the largest swap volume
/// that it may get). Returns false if the caps are too low for `total`.
bool fill(Volumes& volumes, const DeviceSet& set, const std::vector<std::size_t>& order, const Volumes& caps,
          std::uint64_t first, std::uint64_t total) {
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    volumes[i] = set.tasks[i].least;
    total -= std::min<std::uint64_t>(total, volumes[i]);
  }
  for (const std::uint64_t most : {first, std::uint64_t{std::numeric_limits<std::uint32_t>::max()}})
    for (const std::size_t i : order) {
      if (total == 0) return true;
      const std::uint64_t upto = std::min<std::uint64_t>(most, caps[i]);
      const std::uint64_t more = std::min(total, upto - std::min<std::uint64_t>(upto, volumes[i]));
      volumes[i] += static_cast<std::uint32_t>(more);
      total -= more;
    }
  return total == 0;
}

/// Lowers the cap of a task to `to`. Returns false if the task's swap volume is fixed, or must be larger than `to`.
bool lower(Volumes& caps, const DeviceSet& set, std::size_t task, std::uint64_t to) {
  if (caps[task] <= to) return true;
  if (given(set.tasks[task]) || to < set.tasks[task].least) return false;
  caps[task] = static_cast<std::uint32_t>(to);
  return true;
}

// ---- serial tests ----

/// Searches for swap volumes for serial tests (tests in which chunks do not move during executions). Let M be the
/// largest swap volume of a task. Let V be the overflow, the number of chunks that the device lacks. Swap volumes fit
/// if their sum is V + M, and all swap volumes that fit can be reduced to this sum. The search limits the swap volume
/// of each task by a cap. For every task it is best if the least urgent tasks get as many chunks as their caps allow.
/// If a task blocks for too long, the search lowers its cap. If a cap is lowered, other tasks swap more, so no task
/// gains slack, and no cap has to be raised again (proofs/volumes.md).
class SerialSearch {
 public:
  SerialSearch(const DeviceSet& set, DeviceTest test, Order order)
      : set_(set),
        test_(test),
        order_(order),
        filled_first_(least_urgent_first(set, order, test == DeviceTest::baker)),
        most_(max_of(set)),
        volumes_(most_.size()),
        caps_(most_.size()) {
    for (const DeviceTask& task : set.tasks) {
      rates_.push_back(1 / static_cast<double>(task.period));
      executions_.add(task.execution);
    }
  }

  /// Returns swap volumes for which the set is proved: the volumes with the smallest M (largest swap volume), and some
  /// larger volumes. The volumes with the most slack come first. If no volumes are proved, returns the volumes with the
  /// largest slack.
  std::vector<Volumes> run() {
    std::uint32_t first = 1;
    for (const DeviceTask& task : set_.tasks)
      if (given(task)) first = std::max(first, task.most);
    const std::uint32_t last = std::ranges::max(most_);
    const auto step = static_cast<std::uint32_t>(1 + std::uint64_t{last} * set_.tasks.size() /
                                                         (test_ == DeviceTest::rta ? many / 4 : many));
    for (std::uint32_t largest = first; largest <= last && proved_.empty(); largest += step)
      if (holds(largest)) first = largest;
    if (proved_.empty()) return sorted(refused_);
    std::ptrdiff_t max_resident = std::ranges::count(volumes_, 0U);
    if (test_ == DeviceTest::theorem1) return sorted(proved_);
    for (std::uint32_t largest = first + 1, next = first + first / 2 + 1;
         largest <= last && proved_.size() < max_proved; ++largest) {
      cap_at(largest);
      if (!fill_for(largest)) continue;
      const std::ptrdiff_t resident = std::ranges::count(volumes_, 0U);
      // A larger M (largest swap volume) is examined only if more tasks are resident with it, or if it is at least 1.5
      // times the previously examined M
      if (resident <= max_resident && largest < next) continue;
      max_resident = std::max(max_resident, resident);
      next = largest + largest / 2 + 1;
      static_cast<void>(holds(largest));
    }
    return sorted(proved_);
  }

 private:
  using Found = std::vector<std::pair<Nanos, Volumes>>; // swap volumes with their slack

  static std::vector<Volumes> sorted(Found& found) {
    std::ranges::stable_sort(found, std::greater{}, &Found::value_type::first);
    std::vector<Volumes> volumes;
    for (auto& [slack, each] : found)
      if (volumes.size() < max_refused && std::ranges::find(volumes, each) == volumes.end())
        volumes.push_back(std::move(each));
    return volumes;
  }

  static constexpr std::size_t max_refused = 8;
  static constexpr std::size_t max_proved = 6;
  // If the number of tasks times the largest number of chunks exceeds this, only some values of M are examined
  static constexpr std::uint64_t many = 8192;

  void cap_at(std::uint32_t largest) {
    for (std::size_t i = 0; i < caps_.size(); ++i) caps_[i] = std::min(most_[i], largest);
  }

  bool fill_for(std::uint32_t largest) {
    return fill(volumes_, set_, filled_first_, caps_, 0, std::uint64_t{set_.overflow} + largest);
  }

  bool holds(std::uint32_t largest) {
    cap_at(largest);
    bool first = true;
    for (;; first = false) {
      if (!fill_for(largest)) return false;
      const auto [proved, slack, again] = test_ == DeviceTest::theorem1 ? theorem1() : any();
      if (proved) return proved_.emplace_back(slack, volumes_), true;
      if (first) refuse(slack);
      if (!again) return false;
    }
  }

  void refuse(Nanos slack) {
    if (refused_.size() >= 2 * max_refused && slack <= min_refused_) return;
    min_refused_ = refused_.empty() ? slack : std::min(min_refused_, slack);
    refused_.emplace_back(slack, volumes_);
  }

  struct Round {
    bool proved = false;
    Nanos slack = 0;
    bool again = false; // true if the round lowered `caps_`, so that another round must follow
  };

  Round theorem1() {
    if (surely_too_busy()) return {.proved = false, .slack = -unbounded};
    const Theorem1 found = policies::theorem1(set_, volumes_);
    if (found.holds()) return {.proved = true, .slack = 0};
    const Nanos room = std::max(found.room(), Nanos{-1});
    if (room < found.executions()) return {.proved = false, .slack = room - found.executions()};
    const SwapCost& cost = set_.cost;
    bool again = true;
    for (std::size_t i = 0; i < volumes_.size(); ++i) {
      const std::uint64_t cap =
          std::min(chunks_within(room, cost.out_fixed.count(), cost.out_per_chunk.count()),
                   chunks_within(room - set_.tasks[i].execution, cost.in_fixed.count(), cost.in_per_chunk.count()));
      again = lower(caps_, set_, i, cap) && again;
    }
    return {.proved = false, .slack = 0, .again = again};
  }

  /// True if the device is overloaded by more than a rounding error.
  bool surely_too_busy() const {
    const double moved = static_cast<double>((set_.cost.in_per_chunk + set_.cost.out_per_chunk).count());
    double total = 0;
    for (std::size_t i = 0; i < volumes_.size(); ++i)
      if (set_.tasks[i].real_time)
        total += (moved * volumes_[i] + static_cast<double>(set_.tasks[i].execution)) * rates_[i];
    return total > 1 + 1e-6;
  }

  Round any() {
    if (surely_too_busy() || overloaded()) return {.proved = false, .slack = -unbounded};
    const DeviceVerdict verdict = test_device(set_, test_, order_, volumes_);
    if (verdict.proved) return {.proved = true, .slack = verdict.slack};
    Round round{.proved = false, .slack = verdict.slack};
    // The largest blocking that is possible at the tightest instant or task
    const Nanos room = verdict.blocking + verdict.slack;
    if (room < 0 || set_.rule == SwapRule::rt_swap) return round;
    const SwapCharges swap(set_, volumes_);
    bool lowered = false;
    for (std::size_t i = 0; i < volumes_.size(); ++i) {
      if (!may_block(i, verdict)) continue;
      const Nanos execution = set_.tasks[i].execution;
      const std::uint64_t cap = swap.max_blocking(room, execution, executions_.other_than(execution));
      if (cap >= caps_[i]) continue;
      if (!lower(caps_, set_, i, cap)) return round;
      lowered = true;
    }
    round.again = lowered;
    return round;
  }

  bool may_block(std::size_t task, const DeviceVerdict& verdict) const {
    if (!set_.tasks[task].real_time) return true;
    return order_ == Order::edf ? set_.tasks[task].deadline > verdict.instant : task > verdict.limiting.value_or(0);
  }

  bool overloaded() const {
    const SwapCharges swap(set_, volumes_);
    Utilisation total;
    for (std::size_t i = 0; i < volumes_.size(); ++i)
      if (set_.tasks[i].real_time)
        total.add(swap.job(set_.tasks[i].execution, volumes_[i]).serial(), set_.tasks[i].period);
    return !total.below_one();
  }

  const DeviceSet& set_;
  DeviceTest test_;
  Order order_;
  std::vector<std::size_t> filled_first_;
  Volumes most_;
  Volumes volumes_, caps_;
  std::vector<double> rates_; // 1 / T
  LongestExecutions executions_;
  Found proved_, refused_;
  Nanos min_refused_ = 0;
};

// ---- pipelined ----

/// The concurrent loads that a job may delay. `none`: no load, which is condition (M). `within_lambda`: loads that are
/// delayed by at most C - lambda. Such a delay costs nothing, since gamma = max(C - lambda, delay) (letters:
/// overlap.hpp).
enum class Delays { none, within_lambda };

/// Searches for swap volumes for the test `pipelined`. The search varies the number of frames (physical chunks), an
/// upper limit on all swap volumes, and lambda, the time in which an execution and a load overlap (overlap.hpp). These
/// three values determine a cap on the swap volume of each task. The cap keeps enough frames free for concurrent loads
/// (max_with_load_room). Chunks that can be loaded within lambda cost nothing, so each task first gets such chunks. The
/// remaining chunks go to the least urgent tasks. Each result gets a score (see score()). The results with the best
/// scores are examined in full. If one task blocks for too long, its cap is lowered.
class PipelinedSearch {
 public:
  PipelinedSearch(const DeviceSet& set, Order order, Delays delays)
      : set_(set),
        order_(order),
        delays_(delays),
        filled_first_(least_urgent_first(set, order)),
        volumes_(set.tasks.size()),
        caps_(set.tasks.size()),
        costs_(set.tasks.size()) {
    for (std::size_t i = 0; i < set.tasks.size(); ++i)
      if (set.tasks[i].real_time) urgency_.push_back(i);
    if (order == Order::edf)
      std::ranges::stable_sort(urgency_, {}, [&](std::size_t i) { return set.tasks[i].deadline; });
  }

  std::vector<Volumes> run() {
    Volumes constants;
    for (const DeviceTask& task : set_.tasks)
      constants.push_back(given(task) ? task.most : std::min(task.most, task.constants));
    const Volumes all = max_of(set_);
    walk(all);
    if (constants != all && set_.cost.drop_per_chunk < set_.cost.out_per_chunk) walk(constants);
    std::vector<Volumes> found;
    for (std::vector<Scored>* list : {&light_, &best_})
      for (Scored& each : *list)
        if (std::ranges::find(found, each.volumes) == found.end()) found.push_back(std::move(each.volumes));
    return found;
  }

 private:
  // With many tasks fewer choices of swap volumes are kept, so that the time of the search does not grow with the
  // square of the number of tasks.
  [[nodiscard]] std::size_t max_found() const { return std::clamp<std::size_t>(128 / set_.tasks.size(), 1, 4); }
  [[nodiscard]] std::uint64_t max_frame_counts() const {
    return std::clamp<std::uint64_t>(8192 / set_.tasks.size(), 16, 96);
  }
  static constexpr int max_rounds = 4;

  struct Scored {
    double score = 0; // an estimate of the load of the device; see score()
    Volumes volumes;
  };

  void walk(const Volumes& most) {
    most_ = most;
    swap_.emplace(set_, most);
    alpha_ = swap_->alpha();
    const std::vector<Nanos> hidden = hidden_times();
    std::uint64_t least = 0;
    for (const DeviceTask& task : set_.tasks) least += task.least;
    const std::uint64_t first = std::max<std::uint64_t>(1, least - std::min<std::uint64_t>(least, set_.overflow));
    const std::uint64_t last = max_frames();
    const std::uint64_t step = last > first ? (last - first) / max_frame_counts() + 1 : 1;
    for (std::uint64_t frames = first; frames <= last; frames += step)
      for (const std::uint64_t quarters : {4U, 2U})
        for (const Nanos lambda : hidden) try_shape(frames, (frames * quarters + 3) / 4, lambda);
  }

  /// Returns the values of lambda to try: 0 and some execution times. If lambda is the longest execution time, the caps
  /// ensure condition (M): no job delays a concurrent load.
  std::vector<Nanos> hidden_times() const {
    std::vector<Nanos> executions;
    for (const DeviceTask& task : set_.tasks) executions.push_back(task.execution);
    std::ranges::sort(executions);
    const std::size_t last = executions.size() - 1;
    std::vector<Nanos> times{0, executions[last / 2], executions[last]};
    times.erase(std::ranges::unique(times).begin(), times.end());
    if (delays_ == Delays::within_lambda && times.size() > 1) times.pop_back();
    return times;
  }

  /// Returns a number of frames. If a job of the task leaves this many frames free for the next load while the job
  /// executes, the job delays that load by no more than `delays_` permits (see Delays).
  std::uint64_t room_beside(const DeviceTask& task, Nanos lambda) const {
    const std::uint64_t frames = frames_for_others(task, alpha_);
    return delays_ == Delays::none ? frames : std::min(frames, frames_loaded_in(lambda, alpha_));
  }

  /// Returns the largest number of frames to try. Larger numbers lead to the same caps.
  std::uint64_t max_frames() const {
    const std::uint64_t all = total_of(most_);
    const std::uint64_t largest = std::ranges::max(most_);
    if (all <= set_.overflow) return 0;
    std::uint64_t beside = largest;
    for (const DeviceTask& task : set_.tasks)
      if (const std::uint64_t frames = frames_for_others(task, alpha_); frames < all) beside = std::max(beside, frames);
    return std::min(largest + beside, all - set_.overflow);
  }

  void try_shape(std::uint64_t frames, std::uint64_t highest, Nanos lambda) {
    for (std::size_t i = 0; i < caps_.size(); ++i) {
      const DeviceTask& task = set_.tasks[i];
      const std::uint64_t most = max_with_load_room(frames, highest, room_beside(task, lambda));
      caps_[i] =
          given(task) ? task.most : static_cast<std::uint32_t>(std::min({std::uint64_t{most_[i]}, highest, most}));
    }
    const std::uint64_t free = chunks_within(lambda, swap_->load_start(1), alpha_);
    for (int round = 0; round < max_rounds; ++round) {
      if (!fill(volumes_, set_, filled_first_, caps_, free, frames + set_.overflow)) return;
      const double scored = score(lambda, frames);
      keep(best_, scored);
      if (scored <= 1) keep(light_, traffic());
      if (scored <= 1 || !lower_blocker()) return;
    }
  }

  /// Adds the current swap volumes to `list`. The list contains the swap volumes with the lowest scores, without
  /// duplicates.
  void keep(std::vector<Scored>& list, double score) {
    if (list.size() == max_found() && score >= list.back().score) return;
    const auto same = [&](const Scored& each) { return each.score <= score && each.volumes == volumes_; };
    if (std::ranges::any_of(list, same)) return;
    if (!fits(set_, volumes_) || (delays_ == Delays::none && without_load_room(set_, volumes_))) return;
    if (list.size() == max_found()) list.pop_back();
    list.insert(std::ranges::upper_bound(list, score, {}, &Scored::score), {score, volumes_});
  }

  /// Returns the number of chunks that are loaded per nanosecond if every job loads all its chunks.
  double traffic() const {
    double sum = 0;
    for (std::size_t i = 0; i < volumes_.size(); ++i)
      sum += static_cast<double>(volumes_[i]) / static_cast<double>(set_.tasks[i].period);
    return sum;
  }

  /// Returns the score: an estimate of the load of the device. A score above 1 means overload. The score is the maximum
  /// of the utilisation and of one ratio for each task: the work that is due or blocks at the task's first deadline,
  /// divided by this deadline. With many tasks only their first jobs are counted.
  double score(Nanos lambda, std::uint64_t frames) {
    LargestVolumes largest;
    for (const std::uint32_t volume : volumes_) largest.add(volume);
    // Blocking at a deadline is e_b + gamma_a (letters: overlap.hpp; formula: proofs/pipelined.md): job b is staged
    // while job a executes. `beside` is the largest gamma_a, `blocking` is the largest e_b of a best-effort task, and
    // `shares` is the utilisation
    double beside = 0, blocking = 0, shares = 0;
    for (std::size_t i = 0; i < volumes_.size(); ++i) {
      const Nanos execution = set_.tasks[i].execution;
      const Nanos delay = load_delay(execution, volumes_[i], largest.other_than(volumes_[i]), frames, alpha_);
      const auto exposed = static_cast<double>(std::max({execution - lambda, delay, Nanos{0}}));
      const auto load = static_cast<double>(std::max(swap_->load(volumes_[i]) - lambda, Nanos{0}));
      costs_[i] = static_cast<double>(lambda) + exposed + load;
      beside = std::max(beside, exposed);
      if (set_.tasks[i].real_time) shares += costs_[i] / static_cast<double>(set_.tasks[i].period);
      else blocking = std::max(blocking, costs_[i]);
    }
    blockers_.assign(urgency_.size() + 1, {blocking, volumes_.size()});
    for (std::size_t k = urgency_.size(); k-- > 0;) {
      const double own = costs_[urgency_[k]];
      blockers_[k] = own > blockers_[k + 1].first ? std::pair(own, urgency_[k]) : blockers_[k + 1];
    }
    double worst = shares;
    double first_jobs = 0;
    tightest_.reset();
    for (std::size_t k = 0; k < urgency_.size(); ++k) {
      first_jobs += costs_[urgency_[k]];
      const double deadline = static_cast<double>(set_.tasks[urgency_[k]].deadline);
      const double due = first_jobs + later_jobs(k) + blockers_[k + 1].first + beside;
      if (due / deadline <= worst) continue;
      worst = due / deadline;
      tightest_ = k;
      excess_ = due - deadline;
    }
    return worst;
  }

  /// Returns the cost of the later jobs of the `k` most urgent tasks, up to the first deadline of the next task. The
  /// later jobs of a task are all its jobs except the first job.
  double later_jobs(std::size_t k) const {
    constexpr std::size_t few = 32;
    double sum = 0;
    if (urgency_.size() > few) return sum;
    const Nanos deadline = set_.tasks[urgency_[k]].deadline;
    for (std::size_t i = 0; i < k; ++i) {
      const DeviceTask& task = set_.tasks[urgency_[i]];
      const Nanos window = order_ == Order::edf ? deadline - task.deadline : deadline - 1;
      const Nanos jobs = window / task.period;
      if (jobs > 0) sum += static_cast<double>(jobs) * costs_[urgency_[i]];
    }
    return sum;
  }

  /// Lowers the cap on the swap volume of the blocking task, so that its blocking leaves enough time at the tightest
  /// deadline. Returns false if that is not possible.
  bool lower_blocker() {
    if (!tightest_) return false;
    const std::size_t blocker = blockers_[*tightest_ + 1].second;
    if (blocker >= volumes_.size() || volumes_[blocker] == 0 || alpha_ == 0) return false;
    const auto less = static_cast<std::uint64_t>(excess_ / static_cast<double>(alpha_)) + 1;
    return lower(caps_, set_, blocker, volumes_[blocker] - std::min<std::uint64_t>(less, volumes_[blocker]));
  }

  const DeviceSet& set_;
  Order order_;
  Delays delays_;
  std::vector<std::size_t> filled_first_; // task indices, the least urgent first
  std::vector<std::size_t> urgency_;      // real-time tasks, the most urgent first
  Volumes most_, volumes_, caps_;
  std::optional<SwapCharges> swap_;
  Nanos alpha_ = 0;
  std::vector<double> costs_; // by task: e, the charged time of one job (overlap.hpp)
  /// By index k in `urgency_`: the longest blocking by task k, less urgent tasks and best-effort tasks, and the task
  /// that causes it
  std::vector<std::pair<double, std::size_t>> blockers_;
  std::optional<std::size_t> tightest_; // the task with the tightest deadline, as an index into `urgency_`
  double excess_ = 0;                   // the work that is due by this deadline, less the deadline
  std::vector<Scored> best_;            // sorted by score
  std::vector<Scored> light_;           // scores of at most 1 (no overload), sorted by traffic()
};

} // namespace

Theorem1 theorem1(const DeviceSet& set, const Volumes& volumes) {
  const auto moving = [](Duration fixed, Duration per_chunk, std::uint32_t chunks) {
    return chunks == 0 ? 0 : bounded(fixed.count() + Wide{per_chunk.count()} * chunks);
  };
  Theorem1 result;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const DeviceTask& task = set.tasks[i];
    result.add(i,
               {.execution = task.execution,
                .in = moving(set.cost.in_fixed, set.cost.in_per_chunk, volumes[i]),
                .out = moving(set.cost.out_fixed, set.cost.out_per_chunk, volumes[i])},
               task.period, task.real_time);
  }
  return result;
}

Volumes max_of(const DeviceSet& set) {
  Volumes most;
  for (const DeviceTask& task : set.tasks) most.push_back(task.most);
  return most;
}

bool fits(const DeviceSet& set, const Volumes& volumes) {
  const std::uint64_t all = total_of(volumes);
  return all >= set.overflow && (volumes.empty() || std::ranges::max(volumes) <= all - set.overflow);
}

std::optional<std::size_t> without_load_room(const DeviceSet& set, const Volumes& volumes) {
  const Nanos alpha = SwapCharges(set, volumes).alpha();
  return without_load_room(
      volumes.size(), total_of(volumes) - set.overflow, [&](std::size_t k) { return volumes[k]; },
      [&](std::size_t k) { return frames_for_others(set.tasks[k], alpha); });
}

std::vector<Volumes> volumes_for(const DeviceSet& set, DeviceTest test, Order order) {
  if (set.tasks.empty()) return {Volumes{}};
  const Volumes most = max_of(set);
  if (set.overflow == 0) {
    Volumes none;
    for (const DeviceTask& task : set.tasks) none.push_back(task.least);
    return {none};
  }
  if (!fits(set, most)) return {};
  if (test != DeviceTest::pipelined) return SerialSearch(set, test, order).run();
  std::vector<Volumes> found = PipelinedSearch(set, order, Delays::none).run();
  if (found.empty()) found.push_back(most);
  return found;
}

std::vector<Volumes> tight_volumes(const DeviceSet& set, Order order) {
  if (set.tasks.empty() || set.overflow == 0 || !fits(set, max_of(set))) return {};
  return PipelinedSearch(set, order, Delays::within_lambda).run();
}

DeviceVerdict test_device(const DeviceSet& set, DeviceTest test, Order order) {
  DeviceVerdict closest{.test = test};
  const auto try_all = [&](const std::vector<Volumes>& found) {
    for (const Volumes& volumes : found) {
      DeviceVerdict verdict = test_device(set, test, order, volumes);
      if (closest.volumes.empty() || verdict.proved || verdict.slack > closest.slack) closest = std::move(verdict);
      if (closest.proved) return;
    }
  };
  try_all(volumes_for(set, test, order));
  if (test == DeviceTest::pipelined && !closest.proved) try_all(tight_volumes(set, order));
  return closest;
}

} // namespace rtexec::policies
