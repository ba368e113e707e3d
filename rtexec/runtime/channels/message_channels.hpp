// A source that reads messages of other processes, and a sink that sends messages to them (<rtexec/message.h>), by
// iceoryx.
#pragma once

#include "rtexec/runtime/channels/iceoryx.hpp"
#include "rtexec/runtime/channels/task_output.hpp"
#include "rtexec/runtime/channels/sink.hpp"
#include "rtexec/runtime/channels/source.hpp"
#include "tasks/media/frame.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace rtexec::channels {

/// Returns the name of the service in a text "SERVICE/INSTANCE/EVENT".
[[nodiscard]] iceoryx::Service service_of(const std::string& text);

/// A source that reads the newest message. The message must have the tensor's type and shape. For an input that accepts
/// pictures, the message may also be a picture: uint8 [height, width, 3], as red, green and blue. The picture is
/// sampled by `preprocessing`, like a camera's frame. If a job reads a message of neither kind, the job fails.
class MessageSource final : public Source {
 public:
  /// Makes a source. Returns bad_input if `tensor` cannot hold pictures with the preprocessing of the task set.
  [[nodiscard]] static Result<std::unique_ptr<Source>> make(iceoryx::Service service, const Tensor& tensor,
                                                            const Preprocessing& preprocessing);

  [[nodiscard]] Result<> open() override;
  [[nodiscard]] std::optional<Result<>> try_out() override { return open(); }
  [[nodiscard]] Expected<Sample, Errc> fetch(std::uint64_t job, Instant release, const Tensor& into) noexcept override;
  [[nodiscard]] bool releases() const noexcept override { return true; }
  [[nodiscard]] Expected<bool, Errc> await(Instant until) noexcept override;
  [[nodiscard]] std::uint64_t passed_over() const noexcept override;
  void wake() noexcept override;
  [[nodiscard]] std::string failure() const override;

 private:
  MessageSource(iceoryx::Service service, const Tensor& tensor, std::optional<tasks::FrameSampler> sampler);
  [[nodiscard]] Status take(const Message& message, const Tensor& into) noexcept;

  const iceoryx::Service service_;
  const std::string wanted_; // the tensor's type and shape, in words
  std::optional<tasks::FrameSampler> sampler_;
  std::unique_ptr<iceoryx::Subscriber> subscriber_;
  std::optional<Instant> sampled_; // sampling instant of the last message that was read
  std::atomic<std::uint64_t> misfits_{0};
};

/// A sink that sends one output as a message: a tensor unchanged, or boxes as float32 [n, 6].
class MessageSink final : public Sink {
 public:
  /// `workload` must outlive this object.
  MessageSink(iceoryx::Service service, const Workload& workload, Output output)
      : service_(std::move(service)), workload_(workload), output_(output) {}

  [[nodiscard]] Result<> open() override;
  [[nodiscard]] std::optional<Result<>> try_out() override { return open(); }
  [[nodiscard]] bool put(const OutputJob& results) noexcept override;
  /// Fills a message without sending it.
  void warm_up(const OutputJob& results) noexcept override;
  [[nodiscard]] bool reads(std::size_t output) const override { return output_.is_tensor(output); }
  [[nodiscard]] std::string failure() const override;

 private:
  /// Gets shared memory from the publisher (Publisher::loan()), writes the results into it, and describes them in
  /// `header`.
  [[nodiscard]] Status fill(const OutputJob& results, rtexec_message& header) noexcept;

  const iceoryx::Service service_;
  const Workload& workload_;
  const Output output_;
  std::unique_ptr<iceoryx::Publisher> publisher_;
  std::atomic<int> failure_{0}; // the last error's number plus one; 0: none
};

} // namespace rtexec::channels
