# Task sets for scripts of test/system/, in the folder that they stand in: one that is proved, one that is not, one with a misspelt key.
{ printf '[executive]\nduration="300ms"\nallow_degraded=true\n'; task a 50ms 2ms; task b 80ms 3ms; } > good.toml
{ printf '[executive]\nduration="300ms"\nallow_degraded=true\n'; task a 10ms 8ms; task b 20ms 12ms; } > overload.toml
printf '[[task]]\nname="a"\nperoid="10ms"\n' > broken.toml
