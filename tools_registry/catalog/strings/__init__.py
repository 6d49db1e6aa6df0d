"""Text tools: functions whose main input is a text."""
