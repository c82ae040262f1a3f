"""Attempts to get out of the sandbox, and to deceive whoever reads its results.

Each is the text of a step. It calls `escaped(...)` with what it got as soon as it got anything that
a step must not have; an exception is a failure of the attempt, which is what is wanted. All of them
begin with the real `__import__`, so that the list of allowed imports stands in nobody's way. The
words between `@` are those of the test: a file, a port, a process. `CONTROLS` are the attempts that
succeed where nothing confines a step, and do no harm there: they show that the others would be
noticed.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

PRELUDE: Final = """
real = pd.io.common.os.sys.modules["builtins"].__import__
os, sys, ctypes = real("os"), real("sys"), real("ctypes")
socket, subprocess, signal = real("socket"), real("subprocess"), real("signal")
libc = ctypes.CDLL(None, use_errno=True)
def escaped(*what):
    store.put("escaped", repr(what)[:2000])
    import traceback
    # Kept even where the step is to fail afterwards.
    os.write(1, b"ESCAPED " + repr(what)[:500].encode())
def syscall(number, *arguments):
    found = libc.syscall(number, *arguments)
    if found >= 0:
        escaped("syscall", number, found)
    raise OSError(ctypes.get_errno(), f"syscall {number}")
machine = os.uname().machine == "aarch64"
"""

FILES: Final = {
    "read a file of the machine": "escaped(open('@canary@').read())",
    "read the list of accounts": "escaped(open('/etc/passwd').read())",
    "read by pandas": "escaped(pd.read_csv('@canary@').to_string())",
    "read by numpy": "escaped(np.fromfile('@canary@', 'u1')[:4])",
    "read by memory map": "escaped(np.memmap('@canary@', mode='r')[:4])",
    "read through a descriptor path": "escaped(os.open('@canary@', os.O_RDONLY))",
    "open only to name": "escaped(os.read(os.open('@canary@', os.O_PATH), 10))",
    "list the root": """
found = set(os.listdir('/'))
if found & {'boot', 'proc', 'run', 'srv', 'sys', 'var'}:
    escaped(found)
""",
    "list a folder of the machine": "escaped(os.listdir('@folder@'))",
    "walk to find something": "escaped([x for x in os.walk('@folder@')] or os.scandir('@folder@'))",
    "write into a folder of the machine": "open('@folder@/new', 'w').write('x'); escaped()",
    "append to a file of the machine": "open('@canary@', 'a').write('x'); escaped()",
    "cut a file of the machine": "os.truncate('@canary@', 0); escaped()",
    "remove a file of the machine": "os.unlink('@canary@'); escaped()",
    "rename a file of the machine": "os.rename('@canary@', '@canary@.moved'); escaped()",
    "change the rights of a file": "os.chmod('@canary@', 0o777); escaped()",
    "make a folder": "os.mkdir('@folder@/made'); escaped()",
    "make a link to a file": "os.symlink('@canary@', '/tmp/link'); escaped(open('/tmp/link'))",
    "make a hard link": "os.link('@canary@', '/tmp/hard'); escaped()",
    "follow a link in its own folder": """
link = os.environ['TMPDIR'] + '/link'
os.symlink('@canary@', link)
escaped(open(link).read())
""",
    "write into its own temporary folder": "open('/tmp/left', 'w').write('x'); escaped()",
    "write beside a cache": "open(os.environ['MPLCONFIGDIR'] + '/x', 'w'); escaped()",
    "write over a library": "open(pd.__file__, 'a').write('x'); escaped()",
    "write compiled code": "open(np.__file__ + 'c', 'wb').write(b'x'); escaped()",
    "make a file without a name": "escaped(os.open('/tmp', os.O_TMPFILE | os.O_RDWR))",
    "make a file in memory": "escaped(os.memfd_create('x'))",
    "make a pipe with a name": "os.mkfifo('/tmp/pipe'); escaped()",
    "make a device": "os.mknod('/tmp/device', 0o660 | 0o020000, 259); escaped()",
    "save a frame as a file": "pd.DataFrame({'a': [1]}).to_csv('/tmp/out.csv'); escaped()",
    "save as a pickle": "pd.DataFrame({'a': [1]}).to_pickle('/tmp/out.pkl'); escaped()",
    "open by a handle": "syscall(265 if machine else 304, 3, None, 0)",
    "open with newer words": """
