# Runs in the guest: a bring-up, then the image's task set, recorded; results stay on the data partition.
cd /data
rtexec bringup --device host --json bringup.json --html bringup.html > bringup.tap 2> bringup.log
echo "bringup: exit code $?" | tee results
rtexec run /opt/rtexec/set/tasks.toml --duration 10s --trace trace --json run.json > run.log 2>&1
echo "run: exit code $?" | tee -a results
