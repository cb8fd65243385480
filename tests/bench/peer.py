# SPDX-License-Identifier: Apache-2.0
"""Any other NFSv3 server, given by its command line."""
import os
import re
import shlex
import shutil

import sandbox
import servers

PORT = 2049
MOUNT_PORT = 20048
FIELDS = ("export", "source", "copy", "port", "mount_port", "state")


def check(command):
    """Refuse a command line that could not work; gives the server's name."""
    fields = re.findall(r"{(\w*)}", command)
    unknown = sorted(set(fields) - set(FIELDS))
    if unknown:
        raise sandbox.SandboxError(f"--peer knows no {{{unknown[0]}}}; there are "
                                   + ", ".join(f"{{{name}}}" for name in FIELDS))
    if "export" not in fields or "port" not in fields:
        raise sandbox.SandboxError("--peer wants {export} and {port} in the command line, as in"
                                   " --peer 'unfsd -d -n {port} -m {port} -e {export}'")
    return os.path.basename(_program(command))


def need_all(commands):
    """Refuse peers that are not there, and two of one name."""
    names = [check(command) for command in commands]
    for command, name in zip(commands, names):
        path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
        if not shutil.which(_program(command), path=path):
            raise sandbox.SandboxError(f"--peer: there is no program {_program(command)}")
        if names.count(name) > 1 or name in servers.KINDS:
            raise sandbox.SandboxError(f"--peer: two servers are called {name}. Give one of them"
                                       " a link of another name.")


def _program(command):
    return shlex.split(command)[0]


class Peer(servers.Server):
    """Started in the foreground; {mount_port} in its command means MOUNT has another port."""

    def __init__(self, exports, label, command):
        self.name = check(command)
        super().__init__(exports, label)
        self.command = command
        self.nfs_port = PORT
        self.mount_port = MOUNT_PORT if "{mount_port}" in command else PORT

    def argv(self):
        values = dict(zip(("export", "source", "copy"), self.exports), port=PORT,
                      mount_port=MOUNT_PORT, state=self.state)
        return [re.sub(r"{(\w+)}", lambda match: str(values[match[1]]), word)
                for word in shlex.split(self.command)]

    def exports_all(self):
        """Whether it serves the folders that trees are copied between, too."""
        return "{source}" in self.command and "{copy}" in self.command
