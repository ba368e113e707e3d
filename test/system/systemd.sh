#!/bin/bash
# The unit that is installed, under systemd in a container: a run that is killed, or stuck, starts again, each time into folders of its own, and a set
# that is refused stays ended.
set -u
. test/support/expect.bash
top=$PWD
enter "$1"
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
for program in /lib/systemd/systemd "$(command -v systemd-nspawn)"; do [ -x "$program" ] || { echo "systemd or systemd-nspawn is not installed"; exit 77; }; done
mkdir units sets trial
cp "$top/test/support/expect.bash" trial/
sed 's|@PREFIX@|/opt/rtexec|' "$top/rtexec/package/rtexec@.service.in" > units/rtexec@.service
cat > sets/good.toml <<'END'
board = "host"
[executive]
allow_degraded = true
[[task]]
name = "a"
model = "lenet.onnx"
period = "100ms"
wcet = "20ms"
outputs = [{to = "file:/trial/results"}]
END
"$rtexec" model lenet5 --size 32 -o sets/lenet.onnx >/dev/null
sed 's/wcet = "20ms"/wcet = "99.9ms"/' sets/good.toml > sets/late.toml
cat > units/trial.service <<'END'
[Service]
ExecStart=/bin/bash /trial/steps
StandardOutput=append:/trial/log
StandardError=append:/trial/log
ExecStopPost=/bin/systemctl --force --force poweroff
END
cat > trial/steps <<'END'
cd /trial
. ./expect.bash
is() { [ "$(systemctl show --value --property "$1" "$unit")" = "$2" ]; }
runs() { ls -d results/*/ 2>/dev/null | grep -vc latest; }
unit=rtexec@good
systemctl start $unit && echo "started: $(readlink results/latest)"
await '[ "$(runs)" = 1 ]'
systemctl kill --signal=KILL $unit
await '[ "$(runs)" = 2 ] && is ActiveState active && is NRestarts 1' && echo "killed, and started again: $(readlink results/latest)"
systemctl kill --kill-whom=main --signal=STOP $unit
await '[ "$(runs)" = 3 ] && is ActiveState active && is NRestarts 2' && echo "stopped, and started again: $(readlink results/latest)"
systemctl stop $unit
# A machine that stood still may have broken the bound of a job: the run says so when it ends.
if is Result success || is ExecMainStatus 4; then echo "ended as asked"; fi
unit=rtexec@late
systemctl start $unit 2>/dev/null
await 'is ActiveState failed' && is NRestarts 0 && is ExecMainStatus 3 && echo "refused, and not started again"
systemctl status --no-pager rtexec@good rtexec@late
END
container() { # OPTION...
  timeout -k 5 900 systemd-nspawn --quiet --register=no --keep-unit --volatile=yes --directory=/ --machine="rtexec-$$" --link-journal=no --console=pipe "$@" \
    < /dev/null > console 2>&1
}
container /bin/true || { echo "systemd-nspawn starts no container here: $(tail -n 1 console)"; exit 77; }
container --capability=CAP_IPC_LOCK --bind-ro="$folder/bin:/opt/rtexec/bin" --bind-ro="$work/units:/etc/systemd/system" \
  --bind-ro="$work/sets:/etc/rtexec" --bind="$work/trial:/trial" --boot systemd.unit=trial.service systemd.firstboot=no ||
  { echo "the container ended with exit code $?"; cat console trial/log; exit 1; }
missing=()
for line in started "killed, and started again" "stopped, and started again" "ended as asked" "refused, and not started again"; do
  grep -q "^$line" trial/log || missing+=("not seen: $line")
done
[ "$(readlink trial/results/latest)" = "$(ls trial/results | grep -v latest | tail -n 1)" ] || missing+=("latest is not the last run")
[ ${#missing[@]} = 0 ] || { cat trial/log; printf '%s\n' "${missing[@]}"; exit 1; }
