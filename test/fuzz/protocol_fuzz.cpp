// Fuzzes the protocol: any bytes are a message within its limits, or none. Any ring gives entries or reports that it is
// broken.
#include "rtexec/sharing/protocol/messages.hpp"
#include "rtexec/sharing/protocol/ring.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace {

namespace protocol = rtexec::protocol;

template <class... M> void read_each(std::span<const std::byte> bytes) {
  const auto check = [&]<class One>(std::optional<One> message) {
    if (!message) return;
    if (!valid(*message) || bytes.size() != sizeof(One)) std::abort();
    if (!std::ranges::equal(protocol::bytes_of(*message), bytes)) std::abort();
  };
  (check(protocol::read<M>(bytes)), ...);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  read_each<protocol::Hello, protocol::Welcome, protocol::Refused, protocol::Declare, protocol::Declared,
            protocol::Grow, protocol::Grown, protocol::Frame, protocol::NeedFrame, protocol::Status,
            protocol::StatusPart, protocol::StatusEnd>(bytes);

  const auto ring = std::make_unique<protocol::Ring>();
  std::memcpy(static_cast<void*>(ring.get()), data, std::min(size, sizeof *ring));
  protocol::Consumer consumer(*ring);
  protocol::Entry entry;
  std::uint32_t taken = 0;
  while (consumer.pop(entry) == protocol::Turn::done)
    if (++taken > protocol::ring_capacity) std::abort();
  protocol::Producer producer(*ring);
  std::uint32_t given = 0;
  while (producer.push(entry) == protocol::Turn::done)
    if (++given > 2 * protocol::ring_capacity) std::abort();
  return 0;
}
