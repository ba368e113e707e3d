#include "rtexec/studies/bringup/device_rule_items.hpp"

#include "hal/digest_of.hpp"
#include "rtexec/studies/bringup/answers.hpp"
#include "rtexec/studies/bringup/measured_items.hpp"

#include <array>
#include <csignal>
#include <cstring>

namespace rtexec::bringup {
namespace {

using hal::Access;
using hal::Chunk;
using hal::EngineKind;

constexpr std::size_t chunks_used = 3;

/// Checks every rule of the device, even if an earlier rule failed.
class Rules {
 public:
  explicit Rules(hal::Device& device) : device_(device), size_(device.chunk_size()) {}

  Answer check() {
    auto chunks = device_.create_chunks(chunks_used);
    auto range = device_.reserve(size_ * 2);
    if (!chunks) return failed(chunks.error(), "Free device memory");
    if (!range) return failed(range.error(), advice);
    chunks_ = std::move(*chunks);
    range_ = *range;
    rule("new chunks are zero", zeroed());
    rule("contents follow the chunk, not the address", contents_follow());
    rule("an impossible mapping is refused", refuses());
    rule("no more chunks than its capacity", keeps_capacity());
    if (device_.capabilities().digest) rule("its kernels give the results of the host", digests());
    else rule("no kernel of this program runs on it", false);
    return answer();
  }

 private:
  static constexpr const char* advice =
      "Nothing can be promised on this device: look for a newer driver, and send this report to its vendor";

  void rule(const std::string& what, bool kept) {
    ++tried_;
    if (!kept) broken_ += (broken_.empty() ? "" : "; ") + what;
  }

  bool holds(const std::byte* at, const std::vector<std::byte>& wanted) {
    std::vector<std::byte> found(size_.count, std::byte{0xff});
    return copy_out(device_, found, at) && found == wanted;
  }

  bool zeroed() {
    const std::vector<std::byte> zero(size_.count);
    for (const Chunk each : chunks_)
      if (!holds(device_.window(each), zero)) return false;
    return true;
  }

  bool contents_follow() {
    const std::array contents{pattern(size_, 1), pattern(size_, 2)};
    for (const std::size_t i : {0u, 1u})
      if (!copy_in(device_, device_.window(chunks_[i]), contents[i])) return false;
    for (const std::size_t i : {0u, 1u, 0u})
      if (!device_.map(range_, 0, chunks_[i], Access::read) || !holds(range_.base, contents[i]) ||
          !device_.unmap(range_, 0))
        return false;
    return true;
  }

  bool refuses() {
    if (!device_.map(range_, 1, chunks_[0], Access::read_write)) return false;
    const bool twice = device_.map(range_, 1, chunks_[1], Access::read_write).has_value();
    const bool beyond = device_.map(range_, 2, chunks_[1], Access::read_write).has_value();
    const bool unmapped = device_.unmap(range_, 1).has_value();
    return !twice && !beyond && unmapped && !device_.unmap(range_, 1);
  }

  bool keeps_capacity() {
    const auto more = device_.create_chunks(device_.capacity().count / size_.count);
    return !more && more.error().code == Errc::out_of_memory;
  }

  bool digests() {
    for (const unsigned seed : {3u, 4u, 5u}) {
      const auto contents = pattern(size_, seed);
      if (!copy_in(device_, device_.window(chunks_[2]), contents)) return false;
      hal::Digest digest;
      const auto compute = [&]() noexcept { return device_.digest(device_.window(chunks_[2]), size_, digest); };
      if (!device_.engine(EngineKind::compute).call(compute).outcome) return false;
      if (digest != hal::digest_of(contents.data(), size_)) return false;
    }
    return true;
  }

  Answer answer() const {
    std::string state = device_.name();
    for (const std::string& finding : device_.capabilities().findings) state += "; " + finding;
    if (const auto fault = device_.fault()) state += "; it was lost: " + fault->what;
    if (!broken_.empty()) return failed(state + "; NOT KEPT: " + broken_, advice);
    state += "; all " + std::to_string(tried_) + " rules kept: memory, mapping, capacity, and results of its kernels";
    return passed(std::move(state));
  }

  hal::Device& device_;
  Bytes size_;
  std::vector<Chunk> chunks_;
  hal::AddressRange range_;
  unsigned tried_ = 0;
  std::string broken_;
};

/// Touches a slot without a mapped chunk. The device must fault.
Answer fault(hal::Device& device) {
  const auto range = device.reserve(device.chunk_size());
  if (!range) return failed(range.error(), "Free device memory");
  hal::Digest digest;
  const auto touch = [&]() noexcept { return device.digest(range->base, device.chunk_size(), digest); };
  const Status touched = device.engine(EngineKind::compute).call(touch).outcome;
  if (touched) return failed("a read of unmapped memory was not detected", "");
  const Status after = device.engine(EngineKind::compute).call(touch).outcome;
  const auto known = device.fault();
  if (!known || after || after.error() != Errc::device_lost)
    return failed(std::string("an access to unmapped memory was reported as '") + name(touched.error()) +
                      "', but the device continued",
                  "");
  return passed(known->what);
}

/// Describes how a fault of the process `end` harmed other processes. If the fault harmed no other process, returns an
/// empty text, and sets `told` to the driver's report of the fault. `next`: the answer of a later process that uses the
/// device.
std::string problem_of_fault(const ChildEnd& end, const Answer& next, std::string& told) {
  if (end.hung) return "its driver hung after a fault";
  if (next.outcome != Outcome::passed) return "after another process's fault: " + next.state;
  if (end.answer && end.answer->outcome == Outcome::passed) return told = end.answer->state, "";
  if (end.answer) return end.answer->state;
  if (end.signal == SIGSEGV || end.signal == SIGBUS) return told = ::strsignal(end.signal), "";
  return "a fault ended its process in an unknown way";
}

} // namespace

Answer check_rules(const Subject& subject, const executive::OpenDevice& open) {
  const AskDevice rules = [](hal::Device& device) { return Rules(device).check(); };
  const std::size_t chunks = chunks_used + 1;
  Answer answer = ask_device(subject, open, chunks, rules);
  if (answer.outcome != Outcome::passed) return answer;
  const ChildEnd end = ask_in_child(
      [&] {
        auto device = open_with(subject.board, open, chunks);
        return device ? fault(**device) : failed(device.error(), "");
      },
      std::chrono::seconds(20), subject.going_on);
  std::string told;
  const std::string problem = problem_of_fault(end, ask_device(subject, open, chunks, rules), told);
  if (!problem.empty())
    return failed(answer.state + "; NOT KEPT: " + problem,
                  "A fault of one task also ends other tasks on this device: look for a newer driver");
  answer.state += "; a process after one that faulted (" + told + ") could use the device";
  return answer;
}

Answer device_rules(const Subject& subject) { return check_rules(subject, device_of(subject.board)); }

} // namespace rtexec::bringup
