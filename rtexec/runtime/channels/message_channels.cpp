#include "rtexec/runtime/channels/message_channels.hpp"

#include "hal/thread.hpp"
#include "rtexec/runtime/channels/bytes.hpp"

#include <algorithm>

namespace rtexec::channels {
namespace {

rtexec_element element_of(ElementType type) noexcept {
  switch (type) {
  case ElementType::uint8: return RTEXEC_ELEMENT_UINT8;
  case ElementType::int32: return RTEXEC_ELEMENT_INT32;
  case ElementType::int64: return RTEXEC_ELEMENT_INT64;
  case ElementType::float16: return RTEXEC_ELEMENT_FLOAT16;
  case ElementType::float32: return RTEXEC_ELEMENT_FLOAT32;
  case ElementType::int8: return RTEXEC_ELEMENT_INT8;
  case ElementType::boolean: return RTEXEC_ELEMENT_BOOLEAN;
  case ElementType::uint16: return RTEXEC_ELEMENT_UINT16;
  case ElementType::int16: return RTEXEC_ELEMENT_INT16;
  case ElementType::uint32: return RTEXEC_ELEMENT_UINT32;
  case ElementType::uint64: return RTEXEC_ELEMENT_UINT64;
  case ElementType::float64: return RTEXEC_ELEMENT_FLOAT64;
  }
  return RTEXEC_ELEMENT_UINT8;
}

std::int64_t ns(Instant at) noexcept { return at.time_since_epoch().count(); }

bool fits(const rtexec_message& header, const Tensor& tensor) noexcept {
  return header.element == element_of(tensor.type) &&
         std::ranges::equal(std::span(header.shape, header.rank), tensor.shape, {}, {},
                            [](std::int64_t size) { return static_cast<std::uint64_t>(size); });
}

bool is_picture(const rtexec_message& header) noexcept {
  constexpr std::uint64_t largest = 16384;
  return header.element == RTEXEC_ELEMENT_UINT8 && header.rank == 3 && header.shape[2] == 3 &&
         header.shape[0] <= largest && header.shape[1] <= largest;
}

} // namespace

iceoryx::Service service_of(const std::string& text) {
  const std::size_t first = text.find('/'), second = text.find('/', first + 1);
  return {.service = text.substr(0, first),
          .instance = text.substr(first + 1, second - first - 1),
          .event = text.substr(second + 1)};
}

Result<std::unique_ptr<Source>> MessageSource::make(iceoryx::Service service, const Tensor& tensor,
                                                    const Preprocessing& preprocessing) {
  auto sampler = tasks::FrameSampler::make(tensor, preprocessing);
  if (!sampler && preprocessing != Preprocessing{}) return Unexpected(sampler.error());
  return std::unique_ptr<Source>(
      new MessageSource(std::move(service), tensor, sampler ? std::optional(std::move(*sampler)) : std::nullopt));
}

MessageSource::MessageSource(iceoryx::Service service, const Tensor& tensor, std::optional<tasks::FrameSampler> sampler)
    : service_(std::move(service)), wanted_(shown(tensor)), sampler_(std::move(sampler)) {}

Result<> MessageSource::open() {
  auto subscriber = iceoryx::Subscriber::open(service_);
  if (!subscriber) return Unexpected(subscriber.error());
  subscriber_ = std::move(*subscriber);
  return {};
}

/// Returns bad_input for data that are not a valid message. newest() has then already skipped the data.
Expected<Sample, Errc> MessageSource::fetch(std::uint64_t, Instant, const Tensor& into) noexcept {
  const auto message = subscriber_->newest();
  if (!message) return Unexpected(message.error());
  if (!*message)
    return sampled_ ? Expected<Sample, Errc>(Sample{.sampled = *sampled_, .fresh = false}) : Unexpected(Errc::stale);
  const Status taken = take(**message, into);
  const std::int64_t sampled = (*message)->header->sampled_ns;
  subscriber_->release(); // the message is no longer needed, because the tensor has its data
  if (!taken) {
    misfits_.fetch_add(1, std::memory_order_relaxed);
    return Unexpected(taken.error());
  }
  sampled_ = sampled == 0 ? hal::now() : Instant(Duration(sampled));
  return Sample{.sampled = *sampled_, .fresh = true};
}

Status MessageSource::take(const Message& message, const Tensor& into) noexcept {
  const rtexec_message& header = *message.header;
  // The payload's size is checked too, because the writer may still change the header.
  if (fits(header, into) && message.payload.size() == into.bytes.size()) {
    copy_bytes(message.payload, into.bytes);
    return {};
  }
  if (!sampler_ || !is_picture(header)) return Unexpected(Errc::bad_input);
  return sampler_->sample(
      {.format = PixelFormat::rgb24,
       .size = {.width = static_cast<int>(header.shape[1]), .height = static_cast<int>(header.shape[0])},
       .stride = 3 * header.shape[1],
       .bytes = {reinterpret_cast<const std::uint8_t*>(message.payload.data()), message.payload.size()}},
      into.bytes);
}

Expected<bool, Errc> MessageSource::await(Instant until) noexcept {
  const auto wake = subscriber_->await(until);
  if (!wake) return Unexpected(wake.error());
  return *wake == iceoryx::Subscriber::Wake::message;
}

std::uint64_t MessageSource::passed_over() const noexcept {
  const iceoryx::Subscriber::Counts counts = subscriber_->counts();
  return counts.passed_over + counts.lost;
}

void MessageSource::wake() noexcept {
  if (subscriber_) subscriber_->wake();
}

std::string MessageSource::failure() const {
  if (!subscriber_) return {};
  const iceoryx::Subscriber::Counts counts = subscriber_->counts();
  const std::uint64_t misfits = misfits_.load(std::memory_order_relaxed);
  std::string text;
  const auto add = [&](std::uint64_t count, const std::string& what) {
    if (count > 0) text += (text.empty() ? "" : "; ") + std::to_string(count) + what;
  };
  add(misfits, " messages were not " + wanted_ + (sampler_ ? ", and not a picture of uint8 [height, width, 3]" : ""));
  add(counts.malformed, " messages without the header of rtexec/message.h");
  add(counts.lost, " messages lost from a full queue");
  return text;
}

Result<> MessageSink::open() {
  const std::size_t largest = output_.is_detections() ? max_boxes * numbers_of_box * sizeof(float)
                                                      : size_of_values(workload_.outputs()[output_.tensor()]);
  auto publisher = iceoryx::Publisher::open(service_, Bytes{largest});
  if (!publisher) return Unexpected(publisher.error());
  publisher_ = std::move(*publisher);
  return {};
}

Status MessageSink::fill(const OutputJob& results, rtexec_message& header) noexcept {
  header.sampled_ns = ns(results.sampled);
  header.released_ns = ns(results.release);
  header.job = results.job;
  std::size_t size = 0;
  if (output_.is_detections()) {
    const std::size_t boxes = std::min(results.detections.size(), max_boxes);
    header.element = RTEXEC_ELEMENT_FLOAT32;
    header.rank = 2;
    header.shape[0] = boxes;
    header.shape[1] = numbers_of_box;
    size = boxes * numbers_of_box * sizeof(float);
  } else {
    const Tensor& tensor = results.outputs[output_.tensor()];
    header.element = static_cast<std::uint8_t>(element_of(tensor.type));
    header.rank = static_cast<std::uint8_t>(tensor.shape.size());
    std::ranges::transform(tensor.shape, header.shape,
                           [](std::int64_t each) { return static_cast<std::uint64_t>(each); });
    size = tensor.bytes.size();
  }
  const auto payload = publisher_->loan(Bytes{size});
  if (!payload) return Unexpected(payload.error());
  output_.copy(results, *payload);
  return {};
}

bool MessageSink::put(const OutputJob& results) noexcept {
  rtexec_message header{};
  Status sent = fill(results, header);
  if (sent) sent = publisher_->publish(header);
  if (sent) return true;
  publisher_->cancel();
  failure_.store(static_cast<int>(sent.error()) + 1, std::memory_order_relaxed);
  return false;
}

void MessageSink::warm_up(const OutputJob& results) noexcept {
  rtexec_message header{};
  static_cast<void>(fill(results, header));
  publisher_->cancel();
}

std::string MessageSink::failure() const {
  const int failure = failure_.load(std::memory_order_relaxed);
  if (failure == 0) return {};
  const auto error = static_cast<Errc>(failure - 1);
  return error == Errc::out_of_memory ? "all of iceoryx's chunks of this size were in use: a subscriber keeps "
                                        "messages, or the daemon needs more chunks (roudi_config.toml)"
                                      : name(error);
}

} // namespace rtexec::channels
