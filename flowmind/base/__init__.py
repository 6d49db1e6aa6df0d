"""What every other module may use: errors, files, command lines, helper processes."""
