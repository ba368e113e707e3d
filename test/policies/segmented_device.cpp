#include "test/policies/segmented_device.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::test {

CutDevice::CutDevice(const CutSet& set, const RuleFaults& faults) : set_(&set), faults_(&faults) {
  current_.fill(none);
  staged_.fill(none);
}

void CutDevice::request(int index, long long urgency) {
  pending_[at(index)] = true;
  done_[at(index)] = 0;
  urgency_[at(index)] = urgency;
  if (loaded_for_ == index) loaded_for_ = none; // for the previous job
}

void CutDevice::settle(Choices& choices) {
  for (bool changed = true; changed;) {
    changed = running_ == none && begin_next(choices);
    changed = stage() || changed;
    changed = load(choices) || changed;
  }
}

// ---- choice of the executing job ----

bool CutDevice::more_urgent(int a, int b) const {
  return std::pair(urgency_[at(a)], a) < std::pair(urgency_[at(b)], b);
}

int CutDevice::head(unsigned device_class, bool resident_only) const {
  int best = none;
  for (int i = 0; i < tasks(); ++i) {
    if (!pending_[at(i)] || level_of(i) != device_class || (resident_only && task(i).chunks > 0)) continue;
    if (device_class > 0 && (current_[device_class] == i || staged_[device_class] == i)) continue;
    if (best == none || more_urgent(i, best)) best = i;
  }
  return best;
}

unsigned CutDevice::active(unsigned from) const {
  unsigned least = max_levels;
  for (int i = 0; i < tasks(); ++i)
    if (pending_[at(i)] && level_of(i) >= from) least = std::min(least, level_of(i));
  return least;
}

int CutDevice::choose() {
  if (const int job = head(0); job != none) return job;
  for (unsigned level = active(); level < max_levels; level = active(level + 1)) {
    const int job = choose_in(level);
    if (job != none || !faults_->back_fill) return job;
  }
  return none;
}

int CutDevice::choose_in(unsigned level) {
  int& current = current_[level];
  int& stage = staged_[level];
  if (current == none || faults_->within_level) {
    const int first = head(level, faults_->looks_past);
    if (first != none && task(first).chunks == 0 && (current == none ? stage != none : true) &&
        (stage == none || more_urgent(first, stage)) && (current == none || more_urgent(first, current)))
      current = first;
    else if (stage != none && complete(stage) && (current == none || more_urgent(stage, current)))
      current = std::exchange(stage, none);
  }
  return current != none && complete(current) ? current : none;
}

bool CutDevice::begin_next(Choices& choices) {
  const int job = choose();
  if (job == none) return false;
  begin_segment(job, choices);
  return true;
}

void CutDevice::begin_segment(int index, Choices& choices) {
  running_ = index;
  left_ = choices.length_of_segment(index, done_[at(index)]);
  const int behind = segments(index) - done_[at(index)] - 1;
  if (faults_->whole_jobs) committed_ = behind;
  else if (would_go_on(index) || faults_->commits_always)
    committed_ = std::min(static_cast<int>(set_->launch_ahead), behind);
  else committed_ = std::max(committed_ - 1, 0);
  choices.began(index, done_[at(index)]);
}

/// True if the rule would choose the job again now.
bool CutDevice::would_go_on(int index) const {
  const int top_class = head(0);
  if (level_of(index) == 0) return top_class == index;
  return top_class == none && active() == level_of(index);
}

// ---- choice of chunks to load ----

bool CutDevice::stage() {
  bool changed = false;
  for (unsigned level = 1; level < max_levels; ++level) {
    int& stage = staged_[level];
    const int first = head(level);
    if (first == none || (stage != none && !(faults_->displaces && more_urgent(first, stage)))) continue;
    stage = first;
    changed = true;
  }
  return changed;
}

int CutDevice::missing(int index) const {
  return static_cast<int>(task(index).chunks) - resident_[at(index)] - coming_[at(index)];
}

int CutDevice::free_frames() const {
  int taken = 0;
  for (int i = 0; i < tasks(); ++i) taken += resident_[at(i)] + coming_[at(i)] + leaving_[at(i)];
  return static_cast<int>(set_->frames) - taken;
}

