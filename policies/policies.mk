# What is decided: scheduling, admission, swap volumes, memory policies, bandwidth budgets.
$(call component,policies,config)
ALONE += policies/bandwidth/bandwidth_budget.cpp