how = ctypes.create_string_buffer(24)
syscall(437, -100, b'@canary@', how, 24)
""",
    "mount": "syscall(40 if machine else 165, b'none', b'/tmp', b'tmpfs', 0, None)",
    "change the root": "os.chroot('/tmp'); escaped()",
    "watch files": "syscall(26 if machine else 294, 0)",
}

PROCESSES: Final = {
    "start a program": "escaped(subprocess.check_output(['/bin/true']))",
    "start a shell": "escaped(os.system('true') == 0 or 1/0)",
    "become another program": "os.execv(sys.executable or '/bin/sh', ['x', '-c', '1']); escaped()",
    "become a program in memory": "syscall(281 if machine else 322, 3, b'', None, None, 0x1000)",
    "make a process": "pid = os.fork(); escaped(pid)",
    "make a process with clone": "syscall(220 if machine else 56, 17, None, None, None, None)",
    "make a process with clone3": """
arguments = ctypes.create_string_buffer(88)
syscall(435, arguments, 88)
""",
    "make a thread": """
import traceback
threading = real('threading')
thread = threading.Thread(target=lambda: None)
thread.start()
escaped()
""",
    "make a process with a spawn": "os.posix_spawn('/bin/true', ['true'], {}); escaped()",
    "make processes without end": """
for _ in range(1000):
    os.fork()
escaped()
""",
    "signal the parent": "os.kill(os.getppid(), 9); escaped()",
    "signal everybody": "os.kill(-1, 0); escaped()",
    "signal who started it": "os.kill(@pid@, 0); escaped()",
    "signal a thread of the parent": """
syscall(131 if machine else 234, os.getppid(), os.getppid(), 0)
""",
    "signal by a descriptor": "syscall(424, 3, 0, None, 0)",
    "have a signal sent": """
fcntl = real('fcntl')
fcntl.fcntl(3, fcntl.F_SETOWN, os.getppid())
escaped()
""",
    "have input signalled": """
fcntl = real('fcntl')
fcntl.fcntl(3, fcntl.F_SETFL, fcntl.fcntl(3, fcntl.F_GETFL) | os.O_ASYNC)
escaped()
""",
    "trace the parent": "syscall(117 if machine else 101, 16, os.getppid(), None, None)",
    "read the memory of the parent": """
piece = ctypes.create_string_buffer(64)
syscall(270 if machine else 310, os.getppid(), piece, 1, piece, 1, 0)
""",
    "write the memory of the parent": """
piece = ctypes.create_string_buffer(64)
syscall(271 if machine else 311, os.getppid(), piece, 1, piece, 1, 0)
""",
    "take a descriptor of the parent": "syscall(438, 3, 0, 0)",
    "compare with the parent": """
syscall(272 if machine else 312, os.getpid(), os.getppid(), 0, 0, 0)
""",
    "leave its session": "os.setsid(); escaped()",
    "leave its group": "os.setpgid(0, 0); escaped()",
    "live on when the parent ends": "libc.prctl(1, 0, 0, 0, 0) == 0 and escaped()",
    "be traceable": "libc.prctl(4, 1, 0, 0, 0) == 0 and escaped()",
}

NETWORK: Final = {
    "connect to a server": "s = socket.create_connection(('127.0.0.1', @port@), 1); escaped(s)",
    "make a socket": "escaped(socket.socket())",
    "make a datagram socket": "escaped(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))",
    "make a raw socket": "escaped(socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))",
    "make a local socket": "escaped(socket.socket(socket.AF_UNIX))",
    "make a pair of sockets": "escaped(socket.socketpair())",
    "talk to the kernel": "escaped(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))",
    "make sockets of virtual machines": "escaped(socket.socket(40, socket.SOCK_STREAM))",
    "look up a name": "escaped(socket.getaddrinfo('example.org', 80))",
    "read from the network by pandas": "escaped(pd.read_csv('http://127.0.0.1:@port@/x.csv'))",
    "connect by an adopted socket": """
