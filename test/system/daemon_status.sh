#!/bin/bash
# rtexec ps and top beside an rtexecd: for people and scripts, on a terminal, without a daemon, without the right to ask; numbers for Prometheus; who
# started the daemon hears that it is ready and goes on.
set -u
. test/support/daemon.bash
enter "$1"
tests=$folder/test/preload
ask() { python3 -c "import json, sys; d = json.load(open('$1')); print($2)"; } # FILE.json EXPRESSION
write_daemon_file 32MiB 2MiB 'metrics = "127.0.0.1:0"'
printf '[[client]]\nname = "front"\nmemory = "16MiB"\n' >> d.toml
cat > manager.py <<'END'
"""manager.py SECONDS COMMAND...: starts it as systemd does, and prints what it is told."""
import os, socket, subprocess, sys, time
ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
ear.bind("notify")
ear.settimeout(0.2)
environment = os.environ | {"NOTIFY_SOCKET": os.path.abspath("notify"), "WATCHDOG_USEC": "800000"}
daemon = subprocess.Popen(sys.argv[2:], env=environment, stdout=open("log", "w"), stderr=subprocess.STDOUT)
end, told = time.monotonic() + float(sys.argv[1]), []
def hear():
    try: told.extend(ear.recv(4096).decode().split("\n"))
    except TimeoutError: pass
while time.monotonic() < end and not os.path.exists("stop"): hear()
daemon.terminate()
code = daemon.wait()
ear.setblocking(False)
while True: # all that was sent before it ended
    try: told.extend(ear.recv(4096).decode().split("\n"))
    except BlockingIOError: break
print(code, "READY=1" in told, told.count("WATCHDOG=1"), "STOPPING=1" in told)
END
trap 'touch "$work/stop"; wait; rm -rf "$work"' EXIT
expect '5' "no rtexecd listens at run/socket" "$rtexec" ps --daemon run
expect '5' '`rtexecd FILE.toml` starts one' "$rtexec" top --daemon run

