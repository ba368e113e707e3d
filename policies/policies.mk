# The component policies, which makes decisions: scheduling, admission, swap volumes, memory policies, bandwidth
# budgets.
$(call component,policies,config)
ALONE += policies/bandwidth/bandwidth_budget.cpp
