#!/bin/bash
# Exit codes and errors of the command line, as scripts rely on them.
set -u
. test/support/expect.bash
enter "$1"
. "$OLDPWD/test/support/sets.bash"

expect 0 'proved' "$rtexec" check good.toml
expect 0 '"verdict": "proved"' "$rtexec" check good.toml --json -
expect 0 'core_chosen": true' "$rtexec" check good.toml --json -
expect 0 'Verdict' "$rtexec" check good.toml --json checked.json
expect 0 'Device memory: ' "$rtexec" check good.toml --headroom
expect 0 '"all"' "$rtexec" check good.toml --headroom --json -
expect 3 'To prove the set, all wcets by: 0\.' "$rtexec" check overload.toml --headroom
expect 3 'not proved' "$rtexec" check overload.toml
expect 2 "did you mean 'period'" "$rtexec" check broken.toml
"$rtexec" model yolov3-tiny --size 32 -o tiny.onnx >/dev/null
printf '[[task]]\nname="net"\nmodel="tiny.onnx"\nperiod="100ms"\n' > unmeasured.toml
expect 2 "'net'.*rtexec profile unmeasured.toml" "$rtexec" check unmeasured.toml
expect 2 'none.toml' "$rtexec" check none.toml
expect 2 '' "$rtexec" check good.toml --no-such-option
expect 2 '^  simulate +Run the task set in virtual time' "$rtexec"
expect 2 '^rtexec: no subcommand is named .runn.; did you mean .run.\?$' "$rtexec" runn good.toml
expect 2 '^rtexec: rtexec has no option .--versio.; did you mean .--version.\?$' "$rtexec" --versio
expect 2 '^rtexec: rtexec check has no option .--jsn.; did you mean .--json.\?$' "$rtexec" check --jsn
expect 2 'rtexec check has no option .--jsn.; did you mean .--json.\?$' "$rtexec" check good.toml --jsn=x
expect 2 'rtexec run has no option .--trac.; did you mean .--trace.\?$' "$rtexec" run --trac x good.toml
expect 2 'rtexec calibrate bandwidth has no option .--secnds.; did you mean .--seconds.\?$' "$rtexec" calibrate bandwidth --secnds 3
expect 2 '^rtexec: no subcommand is named .isolaton.; did you mean .isolation.\?$' "$rtexec" experiment isolaton
expect 2 '^rtexec: task-set is required$' "$rtexec" run
expect 0 '^  simulate +Run the task set in virtual time' "$rtexec" help
expect 0 '^Usage: rtexec calibrate bandwidth ' "$rtexec" help calibrate bandwidth
expect 2 'did you mean .probe.' "$rtexec" help prob
[ "$("$rtexec" help run)" = "$("$rtexec" run --help)" ] || { echo "help run is not run --help"; bad=1; }
[ "$("$rtexec" --help | wc -L)" -le 110 ] || { echo "help has lines that are too long"; bad=1; }
expect 2 '--duration' "$rtexec" run good.toml --duration 5
expect 5 'No space left' "$rtexec" check good.toml --json /dev/full
expect 5 'limited.json: error: cannot write it: File too large' bash -c "ulimit -f 1; '$rtexec' check good.toml --json limited.json"
expect 1 '' bash -c 'ls | grep limited'
expect 2 'resnet50' "$rtexec" model no-such-network
expect 5 '' "$rtexec" model resnet18 --size 32 -o /no/such/folder/x.onnx
expect 0 'yolov3-tiny' "$rtexec" model
expect 0 'on_overrun' "$rtexec" config
expect 0 '"key": "capacity"' "$rtexec" config board --json -
expect 0 '"key": "ordinal"' "$rtexec" config board --json -
expect 0 '"key": "precision"' "$rtexec" config --json -
expect 0 '"key": "tuning"' "$rtexec" config profile --json -
expect 0 '^  period$' "$rtexec" config task
expect 0 '^\[\[task.inputs\]\]$' "$rtexec" config task
expect 0 'time between two releases' "$rtexec" config period
expect 0 '"key": "order"' "$rtexec" config executive.order --json -
expect 2 "did you mean 'period'" "$rtexec" config perod
python3 -c "open('utf16.toml', 'w', encoding='utf-16').write(open('good.toml').read())"
expect 2 'the text is UTF-16' "$rtexec" check utf16.toml
expect 0 '^isolcpus=1-5 nohz_full=1-5 rcu_nocbs=1-5 irqaffinity=0 console=' "$rtexec" config --command-line tx2
expect 2 'excludes' "$rtexec" config board --command-line tx2
expect 0 'SCHED_FIFO' "$rtexec" probe
expect 0 'Nothing to restore' "$rtexec" restore
expect 0 'GPU: ' "$rtexec" probe
expect 0 "device of board 'host': host" "$rtexec" probe --board host
expect 2 "did you mean 'host'" "$rtexec" probe --board hots

