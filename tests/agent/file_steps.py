"""Steps of one call that does something to a file, for scripts."""

from scripting import call, step


def delete(path):
    return step(call("delete_file", path=path))


def write(path, content):
    return step(call("write_file", path=path, content=content))


def edit(path, old, new):
    return step(call("edit_file", path=path, old=old, new=new))


def rename(path, to):
    return step(call("rename_file", **{"from": path, "to": to}))


def run(command):
    return step(call("run_command", command=command))
