#include "rtexec/runtime/channels/picture_observer.hpp"

#include "hal/thread.hpp"
#include "rtexec/runtime/channels/bytes.hpp"

#include <algorithm>
#include <vector>

namespace rtexec::channels {
namespace {

/// Returns the input's preprocessing from the task set. An entry without a tensor's name applies to the only input.
Preprocessing preprocessing_of(const Task& task, const Tensor& input) {
  const auto asked = std::ranges::find_if(
      task.inputs, [&](const TaskInput& each) { return each.tensor.empty() || each.tensor == input.name; });
  return asked == task.inputs.end() ? Preprocessing() : asked->preprocessing;
}

} // namespace

Result<> PictureObserver::connect(const Task& task, const Workload& workload) {
  std::string problems;
  for (std::size_t i = 0; i < workload.inputs().size() && !pictures_; ++i) {
    auto pictures = tasks::TensorPicture::of(workload.inputs()[i], preprocessing_of(task, workload.inputs()[i]));
    if (pictures) pictures_ = *pictures, input_ = i;
    else problems += (problems.empty() ? "" : "; ") + pictures.error().what;
  }
  if (!pictures_)
    return fail(Errc::bad_input, "it has no input that can be shown as a picture: " +
                                     (problems.empty() ? "its workload has no inputs" : problems) +
                                     "\n  name a task whose network has a picture as input");
  workload_ = &workload;
  size_ = size_of_values(workload.inputs()[input_]);
  cost_ = 2 * longest_copy(size_);
  latest_ = std::make_unique<LatestMailbox>(sizeof(Head) + size_, 1, 1);
  return {};
}

/// Measures the time to copy an input of `size` bytes and the largest possible results, with memory that is in no
/// cache. Returns the longest time of several trials.
Duration PictureObserver::longest_copy(std::size_t size) {
  constexpr std::size_t caches = 32 << 20;
  constexpr int tries = 12;
  const std::vector<std::byte> input(size);
  const std::vector<Box> boxes(max_boxes);
  const std::vector<RankedClass> classes(Head().ranked.size());
  std::vector<std::byte> others(caches);
  LatestMailbox to(sizeof(Head) + size, 1, 1);
  OutputJob results;
  results.detections = boxes;
  Duration longest{0};
  for (int i = 0; i < tries; ++i) {
    for (std::byte& other : others) other ^= std::byte{1};
    const Duration before = hal::execution_time();
    copy(results, classes, input, hal::now(), to);
    longest = std::max(longest, hal::execution_time() - before);
  }
  return longest;
}

/// Copies the input and the results, if a copy is due. Copies missed during a pause are not made later.
void PictureObserver::take(const OutputJob& results) noexcept {
  const Instant now = hal::now();
  const Input input = workload_->inputs()[input_].bytes;
  if (now < next_ || input.size() != size_) return;
  next_ = std::max(next_ + interval, now);
  copy(results, workload_->classes(), input, now, *latest_);
}

void PictureObserver::copy(const OutputJob& results, Classes classes, Input input, Instant now,
                           LatestMailbox& to) noexcept {
  to.write({.sampled = results.sampled, .visible = {}}, [&](std::span<std::byte> bytes) {
    auto& head = *reinterpret_cast<Head*>(bytes.data());
    head.job = results.job;
    head.taken = now;
    head.boxes = std::min(results.detections.size(), head.box.size());
    head.classes = std::min(classes.size(), head.ranked.size());
    std::ranges::copy_n(results.detections.begin(), static_cast<std::ptrdiff_t>(head.boxes), head.box.begin());
    std::ranges::copy_n(classes.begin(), static_cast<std::ptrdiff_t>(head.classes), head.ranked.begin());
    copy_bytes(input, bytes.subspan(sizeof(Head)));
  });
}

std::optional<PictureObserver::Seen> PictureObserver::newest() noexcept {
  const auto value = latest_->newest(0, Instant::max());
  if (!value) return std::nullopt;
  const auto& head = *reinterpret_cast<const Head*>(value->bytes.data());
  return Seen{.number = value->version,
              .job = head.job,
              .sampled = value->stamp.sampled,
              .taken = head.taken,
              .input = value->bytes.subspan(sizeof(Head)),
              .boxes = std::span(head.box).first(head.boxes),
              .classes = std::span(head.ranked).first(head.classes)};
}

} // namespace rtexec::channels
