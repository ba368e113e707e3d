# Runs in the guest beside the task set. Each boot takes the next step: the executive is killed, then the supervisor, whereupon the watchdog resets the
# machine; two more boots are cut short, and the fourth runs the safe set.
cd /data
say() { echo "faults: $*" | tee -a results; sync; }
count() { sed -n "s/^$1 = //p" supervisor.counts 2>/dev/null; }
runs() { # TASK-SET: a process of rtexec has released jobs of it
  local pid
  pid=$(pidof rtexec) && grep -q "$1" "/proc/${pid%% *}/cmdline" && rtexec top "${pid%% *}" --once --json - 2>/dev/null | grep -q '"released": [1-9]'
}
holds() { # WHAT COMMAND...: within a minute and a half
  local what=$1 i=0; shift
  while [ $i -lt 90 ]; do
    if "$@"; then say "ok: $what"; return; fi
    i=$((i + 1)); sleep 1
  done
  say "NOT: $what"; tail -n 5 supervisor.counts; return 1
}
is() { [ "$(count "$1")" = "$2" ]; }
kept() { ls recordings/1/snapshot-* > /dev/null 2>&1; }
boot=$(($(cat boot 2>/dev/null || echo 0) + 1)); echo $boot > boot; sync
say "boot $boot, $(cut -d' ' -f1 /proc/uptime) s after its kernel began"
case $boot in
  1)
    holds "the task set runs" runs tasks.toml
    kill -KILL "$(pidof rtexec)"
    holds "the death of the executive is counted" is deaths 1
    holds "the task set runs again" runs tasks.toml
    holds "the flight recorder's last events are kept" kept
    say "the supervisor is killed"
    kill -KILL "$(pidof rtexec-supervisor)"
    sleep 120; say "NOT: the watchdog resets the machine"; poweroff -f ;;
  2 | 3)
    [ $boot = 3 ] || { holds "boots are counted over the reset" is boots 2; holds "recordings are there after it" kept; }
    holds "the task set runs" runs tasks.toml
    echo b > /proc/sysrq-trigger ;;
  4)
    holds "after three boots that failed the safe set runs" runs safe.toml
    is failed_boots 4 || is failed_boots 3 || say "NOT: three boots failed: $(count failed_boots)"
    kill -USR2 1 ;;
esac
