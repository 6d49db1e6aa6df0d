"""Runs of a workflow on files of many inputs."""
