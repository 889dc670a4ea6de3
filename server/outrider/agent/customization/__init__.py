"""What users and trusted workspaces bring along: commands, skills, hooks, memory. It is found here and acts through the executor."""
