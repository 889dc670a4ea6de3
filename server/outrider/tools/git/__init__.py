"""What a command of git would come to: texts of history, settings that start programs, files that it tracks."""
