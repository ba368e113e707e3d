# A short task beside two long ones, whose constants are 50 MiB in all.
mixed_set() { # CAPACITY
  cat <<END
[executive]
duration = "2s"
allow_degraded = true
[device]
capacity = "$1"
chunk = "1MiB"
[device.swap_cost]
in_per_chunk = "1ms"
out_per_chunk = "1ms"
[[task]]
name = "front"
workload = "synthetic"
period = "50ms"
wcet = "3ms"
footprint = "4MiB"
swappable = "0MiB"
[[task]]
name = "slow"
workload = "synthetic"
period = "600ms"
wcet = "150ms"
layers = 50
live = "1MiB"
footprint = "30MiB"
class = "constant"
[[task]]
name = "slower"
workload = "synthetic"
period = "900ms"
wcet = "100ms"
layers = 50
live = "1MiB"
footprint = "20MiB"
class = "constant"
END
}
ask() { python3 -c "import json, sys; d = json.load(open('$1')); print($2)"; } # FILE.json EXPRESSION
