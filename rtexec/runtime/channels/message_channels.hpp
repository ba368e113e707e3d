// Inputs from messages of other processes, and outputs as messages to other processes (<rtexec/message.h>), through
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

/// Parses "SERVICE/INSTANCE/EVENT".
[[nodiscard]] iceoryx::Service service_of(const std::string& text);

/// Reads the newest message. Its values must have the tensor's type and shape. For an input that takes pictures it may
/// also be uint8 [height, width, 3] as red, green and blue; it is sampled like a camera's picture, by `preprocessing`.
/// Other messages fail the job.
class MessageSource final : public Source {
 public:
  /// Makes a source. Returns bad_input if `preprocessing` is given, and `tensor` cannot take pictures with it.
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
  std::optional<Instant> sampled_; // of the last message that was taken
  std::atomic<std::uint64_t> misfits_{0};
};

/// Sends one output as a message: a tensor unchanged, boxes as float32 [n, 6].
class MessageSink final : public Sink {
 public:
  /// `workload` outlives this.
  MessageSink(iceoryx::Service service, const Workload& workload, Output output)
      : service_(std::move(service)), workload_(workload), output_(output) {}

  [[nodiscard]] Result<> open() override;
  [[nodiscard]] std::optional<Result<>> try_out() override { return open(); }
  [[nodiscard]] bool put(const OutputJob& results) noexcept override;
  /// Fills a message and does not send it.
  void rehearse(const OutputJob& results) noexcept override;
  [[nodiscard]] bool reads(std::size_t output) const override { return output_.is_tensor(output); }
  [[nodiscard]] std::string failure() const override;

 private:
  /// Fills a loan with the results, and describes it in `header`.
  [[nodiscard]] Status fill(const OutputJob& results, rtexec_message& header) noexcept;

  const iceoryx::Service service_;
  const Workload& workload_;
  const Output output_;
  std::unique_ptr<iceoryx::Publisher> publisher_;
  std::atomic<int> failure_{0}; // the last error's number plus one; 0: none
};

} // namespace rtexec::channels