other = socket.socket(fileno=os.dup(3))
other.connect(('127.0.0.1', @port@))
escaped()
""",
    "pass a descriptor": """
other = socket.socket(fileno=os.dup(3))
socket.send_fds(other, [b'x'], [0])
escaped()
""",
}

PRIVILEGES: Final = {
    "become root": "os.setuid(0); escaped()",
    "become another user": "os.setresuid(1, 1, 1); escaped()",
    "become a member of a group": "os.setgroups([0]); escaped()",
    "take privileges": """
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
wished = (ctypes.c_uint32 * 6)(*[0xffffffff] * 6)
if libc.capset(header, wished) == 0:
    escaped()
""",
    "make a namespace": "syscall(97 if machine else 272, 0x10000000)",
    "join a namespace": "syscall(268 if machine else 308, 3, 0)",
    "load a program into the kernel": "syscall(280 if machine else 321, 0, None, 0)",
    "submit work to the kernel": "syscall(425, 8, ctypes.create_string_buffer(120))",
    "enter a ring": "syscall(426, 3, 1, 0, 0, None, 0)",
    "measure the machine": """
syscall(241 if machine else 298, ctypes.create_string_buffer(120), 0, -1, -1, 0)
""",
    "handle faults": "syscall(282 if machine else 323, 0)",
    "keep a key": "syscall(217 if machine else 248, b'user', b'x', b'y', 1, -4)",
    "load a module": "syscall(105 if machine else 175, b'', 0, b'')",
    "restart the machine": "syscall(142 if machine else 169, 0, 0, 0, None)",
    "set the clock": "syscall(112 if machine else 227, 0, ctypes.create_string_buffer(16))",
    "raise its memory": """
resource = real('resource')
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
escaped()
""",
    "raise the memory of the parent": """
resource = real('resource')
resource.prlimit(os.getppid(), resource.RLIMIT_AS, (1 << 40, 1 << 40))
escaped()
""",
    "go before others": "os.setpriority(0, 0, -20); escaped()",
    "run on another processor": "os.sched_setaffinity(0, {0}); escaped()",
    "share memory with others": "syscall(194 if machine else 29, 4242, 4096, 0o1600)",
    "send messages to others": "syscall(186 if machine else 68, 4242, 0o1600)",
    "take another filter": "syscall(277 if machine else 317, 0, 0, None)",
    "use calls of another architecture": """
if machine:
    raise OSError("has none")
# x32: the same table with a bit set; openat and getpid.
syscall(0x40000000 + 39)
""",
}

SECRETS: Final = {
    "read the environment": """
if 'CONSTAT_CANARY' in os.environ or 'PATH' in os.environ and '@canary@' in os.environ['PATH']:
    escaped(dict(os.environ))
""",
    "read the environment of the parent": """
escaped(open(f'/proc/{os.getppid()}/environ', 'rb').read())
""",
    "read its own environment": "escaped(open('/proc/self/environ', 'rb').read())",
    "read the memory of its own process": "escaped(open('/proc/self/mem', 'rb'))",
    "list the processes": "escaped([x for x in os.listdir('/proc') if x.isdigit()])",
    "read the root of the parent": "escaped(os.listdir(f'/proc/{os.getppid()}/root'))",
    "read open files of the parent": "escaped(os.listdir(f'/proc/{os.getppid()}/fd'))",
    "read the settings of the machine": "escaped(os.listdir('/sys'))",
    "read the log of the kernel": """
syscall(116 if machine else 103, 3, ctypes.create_string_buffer(99), 99)
""",
    "use a descriptor that was left open": """
found = []
for number in range(4, 1024):
    try:
        os.fstat(number)
        found.append(number)
    except OSError:
        pass
if found:
    escaped(found)
""",
    "import the program that started it": """
found = real('constat.session')
escaped(found)
""",
    "read the project": "escaped(open('@project@').read())",
    "find a secret in the memory it was copied from": """
gc = real('gc')
for one in gc.get_objects():
    if isinstance(one, dict) and '@secret@' in list(one.values())[:99]:
        escaped(one)
""",
}

IMPORTS: Final = {
    "find what starts programs among all classes": """