bool CutDevice::load(Choices& choices) {
  bool changed = false;
  for (unsigned level = active(); level < max_levels; level = active(level + 1)) {
    changed = load_in(level, choices);
    if (changed || !faults_->loads_go_on) break;
  }
  return changed;
}

bool CutDevice::load_in(unsigned level, Choices& choices) {
  const auto lacks = [&](int job) { return job != none && !complete(job); };
  const int current = current_[level], stage = staged_[level];
  if (faults_->stage_first && lacks(stage)) return copy(stage, level, choices);
  if (lacks(current)) return copy(current, level, choices);
  return stage != none && copy(stage, level, choices);
}

bool CutDevice::copy(int target, unsigned level, Choices& choices) {
  const int wanted = missing(target), free = free_frames();
  const bool one = set_->copy_engines == 1;
  const auto room = [&](bool out) { return flights(out).count < (one ? 1 : 3); };
  if (wanted > 0 && free > 0 && room(false)) {
    issue(target, target, false, choices);
    return true;
  }
  int outs = 0;
  for (const std::int8_t each : leaving_) outs += each;
  if (wanted <= free + outs || !room(true)) return false;
  unsigned victims = 0;
  for (int i = 0; i < tasks(); ++i) {
    const bool kept =
        i == running_ || i == staged_[level] || i == target || (i == current_[level] && !faults_->robs_current);
    if (resident_[at(i)] > 0 && !kept) victims |= 1U << i;
  }
  if (victims == 0) {
    ++counts_.stalls;
    return false;
  }
  issue(choices.victim(*this, victims), target, true, choices);
  return true;
}

void CutDevice::issue(int owner, int target, bool out, Choices& choices) {
  if (loaded_for_ != target) {
    loaded_for_ = target;
    started_ = false;
    victims_ = 0;
    counts_.restores += target == current_[level_of(target)];
  }
  const unsigned bit = 1U << owner;
  const bool first = out ? (victims_ & bit) == 0 : !started_;
  if (out) victims_ |= bit;
  else started_ = true;
  const long long most = out ? set_->out + (first ? set_->out_fixed : 0) : set_->in + (first ? set_->in_fixed : 0);
  Flights& list = flights(out);
  list.list[static_cast<std::size_t>(list.count++)] = {owner, choices.length_of_copy(static_cast<int>(most)), out};
  if (out) --resident_[at(owner)];
  ++(out ? leaving_ : coming_)[at(owner)];
}

// ---- time ----

int CutDevice::next_end() const {
  int least = running_ == none ? -1 : left_;
  for (const Flights* flights : {&ins_, &outs_})
    if (flights->count > 0 && (least < 0 || flights->list[0].left < least)) least = flights->list[0].left;
  return least;
}

void CutDevice::advance(int time) {
  if (running_ != none) left_ -= time;
  for (Flights* flights : {&ins_, &outs_})
    if (flights->count > 0) flights->list[0].left -= time;
}

bool CutDevice::copy_is_due(bool out) const {
  const Flights& list = out ? outs_ : ins_;
  return list.count > 0 && list.list[0].left == 0;
}

int CutDevice::end_segment(Choices& choices) {
  const int index = running_;
  if (++done_[at(index)] < segments(index)) {
    if (committed_ > 0) {
      begin_segment(index, choices);
    } else {
      counts_.preemptions += !would_go_on(index);
      running_ = none;
    }
    return none;
  }
  pending_[at(index)] = false;
  running_ = none;
  committed_ = 0;
  if (level_of(index) > 0) current_[level_of(index)] = none;
  return index;
}

void CutDevice::end_copy(bool out) {
  Flights& list = out ? outs_ : ins_;
  const Flight ended = list.list[0];
  std::shift_left(list.list.begin(), list.list.end(), 1);
  --list.count;
  if (ended.out) {
    --leaving_[at(ended.task)];
  } else {
    --coming_[at(ended.task)];
    ++resident_[at(ended.task)];
  }
}

} // namespace rtexec::test
