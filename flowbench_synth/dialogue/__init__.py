"""`flowbench_dialogue`: the dialogue benchmark after FlowBench (Xiao et al.) and FlowAgent (Shi et al.)."""