found = [one for one in object.__subclasses__() if one.__name__ == 'Popen']
escaped(found[0](['/bin/true']).wait())
""",
    "import a file of the machine": """
util = real('importlib.util').util
found = util.spec_from_file_location('canary', '@project@', loader=real(
    'importlib.machinery').machinery.SourceFileLoader('canary', '@project@'))
escaped(found.loader.get_data('@project@'))
""",
    "import from a folder of the machine": """
machinery = real('importlib.machinery').machinery
finder = machinery.FileFinder('@folder@', (machinery.SourceFileLoader, ['.txt']))
escaped(finder.find_spec('canary').loader.get_data('@canary@'))
""",
    "import what starts programs": """
found = real('multiprocessing.util', fromlist=['x'])
escaped(found.spawnv_passfds(b'/bin/true', [b'true'], ()))
""",
}

PICKLES: Final = {
    "a pickle that starts a program": """
pickle = real('pickle')
class Bad:
    def __reduce__(self):
        return subprocess.check_output, (['/bin/true'],)
# The pickle written in Python imports as Python does, and not as a step may.
escaped(pickle._loads(pickle._dumps(Bad())))
""",
    "a pickle that pandas reads": """
io, pickle = real('io'), real('pickle')
class Bad:
    def __reduce__(self):
        return open, ('@canary@',)
# The one written in C imports as its caller does, since Python 3.13.
escaped(pd.read_pickle(io.BytesIO(pickle._dumps(Bad()))).read())
""",
    "a pickle in an array": """
io, pickle = real('io'), real('pickle')
class Bad:
    def __reduce__(self):
        return open, ('@canary@',)
made = io.BytesIO()
np.save(made, np.array([Bad()], object), allow_pickle=True)
made.seek(0)
escaped(np.load(made, allow_pickle=True)[0].read())
""",
    "a frame that is a pickle when it is read": """
class Bad:
    def __reduce__(self):
        return os.system, ('touch @folder@/pickled',)
store.put('bad', pd.DataFrame({'x': [Bad()]}))
""",
}

FOREIGN: Final = {
    "call the shell in C": "escaped() if libc.system(b'true') == 0 else 1/0",
    "open in C": """
found = libc.open(b'@canary@', 0)
if found >= 0:
    escaped(os.read(found, 99))
""",
    "load a library of the machine": "escaped(ctypes.CDLL('@canary@'))",
    "run a program in C": """
words = (ctypes.c_char_p * 2)(b'true', None)
libc.execv(b'/bin/true', words)
raise OSError(ctypes.get_errno(), 'execv')
""",
    "fork in C": """
if libc.fork() >= 0:
    escaped()
""",
}

EVERYTHING: Final = {
    name: PRELUDE + text
    for part in (FILES, PROCESSES, NETWORK, PRIVILEGES, SECRETS, IMPORTS, PICKLES, FOREIGN)
    for name, text in part.items()
}

CATEGORIES: Final = MappingProxyType(
    {
        "files": tuple(FILES),
        "environment": tuple(one for one in SECRETS if "environment" in one),
        "sockets": tuple(NETWORK),
        "subprocess": ("start a program", "start a shell", "make a process with a spawn"),
        "ctypes": tuple(FOREIGN),
        "import tricks": tuple(IMPORTS),
        "pickles": tuple(PICKLES),
        "signals": tuple(one for one in PROCESSES if "signal" in one),
        "fork bombs": ("make processes without end", "make a process", "fork in C"),
        "symlinks": tuple(one for one in FILES if "link" in one),
    }
)
"""The kinds of attempts that there have to be; endless loops and much memory: `test_hostile.py`."""

CONTROLS: Final = (
    *("read a file of the machine", "list a folder of the machine", "start a program"),
    *("make a thread", "connect to a server", "make a file in memory", "make a process"),
    *("write into a folder of the machine", "read its own environment", "list the processes"),
    *("make a pair of sockets", "signal who started it", "append to a file of the machine"),
    *("find what starts programs among all classes", "call the shell in C", "open in C"),
    *("import a file of the machine", "import from a folder of the machine"),
    *("import what starts programs", "a pickle that starts a program", "a pickle in an array"),
    *("a pickle that pandas reads", "follow a link in its own folder"),
)
