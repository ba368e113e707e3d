#include "tasks/engine/cuda/gpu_network.hpp"

#include "hal/thread.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::tasks {

namespace api = hal::cuda;

namespace {

/// int8 kernels read this many bytes at once. Sizes of buffers are rounded up to a multiple of it, because kernels read
/// to the end of a buffer.
constexpr Bytes int8_reads{16};

} // namespace

// ---- links

void GpuNetwork::link(std::size_t port, bool on_host) {
  links_.resize(inputs_.size() + outputs_.size());
  links_[port].linked = true;
  links_[port].on_host = on_host;
}

void GpuNetwork::link_state(std::size_t output) {
  links_.resize(inputs_.size() + outputs_.size());
  links_[inputs_.size() + output].kept = true;
}

cuda::OuterPlace GpuNetwork::outer_input(std::size_t input) const noexcept {
  return link_of(input).linked ? linked_place(input) : cuda::OuterPlace{.bytes = buffers_[input].device};
}

std::vector<cuda::OuterPlace> GpuNetwork::outer_output(std::size_t output) const {
  const std::size_t port = inputs_.size() + output;
  std::vector<cuda::OuterPlace> places;
  if (link_of(port).on_host) places.push_back({.bytes = buffers_[port].device});
  if (link_of(port).linked) places.push_back(linked_place(port));
  if (link_of(port).kept) places.push_back(linked_place(state_place(port)));
  return places;
}

// ---- binding

Result<> GpuNetwork::bind_to(hal::CudaDevice& device, Precision precision, const cuda::Executor::Options& launching,
                             const std::function<Result<>()>& open, const Issue& issue) {
  unbind();
  device_ = &device;
  auto bound = prepare(precision, launching, open, issue);
  if (!bound) unbind();
  return bound;
}

Result<> GpuNetwork::prepare(Precision precision, const cuda::Executor::Options& launching,
                             const std::function<Result<>()>& open, const Issue& issue) {
  auto executor = cuda::Executor::open(*device_, precision, launching);
  if (!executor) return Unexpected(executor.error());
  executor_ = std::move(*executor);
  if (auto opened = open(); !opened) return opened;
  if (auto allocated = allocate_ports(); !allocated) return allocated;
  if (auto made = make_events(); !made) return made;
  for (std::size_t segment = 0; segment < segment_ends_.size(); ++segment) {
    auto graph = device_->capture([&] { return issue(segment); });
    if (!graph) return Unexpected(graph.error());
    graphs_.push_back(std::move(*graph));
  }
  return {};
}

Result<> GpuNetwork::allocate_ports() {
  for (auto* ports : {&inputs_, &outputs_})
    for (auto& port : *ports) {
      const auto size = static_cast<std::size_t>(element_count(port.shape)) * size_of(port.type);
      auto buffer =
          take("'" + port.name + "'", seen_by_host(), round_up(Bytes{std::max<std::size_t>(size, 1)}, int8_reads));
      if (!buffer) return Unexpected(buffer.error());
      buffers_.push_back(*buffer);
      port.bytes = {buffer->host, size};
    }
  if (links_.empty()) return {};
  auto linked = take("its links", BufferKind::host, Bytes{state_place(links_.size()) * sizeof(void*)});
  if (!linked) return Unexpected(linked.error());
  linked_ = *linked;
  return {};
}

Result<> GpuNetwork::make_events() {
  if (!observer_.begin && !observer_.end) return {};
  for (std::size_t i = 0; i < layers().size() + 2 * segment_ends_.size(); ++i) {
    api::Event event = nullptr;
    if (auto made =
            device_->checked(device_->driver().event_create(&event, api::event_default), "making a layer's event");
        !made)
      return made;
    events_.push_back(event);
  }
  return {};
}

Result<> GpuNetwork::record(std::size_t segment, std::size_t layer) {
  return events_.empty() ? Result<>() : executor_->record(events_[event_of(segment, layer)]);
}

Result<> GpuNetwork::record_end(std::size_t segment) { return record(segment, segment_ends_[segment] + 1); }

void GpuNetwork::unbind() noexcept {
  if (!device_) return;
  graphs_.clear();
  executor_.reset();
  for (const auto event : events_) (void)device_->driver().event_destroy(event);
  events_.clear();
  buffers_.clear();
  linked_ = {};
  for (auto* ports : {&inputs_, &outputs_})
    for (auto& port : *ports) port.bytes = {};
  device_ = nullptr;
}

// ---- running

Status GpuNetwork::run() noexcept {
  for (std::uint32_t segment = 0; segment < graphs_.size(); ++segment)
    if (auto done = run_segment(segment); !done) return done;
  return {};
}

Status GpuNetwork::run_segment(std::uint32_t segment) noexcept {
  const bool launched = launched_ > 0;
  if (segment == 0 && !launched)
    if (auto moved = move(0, hal::Side::device); !moved) return moved;
  if (launched) --launched_;
  if (auto done = launched ? device_->end_run(graphs_[segment]) : device_->run(graphs_[segment]); !done)
    return abandon(done.error(), segment + 1);
  if (!events_.empty())
    if (auto told = tell_layers(segment, hal::now()); !told) return abandon(told.error(), segment + 1);
  return segment + 1 < graphs_.size() ? Status() : move(inputs_.size(), hal::Side::host);
}

Status GpuNetwork::launch_segment(std::uint32_t segment) noexcept {
  if (segment == 0)
    if (auto moved = move(0, hal::Side::device); !moved) return moved;
  if (auto begun = device_->begin_run(graphs_[segment]); !begun) return abandon(begun.error(), segment - launched_);
  ++launched_;
  return {};
}

/// Waits for all segments that have been launched. `segment` is the first of these segments. Returns `error`.
Status GpuNetwork::abandon(Errc error, std::size_t segment) noexcept {
  for (; launched_ > 0; --launched_) (void)device_->end_run(graphs_[segment++]);
  return Unexpected(error);
}

bool GpuNetwork::prefetches() const noexcept { return policy() == MemoryPolicy::managed && device_->can_prefetch(); }

Status GpuNetwork::move(std::size_t first, hal::Side to) noexcept {
  for (std::size_t port = first; prefetches() && port < buffers_.size(); ++port) {
    if (!link_of(port).on_host) continue;
    if (auto moved = device_->move(buffers_[port].device, buffers_[port].size, to); !moved) return moved;
  }
  return {};
}

Status GpuNetwork::tell_layers(std::size_t segment, Instant end) noexcept {
  const std::size_t behind = event_of(segment, segment_ends_[segment] + 1);
  const auto at = [&](std::size_t event) -> Expected<Instant, Errc> {
    float milliseconds = 0;
    if (auto known = device_->check(device_->driver().event_elapsed(&milliseconds, events_[event], events_[behind]));
        !known)
      return Unexpected(known.error());
    return end - std::chrono::duration_cast<Duration>(std::chrono::duration<float, std::milli>(milliseconds));
  };
  auto begin = at(event_of(segment, first_layer(segment)));
  for (std::size_t layer = first_layer(segment); layer < segment_ends_[segment]; ++layer) {
    const auto after = at(event_of(segment, layer + 1));
    if (!begin || !after) return Unexpected(begin ? after.error() : begin.error());
    if (observer_.begin) observer_.begin(observer_.self, static_cast<std::uint32_t>(layer), *begin);
    if (observer_.end) observer_.end(observer_.self, static_cast<std::uint32_t>(layer), *after);
    begin = after;
  }
  return {};
}

} // namespace rtexec::tasks
