# Runs in the guest: a bring-up, whose results stay on the data partition.
cd /data
rtexec bringup --device host --json bringup.json --html bringup.html > bringup.tap 2> bringup.log
echo "bringup: exit code $?" > bringup.result