# A set is checked for another machine than this one.
expect 0 '"cores"' bash -c "'$rtexec' probe --json here.json >/dev/null; cat here.json"
printf '[{"machine": {"name": "a robot", "cores": [0, 1, 2, 3, 4, 5, 6, 7], "no_fifo": "", "no_deadline": "", "device_memory_bytes": 0}}]' >robot.json
{ cat good.toml; task c 90ms 1ms 'core=4'; task d 90ms 1ms 'core=9'; } > robot.toml
expect 5 'task .d.: that machine has cores 0-7 only' "$rtexec" check robot.toml --machine robot.json
expect 5 '"core": 4' "$rtexec" check robot.toml --machine robot.json --json -
expect 0 'Verdict: proved' "$rtexec" check good.toml --machine here.json
expect 0 'Every real-time deadline was kept' "$rtexec" simulate good.toml --machine robot.json
expect 2 'it describes no machine' "$rtexec" check good.toml --machine checked.json
expect 2 'none.json' "$rtexec" check good.toml --machine none.json

# Inference is on the device of a board, with its percentiles; a GPU's arithmetic and waiting are for boards that have one.
expect 0 'p99.9' "$rtexec" infer tiny.onnx --repeat 5 --json infer.json
expect 0 '"p999"' grep -A9 execution_ns infer.json
expect 0 '"device": "host"' cat infer.json
expect 0 'executed in' "$rtexec" infer tiny.onnx --board host --precision fp32 --tune
for policy in D M H; do expect 0 'executed in' "$rtexec" infer tiny.onnx --memory $policy -o memory-$policy/; done
expect 0 '^$' diff -r memory-D memory-M
expect 0 '^$' diff -r memory-D memory-H
expect 2 '\{D,M,H\}' "$rtexec" infer tiny.onnx --memory auto
"$rtexec" model mobilenet_v3 --size 32 -o classifier.onnx >/dev/null
expect 0 '^  class +score$' "$rtexec" infer classifier.onnx
expect 0 ' 0\.[0-9]+%$' "$rtexec" infer classifier.onnx
expect 2 'is for GPUs' "$rtexec" infer tiny.onnx --precision tf32
expect 2 'no board has this name' "$rtexec" infer tiny.onnx --board none
expect 2 '\{fp16,fp32,tf32\}|fp32,tf32,fp16' "$rtexec" infer tiny.onnx --precision 1
expect 2 'needs a picture as input' "$rtexec" infer tiny.onnx -o out.png
expect 2 'the network is missing' "$rtexec" infer
# A network without inputs: y = 1.5.
printf '\x08\x08\x42\x02\x10\x0d\x3a\x36\x0a\x24\x12\x01y\x22\x08Constant\x2a\x15\x0a\x0bvalue_float\x15\x00\x00\xc0\x3f\xa0\x01\x01\x12\x01g\x62\x0b' > constant.onnx
printf '\x0a\x01y\x12\x06\x0a\x04\x08\x01\x12\x00' >> constant.onnx
expect 0 ' y +scalar +1\.5 ' "$rtexec" infer constant.onnx
expect 2 'constant.onnx: the network has no input' "$rtexec" infer constant.onnx constant.onnx
expect 0 '^  Gelu +20 to [0-9]+$' "$rtexec" infer --list-operators
expect 0 '^  NonZero +9 to [0-9]+ +its input is a constant$' "$rtexec" infer --list-operators
expect 0 '"name": "Conv"' "$rtexec" infer --list-operators --json -
printf 'machine = "here"\ndevice = "host"\n' > chosen.profile.toml
for task in front rear; do
  printf '[[task]]\nname = "%s"\nworkload = "x"\nsamples = 1\nmargin = 1\n' $task >> chosen.profile.toml
  for time in wcet observed; do printf '%s = "1ms"\n' $time ${time}_before ${time}_after >> chosen.profile.toml; done
