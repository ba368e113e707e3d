#!/bin/bash
# A library of a task that ends the process: the command fails and says who called, wherever the library does so.
set -u
. test/support/expect.bash
root=$PWD
enter "$1"
command -v gcc >/dev/null || { echo "skipped: no gcc"; exit 77; }
cat > ends.c <<'C'
#include <rtexec/workload.h>
#include <stdlib.h>
#include <string.h>
static const char* when;
static int status;
static void at(const char* what) {
  if (strcmp(when, what) != 0) return;
  if (status == 9) quick_exit(0);
  exit(status);
}
static rtexec_code before(void* self, uint64_t job) { (void)self; if (job == 2) at("before"); return RTEXEC_OK; }
static rtexec_code execute(void* self) { (void)self; at("execute"); return RTEXEC_OK; }
static void destroy(void* self) { (void)self; at("destroy"); }
static rtexec_workload workload = {.size = sizeof workload, .memory = {.state = 100}, .fingerprint = "ends",
                                   .before = before, .execute = execute, .destroy = destroy};
const rtexec_workload* rtexec_workload_create(const char* task, const char* arguments, rtexec_error* error) {
  (void)task; (void)error;
  static char text[16];
  strncpy(text, arguments, sizeof text - 1);
  status = text[0] - '0';
  when = text + 1;
  at("create");
  return &workload;
}
C
gcc -std=c11 -shared -fPIC -I"$root/rtexec/include" ends.c -o ends.so || exit 1
set_of() { # STATUS WHEN
  printf '[executive]\nduration="1s"\nallow_degraded=true\n[[task]]\nname="own"\nworkload="lib:ends.so"\narguments="%s"\nperiod="50ms"\nwcet="2ms"\nwcet_before="1ms"\n' "$1$2" > set.toml
}
for status in 0 3 9; do
  for when in create before execute destroy; do
    set_of $status $when
    longest=30s; [ $when != destroy ] || longest=1s # which is after the run
    expect 5 "thread '.*' called exit\(\) before the end of the command" timeout 120 "$rtexec" run set.toml --force --duration $longest
  done
done
set_of 0 create
expect 5 'called exit' timeout 120 "$rtexec" check set.toml
set_of 0 never
expect '0 4' 'Report' timeout 120 "$rtexec" run set.toml --force
exit $bad
