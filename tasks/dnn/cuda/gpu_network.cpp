#include "tasks/dnn/cuda/gpu_network.hpp"

#include "hal/thread.hpp"

#include <utility>

namespace rtexec::tasks {

namespace api = hal::cuda;

namespace {

constexpr Bytes whole_reads{16}; // that kernels read at once, to the end of a buffer

} // namespace

// ---- links

void GpuNetwork::link(std::size_t port, bool on_host) {
  links_.resize(inputs_.size() + outputs_.size());
  links_[port] = {.linked = true, .on_host = on_host};
}

cuda::OuterPlace GpuNetwork::outer_input(std::size_t input) const noexcept {
  return link_of(input).linked ? linked_place(input) : cuda::OuterPlace{.bytes = buffers_[input].device};
}

std::vector<cuda::OuterPlace> GpuNetwork::outer_output(std::size_t output) const {
  const std::size_t port = inputs_.size() + output;
  std::vector<cuda::OuterPlace> places;
  if (link_of(port).on_host) places.push_back({.bytes = buffers_[port].device});
  if (link_of(port).linked) places.push_back(linked_place(port));
  return places;
}

// ---- binding

Result<> GpuNetwork::bind_to(hal::CudaDevice& device, Precision precision, const cuda::Executor::Options& launching,
                             const std::function<Result<>()>& open, const std::function<Result<>()>& issue) {
  unbind();
  device_ = &device;
  auto bound = prepare(precision, launching, open, issue);
  if (!bound) unbind();
  return bound;
}

Result<> GpuNetwork::prepare(Precision precision, const cuda::Executor::Options& launching,
                             const std::function<Result<>()>& open, const std::function<Result<>()>& issue) {
  auto executor = cuda::Executor::open(*device_, precision, launching);
  if (!executor) return Unexpected(executor.error());
  executor_ = std::move(*executor);
  if (auto opened = open(); !opened) return opened;
  if (auto allocated = allocate_ports(); !allocated) return allocated;
  if (auto made = make_events(); !made) return made;
  auto graph = device_->capture(issue);
  if (!graph) return Unexpected(graph.error());
  graph_ = std::move(*graph);
  return {};
}

Result<> GpuNetwork::allocate_ports() {
  for (auto* ports : {&inputs_, &outputs_})
    for (auto& port : *ports) {
      const auto size = static_cast<std::size_t>(element_count(port.shape)) * size_of(port.type);
      auto buffer = take("'" + port.name + "'", seen_by_host(), round_up(Bytes{size}, whole_reads));
      if (!buffer) return Unexpected(buffer.error());
      buffers_.push_back(*buffer);
      port.bytes = {buffer->host, size};
    }
  if (links_.empty()) return {};
  auto linked = take("its links", BufferKind::host, Bytes{links_.size() * sizeof(void*)});
  if (!linked) return Unexpected(linked.error());
  linked_ = *linked;
  return {};
}

Result<> GpuNetwork::make_events() {
  if (!observer_.begin && !observer_.end) return {};
  for (std::size_t i = 0; i < layers().size() + 2; ++i) {
    api::Event event = nullptr;
    if (auto made =
            device_->checked(device_->driver().event_create(&event, api::event_default), "making a layer's event");
        !made)
      return made;
    events_.push_back(event);
  }
  return {};
}

Result<> GpuNetwork::record(std::size_t event) {
  return events_.empty() ? Result<>() : executor_->record(events_[event]);
}

void GpuNetwork::unbind() noexcept {
  if (!device_) return;
  graph_ = {};
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
  if (auto moved = move(0, hal::Side::device); !moved) return moved;
  if (auto done = device_->run(graph_); !done) return done;
  if (!events_.empty())
    if (auto told = tell_layers(hal::now()); !told) return told;
  return move(inputs_.size(), hal::Side::host);
}

bool GpuNetwork::prefetches() const noexcept { return policy() == MemoryPolicy::managed && device_->can_prefetch(); }

Status GpuNetwork::move(std::size_t first, hal::Side to) noexcept {
  for (std::size_t port = first; prefetches() && port < buffers_.size(); ++port) {
    if (!link_of(port).on_host) continue;
    if (auto moved = device_->move(buffers_[port].device, buffers_[port].size, to); !moved) return moved;
  }
  return {};
}

Status GpuNetwork::tell_layers(Instant end) noexcept {
  const auto at = [&](std::size_t event) -> Expected<Instant, Errc> {
    float milliseconds = 0;
    if (auto known = device_->check(device_->driver().event_elapsed(&milliseconds, events_[event], events_.back()));
        !known)
      return Unexpected(known.error());
    return end - std::chrono::duration_cast<Duration>(std::chrono::duration<float, std::milli>(milliseconds));
  };
  auto begin = at(0);
  for (std::size_t layer = 0; layer < events_.size() - 2; ++layer) {
    const auto after = at(layer + 1);
    if (!begin || !after) return Unexpected(begin ? after.error() : begin.error());
    if (observer_.begin) observer_.begin(observer_.self, static_cast<std::uint32_t>(layer), *begin);
    if (observer_.end) observer_.end(observer_.self, static_cast<std::uint32_t>(layer), *after);
    begin = after;
  }
  return {};
}

} // namespace rtexec::tasks