done
expect 0 'executed in' "$rtexec" infer tiny.onnx --profile chosen.profile.toml --task rear
expect 2 'has several tasks: name one of them with --task: front, rear' "$rtexec" infer tiny.onnx --profile chosen.profile.toml
expect 2 "has no task 'side': name one of them with --task" "$rtexec" infer tiny.onnx --profile chosen.profile.toml --task side
expect 2 'excludes --tune' "$rtexec" infer tiny.onnx --profile chosen.profile.toml --task rear --tune
printf 'tuning = ["conv = own"]\n' >> chosen.profile.toml
expect 2 'the profile.s tuning is for a GPU' "$rtexec" infer tiny.onnx --profile chosen.profile.toml --task rear
expect 2 'std = 0: out of range: at least 1e-09' "$rtexec" infer tiny.onnx x.png --std 0
expect 2 'mean = \[1, 2\]: 2 numbers: must be one, or one for each' "$rtexec" infer tiny.onnx x.png --mean 1,2
expect 2 'RGB,BGR|BGR,RGB' "$rtexec" infer tiny.onnx x.png --channels GBR
expect 2 'need a picture as input' "$rtexec" infer tiny.onnx --layout NCHW
expect 0 '^silent$' bash -c "{ sleep 0.2; '$rtexec' config 2>said; } | true; code=\${PIPESTATUS[0]}; [ -s said ] || echo silent; exit \$code"
expect 5 'cannot write to standard output' bash -c "'$rtexec' config >/dev/full"
expect 0 '^1$' bash -c "'$rtexec' config board | grep -c 'top level'"
printf '[[task]]\nname="net"\nmodel="tiny.onnx"\nperiod="100ms"\nwcet="1ms"\nprecision="fp16"\n' > half.toml
expect 2 "task 'net': precision = .fp16. is for GPUs" "$rtexec" check half.toml
{ printf '[device]\ncompletion="spin"\n'; cat good.toml; } > spin.toml
expect 2 'completion = .spin. is for boards' "$rtexec" check spin.toml

# A GPU's set is planned without the GPU, where its capacity is given.
{ printf 'board="rtx"\n[device]\ncapacity="1GiB"\n'; cat half.toml; } > gpu.toml
expect '0 5' "Default kernels, not tuned .*'net'" "$rtexec" check gpu.toml --explain
if ! "$rtexec" infer tiny.onnx --board rtx >/dev/null 2>&1; then
  expect 5 'give \[device\] capacity' "$rtexec" check <(printf 'board="rtx"\n'; task a 50ms 2ms)
  expect 5 'driver' "$rtexec" infer tiny.onnx --board rtx
  expect 0 '^\[missing\] device of board .rtx.: .*libcuda[^.]*\.so' "$rtexec" probe --board rtx
fi

for command in check run top ps simulate profile model infer config probe bringup calibrate restore; do expect 0 "$command" "$rtexec" $command --help; done
expect 0 'rtexec [0-9]' "$rtexec" --version

# Every command, and commands of commands, has a man page with every option of theirs, and an example at the end of its help.
python3 - "$rtexec" "$folder/man" <<'EOP' || bad=1
import pathlib, re, subprocess, sys
program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
commands, seen = [[]], 0
while commands:
    command = commands.pop()
    name = "-".join(["rtexec", *command])
    text = subprocess.run([program, *command, "--help"], check=True, capture_output=True, text=True).stdout
    page = re.sub(r"\\f.|\\[/,]", "", (folder / f"{name}.1").read_text()).replace("\\-", "-")
    if not re.search(rf"^{name} - \S", page, re.M): sys.exit(f"the man page of {name} does not name it")
    if "default: [" in text: sys.exit(f"{name} shows a list as it may not be given")
    options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.M)
    for option in options:
        seen += 1
        if not re.search(option + r"\b", page): sys.exit(f"the man page of {name} lacks {option}")
    if command:
        example = re.search(rf"^  \$ (rtexec {command[0]}\b.*)", text, re.M)
        if not example or example[1] not in page: sys.exit(f"{name} has no example")
        if example[1].startswith(" ".join(["rtexec", *command])) and (unknown := set(re.findall(r" (--[\w-]+)", example[1])) - set(options)) \
                and command != ["experiment"]: sys.exit(f"the example of {name} has {unknown}")
    nested = text.partition("Subcommands:\n")[2].partition("\nExit codes:")[0]
    commands += [[*command, each] for each in re.findall(r"^  ([a-z]+)\b", nested, re.M)]
    for section in ["EXIT STATUS", "ENVIRONMENT", *["EXAMPLES"][:len(command)]]:
        if not re.search(rf'^\.SH "?{section}', page, re.M): sys.exit(f"the man page of {name} has no {section}")
