#include "tasks/base/tiled.hpp"

#include "hal/thread.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace rtexec::tasks::initialise {
namespace {

using hal::EngineKind;
using hal::cuda::Event;

constexpr EngineKind prefetching = EngineKind::copy_in, making = EngineKind::compute;
constexpr Bytes page{64 << 10};

hal::cuda::DevicePointer pointer(const std::byte* at) { return reinterpret_cast<hal::cuda::DevicePointer>(at); }

} // namespace

Bytes tile_size(const Tiling& tiling, Bytes buffer) {
  const Bytes least{(buffer.count + max_tiles - 1) / max_tiles};
  return round_up(std::max({tiling.tile, least, page}), page);
}

TiledInitialiser::~TiledInitialiser() {
  for (const Marks& marks : marks_)
    for (const Event event : marks.all())
      if (event != nullptr) (void)gpu_->driver().event_destroy(event);
}

Result<> TiledInitialiser::add_marks() {
  Marks& made = marks_.emplace_back();
  for (Event* event : {&made.prefetch_begin, &made.prefetch_end, &made.make_begin, &made.make_end})
    if (auto done = gpu_->checked(gpu_->driver().event_create(event, hal::cuda::event_default), "making an event");
        !done)
      return done;
  return {};
}

Result<> TiledInitialiser::mark(Event event, EngineKind in) const {
  return gpu_->checked(gpu_->driver().event_record(event, gpu_->stream(in)), "recording an event");
}

Result<> TiledInitialiser::run(const Buffer& buffer, const Tiling& tiling, const MakeTile& make,
                               const Observer& observer) {
  const Instant begin = hal::now();
  if (auto entered = gpu_->enter(); !entered) return entered;
  const Result<> begun = put(buffer, tiling, make, observer.made != nullptr);
  const Result<> ended = wait();
  if (!begun || !ended) return begun ? ended : begun;
  if (observer.made != nullptr)
    observer.made(observer.self, {.size = buffer.size,
                                  .begin = begin,
                                  .end = made_,
                                  .tile = tile_size(tiling, buffer.size),
                                  .tiles_begin = made_ - times_.back().make_end,
                                  .tiles = times_});
  return {};
}

/// Submits the prefetch and the initialisation of all tiles. The kernel of a tile is submitted before the prefetch of
/// the next tile. So the kernel and the next prefetch overlap, even if the driver completes a prefetch before the call
/// returns.
Result<> TiledInitialiser::put(const Buffer& buffer, const Tiling& tiling, const MakeTile& make, bool timed) {
  const bool ahead = tiling.prefetch && buffer.kind == BufferKind::managed && gpu_->can_prefetch();
  const Bytes tile = tile_size(tiling, buffer.size);
  std::size_t tiles = 0;
  for (Bytes first{0}; first < buffer.size; first = first + tile, ++tiles) {
    if (tiles == marks_.size())
      if (auto added = add_marks(); !added) return added;
    const Marks& marks = marks_[tiles];
    const Bytes size = std::min(tile, buffer.size - first);
    if (ahead)
      if (auto begun = prefetch(buffer, first, size, marks, timed); !begun) return begun;
    if (timed)
      if (auto marked = mark(marks.make_begin, making); !marked) return marked;
    if (auto made = make(first, size); !made) return made;
    if (timed)
      if (auto marked = mark(marks.make_end, making); !marked) return marked;
  }
  if (!timed) return {};
  if (auto ended = wait(); !ended) return ended;
  made_ = hal::now();
  return read_times(tiles, ahead);
}

Result<> TiledInitialiser::prefetch(const Buffer& buffer, Bytes first, Bytes size, const Marks& marks, bool timed) {
  if (timed)
    if (auto marked = mark(marks.prefetch_begin, prefetching); !marked) return marked;
  if (const Status begun = gpu_->prefetch(buffer.device + first.count, size, hal::Side::device, prefetching); !begun)
    return fail(begun.error(), "prefetching managed memory to " + gpu_->name() + " failed: " + name(begun.error()));
  if (auto marked = mark(marks.prefetch_end, prefetching); !marked) return marked;
  return gpu_->checked(gpu_->driver().stream_wait_event(gpu_->stream(making), marks.prefetch_end, 0),
                       "waiting for a prefetch");
}

Result<> TiledInitialiser::wait() const {
  for (const auto kind : {prefetching, making})
    if (const Status done = gpu_->wait(kind); !done)
      return fail(done.error(), "initialising memory on " + gpu_->name() + " failed: " + name(done.error()));
  return {};
}

Result<> TiledInitialiser::read_times(std::size_t tiles, bool prefetched) {
  times_.assign(tiles, {});
  const Event begin = prefetched ? marks_.front().prefetch_begin : marks_.front().make_begin;
  const auto since_begin = [&](Event event, Duration& to) -> Result<> {
    float milliseconds = 0;
    auto known = gpu_->checked(gpu_->driver().event_elapsed(&milliseconds, begin, event), "reading an event's time");
    to = std::chrono::duration_cast<Duration>(std::chrono::duration<float, std::milli>(milliseconds));
    return known;
  };
  for (std::size_t i = 0; i < tiles; ++i) {
    const Marks& marks = marks_[i];
    TileTimes& times = times_[i];
    const std::array to{&times.prefetch_begin, &times.prefetch_end, &times.make_begin, &times.make_end};
    for (std::size_t mark = prefetched ? 0 : 2; mark < to.size(); ++mark)
      if (auto known = since_begin(marks.all()[mark], *to[mark]); !known) return known;
    if (!prefetched) times.prefetch_begin = times.prefetch_end = times.make_begin;
  }
  return {};
}

void make_on_host(Bytes size, const std::function<void()>& make, const Observer& observer) {
  const Instant begin = hal::now();
  make();
  if (observer.made != nullptr) observer.made(observer.self, {.size = size, .begin = begin, .end = hal::now()});
}

Result<> load(Device& device, const Buffer& buffer, std::span<const std::byte> bytes, const Observer& observer,
              const Tiling& tiling) {
  if (bytes.size() > buffer.size.count)
    return fail(Errc::bad_input,
                to_string(Bytes{bytes.size()}) + " do not fit into a buffer of " + to_string(buffer.size));
  if (bytes.empty()) return {};
  auto* const gpu = hal::CudaDevice::find(device);
  if (gpu == nullptr || buffer.kind == BufferKind::host) {
    std::byte* const to = buffer.host != nullptr ? buffer.host : buffer.device;
    make_on_host(
        Bytes{bytes.size()}, [&] { std::memcpy(to, bytes.data(), bytes.size()); }, observer);
    return {};
  }
  Buffer part = buffer;
  part.size = Bytes{bytes.size()};
  const auto copy = [&](Bytes first, Bytes size) {
    return gpu->checked(gpu->driver().copy_async(pointer(part.device + first.count),
                                                 pointer(bytes.data() + first.count), size.count, gpu->stream(making)),
                        "loading constants");
  };
  return TiledInitialiser(*gpu).run(part, tiling, copy, observer);
}

} // namespace rtexec::tasks::initialise
