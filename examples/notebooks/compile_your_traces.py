# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Notebook: compile your traces
#
# Six recorded conversations of a support agent become a workflow. The workflow runs alone, and then stands before an
# agent with guards. Nothing here needs a language model.

# %%
import flowmind

# %% [markdown]
# The package brings the conversations as `refunds/traces.jsonl`, and the tools as `refunds/tools.py`.

# %%
# !flowmind example refunds

# %%
from refunds.tools import get_order, get_policy, issue_refund, send_voucher

tools = [get_order, get_policy, issue_refund, send_voucher]
result = flowmind.summarize("refunds/traces.jsonl", tools, query="Answer a refund request.")
print(result)

# %% [markdown]
# No conversation says why some customers got a voucher. The workflow has the condition that explains all six.

# %%
result.workflow

# %% [markdown]
# The workflow answers a request that no conversation is about.

# %%
result.workflow(order_id="A-1007")

# %% [markdown]
# ## Put it before an agent
#
# `flowmind.jit` records an agent at its tools, derives versions of a workflow, and compares them with the agent. A
# version that writes goes live only if a person promotes it.

# %%
find, policy_of, refund, voucher = recorded = flowmind.recorded(tools)


@flowmind.jit(recorded, query="Answer a refund request.", mode="live", derive="now")
def answer(order_id: str) -> dict:
    """Stands for an agent that is built with the recorded tools."""
    order = find(order_id)
    policy = policy_of(order["category"])
    if order["days_since_delivery"] <= policy["refund_days"]:
        return refund(order_id, order["total"])
    return voucher(order_id, policy["voucher_percent"])


for number in range(1, 7):
    answer(f"A-100{number}")
answer.promote(by="Ada")
answer("A-1007")

# %%
print(answer.stats().line())
