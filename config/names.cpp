#include "config/names.hpp"

namespace rtexec {

std::string_view name(Order value) noexcept { return spelling(value); }
std::string_view name(PriorityAssignment value) noexcept { return spelling(value); }
std::string_view name(Criticality value) noexcept { return spelling(value); }
std::string_view name(Trigger value) noexcept { return spelling(value); }
std::string_view name(Communication value) noexcept { return spelling(value); }
std::string_view name(OnOverrun value) noexcept { return spelling(value); }
std::string_view name(OnWcetExceeded value) noexcept { return spelling(value); }
std::string_view name(WorkloadKind value) noexcept { return spelling(value); }
std::string_view name(SourceKind value) noexcept { return spelling(value); }
std::string_view name(SinkKind value) noexcept { return spelling(value); }
std::string_view name(OnStale value) noexcept { return spelling(value); }
std::string_view name(PixelFormat value) noexcept { return spelling(value); }
std::string_view name(ChannelOrder value) noexcept { return spelling(value); }
std::string_view name(TensorLayout value) noexcept { return spelling(value); }
std::string_view name(PictureFit value) noexcept { return spelling(value); }
std::string_view name(TrafficPattern value) noexcept { return spelling(value); }
std::string_view name(MemoryPolicy value) noexcept { return spelling(value); }
std::string_view name(Precision value) noexcept { return spelling(value); }
std::string_view name(Completion value) noexcept { return spelling(value); }
std::string_view name(RegulateWhile value) noexcept { return spelling(value); }
std::string_view name(BandwidthSharing value) noexcept { return spelling(value); }
std::string_view name(Overshoot value) noexcept { return spelling(value); }
std::string_view name(CounterBackEnd value) noexcept { return spelling(value); }
std::string_view name(SwapPolicy value) noexcept { return spelling(value); }
std::string_view name(MemoryClass value) noexcept { return spelling(value); }
std::string_view name(SwapCandidates value) noexcept { return spelling(value); }
std::string_view name(ThreadPolicy value) noexcept { return spelling(value); }
std::string_view name(StoreKind value) noexcept { return spelling(value); }
std::string_view name(DeviceKind value) noexcept { return spelling(value); }
std::string_view name(SensorKind value) noexcept { return spelling(value); }

} // namespace rtexec
