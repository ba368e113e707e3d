// Uses every type that users hold by value, so that abidw records its layout (test/check-abi).
#include <rtexec/client.h>
#include <rtexec/executive.hpp>
#include <rtexec/profiler.hpp>
#include <rtexec/rtexec.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN void rtexec_asked(rtexec::TaskSet&, rtexec::Board&, rtexec::Profile&) {}
SHOWN void rtexec_planned(rtexec::Plan&) {}
SHOWN void rtexec_run(rtexec::Executive&, rtexec::ExecutiveSetup&, rtexec::Report&, rtexec::JobRecords&, rtexec::Miss&,
                      rtexec::WcetExcess&) {}
SHOWN void rtexec_measured(rtexec::ProfileOptions&, rtexec::ProfileObserver&) {}
SHOWN void rtexec_worked(rtexec::Workload&, rtexec::Tensor&, rtexec::Box&, rtexec::Device&, rtexec::Gpu&,
                         rtexec::GpuGraph&, rtexec::GpuModule&) {}
SHOWN void rtexec_c(rtexec_setup*, rtexec_own_workload*, rtexec_task_callbacks*, rtexec_workload*, rtexec_device*,
                    rtexec_memory*, rtexec_miss*, rtexec_wcet_excess*, rtexec_error*) {}
SHOWN void rtexec_declared(rtexec_job_declaration*) {}
