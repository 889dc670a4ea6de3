"""The supervisor that starts, watches and ends every child process. Nothing else in Outrider starts one."""
