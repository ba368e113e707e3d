# Runs in the guest instead of a task set: a swap store on the disk's poll queues; then budgets of cores and clusters, with cycles as the event.
export LD_LIBRARY_PATH=/opt/rtexec/lib PATH=/data:$PATH
failed=0; skipped=0
try() {
  begun=$(cut -d. -f1 /proc/uptime)
  "$@"
  case $? in 0) ;; 77) skipped=1 ;; *) failed=1 ;; esac
  echo "($1 ${2:-}: $(($(cut -d. -f1 /proc/uptime) - begun)) s)"
}
{
  rtexec run swap.toml --force --json swap.json > swap.log 2>&1; echo "run: exit code $?" >> swap.log; sync
  rates="bandwidth-bench rates --event cycles --back-ends core --period 1000000"
  try $rates --shares 0.06,0.6 --seconds 10
  # 6 ms a period: what the host takes from an emulated core, some milliseconds at a time, counts as cycles, and is paid in the periods after it.
  try $rates --shares 0.006 --seconds 60
  try regulation-trials overflows
  try regulation-trials unplug
  try regulation-trials clusters
} > regulation.log 2>&1
[ $skipped = 0 ] || echo 77 > status
[ $failed = 0 ] || echo 1 > status
[ -e status ] || echo 0 > status
