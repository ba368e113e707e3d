#!/bin/bash
# `rtexec run --show`: the page and the pictures of a run, what is refused at its start, and that nothing holds up its end.
set -u
. test/support/expect.bash
pictures=$(realpath config/pictures)
enter "$1"

"$rtexec" model yolov3-tiny --size 64 -o detector.onnx >/dev/null
"$rtexec" model mobilenet_v3 --size 64 -o classifier.onnx >/dev/null
set_of() { # MODEL DURATION PERIOD
  printf '[executive]\nduration="%s"\nallow_degraded=true\n[[task]]\nname="front"\nmodel="%s"\ninput="%s"\nperiod="%s"\nwcet="30ms"\nwcet_before="20ms"\nwcet_after="2ms"\n' \
    "$2" "$1" "$pictures" "$3"
}
set_of detector.onnx 1s 100ms > short.toml
set_of detector.onnx 600s 100ms > long.toml
set_of detector.onnx 1s 52ms > tight.toml
set_of classifier.onnx 1s 100ms > classifier.toml
printf '[executive]\nduration="1s"\n[[task]]\nname="a"\nworkload="synthetic"\nperiod="50ms"\nwcet="2ms"\nfootprint="1MiB"\n' > other.toml

# Refused before anything runs.
expect 2 "there is no task 'rear' to be shown; expected one of front" "$rtexec" run short.toml --show rear
expect 2 "task 'a' cannot be shown: it has no input that can be shown as a picture: its workload has no inputs" "$rtexec" run other.toml --show a
expect 2 'for a picture in the last part of .front. for --show' "$rtexec" run tight.toml --show front
expect 2 '--show-port requires --show' "$rtexec" run short.toml --show-port 8080
expect 2 '--show-in requires --show' "$rtexec" run short.toml --show-in here
expect 2 'must not be empty' "$rtexec" run short.toml --show ''
expect 2 'not a whole number from 1 to 65535' "$rtexec" run short.toml --show front --show-port 70000
expect 5 '/proc/none: error: cannot make this folder' "$rtexec" run short.toml --show front --show-in /proc/none
python3 -c '
import socket, sys, time
taken = socket.socket(); taken.bind(("127.0.0.1", 0)); taken.listen()
print(taken.getsockname()[1], flush=True); time.sleep(60)' > port & other=$!
await '[ -s port ]'
expect 5 "port $(cat port) of 127.0.0.1 cannot be opened: Address already in use" "$rtexec" run short.toml --show front --show-port "$(cat port)"
kill $other; wait $other 2>/dev/null

expect '0 4' 'What front sees: http://127.0.0.1:[0-9]+/' "$rtexec" run classifier.toml --show front --force
set_of detector.onnx 2s 1s | grep -v wcet > measured.toml
"$rtexec" profile measured.toml --jobs 3 --margin 5 >/dev/null 2>&1
expect '0 4' 'execution times hold: measured on' "$rtexec" run measured.toml --show front --force
# A folder that goes is told once, and the run goes on to its end.
timeout 120 "$rtexec" run long.toml --duration 10s --show front --show-in vanishes >run.log 2>&1 & run=$!
await '[ -s vanishes/front.jpg ] || ! kill -0 $run 2>/dev/null'
# The viewer may write a picture while the folder is being removed, which rm then finds not empty.
await 'rm -rf vanishes 2>/dev/null'
wait $run
grep -q 'Report after 10.0 s' run.log && [ "$(grep -c 'front.jpg: error: cannot write it: No such file' run.log)" = 1 ] || { echo "a folder that vanished:"; cat run.log; bad=1; }

# A browser, clients that hang, and the end by a signal meanwhile.
timeout 300 "$rtexec" run long.toml --show front --show-in shown >run.log 2>&1 & run=$!
timeout 240 python3 - <<'PYTHON' & page=$!
import json, re, socket, time, urllib.request
for _ in range(600):
    found = re.search(r"What front sees: (http://127\.0\.0\.1:(\d+)/)", open("run.log").read())
    if found: break
    time.sleep(0.1)
url, port = found[1], int(found[2])
get = lambda path: urllib.request.urlopen(url + path, timeout=60).read()
assert b"picture.jpg" in get("")
states = []
while len(states) < 250 and not (states and states[-1]["rate"] > 0 and states[-1]["job"] > states[0]["job"]):
    states.append(json.loads(get("state.json")))
    time.sleep(0.2)
last = states[-1]
assert last["task"] == "front" and last["job"] > states[0]["job"] and 0 < last["rate"] < 12 and last["age_ms"] < 5000, last
picture = get("picture.jpg")
assert picture[:3] == b"\xff\xd8\xff" and picture[-2:] == b"\xff\xd9", picture[:8]
hanging = [socket.create_connection(("127.0.0.1", port)) for _ in range(50)]
for client in hanging[::2]: client.sendall(b"GET /picture.jpg HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
time.sleep(0.5)
open("hanging", "w").close()
time.sleep(40)
PYTHON
await '[ -e hanging ] || ! kill -0 $page 2>/dev/null'
[ -e hanging ] || { echo "the page:"; cat run.log; bad=1; }
program=$(pgrep -P $run)
begin=$(date +%s%N)
kill -INT "$program"; wait $run
took=$(( ($(date +%s%N) - begin) / 1000000 ))
kill $page
[ $took -lt 25000 ] && grep -q 'Report after' run.log || { echo "the end took $took ms"; tail -n 30 run.log; bad=1; }
[ "$(ls shown)" = front.jpg ] || { echo "in the folder:"; ls shown; bad=1; }
exit $bad
