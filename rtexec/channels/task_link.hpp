// From an output of one task to inputs of others of the same set: a sink and sources around one Latest.
#pragma once

#include "rtexec/channels/latest.hpp"
#include "rtexec/channels/output.hpp"
#include "rtexec/channels/sink.hpp"
#include "rtexec/channels/source.hpp"

#include <memory>

namespace rtexec::channels {

class TaskSink final : public Sink {
 public:
  TaskSink(std::shared_ptr<Latest> latest, Output output) : latest_(std::move(latest)), output_(output) {}
  [[nodiscard]] bool put(const OutputJob& results) noexcept override;

 private:
  std::shared_ptr<Latest> latest_;
  Output output_;
};

class TaskSource final : public Source {
 public:
  TaskSource(std::shared_ptr<Latest> latest, std::size_t reader) : latest_(std::move(latest)), reader_(reader) {}
  [[nodiscard]] Expected<Sample, Errc> fetch(std::uint64_t job, Instant release, const Tensor& into) noexcept override;

 private:
  std::shared_ptr<Latest> latest_;
  std::size_t reader_;
  std::optional<std::uint64_t> last_; // version
};

} // namespace rtexec::channels