assert seen > 100, seen
EOP

# A number is one.
for seconds in nan -nan inf -1 0 1e9 x ''; do
  for command in 'calibrate bandwidth' 'experiment isolation'; do expect 2 'seconds' "$rtexec" $command --seconds "$seconds"; done
done
expect 2 'margin' "$rtexec" calibrate --margin nan -o calibrated.toml
expect 2 'margin' "$rtexec" profile good.toml --margin nan
expect 2 'swappable' "$rtexec" sweep --swappable nan
for number in 2.5 1e3 0; do expect 2 "'$number' is not a whole number from 1 to 1000000" "$rtexec" sweep --sets $number; done
for command in 'calibrate bandwidth' 'experiment isolation'; do expect 2 'event: must not be empty' "$rtexec" $command --event ''; done

# Two inputs and a batch that is fixed by --shape: each input has a file of its own, and small outputs are shown.
python3 - <<'PY'
import struct
def field(number, value):
    if isinstance(value, int): return bytes([number << 3, value])
    value = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(value)]) + value
def value(name): return field(1, name) + field(2, field(1, field(1, 1) + field(2, field(1, field(2, "N")) + field(1, field(1, 2)))))
def model(operator, inputs):
    node = b"".join(field(1, name) for name in inputs) + field(2, "y") + field(4, operator)
    graph = field(1, node) + field(2, "g") + b"".join(field(11, value(name)) for name in inputs) + field(12, value("y"))
    return field(1, 8) + field(8, field(2, 13)) + field(7, graph)
open("two.onnx", "wb").write(model("Sub", ["a", "b"]))
open("hostile.onnx", "wb").write(model("\x1b[2J", ["a"]))
def tensor(name, *values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1,{len(values)}), }}".ljust(117) + "\n"
    open(name, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values))
tensor("one.npy", 5, 7.5); tensor("other.npy", 1, 2)
PY
expect 2 "input 'a': dimension 0 \('N'\); input 'b': dimension 0 \('N'\): not fixed in the file; .* by shape = \{ a = \[\?, 2\], b = .* by --shape a=\?x2 --shape b=\?x2" "$rtexec" infer two.onnx
for shape in x 1x2 =1x2 a= a=1x a=x1 a=1,2 a=-1x2 a=99999999999999999999x2; do
  expect 2 "expected the name of an input and its dimensions: write NAME=1x3x224x224" "$rtexec" infer two.onnx --shape "$shape"
done
expect 2 "a=2x2: that input has a shape already" "$rtexec" infer two.onnx --shape a=1x2 --shape a=2x2
expect 2 "dimension 0 \('N'\) is given as 2, and dimension 0 \('N'\) of input 'a' as 1" "$rtexec" infer two.onnx --shape a=1x2,b=2x2
expect 2 "dimension 1 is given as 3, but the file fixes it as 2" "$rtexec" infer --shape a=1x3 two.onnx
expect 0 'y +4x2' "$rtexec" infer --shape a=4x2 two.onnx
printf '[[task]]\nname="net"\nmodel="two.onnx"\nperiod="100ms"\nwcet="1ms"\n' > open.toml
expect 2 "task 'net': .*two.onnx: input 'a': dimension 0 \('N'\)" "$rtexec" check open.toml
echo 'shape={a=[1,2]}' >> open.toml
expect '0 3' 'Verdict' "$rtexec" check open.toml
two=(two.onnx --shape a=1x2)
expect 0 'y +1x2 +4 +4.75 +5.5 +4 5.5' "$rtexec" infer "${two[@]}" b=other.npy a=one.npy
expect 0 '"mean": 4.75' "$rtexec" infer "${two[@]}" a=one.npy b=other.npy --json -
expect 2 "one.npy: the network has 2 inputs; give a file for each input as NAME=FILE: 'a', 'b'" "$rtexec" infer "${two[@]}" one.npy
expect 2 "input 'b' has no file" "$rtexec" infer "${two[@]}" a=one.npy
for constant in x a= =1 a=1x a=nan a=1e999 a=b; do
  expect 2 "expected the name of an input and its numbers: write NAME=16000" "$rtexec" infer "${two[@]}" --constant "$constant"
