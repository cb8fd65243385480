# SPDX-License-Identifier: Apache-2.0
"""The server under test: where it is, how to reach it, what the user allows the suite to use."""
import subprocess
import tempfile

import mount3
import nfs3
import portmap
import rpc


class HookFailed(AssertionError):
    """A command of the user's (restart, kill, ...) failed; not the server's fault."""


class Server:
    """Built from the command line. Everything that needs an address asks here."""

    def __init__(self, options):
        self.options = options
        self.host = options.server
        self.timeout = options.timeout
        self.export = options.export.encode()
        self.portmap_port = options.portmap_port
        self.nfs_port = options.port or self._ask_portmap(nfs3.PROGRAM, "NFS")
        self.mount_port = (options.mount_port or options.port
                           or self._ask_portmap(mount3.PROGRAM, "MOUNT"))
        self.cred = rpc.auth_sys(options.uid, options.gid)

    @property
    def uses_portmap(self):
        return not self.options.port

    def _ask_portmap(self, program, name):
        connection = rpc.TcpConnection(self.host, self.portmap_port, self.timeout)
        port = portmap.Portmap(connection).getport(program, 3)
        connection.close()
        if not port:
            raise rpc.NoAnswer("the portmapper of %s knows no %s version 3 over TCP"
                               % (self.host, name))
        return port

    # -- connections

    def connect(self, source_port=None, timeout=None, **more):
        """A new TCP connection to the NFS port."""
        if source_port is None and self.options.reserved_port:
            source_port = "reserved"
        return rpc.TcpConnection(self.host, self.nfs_port, timeout or self.timeout, source_port,
                                 **more)

    def nfs(self, cred=None, connection=None):
        return nfs3.Nfs3(connection or self.connect(), cred or self.cred)

    def mount(self, version=3, cred=None, source_port=None):
        if source_port is None and self.options.reserved_port:
            source_port = "reserved"
        connection = rpc.TcpConnection(self.host, self.mount_port, self.timeout, source_port)
        return mount3.Mount(connection, cred or self.cred, version)

    def portmap_tcp(self):
        return portmap.Portmap(rpc.TcpConnection(self.host, self.portmap_port, self.timeout))

    def portmap_udp(self):
        return portmap.Portmap(rpc.UdpSocket(self.host, self.portmap_port, self.timeout))

    # -- what most tests begin with

    def mounted(self, path=None):
        """The handle that MNT gives for a path (the export, if none is named)."""
        mount = self.mount()
        try:
            return mount.mnt(self.export if path is None else path).ok().fh
        finally:
            mount.transport.close()

    def answers(self, seconds):
        """Does a NULL call get an answer in time?"""
        try:
            connection = self.connect(timeout=seconds)
            connection.call(nfs3.PROGRAM, nfs3.VERSION, 0)
            connection.close()
            return True
        except AssertionError:
            return False

    def hook(self, name, seconds=60):
        """Run one of the user's commands, such as the one that restarts the server."""
        command = getattr(self.options, name)
        rpc.trace.append("== %s: %s" % (name, command))
        # A file, not a pipe: a server that the command leaves running keeps its output open.
        with tempfile.TemporaryFile() as output:
            try:
                done = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, stdout=output,
                                      stderr=subprocess.STDOUT, timeout=seconds)
            except subprocess.TimeoutExpired:
                raise HookFailed("--%s did not end within %d s"
                                 % (name.replace("_", "-"), seconds)) from None
            output.seek(0)
            text = output.read().decode("utf-8", "replace")
        if done.returncode:
            raise HookFailed("--%s ended with status %d:\n%s"
                             % (name.replace("_", "-"), done.returncode, text))
