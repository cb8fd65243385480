# SPDX-License-Identifier: Apache-2.0
"""guest_race.py ME START COUNT - two clients create the same names exclusively.

ME is "a" or "b"; START is a file that appears when both may begin. For each name the
winner writes who it is. Prints the numbers of the names won, in one line.
"""
import os
import sys

me, start, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
while not os.path.exists(start):
    pass

won = []
for number in range(count):
    try:
        fd = os.open(f"race-{number}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        continue
    os.write(fd, me.encode())
    os.close(fd)
    won.append(number)
    with open(f"turn-{me}-{number}", "w", encoding="ascii"):
        pass  # something else to do, so that the two stay mixed
print(*won)