done
expect 2 "b=2: that input has a constant already" "$rtexec" infer "${two[@]}" --constant b=1,b=2
expect 2 "a constant is given for 'c', which is not an input; its inputs are: 'a', 'b'" "$rtexec" infer "${two[@]}" --constant c=1
expect 2 "input 'b': the constant that is given has 3 numbers, but needs one for all elements, or 2" "$rtexec" infer "${two[@]}" --constant b=1x2x3
expect 0 'y +1x2 +4 +4.75 +5.5 +4 5.5' "$rtexec" infer "${two[@]}" --constant b=1x2 one.npy
expect 0 'y +1x2 +4.5 +5.75 +7 +4.5 7' "$rtexec" infer "${two[@]}" --constant b=0.5 one.npy
echo 'constant={b=[0.5]}' >> open.toml
expect '0 3' 'Verdict' "$rtexec" check open.toml
expect 2 "z=one.npy: no such file, and no input has this name; .*NAME=FILE" "$rtexec" infer tiny.onnx z=one.npy
printf '[[task]]\nname="net"\nmodel="tiny.onnx"\nperiod="100ms"\nwcet="1ms"\ninputs=[{from="one.npy", mean=1}]\n' > values.toml
expect 2 'are for pictures, and the values of a .npy file are not converted' "$rtexec" check values.toml
expect 2 'already has a file' "$rtexec" infer "${two[@]}" a=one.npy a=other.npy
expect 2 'expected a folder' "$rtexec" infer "${two[@]}" -o y.npy
expect 1 '' test -e y.npy
expect 0 'wrote out.v2/y.npy' "$rtexec" infer "${two[@]}" -o out.v2/

# What files say reaches no terminal as it is, and the wrong file is called what it is.
expect 2 "node 'y' .\\\\u001B\[2J, writes 'y'" "$rtexec" infer hostile.onnx --shape a=1x2
expect 2 '\\u001B\[31mname.toml: error' "$rtexec" check $'\033[31mname.toml'
expect 2 'this is an ONNX model, not a task set: try `rtexec infer tiny.onnx`' "$rtexec" run tiny.onnx
expect 2 'this is a task set, not a profile' "$rtexec" check good.toml --wcet good.toml
expect 2 'this is a task set, not an ONNX model' "$rtexec" infer good.toml
expect 2 'this is a task set, not a list of execution times: try `rtexec check good.toml`' "$rtexec" analyze good.toml
expect 2 'this is an ONNX model, not a list of execution times' "$rtexec" analyze tiny.onnx

# Each command that reads a board prints its reader's warnings once.
sed '0,/^name = /s//hold_up = "1ms"\nname = /; /^platform_stall/d' "$OLDPWD/boards/host.toml" >renamed.toml
sed 's#^board = .*##; 1i board = "./renamed.toml"' good.toml >renamed-set.toml
for command in 'check renamed-set.toml' 'infer tiny.onnx --board ./renamed.toml' 'probe --board ./renamed.toml' 'config --command-line ./renamed.toml'; do
  count=$("$rtexec" $command 2>&1 >/dev/null | grep -c 'warning: hold_up: its name is now platform_stall')
  [ "$count" = 1 ] || { echo "$command: $count warnings of the board's reader"; bad=1; }
done

# A pipe that nobody writes to is told, and not waited for.
mkfifo pipe.toml
waiting=()
for command in 'check pipe.toml' 'infer pipe.toml' 'check good.toml --wcet pipe.toml' 'simulate good.toml --execution pipe.toml' 'analyze pipe.toml'; do
  (expect 2 'a pipe that delivers no data' timeout 120 "$rtexec" $command; exit $bad) & waiting+=($!)
done
for each in "${waiting[@]}"; do wait "$each" || bad=1; done
expect 0 'without a task' bash -c "'$rtexec' infer <(cat tiny.onnx) --json tiny.json && echo without a task"

# A verdict is to be seen at once, and a second signal ends what does not come to an end after the first.
"$rtexec" simulate good.toml --releases adversarial --attempts 3 --duration 600min >twice.log 2>&1 & pid=$!
await 'grep -q Verdict twice.log' || { echo "the verdict is not to be seen while the search goes on"; bad=1; }
kill -INT $pid; sleep 0.5; kill -0 $pid || { echo "the search ended at the first signal"; bad=1; }
kill -INT $pid; timeout 30 tail --pid=$pid -f /dev/null; kill -KILL $pid 2>/dev/null && { echo "a second signal does not end a search"; bad=1; }
wait $pid; [ $? = 130 ] || bad=1
exit $bad
