"""What every other module may use: errors, files, helper processes."""