timeout 660 python3 manager.py 600 "$folder/bin/rtexecd" d.toml > managed 2>&1 & manager=$!
await_socket
expect 0 ' 0 of 32 clients; 0 came' "$rtexec" ps --daemon run
sample_client() { # NAME MIB JOBS [PERIOD]
  as_client "$1" exec timeout 600 "$tests/sample_client" "${@:2}"
}
sample_client front 4 100000 200 & front=$!
sample_client rear 8 100000 & rear=$!
front_is="next(c for c in d['clients'] if c['name'] == 'front')"
seen() { # both clients execute jobs, and the one with a deadline has its bound
  "$rtexec" ps --daemon run --json ps.json >/dev/null &&
    [ "$(ask ps.json "sorted(c['name'] for c in d['clients'] if c['jobs'] > 1), ($front_is)['response_bound_ns'] is not None")" = "['front', 'rear'] True" ]
}
await seen || { echo "the clients are not seen"; cat ps.json log ./*.err; bad=1; }

expect 0 'client +process +now +missed +response +deadline +memory' "$rtexec" ps --daemon run
expect 0 "^ +front +[0-9]+ +(idle|waits|loads|runs) +[0-9]+ .* 16.0 MiB" "$rtexec" ps --daemon run
expect 0 '^ +rear +[0-9]+ +(idle|waits|loads|runs) +- ' "$rtexec" ps --daemon run
expect 0 '^True 200000000 16777216 True$' ask ps.json "($front_is)['declared'], ($front_is)['period_ns'], ($front_is)['limit_bytes'], ($front_is)['response_bound_ns'] > 0"
expect 0 '^2 0 edf pipelined 33554432 2097152$' ask ps.json "d['daemon']['came'], d['daemon']['refused'], d['daemon']['order'], d['daemon']['swap_policy'], d['daemon']['capacity_bytes'], d['daemon']['chunk_bytes']"
expect 0 "^True True$" ask ps.json "all(c['executable'].endswith('/sample_client') for c in d['clients']), all(c['resident_bytes'] <= c['memory_bytes'] <= c['limit_bytes'] for c in d['clients'])"
expect 0 '"clients"' "$rtexec" top --once --daemon run --json -
expect 2 'excludes' "$rtexec" top 1 --daemon run
cat > rates.py <<'END'
import re
text = open("listed").read()
rates = [float(line.split()[i]) for block in text.split("\n\n")[1:] if "jobs/s" in block
         for line in block.splitlines() if line.startswith("  rear")
         for i in [re.split(r"  +", block.splitlines()[2].strip()).index("jobs/s")]
         for line in [re.sub(r"(\d) (MiB|KiB|GiB|ms|us|s|B|%)", r"\1\2", line)]]
if not any(rate > 1 for rate in rates): raise SystemExit(f"rates of jobs: {rates}\n{text}")
END
"$rtexec" top --daemon run --interval 500ms > listed 2>&1 & top=$!
await 'python3 rates.py 2> rates' || { cat rates; bad=1; }
kill $top; wait $top
expect 0 'jobs/s +device use +swapped in' cat listed
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  chmod 755 "$work"
  expect 5 'members of its .daemon. group' setpriv --reuid 65534 --regid 65534 --clear-groups "$rtexec" ps --daemon run
fi

# Prometheus's text format, by rules of its own, and by Prometheus's parser where that is installed; limits of its HTTP.
cat > metrics.py <<'END'
import re, socket, sys, time
port = int(sys.argv[1])
def exchange(request, wait=60):
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as s:
        if request: s.sendall(request)
        answer = b""
        try:
            while data := s.recv(65536): answer += data
        except ConnectionResetError: pass
    return answer.decode()
answer = exchange(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
head, _, text = answer.partition("\r\n\r\n")
assert head.startswith("HTTP/1.0 200 ") and "text/plain; version=0.0.4" in head, head
assert f"Content-Length: {len(text)}" in head and text.endswith("\n"), head
helps, types, samples, current = set(), {}, {}, None
for line in text.splitlines():
    if found := re.fullmatch(r"# HELP (\w+) .+", line):
        assert found[1] not in helps, line
        helps.add(found[1])
    elif found := re.fullmatch(r"# TYPE (\w+) (counter|gauge)", line):
        current = found[1]
        assert current in helps and current not in types, line
        types[current] = found[2]
    else:
        found = re.fullmatch(r'(\w+)(?:\{(\w+="(?:[^"\\\n]|\\.)*"(?:,\w+="(?:[^"\\\n]|\\.)*")*)\})? (\S+)', line)
        assert found and found[1] == current, line
        key = (found[1], found[2])
        assert key not in samples, line
        samples[key] = float(found[3])
for name, kind in types.items():
    assert name.startswith("rtexecd_") and (kind == "counter") == name.endswith("_total"), name
    assert not re.search("_(ns|ms|mib|kib)(_|$)", name), name
def of(name, client): return next(v for (n, l), v in samples.items() if n == name and l and f'client="{client}"' in l)
assert samples["rtexecd_clients", None] == 2 and samples["rtexecd_capacity_bytes", None] == 32 << 20
assert of("rtexecd_client_limit_bytes", "front") == 16 << 20 and of("rtexecd_client_period_seconds", "front") == 0.2
assert of("rtexecd_client_jobs_total", "rear") > 1 and of("rtexecd_client_device_seconds_total", "rear") > 0
assert not any("rear" in (l or "") for (n, l) in samples if n == "rtexecd_client_deadline_seconds")
try: from prometheus_client.parser import text_string_to_metric_families as families
except ImportError: print("(not asked: prometheus_client)")
else: assert len(list(families(text))) == len(types)
assert exchange(b"GET / HTTP/1.0\r\n\r\n").startswith("HTTP/1.0 404 ")
assert exchange(b"POST /metrics HTTP/1.0\r\n\r\n").startswith("HTTP/1.0 405 ")
assert exchange(b"rubbish\r\n\r\n").startswith("HTTP/1.0 400 ")
assert exchange(b"GET /metrics HTTP/1.0\r\nX: ".ljust(4096, b"x")).startswith("HTTP/1.0 431 ")
silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
for one in silent[100:]:
    try: one.sendall(b"GET /metrics")
    except (BrokenPipeError, ConnectionResetError): pass # it has given way already
assert exchange(b"GET /metrics HTTP/1.0\n\n").startswith("HTTP/1.0 200 "), "who asks nothing keeps others out"
for one in silent:
    one.settimeout(60)
    try: assert one.recv(1) == b"", "who asks nothing is answered"
    except ConnectionResetError: pass
named = lambda host: exchange(b"GET /metrics HTTP/1.1\r\nhost:  " + host + b" \r\n\r\n")[9:12]
for host in (b"localhost", b"LocalHost:9464", b"127.0.0.1:1", b"10.1.2.3", b"[::1]:80", socket.gethostname().encode()):
    assert named(host) == "200", host
for host in (b"", b"evil.example", b"evil.example:9464", b"127.0.0.1.evil.example", b"localhost.evil.example", b"[::1", b":80"):
    assert named(host) == "403", host
print("metrics:", len(types), "names,", len(samples), "samples")
END
port=$(sed -n 's/^rtexecd: metrics at port //p' log)
expect 0 '^metrics: 2[0-9] names' timeout 300 python3 metrics.py "$port"

# On a terminal: q and Ctrl-C end it, and give the terminal back.
cat > terminal.py <<'END'
import fcntl, os, pty, struct, sys, termios, time
program, key = sys.argv[1], sys.argv[2].encode().decode("unicode_escape").encode()
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 90, 0, 0))
before = termios.tcgetattr(slave)
child = os.fork()
if child == 0:
    os.environ["TERM"] = "xterm"
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for target in (0, 1, 2): os.dup2(slave, target)
    os.execv(program, [program, "top", "--daemon", "run", "--interval", "200ms"])
os.set_blocking(master, False)
seen, end = b"", time.monotonic() + 60
while b"q: quit" not in seen and time.monotonic() < end:
    try: seen += os.read(master, 1 << 16)
    except BlockingIOError: time.sleep(0.01)
time.sleep(0.5)
os.write(master, key)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(status, b"rear" in seen, termios.tcgetattr(slave) == before)
END
expect 0 '^0 True True$' timeout 120 python3 terminal.py "$rtexec" q
expect 0 '^0 True True$' timeout 120 python3 terminal.py "$rtexec" '\x03'

"$rtexec" top --daemon run --interval 200ms > ended 2>&1 & top=$!
await '[ -s ended ]'
kill $front; wait $front
[ ! -s front.err ] || { echo "front: $(cat front.err)"; bad=1; }
for wrong in nowhere 127.0.0.1 127.0.0.1:x 1.2.3:4 localhost:9464; do
  sed "s/metrics = .*/metrics = \"$wrong\"/; s/\"run\"/\"run2\"/" d.toml > wrong.toml
  expect 2 "metrics = .$wrong.: expected an IPv4 address" timeout 60 "$folder/bin/rtexecd" wrong.toml
done
touch stop; wait $manager
wait $top; status=$?
expect 0 'rtexecd has ended' bash -c "cat ended; exit $status"
expect 0 '^0 True [0-9]+ True$' cat managed
[ "$(cut -d ' ' -f 3 managed)" -gt 5 ] || { echo "it does not beat: $(cat managed)"; bad=1; }
kill $rear 2>/dev/null
exit $bad
