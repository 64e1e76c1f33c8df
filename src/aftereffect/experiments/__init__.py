"""Experiments: specs, sweeps, storage, executors, the paper's figures and claims."""
