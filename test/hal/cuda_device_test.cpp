// Tests the CUDA device on the simulated driver: the rules of every device, and failures of calls or of the device.
#include "hal/open/open_device.hpp"
#include "test/hal/device_rule_tests.hpp"
#include "test/hal/digest_kernel.hpp"
#include "test/hal/fake_cuda_driver.hpp"

#include "hal/cuda/cuda_device.hpp"
#include "hal/machine_files.hpp"

#include <optional>
#include <string_view>

namespace rtexec::hal::test {
namespace {

using cuda::Code;
using cuda::Driver;

constexpr Bytes chunk_of_tests{16384};

template <Completion completion> struct FakeCuda {
  struct Environment {
    Environment() { add_digest_kernel(driver); }
    FakeCudaDriver driver;
  };
  static Bytes chunk() { return chunk_of_tests; }
  static Result<std::unique_ptr<Device>> open(std::size_t chunks) {
    auto device = CudaDevice::open(
        {.capacity = chunk() * chunks, .chunk = chunk(), .completion = completion, .kernels = digest_images});
    if (!device) return Unexpected(device.error());
    return std::move(*device);
  }
};
using FakeCudaBackEnds = testing::Types<FakeCuda<Completion::block>, FakeCuda<Completion::spin>>;
INSTANTIATE_TYPED_TEST_SUITE_P(FakeCuda, DeviceRules, FakeCudaBackEnds);

CudaOptions eight_chunks() {
  return {.capacity = chunk_of_tests * 8, .chunk = chunk_of_tests, .kernels = digest_images};
}

std::unique_ptr<CudaDevice> open_cuda(const CudaOptions& options = eight_chunks()) {
  auto device = CudaDevice::open(options);
  EXPECT_TRUE(device) << problem(device);
  return device ? std::move(*device) : nullptr;
}

constexpr char image[] = "an image";

// ---- opening ----

TEST(CudaDevice, ReportsNameAndPropertiesFromDriver) {
  const FakeCudaDriver driver({.name = "Some GPU", .architecture = 86, .multiprocessors = 28});
  const auto device = open_cuda();
  EXPECT_EQ(device->name(), "Some GPU");
  EXPECT_EQ(device->architecture(), 86);
  EXPECT_EQ(device->multiprocessors(), 28);
}

TEST(CudaDevice, RefusesOrdinalWithoutDevice) {
  const FakeCudaDriver two({.devices = 2});
  EXPECT_TRUE(
      fails(CudaDevice::open({.ordinal = 2}), Errc::unsupported, "GPU 2 was requested, but the NVIDIA driver shows 2"));
  EXPECT_TRUE(fails(CudaDevice::open({.ordinal = -1}), Errc::unsupported, "CUDA_VISIBLE_DEVICES"));
  EXPECT_TRUE(CudaDevice::open({.ordinal = 1}));
}

TEST(CudaDevice, ReportsMissingGpu) {
  const FakeCudaDriver none({.devices = 0});
  EXPECT_TRUE(fails(CudaDevice::open({}), Errc::unsupported, "CUDA_ERROR_NO_DEVICE"));
}

TEST(CudaDevice, RequiresVirtualMemoryManagement) {
  FakeCudaDriver driver;
  driver.fail<&Driver::granularity>(Code::not_supported);
  EXPECT_TRUE(fails(CudaDevice::open({}), Errc::unsupported, "has no virtual memory management"));
}

TEST(CudaDevice, DefaultSizesFollowDriver) {
  const FakeCudaDriver driver({.memory = {256 << 20}, .context = {56 << 20}, .granularity = {1 << 16}});
  const auto device = open_cuda({});
  EXPECT_EQ(device->chunk_size(), Bytes{1 << 16});
  EXPECT_EQ(device->capacity(), Bytes{175 << 20}) << "of the 200 MiB that are free, an eighth is left to the libraries";
}

TEST(CudaDevice, RefusesInvalidSizes) {
  const FakeCudaDriver driver({.memory = {256 << 20}, .context = {56 << 20}});
  EXPECT_TRUE(fails(CudaDevice::open({.chunk = Bytes{5000}}), Errc::refused, "chunks in multiples of 4KiB"));
  EXPECT_TRUE(fails(CudaDevice::open({.capacity = Bytes{4095}}), Errc::refused, "holds no chunk"));
  EXPECT_TRUE(fails(CudaDevice::open({.capacity = Bytes{201 << 20}}), Errc::refused,
                    "201 MiB was requested, 200 MiB are free on Fake GPU"));
  EXPECT_TRUE(CudaDevice::open({.capacity = Bytes{200 << 20}}));
}

TEST(CudaDevice, IntegratedDeviceAllowsCapacityAboveFreeMemory) {
  const FakeCudaDriver driver({.integrated = true, .others = {200 << 20}});
  EXPECT_TRUE(CudaDevice::open({.capacity = Bytes{100 << 20}}));
}

TEST(CudaDevice, CapacityIsRoundedDownToWholeChunks) {
  const FakeCudaDriver driver;
  EXPECT_EQ(open_cuda({.capacity = Bytes{3 * 8192 + 5000}, .chunk = Bytes{8192}})->capacity(), Bytes{3 * 8192});
}

TEST(CudaDevice, ReportsFailedAddressReservation) {
  FakeCudaDriver driver;
  driver.fail<&Driver::address_reserve>(Code::out_of_memory);
  EXPECT_TRUE(fails(CudaDevice::open(eight_chunks()), Errc::out_of_memory,
                    "reserving addresses for 128 KiB of chunks failed: CUDA_ERROR_OUT_OF_MEMORY"));
}

TEST(CudaDevice, ComputeStreamsHaveGreatestPriority) {
  const FakeCudaDriver driver;
  const auto device = open_cuda();
  EXPECT_EQ(driver.priority_of(device->stream(EngineKind::compute)), -5);
  EXPECT_EQ(driver.priority_of(device->stream(EngineKind::copy_in)), 0);
  EXPECT_EQ(driver.priority_of(device->stream(EngineKind::copy_out)), 0);
  ASSERT_TRUE(device->start_secondary_compute());
  EXPECT_EQ(driver.priority_of(device->stream(EngineKind::secondary_compute)), -5)
      << "neither of two jobs waits for the other";
}

TEST(CudaDevice, SecondComputeEngineHasNoStreamBeforeStart) {
  const FakeCudaDriver driver;
  const auto device = open_cuda();
  const auto before = driver.objects();
  EXPECT_EQ(device->stream(EngineKind::secondary_compute), nullptr);
  ASSERT_TRUE(device->start_secondary_compute());
  EXPECT_EQ(driver.objects().streams, before.streams + 1);
}

TEST(CudaDevice, RefusesSecondComputeEngineUnderSpinCompletion) {
  const FakeCudaDriver driver;
  auto options = eight_chunks();
  options.completion = Completion::spin;
  EXPECT_TRUE(
      fails(open_cuda(options)->start_secondary_compute(), Errc::refused, "two concurrent jobs need \"block\""));
}

TEST(CudaDevice, WaitsByBlockingOrSpinningAsConfigured) {
  for (const auto completion : {Completion::block, Completion::spin}) {
    const FakeCudaDriver driver;
    auto options = eight_chunks();
    options.completion = completion;
    const auto device = open_cuda(options);
    const bool block = completion == Completion::block;
    const auto spinning =
        std::ranges::count_if(driver.event_flags(), [](unsigned flags) { return flags == cuda::event_disable_timing; });
    EXPECT_EQ(spinning, block ? 0 : 1 + static_cast<int>(Device::copies_at_once)) << "of the compute engine alone";
    const int synchronized = driver.calls<&Driver::event_synchronize>();
    const int queried = driver.calls<&Driver::event_query>();
    ASSERT_TRUE(device->wait(EngineKind::compute));
    EXPECT_EQ(driver.calls<&Driver::event_synchronize>() - synchronized, block ? 1 : 0);
    EXPECT_EQ(driver.calls<&Driver::event_query>() - queried, block ? 0 : 2) << "not ready, then ready";
  }
}

// ---- memory use ----

TEST(CudaDevice, MemoryUseExcludesOtherProcessesIfManagementLibraryExists) {
  const FakeCudaDriver driver({.context = {8 << 20}, .others = {50 << 20}});
  const auto device = open_cuda();
  (void)device->create_chunks(3).value();
  const auto use = device->memory_use().value();
  EXPECT_EQ(use.context, Bytes{8 << 20});
  EXPECT_EQ(use.own, Bytes{8 << 20} + chunk_of_tests * 3);
}

TEST(CudaDevice, MemoryUseIncludesOtherProcessesWithoutManagementLibrary) {
  const FakeCudaDriver driver({.context = {8 << 20}, .others = {50 << 20}, .management = false});
  const auto device = open_cuda();
  EXPECT_EQ(device->memory_use().value().context, Bytes{58 << 20});
  EXPECT_EQ(device->memory_use().value().own, Bytes{58 << 20});
}

TEST(CudaDevice, MemoryUseNeverDropsBelowZero) {
  FakeCudaDriver driver({.others = {50 << 20}});
  const auto device = open_cuda();
  driver.set_others(Bytes{0});
  EXPECT_EQ(device->memory_use().value().own, Bytes{0});
}

TEST(CudaDevice, RefusesManagedMemoryBeyondFreeMemory) {
  const FakeCudaDriver driver({.memory = {64 << 20}, .context = {8 << 20}});
  const auto device = open_cuda();
  EXPECT_TRUE(
      fails(device->allocate(BufferKind::managed, Bytes{57 << 20}), Errc::out_of_memory, "57.0 MiB of managed memory"));
  EXPECT_EQ(driver.calls<&Driver::allocate_managed>(), 0);
}

TEST(CudaDevice, PrefetchesManagedMemoryInStreamOfEngine) {
  FakeCudaDriver driver({.devices = 2});
  CudaOptions options = eight_chunks();
  options.ordinal = 1;
  const auto device = open_cuda(options);
  EXPECT_TRUE(device->can_prefetch());
  const Buffer buffer = device->allocate(BufferKind::managed, Bytes{100'000}).value();
  driver.watch_work();
  EXPECT_TRUE(device->prefetch(buffer.device, Bytes{4096}, Side::device, EngineKind::copy_in));
  EXPECT_TRUE(device->prefetch(buffer.device + 4096, Bytes{90'000}, Side::host, EngineKind::compute));
  const auto work = driver.work();
  ASSERT_EQ(work.size(), 2U);
  EXPECT_EQ(work[0].what, "to device 1");
  EXPECT_EQ(work[0].stream, device->stream(EngineKind::copy_in));
  EXPECT_EQ(work[0].size, 4096U);
  EXPECT_EQ(work[1].what, "to host");
  EXPECT_EQ(work[1].stream, device->stream(EngineKind::compute));
  EXPECT_EQ(work[1].at, reinterpret_cast<cuda::DevicePointer>(buffer.device + 4096));
}

TEST(CudaDevice, PrefetchesManagedMemoryToDeviceWhenClearing) {
  FakeCudaDriver driver;
  const auto device = open_cuda();
  driver.watch_work();
  const Buffer cleared = device->allocate(BufferKind::managed, Bytes{4096}).value();
  ASSERT_EQ(driver.work().size(), 1U);
  EXPECT_EQ(driver.work()[0].what, "to device 0");
  EXPECT_EQ(cleared.host[4095], std::byte{0});
  const auto before = driver.objects();
  driver.fail<&Driver::prefetch_async>(Code::invalid_value);
  EXPECT_TRUE(fails(device->allocate(BufferKind::managed, Bytes{4096}), Errc::device_fault, "prefetching"));
  EXPECT_EQ(driver.objects(), before);
}

TEST(CudaDevice, AllocateUntouchedNeitherPrefetchesNorClears) {
  FakeCudaDriver driver({.memory = {64 << 20}, .context = {8 << 20}});
  const auto device = open_cuda();
  driver.watch_work();
  const int cleared = driver.calls<&Driver::set_bytes_async>();
  const Buffer buffer = device->allocate_untouched(Bytes{4096}).value();
  EXPECT_TRUE(driver.work().empty());
  EXPECT_EQ(driver.calls<&Driver::set_bytes_async>(), cleared);
  EXPECT_TRUE(device->free(buffer));
  EXPECT_TRUE(fails(device->allocate_untouched(Bytes{57 << 20}), Errc::out_of_memory, "57.0 MiB of managed memory"));
}

TEST(CudaDevice, RefusesPrefetchOfDeviceMemory) {
  const FakeCudaDriver driver;
  const auto device = open_cuda();
  const Buffer buffer = device->allocate(BufferKind::device, Bytes{4096}).value();
  EXPECT_EQ(device->prefetch(buffer.device, buffer.size, Side::host, EngineKind::compute).error(), Errc::device_fault);
}

/// Boards on which host and GPU may not use managed memory concurrently.
TEST(CudaDevice, RefusesPrefetchWithoutConcurrentManagedAccess) {
  const FakeCudaDriver driver({.concurrent_managed = false});
  const auto device = open_cuda();
  EXPECT_FALSE(device->can_prefetch());
  const Buffer buffer = device->allocate(BufferKind::managed, Bytes{4096}).value();
  EXPECT_EQ(device->prefetch(buffer.device, buffer.size, Side::device, EngineKind::compute).error(), Errc::unsupported);
  EXPECT_EQ(driver.calls<&Driver::prefetch_async>(), 0);
}

// ---- probes ----

TEST(CudaDevice, SupportsAllCapabilitiesExceptHostWindow) {
  FakeCudaDriver driver;
  add_digest_kernel(driver);
  const auto device = open_cuda();
  EXPECT_TRUE(device->capabilities().read_only_mapping);
  EXPECT_TRUE(device->capabilities().shared_mapping);
  EXPECT_TRUE(device->capabilities().remap_under_load);
  EXPECT_TRUE(device->capabilities().digest);
  EXPECT_FALSE(device->capabilities().host_sees_window);
  for (const auto& finding : device->capabilities().findings) EXPECT_TRUE(finding.ends_with(": works")) << finding;
}

TEST(CudaDevice, DetectsUnenforcedReadOnlyMappings) {
  const FakeCudaDriver driver({.enforces_read_only = false});
  const auto device = open_cuda();
  EXPECT_FALSE(device->capabilities().read_only_mapping);
  EXPECT_TRUE(device->capabilities().findings[1].ends_with("it is not detected: constants are not protected"))
      << device->capabilities().findings[1];
}

TEST(CudaDevice, SkipsRemapProbeOnOldArchitecture) {
  const FakeCudaDriver driver({.architecture = 72});
  const auto device = open_cuda();
  EXPECT_FALSE(device->capabilities().remap_under_load);
  EXPECT_NE(device->capabilities().findings[2].find("not tried"), std::string::npos);
  EXPECT_TRUE(device->capabilities().shared_mapping);
}

// ---- digests ----

TEST(CudaDigests, AreUnsupportedWithoutKernel) {
  FakeCudaDriver without_kernel;
  const auto missing = open_cuda();
  auto options = eight_chunks();
  options.kernels = {};
  const auto without_images = open_cuda(options);
  without_kernel.fail<&Driver::module_load>(Code::unsupported_ptx);
  const auto not_loaded = open_cuda();
  for (const auto* device : {&missing, &without_images, &not_loaded}) {
    const auto chunk = (*device)->create_chunks(1).value().front();
    Digest result;
    EXPECT_TRUE(fails((*device)->digest((*device)->window(chunk), chunk_of_tests, result), Errc::unsupported));
    EXPECT_FALSE((*device)->capabilities().digest);
    EXPECT_NE((*device)->capabilities().findings.back().find("no kernel"), std::string::npos)
        << (*device)->capabilities().findings.back();
  }
  EXPECT_EQ(without_kernel.objects().buffers, 0u);
}

TEST(CudaDigests, KernelWithWrongResultDisablesDigests) {
  FakeCudaDriver driver;
  add_digest_kernel(driver, 1);
  EXPECT_FALSE(open_cuda()->capabilities().digest);
}

TEST(CudaDigests, RunInStreamOfCallingEngine) {
  FakeCudaDriver driver;
  add_digest_kernel(driver);
  const auto device = open_cuda();
  const auto chunk = device->create_chunks(1).value().front();
  Digest result;
  const auto digest = [&]() noexcept { return device->digest(device->window(chunk), chunk_of_tests, result); };
  const int buffers = driver.calls<&Driver::allocate>() + driver.calls<&Driver::allocate_host>();
  for (const auto kind : {EngineKind::compute, EngineKind::copy_in, EngineKind::copy_out}) {
    EXPECT_TRUE(on_engine(device->engine(kind), digest));
    EXPECT_EQ(driver.last_launched_in(), device->stream(kind));
  }
  EXPECT_TRUE(digest());
  for (const auto kind : {EngineKind::compute, EngineKind::copy_in, EngineKind::copy_out})
    EXPECT_NE(driver.last_launched_in(), device->stream(kind));
  EXPECT_EQ(driver.calls<&Driver::allocate>() + driver.calls<&Driver::allocate_host>(), buffers);
}

TEST(CudaDigests, ErrorsOfLaunchAndWaitAreReturned) {
  FakeCudaDriver driver;
  add_digest_kernel(driver);
  const auto device = open_cuda();
  const auto chunk = device->create_chunks(1).value().front();
  Digest result{3, 4};
  driver.fail<&Driver::launch>(Code::invalid_value);
  EXPECT_TRUE(fails(device->digest(device->window(chunk), chunk_of_tests, result), Errc::device_fault));
  driver.fail<&Driver::event_synchronize>(Code::illegal_address);
  EXPECT_TRUE(fails(device->digest(device->window(chunk), chunk_of_tests, result), Errc::device_fault));
  EXPECT_TRUE(fails(device->digest(device->window(chunk), chunk_of_tests, result), Errc::device_lost));
  EXPECT_EQ(result, (Digest{3, 4}));
}

// ---- copies and concurrent work ----

/// A device with one chunk, and the driver's call counts when the copy's concurrent work ran.
struct WorkDuringCopies {
  FakeCudaDriver driver;
  std::unique_ptr<CudaDevice> device = open_cuda();
  Chunk chunk = device->create_chunks(1).value().front();
  Contents host = Contents(chunk_of_tests.count, std::byte{6});
  Status outcome; // of the concurrent work
  int ran = 0, copies = 0, waits = 0;

  Status copy() {
    const DuringCopy during{[](void* context) noexcept -> Status {
                              auto& mine = *static_cast<WorkDuringCopies*>(context);
                              ++mine.ran;
                              mine.copies = mine.driver.calls<&Driver::copy_async>();
                              mine.waits = mine.driver.calls<&Driver::event_synchronize>();
                              return mine.outcome;
                            },
                            this};
    return on_engine(device->engine(EngineKind::copy_in), [&]() noexcept {
      return device->copy(device->window(chunk), host.data(), chunk_of_tests, during);
    });
  }
  int copied() const { return driver.calls<&Driver::copy_async>(); }
  int waited() const { return driver.calls<&Driver::event_synchronize>(); }
};

TEST(CudaDevice, ConcurrentWorkRunsBetweenCopyStartAndWait) {
  WorkDuringCopies test;
  for (const Status& outcome : {Status(), Status(Unexpected(Errc::bad_input))}) {
    test.outcome = outcome;
    const int copied = test.copied();
    const int waited = test.waited();
    EXPECT_EQ(test.copy(), outcome);
    EXPECT_EQ(test.copies, copied + 1) << "the copy was put into its stream before";
    EXPECT_EQ(test.waits, waited) << "and nothing was waited for";
    EXPECT_EQ(test.waited(), waited + 1) << "afterwards it was, whatever came of the neighbour";
  }
  EXPECT_EQ(test.ran, 2);
}

TEST(CudaDevice, ReportsFailedCopyWithAndWithoutConcurrentWork) {
  WorkDuringCopies test;
  test.driver.fail<&Driver::copy_async>(Code::invalid_value);
  EXPECT_TRUE(fails(test.copy(), Errc::device_fault));
  EXPECT_EQ(test.ran, 0) << "there is no copy to run beside";
  test.driver.fail<&Driver::event_synchronize>(Code::not_permitted);
  EXPECT_TRUE(fails(test.copy(), Errc::refused));
  EXPECT_EQ(test.ran, 1);
  test.driver.fail<&Driver::event_synchronize>(Code::not_permitted);
  test.outcome = Unexpected(Errc::out_of_memory);
  EXPECT_TRUE(fails(test.copy(), Errc::out_of_memory)) << "the first of two";
}

/// Copies in halves, on the copy-in engine.
struct HalfCopies : WorkDuringCopies {
  Status begin() {
    return on_engine(device->engine(EngineKind::copy_in),
                     [&]() noexcept { return device->begin_copy(device->window(chunk), host.data(), chunk_of_tests); });
  }
  Status end() {
    return on_engine(device->engine(EngineKind::copy_in), [&]() noexcept { return device->end_copy(); });
  }
};

TEST(CudaDevice, EndCopyWaitsOnlyForItsCopy) {
  HalfCopies test;
  const int copied = test.copied();
  const int waited = test.waited();
  std::vector<cuda::Event> begun;
  for (std::size_t i = 0; i < 2 * Device::copies_at_once; ++i) {
    ASSERT_TRUE(test.begin());
    begun.push_back(test.driver.last_recorded());
    if (i == 0) continue; // one copy stays under way
    ASSERT_TRUE(test.end());
    EXPECT_EQ(test.driver.last_waited_for(), begun[i - 1]);
    EXPECT_NE(test.driver.last_waited_for(), begun[i]);
  }
  EXPECT_EQ(test.copied() - copied, 2 * static_cast<int>(Device::copies_at_once));
  EXPECT_EQ(test.waited() - waited, 2 * static_cast<int>(Device::copies_at_once) - 1) << "to begin is not to wait";
  EXPECT_TRUE(test.end());
  EXPECT_TRUE(fails(test.end(), Errc::bad_input));
}

TEST(CudaDeviceFaults, ReportsFailedBeginCopyAndEndCopy) {
  HalfCopies test;
  test.driver.fail<&Driver::copy_async>(Code::invalid_value);
  EXPECT_TRUE(fails(test.begin(), Errc::device_fault));
  test.driver.fail<&Driver::event_record>(Code::not_permitted);
  EXPECT_TRUE(fails(test.begin(), Errc::refused));
  EXPECT_TRUE(fails(test.end(), Errc::bad_input)) << "neither is begun";
  ASSERT_TRUE(test.begin());
  ASSERT_TRUE(test.begin());
  test.driver.fail<&Driver::event_synchronize>(Code::not_permitted);
  EXPECT_TRUE(fails(test.end(), Errc::refused));
  ASSERT_TRUE(test.begin());
  test.driver.fail<&Driver::event_synchronize>(Code::illegal_address);
  EXPECT_TRUE(fails(test.end(), Errc::device_fault)) << "the second: the first is ended";
  EXPECT_TRUE(fails(test.end(), Errc::device_lost));
  EXPECT_TRUE(fails(test.end(), Errc::device_lost)) << "there is none any more";
  EXPECT_TRUE(fails(test.begin(), Errc::device_lost));
}

// ---- pinned memory ----

TEST(CudaDevice, DestructionUnpinsRemainingMemory) {
  const FakeCudaDriver driver;
  auto memory = Mapping::anonymous(page_size() * 2, PROT_READ | PROT_WRITE, 0, "a test");
  ASSERT_TRUE(memory);
  auto device = open_cuda();
  ASSERT_TRUE(device->pin(memory->base(), page_size()));
  ASSERT_TRUE(device->pin(memory->base() + page_size().count, page_size()));
  EXPECT_EQ(driver.objects().registered, 2u);
  EXPECT_TRUE(device->unpin(memory->base()));
  EXPECT_EQ(driver.objects().registered, 1u);
  device.reset();
  EXPECT_EQ(driver.objects(), FakeCudaObjects());
}

TEST(CudaDeviceFaults, FailedPinAndUnpinCanBeRepeated) {
  FakeCudaDriver driver;
  auto memory = Mapping::anonymous(page_size(), PROT_READ | PROT_WRITE, 0, "a test");
  ASSERT_TRUE(memory);
  const auto device = open_cuda();
  driver.fail<&Driver::register_host>(Code::not_supported);
  EXPECT_TRUE(fails(device->pin(memory->base(), page_size()), Errc::unsupported,
                    "page-locking 4.00 KiB of host memory failed"));
  ASSERT_TRUE(device->pin(memory->base(), page_size()));
  driver.fail<&Driver::unregister_host>(Code::invalid_value);
  EXPECT_TRUE(fails(device->unpin(memory->base()), Errc::device_fault, "unlocking 4.00 KiB of host memory failed"));
  EXPECT_TRUE(device->unpin(memory->base()));
}

// ---- kernel images ----

TEST(CudaImages, ChooseNewestImageThatDeviceCanLoad) {
  const cuda::KernelImage images[] = {{"a", 62, true, "", 0},  {"a", 75, false, "", 0}, {"a", 80, false, "", 0},
                                      {"a", 86, false, "", 0}, {"a", 90, false, "", 0}, {"a", 90, true, "", 0},
                                      {"b", 62, true, "", 0}};
  const auto of_a = [&](int architecture) {
    const auto chosen = cuda::choose_images(images, architecture);
    return chosen.empty() || chosen[0].name != "a" ? std::pair(0, false)
                                                   : std::pair(chosen[0].architecture, chosen[0].ptx);
  };
  EXPECT_EQ(of_a(61), std::pair(0, false));
  EXPECT_EQ(of_a(62), std::pair(62, true));
  EXPECT_EQ(of_a(75), std::pair(75, false));
  EXPECT_EQ(of_a(89), std::pair(86, false)) << "a cubin runs on later ones of its ten";
  EXPECT_EQ(of_a(90), std::pair(90, false)) << "compiled rather than translated";
  EXPECT_EQ(of_a(120), std::pair(90, true)) << "PTX runs on all later ones";
  EXPECT_EQ(cuda::choose_images(images, 90).size(), 2U);
}

// ---- engines ----

TEST(CudaDevice, EngineThreadsHaveContextAndOthersMustEnterIt) {
  const FakeCudaDriver driver;
  const auto device = open_cuda();
  std::size_t free = 0, total = 0;
  const auto ask = [&]() noexcept -> Status { return device->check(driver.table().memory_info(&free, &total)); };
  for (const auto kind : {EngineKind::compute, EngineKind::copy_in, EngineKind::copy_out})
    EXPECT_TRUE(on_engine(device->engine(kind), ask));
  Status stranger, guest;
  Contents host(100);
  auto thread = Thread::start({}, [&] {
    stranger = ask();
    guest = device->enter() ? ask() : Unexpected(Errc::refused);
  });
  ASSERT_TRUE(thread);
  thread->join();
  EXPECT_FALSE(stranger);
  EXPECT_TRUE(guest);
}

TEST(CudaDevice, CallsFromAnyThreadEnterContext) {
  const FakeCudaDriver driver;
  const auto device = open_cuda();
  const auto chunks = device->create_chunks(1).value();
  Contents host(100, std::byte{3}), back(100);
  std::size_t good = 0;
  auto thread = Thread::start({}, [&] { // a thread that never entered the context
    const auto range = device->reserve(chunk_of_tests);
    good += range && device->map(*range, 0, chunks[0], Access::read_write);
    good += device->copy(range->base, host.data(), Bytes{100}).has_value();
    good += device->copy(back.data(), device->window(chunks[0]), Bytes{100}).has_value();
    good += device->unmap(*range, 0).has_value();
    good += device->memory_use().has_value();
  });
  ASSERT_TRUE(thread);
  thread->join();
  EXPECT_EQ(good, 5u);
  EXPECT_EQ(back, host);
}

// ---- kernels and graphs ----

struct StoreArguments {
  int* where = nullptr;
  int value = 0;
};

/// A graph whose kernel stores 42 in a buffer.
struct Storing {
  FakeCudaDriver driver;
  std::unique_ptr<CudaDevice> device;
  GpuModule module;
  Buffer buffer;
  GpuGraph graph;

  explicit Storing(const FakeCudaProperties& properties = {}) : driver(properties), device(open_cuda()) {
    driver.add_kernel<StoreArguments>("store", [](auto grid, auto block, const StoreArguments& store) {
      *store.where += store.value * int(grid.x * block.x);
    });
    module = std::move(device->load(image, "tests").value());
    buffer = device->allocate(BufferKind::device, Bytes{256}).value();
    auto captured = device->capture([&] { return launch(); });
    EXPECT_TRUE(captured) << problem(captured);
    if (captured) graph = std::move(*captured);
  }

  Result<> launch() {
    const auto kernel = module.kernel("store");
    if (!kernel) return Unexpected(kernel.error());
    StoreArguments arguments{reinterpret_cast<int*>(buffer.device), 7};
    void* addresses[] = {&arguments};
    const auto launched = device->launch(*kernel, {2}, {3}, {}, addresses);
    return launched ? Result<>() : fail(launched.error(), "launching store");
  }

  int stored() {
    int value = -1;
    EXPECT_TRUE(device->copy(reinterpret_cast<std::byte*>(&value), buffer.device, Bytes{sizeof value}));
    return value;
  }

  Status run() {
    return on_engine(device->engine(EngineKind::compute), [&]() noexcept { return device->run(graph); });
  }
};

TEST(CudaGraphs, CapturedWorkRunsWhenLaunchedAndKeepsItsArguments) {
  for (const bool old : {false, true}) {
    Storing storing({.old = old});
    EXPECT_EQ(storing.stored(), 0) << "captured, not run";
    EXPECT_TRUE(storing.run());
    EXPECT_EQ(storing.stored(), 42);
    EXPECT_TRUE(storing.run());
    EXPECT_EQ(storing.stored(), 84);
    EXPECT_EQ(storing.driver.objects().graphs, 0u) << "only the executable is kept";
    EXPECT_EQ(storing.driver.objects().executables, 1u);
    GpuGraph moved = std::move(storing.graph);
    moved = GpuGraph();
    storing.module = GpuModule();
    EXPECT_EQ(storing.driver.objects().executables, 0u);
    EXPECT_EQ(storing.driver.objects().modules, 0u);
  }
}

TEST(CudaGraphs, ExecutionTimeIsGpuTimeWithoutWakeUpDelay) {
  constexpr Duration delay = std::chrono::milliseconds(20), own = std::chrono::milliseconds(5);
  for (const bool old : {false, true}) {
    Storing storing({.old = old});
    storing.driver.delay_wake_ups(delay);
    Duration passed{}, executed{};
    EXPECT_TRUE(on_engine(storing.device->engine(EngineKind::compute), [&]() noexcept -> Status {
      for (int job = 0; job < 2; ++job) { // the second job is not affected by the first
        storing.device->begin_execution(Concurrency::alone);
        const Instant begin = now();
        for (int graph = 0; graph < 2; ++graph)
          if (const Status ran = storing.device->run(storing.graph); !ran) return ran;
        while (now() - begin < 2 * delay + own) {} // time without a graph counts in full
        passed = now() - begin;
        executed = storing.device->executed(passed);
      }
      return {};
    }));
    if (old) {
      EXPECT_EQ(executed, passed) << "nothing is known of the GPU";
    } else {
      EXPECT_LE(executed, passed - 2 * delay);
    }
    EXPECT_GT(executed, Duration(0));
  }
}

TEST(CudaGraphs, WorkRunsInStreamOfLaunchingComputeEngine) {
  Storing storing;
  CudaDevice& device = *storing.device;
  ASSERT_TRUE(device.start_secondary_compute());
  for (const auto kind : {EngineKind::compute, EngineKind::secondary_compute}) {
    bool own = false;
    EXPECT_TRUE(on_engine(device.engine(kind), [&]() noexcept -> Status {
      own = device.compute_engine() == kind && device.stream() == device.stream(kind);
      return storing.launch() ? device.wait() : Unexpected(Errc::device_fault);
    }));
    EXPECT_TRUE(own);
    EXPECT_EQ(storing.driver.last_launched_in(), device.stream(kind));
    EXPECT_TRUE(on_engine(device.engine(kind), [&]() noexcept { return device.run(storing.graph); }));
    EXPECT_EQ(storing.driver.last_graph_in(), device.stream(kind)) << "it was captured in that of the first one";
  }
  EXPECT_EQ(storing.stored(), 4 * 42);
  EXPECT_EQ(device.compute_engine(), EngineKind::compute) << "of a thread of set-up";
}

TEST(CudaGraphs, EachGraphOwnsBeginAndEndEvents) {
  Storing storing;
  const std::size_t events = storing.driver.objects().events;
  auto other = storing.device->capture([&] { return storing.launch(); });
  ASSERT_TRUE(other);
  EXPECT_EQ(storing.driver.objects().events, events + 2);
  storing.graph = std::move(*other);
  *other = GpuGraph();
  EXPECT_EQ(storing.driver.objects().events, events) << "with the graph that it belonged to";
  EXPECT_TRUE(storing.run());
}

/// Each wait covers the work begun first, not the work after it.
TEST(CudaGraphs, EndRunWaitsForBegunRunsOneByOne) {
  Storing storing;
  CudaDevice& device = *storing.device;
  EXPECT_TRUE(fails(device.begin_run(GpuGraph()), Errc::bad_input));
  EXPECT_TRUE(fails(device.end_run(storing.graph), Errc::bad_input)) << "none was begun";
  EXPECT_TRUE(on_engine(device.engine(EngineKind::compute), [&]() noexcept -> Status {
    std::array<cuda::Event, Device::copies_at_once> recorded{};
    for (cuda::Event& each : recorded) {
      if (const Status begun = device.begin_run(storing.graph); !begun) return begun;
      each = storing.driver.last_recorded();
    }
    if (device.begin_run(storing.graph)) return Unexpected(Errc::bad_input);
    for (const cuda::Event each : recorded) {
      if (const Status ended = device.end_run(storing.graph); !ended) return ended;
      if (storing.driver.last_waited_for() != each) return Unexpected(Errc::device_fault);
    }
    return device.begin_run(storing.graph) ? device.end_run(storing.graph) : Unexpected(Errc::device_fault);
  }));
  EXPECT_EQ(storing.stored(), static_cast<int>(Device::copies_at_once + 1) * 42);
}

TEST(CudaGraphs, CaptureReturnsErrorOfBodyAndFreesStream) {
  Storing storing;
  const auto failed = storing.device->capture([&]() -> Result<> {
    EXPECT_TRUE(storing.launch());
    return fail(Errc::unsupported, "of the body");
  });
  EXPECT_TRUE(fails(failed, Errc::unsupported, "of the body"));
  EXPECT_EQ(storing.driver.objects().graphs, 0u);
  EXPECT_EQ(storing.driver.objects().executables, 1u);
  EXPECT_TRUE(storing.device->capture([&] { return storing.launch(); }));
  EXPECT_TRUE(storing.run());
  EXPECT_EQ(storing.stored(), 42);
}

TEST(CudaGraphs, EmptyGraphAndUnknownKernelAreErrors) {
  Storing storing;
  EXPECT_TRUE(fails(storing.device->run(GpuGraph()), Errc::bad_input));
  EXPECT_TRUE(fails(storing.module.kernel("other"), Errc::unsupported,
                    "finding kernel other in tests failed: CUDA_ERROR_NOT_FOUND"));
  EXPECT_TRUE(fails(GpuModule().kernel("other"), Errc::bad_input, "from a module that is not loaded"));
  storing.driver.fail<&Driver::module_load>(Code::no_binary_for_gpu);
  EXPECT_TRUE(
      fails(storing.device->load(image, "others"), Errc::unsupported, "loading the kernels of others for sm_90"));
}

TEST(CudaGraphs, RunningAllocatesNothing) {
  const FakeCudaDriver driver;
  const auto device = open_cuda();
  const auto buffer = device->allocate(BufferKind::device, Bytes{256}).value();
  const auto graph = device->capture([&] {
    return device->checked(driver.table().set_bytes_async(reinterpret_cast<cuda::DevicePointer>(buffer.device), 1, 256,
                                                          device->stream(EngineKind::compute)),
                           "setting");
  });
  ASSERT_TRUE(graph) << problem(graph);
  const auto counted = [&] {
    return allocations() + counts_of(device->engine(EngineKind::compute).kernel_id()).allocations;
  };
  const auto run = [&]() noexcept { return device->run(*graph); };
  ASSERT_TRUE(on_engine(device->engine(EngineKind::compute), run));
  const auto before = counted();
  std::size_t failed = 0;
  for (int round = 0; round < 20; ++round) failed += !on_engine(device->engine(EngineKind::compute), run);
  EXPECT_EQ(counted(), before);
  EXPECT_EQ(failed, 0u);
}

// ---- errors ----

TEST(CudaDeviceFaults, MapsErrorCodesAndOnlyStickyOnesLoseDevice) {
  const FakeCudaDriver driver;
  const auto device = open_cuda();
  EXPECT_TRUE(device->check(Code::success));
  EXPECT_TRUE(fails(device->check(Code::out_of_memory), Errc::out_of_memory));
  EXPECT_TRUE(fails(device->check(Code::not_supported), Errc::unsupported));
  EXPECT_TRUE(fails(device->check(Code::not_permitted), Errc::refused));
  EXPECT_TRUE(fails(device->check(Code::invalid_value), Errc::device_fault));
  EXPECT_FALSE(device->fault());
  EXPECT_TRUE(fails(device->checked(Code::out_of_memory, "doing this"), Errc::out_of_memory,
                    "doing this failed: CUDA_ERROR_OUT_OF_MEMORY (as the fake driver was told).\nAsk for less"));
  EXPECT_TRUE(fails(device->checked(Code::illegal_address, "doing that"), Errc::device_fault,
                    "doing that failed: CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_TRUE(fails(device->checked(Code::success, "the next"), Errc::device_lost,
                    "the next failed: Fake GPU was lost by CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_TRUE(fails(device->check(Code::launch_failed), Errc::device_lost));
  EXPECT_EQ(device->fault().value().what, "CUDA_ERROR_ILLEGAL_ADDRESS (as the fake driver was told)")
      << "the first one";
}

TEST(CudaDeviceFaults, KernelFaultFailsItsRunAndLosesDeviceForLaterCalls) {
  for (const auto code : {Code::illegal_address, Code::launch_failed, Code::ecc_uncorrectable}) {
    Storing storing;
    auto& device = *storing.device;
    const auto chunks = device.create_chunks(1).value();
    const auto range = device.reserve(chunk_of_tests * 2).value();
    ASSERT_TRUE(device.map(range, 0, chunks[0], Access::read));
    EXPECT_FALSE(device.fault());
    storing.driver.break_device(code);
    EXPECT_TRUE(fails(storing.run(), Errc::device_fault));
    EXPECT_EQ(device.fault().value().what, describe(storing.driver.table(), code));
    Contents host(10);
    EXPECT_TRUE(fails(storing.run(), Errc::device_lost));
    EXPECT_TRUE(fails(device.wait(EngineKind::compute), Errc::device_lost));
    EXPECT_TRUE(fails(device.copy(host.data(), device.window(chunks[0]), Bytes{10}), Errc::device_lost));
    EXPECT_TRUE(fails(device.copy(nullptr, nullptr, Bytes{10}), Errc::device_lost));
    EXPECT_TRUE(fails(device.map(range, 1, chunks[0], Access::read), Errc::device_lost));
    EXPECT_TRUE(fails(device.unmap(range, 0), Errc::device_lost));
    EXPECT_TRUE(fails(device.create_chunks(1), Errc::device_lost, "was lost by"));
    EXPECT_TRUE(fails(device.reserve(chunk_of_tests), Errc::device_lost, "was lost by"));
    EXPECT_TRUE(fails(device.release(range), Errc::device_lost, "was lost by"));
    EXPECT_TRUE(fails(device.allocate(BufferKind::host, Bytes{10}), Errc::device_lost, "was lost by"));
    EXPECT_TRUE(fails(device.free(storing.buffer), Errc::device_lost, "was lost by"));
    EXPECT_TRUE(fails(device.memory_use(), Errc::device_lost, "was lost by"));
    EXPECT_TRUE(fails(device.enter(), Errc::device_lost, "was lost by"));
    EXPECT_TRUE(fails(device.load(image, "more"), Errc::device_lost, "was lost by"));
    EXPECT_TRUE(fails(device.capture([] { return Result<>(); }), Errc::device_lost, "was lost by"));
    EXPECT_EQ(device.chunks_created(), 1u);
    storing.graph = GpuGraph();
    storing.module = GpuModule();
    storing.device.reset();
    EXPECT_EQ(storing.driver.objects(), FakeCudaObjects()) << "a lost device gives everything back";
  }
}

TEST(CudaDeviceFaults, OneThreadSeesFaultAndOthersSeeDeviceLoss) {
  const FakeCudaDriver driver;
  const auto device = open_cuda();
  std::atomic<int> faults = 0, losses = 0;
  std::vector<Thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.push_back(std::move(Thread::start({}, [&] {
                                  const Status outcome = device->check(Code::illegal_address);
                                  if (outcome) return;
                                  faults += outcome.error() == Errc::device_fault;
                                  losses += outcome.error() == Errc::device_lost;
                                }).value()));
  }
  threads.clear();
  EXPECT_EQ(faults, 1);
  EXPECT_EQ(losses, 3);
}

TEST(CudaDeviceFaults, CreatesNoChunksIfAnyDriverCallFails) {
  FakeCudaDriver driver;
  const auto device = open_cuda();
  const auto before = driver.objects();
  driver.fail<&Driver::create>(Code::out_of_memory, 3);
  EXPECT_TRUE(fails(device->create_chunks(4), Errc::out_of_memory, "creating a chunk of 16.0 KiB failed"));
  driver.fail<&Driver::map>(Code::invalid_value, 2);
  EXPECT_TRUE(fails(device->create_chunks(4), Errc::device_fault, "mapping a chunk failed"));
  driver.fail<&Driver::set_access>(Code::invalid_value, 2);
  EXPECT_TRUE(fails(device->create_chunks(4), Errc::device_fault, "giving access to a chunk failed"));
  driver.fail<&Driver::set_bytes_async>(Code::invalid_value);
  EXPECT_TRUE(fails(device->create_chunks(4), Errc::device_fault, "clearing device memory failed"));
  EXPECT_EQ(device->chunks_created(), 0u);
  EXPECT_EQ(driver.objects(), before);
  EXPECT_TRUE(device->create_chunks(8));
}

/// A device with one chunk, mapped as slot 0 of a range of two.
struct Mapped {
  FakeCudaDriver driver;
  std::unique_ptr<CudaDevice> device = open_cuda();
  Chunk chunk = device->create_chunks(1).value().front();
  AddressRange range = device->reserve(chunk_of_tests * 2).value();
  Mapped() { EXPECT_TRUE(device->map(range, 0, chunk, Access::read_write)); }
};

TEST(CudaDeviceFaults, FailedMapLeavesSlotUnmappedAndUsable) {
  Mapped mapped;
  mapped.driver.fail<&Driver::map>(Code::invalid_value);
  EXPECT_TRUE(fails(mapped.device->map(mapped.range, 1, mapped.chunk, Access::read), Errc::device_fault));
  mapped.driver.fail<&Driver::set_access>(Code::out_of_memory);
  EXPECT_TRUE(fails(mapped.device->map(mapped.range, 1, mapped.chunk, Access::read), Errc::out_of_memory));
  EXPECT_TRUE(fails(mapped.device->unmap(mapped.range, 1), Errc::bad_input)) << "it is not mapped";
  EXPECT_TRUE(mapped.device->map(mapped.range, 1, mapped.chunk, Access::read));
}

TEST(CudaDeviceFaults, FailedUnmapReleaseAndFreeCanBeRepeated) {
  Mapped mapped;
  mapped.driver.fail<&Driver::unmap>(Code::invalid_value);
  EXPECT_TRUE(fails(mapped.device->unmap(mapped.range, 0), Errc::device_fault));
  mapped.driver.fail<&Driver::unmap>(Code::invalid_value);
  EXPECT_TRUE(fails(mapped.device->release(mapped.range), Errc::device_fault, "unmapping a chunk failed"));
  mapped.driver.fail<&Driver::address_free>(Code::invalid_value);
  EXPECT_TRUE(fails(mapped.device->release(mapped.range), Errc::device_fault, "giving addresses back failed"));
  EXPECT_TRUE(mapped.device->release(mapped.range));
  const auto buffer = mapped.device->allocate(BufferKind::host, Bytes{10}).value();
  mapped.driver.fail<&Driver::free_host>(Code::invalid_value);
  EXPECT_TRUE(fails(mapped.device->free(buffer), Errc::device_fault, "freeing a buffer failed"));
  EXPECT_TRUE(mapped.device->free(buffer));
}

TEST(CudaDeviceFaults, CopyToReadOnlyMappingFailsWithoutLosingDevice) {
  Mapped mapped;
  ASSERT_TRUE(mapped.device->map(mapped.range, 1, mapped.chunk, Access::read));
  Contents host(10);
  EXPECT_TRUE(
      fails(mapped.device->copy(mapped.range.base + chunk_of_tests.count, host.data(), Bytes{10}), Errc::device_fault));
  EXPECT_TRUE(mapped.device->copy(mapped.range.base, host.data(), Bytes{10}));
  EXPECT_FALSE(mapped.device->fault());
}

// ---- failure of each call in turn ----

/// Runs the life of a device until something fails.
Result<> live() {
  const auto typed = [](const Status& status) {
    return status ? Result<>() : fail(status.error(), "a real-time call");
  };
#define TRY(expression) \
  if (const auto& done = (expression); !done) return Unexpected(done.error())
  auto opened = CudaDevice::open(eight_chunks());
  TRY(opened);
  CudaDevice& device = **opened;
  const auto chunks = device.create_chunks(2);
  TRY(chunks);
  const auto range = device.reserve(chunk_of_tests * 2);
  TRY(range);
  TRY(typed(device.map(*range, 0, chunks->front(), Access::read)));
  TRY(typed(device.map(*range, 1, chunks->back(), Access::read_write)));
  Contents host(chunk_of_tests.count);
  TRY(typed(on_engine(device.engine(EngineKind::copy_in), [&]() noexcept {
    return device.copy(range->base + chunk_of_tests.count, host.data(), chunk_of_tests);
  })));
  TRY(typed(on_engine(device.engine(EngineKind::copy_out),
                      [&]() noexcept { return device.copy(host.data(), range->base, chunk_of_tests); })));
  Digest digest;
  TRY(typed(device.digest(range->base, chunk_of_tests, digest)));
  const auto memory = Mapping::anonymous(page_size() * 2, PROT_READ | PROT_WRITE, 0, "a life");
  TRY(memory);
  TRY(device.pin(memory->base(), page_size()));
  TRY(device.unpin(memory->base()));
  TRY(device.pin(memory->base() + page_size().count, page_size())); // left to the device's destructor
  std::vector<Buffer> buffers;
  for (const auto kind : {BufferKind::device, BufferKind::managed, BufferKind::host}) {
    const auto buffer = device.allocate(kind, Bytes{1000});
    TRY(buffer);
    buffers.push_back(*buffer);
  }
  TRY(device.memory_use());
  const auto module = device.load(image, "tests");
  TRY(module);
  const auto kernel = module->kernel("store");
  TRY(kernel);
  const auto graph = device.capture([&]() -> Result<> {
    StoreArguments arguments{reinterpret_cast<int*>(buffers[0].device), 7};
    void* addresses[] = {&arguments};
    const auto launched = device.launch(*kernel, {}, {}, {}, addresses);
    return launched ? Result<>() : fail(launched.error(), "launching failed");
  });
  TRY(graph);
  TRY(typed(on_engine(device.engine(EngineKind::compute), [&]() noexcept { return device.run(*graph); })));
  TRY(device.start_secondary_compute());
  TRY(typed(on_engine(device.engine(EngineKind::secondary_compute), [&]() noexcept { return device.run(*graph); })));
  TRY(typed(device.unmap(*range, 0)));
  TRY(device.release(*range));
  for (const Buffer& each : buffers) TRY(device.free(each));
#undef TRY
  return {};
}

bool gives_back(std::string_view function) {
  for (const std::string_view each :
       {"unmap", "address_free", "release", "free", "free_host", "unregister_host", "stream_destroy", "event_destroy",
        "module_unload", "graph_destroy", "graph_exec_destroy", "context_release"}) {
    if (function == each) return true;
  }
  return false;
}

struct Sweep {
  std::size_t places = 0, errors = 0;
  std::set<std::string> functions;
};

template <class Judge> Sweep fail_each_call(Code code, Judge judge) {
  Sweep sweep;
  for (int nth = 1;; ++nth) {
    const Held before = held();
    FakeCudaDriver driver({.memory = {32 << 20}}); // small, so that probes are short
    driver.add_kernel<StoreArguments>("store",
                                      [](auto, auto, const StoreArguments& store) { *store.where = store.value; });
    add_digest_kernel(driver);
    driver.fail_any(code, nth);
    const Result<> outcome = live();
    const char* failed = driver.failed();
    if (failed == nullptr) {
      EXPECT_TRUE(outcome) << problem(outcome);
      return sweep;
    }
    ++sweep.places;
    sweep.functions.insert(failed);
    SCOPED_TRACE("call " + std::to_string(nth) + ", " + failed);
    if (!outcome) {
      ++sweep.errors;
      EXPECT_FALSE(outcome.error().what.empty());
      judge(outcome.error());
    }
    // If the driver fails to release an object, it still has it.
    if (!gives_back(failed)) { EXPECT_EQ(driver.objects(), FakeCudaObjects()); }
    EXPECT_TRUE(eventually([&] { return held().threads == before.threads; }));
  }
}

TEST(CudaDeviceFaults, ReturnsTypedErrorAndLeaksNothingWhicheverCallFails) {
  const auto sweep = fail_each_call(Code::out_of_memory, [](const Error& error) {
    EXPECT_TRUE(error.code == Errc::out_of_memory || error.code == Errc::unsupported ||
                error.code == Errc::device_fault)
        << error.what;
  });
  EXPECT_GT(sweep.errors, 60u);
  EXPECT_GT(sweep.functions.size(), 40u) << "of the table's functions";
}

TEST(CudaDeviceFaults, ReportsFaultAndLeaksNothingWhicheverCallBreaksDevice) {
  const auto sweep = fail_each_call(Code::illegal_address, [](const Error& error) {
    EXPECT_TRUE(error.code == Errc::device_fault || error.code == Errc::device_lost) << error.what;
  });
  EXPECT_GT(sweep.errors, 100u);
}

TEST(CudaDeviceFaults, OpenReportsCauseIfProbeBreaksDevice) {
  FakeCudaDriver driver;
  driver.break_device(Code::illegal_address);
  const auto device = CudaDevice::open({.capacity = chunk_of_tests * 4, .chunk = chunk_of_tests});
  EXPECT_TRUE(fails(device, Errc::device_fault, "probing Fake GPU ended it: CUDA_ERROR_ILLEGAL_ADDRESS"));
}

// ---- open_device ----

Board cuda_board(Bytes capacity) {
  Board board;
  board.name = "gpu";
  board.device = DeviceKind::cuda;
  board.capacity = capacity;
  return board;
}

TEST(OpenCudaDevice, OpensDeviceOfBoardOrdinalWithinItsCapacity) {
  const FakeCudaDriver driver({.devices = 2});
  auto board = cuda_board(chunk_of_tests * 8);
  board.ordinal = 1;
  const auto device = open_device(board, chunk_of_tests * 4, chunk_of_tests, Completion::spin);
  ASSERT_TRUE(device) << problem(device);
  EXPECT_EQ((*device)->name(), "Fake GPU");
  EXPECT_EQ((*device)->capacity(), chunk_of_tests * 4);
  board.ordinal = 2;
  EXPECT_TRUE(
      fails(open_device(board, chunk_of_tests, chunk_of_tests), Errc::refused, "board \"gpu\": GPU 2 was requested"));
  EXPECT_TRUE(
      fails(open_device(board, chunk_of_tests * 9, chunk_of_tests), Errc::bad_input, "board \"gpu\" has 128KiB"));
}

TEST(OpenCudaDevice, DefaultsToFreeMemoryIfBoardHasNoCapacity) {
  const FakeCudaDriver driver({.memory = {256 << 20}, .context = {56 << 20}});
  const auto all = open_device(cuda_board(Bytes{0}), Bytes{0}, Bytes{0});
  ASSERT_TRUE(all) << problem(all);
  EXPECT_EQ((*all)->capacity(), Bytes{175 << 20});
  const auto some = open_device(cuda_board(Bytes{0}), Bytes{10 << 20}, Bytes{0});
  ASSERT_TRUE(some) << problem(some);
  EXPECT_EQ((*some)->capacity(), Bytes{10 << 20});
}

/// The board's file gives the memory of the whole card, of which other processes may use some.
TEST(OpenCudaDevice, DefaultsToSmallerOfFreeMemoryAndBoardCapacity) {
  const FakeCudaDriver driver({.memory = {256 << 20}, .context = {56 << 20}});
  for (const auto& [board, taken] :
       {std::pair(Bytes{256 << 20}, Bytes{175 << 20}), {Bytes{100 << 20}, Bytes{100 << 20}}}) {
    const auto device = open_device(cuda_board(board), Bytes{0}, Bytes{0});
    ASSERT_TRUE(device) << problem(device);
    EXPECT_EQ((*device)->capacity(), taken);
  }
  EXPECT_TRUE(fails(open_device(cuda_board(Bytes{256 << 20}), Bytes{256 << 20}, Bytes{0}), Errc::refused,
                    "256 MiB was requested, 200 MiB are free"));
}

TEST(OpenCudaDevice, ReportsMissingDriver) {
  if (cuda::open_driver()) GTEST_SKIP() << "this machine has an NVIDIA driver";
  EXPECT_TRUE(fails(open_device(cuda_board(Bytes{0}), Bytes{0}, Bytes{0}), Errc::refused,
                    "board \"gpu\": There is no NVIDIA driver"));
}

} // namespace
} // namespace rtexec::hal::test
