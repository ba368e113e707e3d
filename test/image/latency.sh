# Runs in the guest: release latency beside cyclictest, and what regulation costs there.
export LD_LIBRARY_PATH=/opt/rtexec/lib
cd /data
rtexec bringup latency --json latency.json > latency.tap 2> latency.log
./bandwidth-bench costs > costs.log 2>&1
