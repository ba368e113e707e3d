#include "tasks/backends/custom_workload.hpp"

#include "config/c_error.hpp"
#include "config/base/files.hpp"
#include "hal/thread.hpp"
#include "tasks/base/fingerprint.hpp"
#include "tasks/api/segments.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <sstream>
#include <utility>

namespace rtexec::tasks {
namespace {

Status status_of(rtexec_code code) noexcept {
  if (code == RTEXEC_OK) return {};
  return Unexpected(config::errc_of(code));
}

/// Implements rtexec_device::wait, which waits for the device's work. `gpu` is null for the host device, which never
/// has unfinished work.
rtexec_code wait_for(void* gpu) noexcept {
  if (gpu == nullptr) return RTEXEC_OK;
  const Status done = static_cast<Gpu*>(gpu)->wait();
  return done ? RTEXEC_OK : config::code_of(done.error());
}

/// The size of the first version of rtexec_workload, whose last member was `destroy`.
constexpr std::size_t first_size = offsetof(rtexec_workload, destroy) + sizeof(rtexec_workload::destroy);

std::string problem_of_ranges(const rtexec_workload& workload) {
  for (std::size_t i = 0; workload.constant_ranges != nullptr && i < workload.segments; ++i)
    if (const auto [begin, end] = workload.constant_ranges[i]; begin > end || end > workload.memory.constant)
      return "constant_ranges[" + std::to_string(i) + "] is from " + std::to_string(begin) + " to " +
             std::to_string(end) + ", but memory.constant is " + std::to_string(workload.memory.constant);
  return {};
}

std::string problem_of(const rtexec_workload& workload) {
  if (workload.memory.constant > 0 && workload.constants == nullptr)
    return "memory.constant is above 0, but constants is missing";
  if (workload.fingerprint == nullptr || *workload.fingerprint == '\0')
    return "fingerprint is missing, which identifies the workload in profiles";
  if ((workload.segments > 0) != (workload.execute_segment != nullptr))
    return "segments is " + std::to_string(workload.segments) + ", and execute_segment() is " +
           (workload.execute_segment == nullptr ? "missing" : "given") + ": give both, or neither";
  if (workload.launch_segment != nullptr && workload.execute_segment == nullptr)
    return "launch_segment() needs execute_segment(), which waits for launched segments";
  if ((workload.tune == nullptr) != (workload.use == nullptr))
    return "tune() or use() is missing: give both, or neither";
  if (const std::array links{workload.link_input != nullptr, workload.link_output != nullptr,
                             workload.take_input != nullptr, workload.give_output != nullptr};
      std::ranges::count(links, links.front()) != std::ssize(links))
    return "link_input(), link_output(), take_input() or give_output() is missing: give all four, or none";
  if (workload.boxes != nullptr && workload.classes != nullptr)
    return "boxes() and classes() are both given: a workload must be either a detector or a classifier";
  return problem_of_ranges(workload);
}

Result<ElementType> type_of(rtexec_element_type type) {
  switch (type) {
  case RTEXEC_UINT8: return ElementType::uint8;
  case RTEXEC_INT32: return ElementType::int32;
  case RTEXEC_INT64: return ElementType::int64;
  case RTEXEC_FLOAT16: return ElementType::float16;
  case RTEXEC_FLOAT32: return ElementType::float32;
  case RTEXEC_INT8: return ElementType::int8;
  case RTEXEC_BOOLEAN: return ElementType::boolean;
  case RTEXEC_UINT16: return ElementType::uint16;
  case RTEXEC_INT16: return ElementType::int16;
  case RTEXEC_UINT32: return ElementType::uint32;
  case RTEXEC_UINT64: return ElementType::uint64;
  case RTEXEC_FLOAT64: return ElementType::float64;
  }
  return fail(Errc::bad_input, "has an unknown element type: " + std::to_string(static_cast<int>(type)));
}

Result<Tensor> tensor_of(const rtexec_tensor& given) {
  const auto refuse = [](const std::string& why) { return fail(Errc::bad_input, why); };
  if (given.name == nullptr || *given.name == '\0') return refuse("has no name");
  const auto type = type_of(given.type);
  if (!type) return Unexpected(type.error());
  if (given.rank > 0 && given.shape == nullptr) return refuse("has no shape");
  std::size_t size = size_of(*type);
  for (std::size_t d = 0; d < given.rank; ++d)
    if (given.shape[d] < 1 || __builtin_mul_overflow(size, static_cast<std::size_t>(given.shape[d]), &size))
      return refuse("has a dimension of " + std::to_string(given.shape[d]));
  if (given.bytes != size)
    return refuse("has " + std::to_string(given.bytes) + " bytes, but its type and shape need " + std::to_string(size));
  if (given.data == nullptr || reinterpret_cast<std::uintptr_t>(given.data) % size_of(*type) != 0)
    return refuse("must have data that are aligned for its type");
  return Tensor{.name = given.name,
                .type = *type,
                .shape = {given.shape, given.shape + given.rank},
                .bytes = {static_cast<std::byte*>(given.data), given.bytes}};
}

/// Converts the tensors of a C workload. `which` is "input" or "output", for messages.
Result<std::vector<Tensor>> tensors_of(const rtexec_tensor* given, std::size_t count, const std::string& which) {
  // The first version of rtexec_tensor ended with the member `bytes`.
  constexpr std::size_t smallest = offsetof(rtexec_tensor, bytes) + sizeof(rtexec_tensor::bytes);
  std::vector<Tensor> tensors;
  if (count == 0) return tensors;
  if (given == nullptr || given->size < smallest || given->size % alignof(rtexec_tensor) != 0)
    return fail(Errc::bad_input,
                "its " + which + "s are missing, or their struct size is unknown: set size to sizeof(rtexec_tensor)");
  const auto* at = reinterpret_cast<const std::byte*>(given);
  for (std::size_t i = 0; i < count; ++i, at += given->size) {
    auto tensor = tensor_of(*reinterpret_cast<const rtexec_tensor*>(at));
    if (!tensor) return fail(Errc::bad_input, "its " + which + " " + std::to_string(i) + " " + tensor.error().what);
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

/// Returns a fingerprint of the shared object and the arguments, on which execution times depend. Files that the shared
/// object opens by itself are not included.
Result<std::string> code_of(const Task& task) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(task.library, error);
  if (error) return fail(Errc::bad_input, task.library.string() + ": " + error.message());
  const auto code = config::read_file(task.library, size);
  if (!code) return Unexpected(code.error());
  return Fingerprint().add(*code).add(task.arguments).text();
}

using Create = decltype(&rtexec_workload_create);

Result<Create> open(const std::filesystem::path& library) {
  // The path must be absolute: for a name without a '/', the dynamic linker would search the system's folders.
  void* handle = ::dlopen(std::filesystem::absolute(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return fail(Errc::bad_input, ::dlerror());
  if (void* create = ::dlsym(handle, "rtexec_workload_create")) return reinterpret_cast<Create>(create);
  return fail(Errc::bad_input, library.string() + " does not export rtexec_workload_create(), see <rtexec/workload.h>");
}

} // namespace

Result<std::unique_ptr<Workload>> CustomWorkload::adopt(const rtexec_workload* workload, std::string_view code) {
  if (workload == nullptr) return fail(Errc::bad_input, "no workload was given");
  if (workload->size < first_size)
    return fail(Errc::bad_input, "its struct size is " + std::to_string(workload->size) +
                                     " bytes, smaller than in any version: set size to sizeof(rtexec_workload)");
  std::unique_ptr<CustomWorkload> adopted(new CustomWorkload(*workload, code));
  if (const std::string problem = problem_of(adopted->workload_); !problem.empty())
    return fail(Errc::bad_input, problem);
  if (const auto taken = adopted->take_tensors(); !taken) return Unexpected(taken.error());
  return adopted;
}

Result<std::unique_ptr<Workload>> CustomWorkload::load(const Task& task) {
  const auto code = code_of(task);
  if (!code) return Unexpected(code.error());
  const auto create = open(task.library);
  if (!create) return Unexpected(create.error());
  rtexec_error error{RTEXEC_BAD_INPUT, {}};
  const rtexec_workload* workload = (*create)(task.name.c_str(), task.arguments.c_str(), &error);
  if (workload == nullptr)
    return fail(config::errc_of(error.code),
                task.library.string() + ": " + config::text_of(error, "rtexec_workload_create()"));
  return adopt(workload, *code);
}

CustomWorkload::CustomWorkload(const rtexec_workload& workload, std::string_view code) : given_(workload), code_(code) {
  read_given();
  for (std::size_t i = 0; workload_.segments > 1 && i < workload_.segments; ++i) {
    const char* const name = workload_.segment_names == nullptr ? nullptr : workload_.segment_names[i];
    layers_.push_back(name == nullptr ? "segment " + std::to_string(i) : name);
  }
  segment_ends_ = {workload_.segments};
}

void CustomWorkload::read_given() noexcept {
  std::memcpy(&workload_, &given_, std::min(given_.size, sizeof workload_));
}

Result<> CustomWorkload::take_tensors() {
  auto inputs = tensors_of(workload_.inputs, workload_.input_count, "input");
  if (!inputs) return Unexpected(inputs.error());
  auto outputs = tensors_of(workload_.outputs, workload_.output_count, "output");
  if (!outputs) return Unexpected(outputs.error());
  inputs_ = std::move(*inputs);
  outputs_ = std::move(*outputs);
  return {};
}

CustomWorkload::~CustomWorkload() {
  if (workload_.destroy != nullptr) workload_.destroy(workload_.self);
}

MemoryDemand CustomWorkload::memory() const {
  MemoryDemand demand;
  demand.add(MemoryClass::constant, Bytes{workload_.memory.constant});
  demand.add(MemoryClass::scratch, Bytes{workload_.memory.scratch});
  demand.add(MemoryClass::state, Bytes{workload_.memory.state});
  demand.carry = Bytes{workload_.carry};
  demand.outside = Bytes{workload_.own_device};
  demand.host = Bytes{workload_.own_host};
  return demand;
}

std::span<const std::byte> CustomWorkload::constants() const {
  return {static_cast<const std::byte*>(workload_.constants), workload_.memory.constant};
}

std::string CustomWorkload::fingerprint() const {
  return "custom-" + Fingerprint().add(std::string_view(workload_.fingerprint)).add(code_).text();
}

std::vector<LiveRange> CustomWorkload::live_ranges() const {
  if (layers_.empty()) return {};
  return {{.size = Bytes{workload_.carry}, .first = 0, .last = static_cast<std::uint32_t>(layers_.size() - 1)}};
}

std::vector<ConstantRange> CustomWorkload::constant_ranges() const {
  std::vector<ConstantRange> ranges;
  for (std::size_t i = 0; workload_.constant_ranges != nullptr && i < layers_.size(); ++i)
    ranges.push_back({Bytes{workload_.constant_ranges[i].begin}, Bytes{workload_.constant_ranges[i].end}});
  return ranges;
}

Result<> CustomWorkload::use(std::span<const std::string> tuning) {
  if (workload_.use == nullptr) return Workload::use(tuning);
  std::string choices;
  for (const std::string& line : tuning) choices += (choices.empty() ? "" : "\n") + line;
  rtexec_error error{};
  if (const rtexec_code code = workload_.use(workload_.self, choices.c_str(), &error); code != RTEXEC_OK)
    return fail(config::errc_of(code), config::text_of(error, "use()"));
  return changed();
}

Result<std::vector<std::string>> CustomWorkload::tune(Device& device, const TuningProgress& progress) {
  if (workload_.tune == nullptr) return Workload::tune(device, progress);
  if (auto entered = enter(device); !entered) return Unexpected(entered.error());
  const char* choices = nullptr;
  rtexec_error error{};
  if (const rtexec_code code = workload_.tune(workload_.self, &device_, &choices, &error); code != RTEXEC_OK)
    return fail(config::errc_of(code), config::text_of(error, "tune()"));
  if (auto taken = changed(); !taken) return Unexpected(taken.error());
  if (choices == nullptr) return fail(Errc::bad_input, "tune() succeeded, but gave no choices");
  std::vector<std::string> lines;
  std::istringstream text(choices);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  if (progress && !progress(1, 1)) return fail(Errc::cancelled, "tuning was cancelled");
  return lines;
}

Result<> CustomWorkload::changed() {
  read_given();
  if (const std::string problem = problem_of(workload_); !problem.empty())
    return fail(Errc::bad_input, "as it is tuned, " + problem);
  return {};
}

Result<> CustomWorkload::cut(std::span<const std::uint32_t> after) {
  auto ends = segment_ends(after, workload_.segments);
  if (!ends) return Unexpected(ends.error());
  segment_ends_ = std::move(*ends);
  return {};
}

Result<> CustomWorkload::enter(Device& device) {
  device_name_ = device.name();
  Gpu* const gpu = device.gpu();
  if (gpu != nullptr)
    if (auto entered = gpu->enter(); !entered) return entered;
  device_ = {.size = sizeof device_,
             .name = device_name_.c_str(),
             .stream = gpu == nullptr ? nullptr : gpu->stream(),
             .self = gpu,
             .wait = wait_for};
  return {};
}

Result<> CustomWorkload::bind(Device& device, const Memory& memory) {
  if (workload_.bind == nullptr) return {};
  if (auto entered = enter(device); !entered) return entered;
  const rtexec_memory given{.size = sizeof given,
                            .constant = memory.constant,
                            .scratch = memory.scratch,
                            .state = memory.state,
                            .carry = memory.carry};
  rtexec_error error{};
  const rtexec_code code = workload_.bind(workload_.self, &device_, &given, &error);
  if (code == RTEXEC_OK) return {};
  return fail(config::errc_of(code), config::text_of(error, "bind()"));
}

Status CustomWorkload::before(std::uint64_t job) noexcept {
  return workload_.before == nullptr ? Status() : status_of(workload_.before(workload_.self, job));
}

Status CustomWorkload::execute() noexcept {
  if (workload_.execute_segment != nullptr) return execute_pieces(0, workload_.segments);
  return workload_.execute == nullptr ? Status() : status_of(workload_.execute(workload_.self));
}

Status CustomWorkload::execute_segment(std::uint32_t segment) noexcept {
  if (workload_.execute_segment == nullptr) return execute();
  return execute_pieces(first_layer(segment_ends_, segment), segment_ends_[segment]);
}

Status CustomWorkload::launch_segment(std::uint32_t segment) noexcept {
  for (std::size_t piece = first_layer(segment_ends_, segment); piece < segment_ends_[segment]; ++piece)
    if (const Status done = status_of(workload_.launch_segment(workload_.self, piece)); !done) return done;
  return {};
}

Recognition CustomWorkload::recognises() const noexcept {
  if (workload_.boxes != nullptr) return Recognition::boxes;
  return workload_.classes != nullptr ? Recognition::classes : Recognition::nothing;
}

std::span<const Box> CustomWorkload::detections() const noexcept {
  static_assert(sizeof(Box) == sizeof(rtexec_box) && offsetof(Box, label) == offsetof(rtexec_box, label));
  if (workload_.boxes == nullptr) return {};
  const rtexec_box* boxes = nullptr;
  const std::size_t count = workload_.boxes(workload_.self, &boxes);
  return {reinterpret_cast<const Box*>(boxes), boxes == nullptr ? 0 : count};
}

std::span<const RankedClass> CustomWorkload::classes() const noexcept {
  static_assert(sizeof(RankedClass) == sizeof(rtexec_ranked_class));
  if (workload_.classes == nullptr) return {};
  const rtexec_ranked_class* classes = nullptr;
  const std::size_t count = workload_.classes(workload_.self, &classes);
  return {reinterpret_cast<const RankedClass*>(classes), classes == nullptr ? 0 : count};
}

void CustomWorkload::begin_to_keep() noexcept {
  if (workload_.begin_to_keep != nullptr) workload_.begin_to_keep(workload_.self);
}

Status CustomWorkload::execute_pieces(std::size_t begin, std::size_t end) noexcept {
  for (std::size_t piece = begin; piece < end; ++piece) {
    const auto number = static_cast<std::uint32_t>(piece);
    if (observer_.begin) observer_.begin(observer_.self, number, hal::now());
    if (const Status done = status_of(workload_.execute_segment(workload_.self, piece)); !done) return done;
    if (observer_.end) observer_.end(observer_.self, number, hal::now());
  }
  return {};
}

Status CustomWorkload::after(std::uint64_t job) noexcept {
  return workload_.after == nullptr ? Status() : status_of(workload_.after(workload_.self, job));
}

} // namespace rtexec::tasks
