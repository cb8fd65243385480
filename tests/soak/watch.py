# SPDX-License-Identifier: Apache-2.0
"""The server's memory and descriptors over time: sampled, judged, written down and drawn."""
import os
import time

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
MIB = 1 << 20
GROWTH_BYTES_MAX = 6 * MIB  # between the middle and the last third of the last life
GROWTH_SHARE_MAX = 0.05
DESCRIPTORS_GROWTH_MAX = 48
JUDGED_LIFE_S_MIN = 300
BLOCKS = " ▁▂▃▄▅▆▇█"


def sample(pid):
    """(resident bytes, descriptors, threads) of a process, or None if it is gone."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
            resident = int(statm.read().split()[1]) * PAGE_BYTES
        return (resident, len(os.listdir(f"/proc/{pid}/fd")),
                len(os.listdir(f"/proc/{pid}/task")))
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return None


class Watch:
    """Samples of every life, in the order of time: (seconds, life, bytes, descriptors, threads)."""

    def __init__(self):
        self._started = time.monotonic()
        self.samples = []
        self.marks = []  # (seconds, what was done to the server)

    def seconds(self):
        return time.monotonic() - self._started

    def mark(self, what):
        self.marks.append((self.seconds(), what))

    def take(self, pid, life):
        taken = sample(pid)
        if taken:
            self.samples.append((self.seconds(), life) + taken)
        return taken

    def of_life(self, life):
        return [s for s in self.samples if s[1] == life]

    def judge(self, life):
        """Faults, in words, of how memory and descriptors went in the last life. A life of a few
        minutes says nothing: caches still fill."""
        samples = self.of_life(life)
        third = len(samples) // 3
        if third < 3 or samples[-1][0] - samples[0][0] < JUDGED_LIFE_S_MIN:
            return []
        middle, last = samples[third:2 * third], samples[2 * third:]
        faults = []
        before, after = _mean(middle, 2), _mean(last, 2)
        if after - before > max(GROWTH_BYTES_MAX, before * GROWTH_SHARE_MAX):
            faults.append(f"resident memory grew from {before / MIB:.1f} to {after / MIB:.1f} MiB"
                          f" in the last {last[-1][0] - middle[0][0]:.0f} s")
        before, after = _mean(middle, 3), _mean(last, 3)
        if after - before > DESCRIPTORS_GROWTH_MAX:
            faults.append(f"descriptors grew from {before:.0f} to {after:.0f}")
        return faults

    def slope_line(self, life):
        samples = self.of_life(life)
        third = len(samples) // 3
        if third < 3:
            return "no life was long enough for a trend"
        middle, last = samples[third:2 * third], samples[2 * third:]
        hours = (_mean(last, 0) - _mean(middle, 0)) / 3600
        return (f"trend of the last life ({samples[-1][0] - samples[0][0]:.0f} s):"
                f" {(_mean(last, 2) - _mean(middle, 2)) / 1024 / hours:+.0f} KiB and"
                f" {(_mean(last, 3) - _mean(middle, 3)) / hours:+.1f} descriptors an hour")

    def write_csv(self, path):
        with open(path, "w", encoding="ascii") as out:
            out.write("seconds,life,resident_bytes,descriptors,threads\n")
            for row in self.samples:
                out.write("%.1f,%d,%d,%d,%d\n" % row)

    def bars(self, column, width=72):
        """A line of bars, from 0 to the highest value."""
        if not self.samples:
            return ""
        end = self.samples[-1][0] or 1
        cells = [0] * width
        for row in self.samples:
            at = min(width - 1, int(row[0] / end * width))
            cells[at] = max(cells[at], row[column])
        top = max(cells) or 1
        return "".join(BLOCKS[round(cell / top * (len(BLOCKS) - 1))] for cell in cells)

    def write_svg(self, path, title):
        charts = [("resident memory, MiB", 2, 1 / MIB), ("descriptors", 3, 1)]
        end = max([s[0] for s in self.samples] + [1])
        parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="960" height="520"'
                 ' font-family="sans-serif" font-size="12">',
                 '<rect width="960" height="520" fill="white"/>',
                 f'<text x="60" y="22" font-size="15">{title}</text>']
        for number, (label, column, scale) in enumerate(charts):
            parts += self._chart(50 + number * 235, label, column, scale, end)
        with open(path, "w", encoding="utf-8") as out:
            out.write("\n".join(parts + ["</svg>", ""]))

    def _chart(self, top, label, column, scale, end):
        left, width, height = 60, 870, 190
        highest = max([s[column] * scale for s in self.samples] + [1]) * 1.1

        def x(seconds):
            return left + seconds / end * width

        def y(value):
            return top + height - value / highest * height

        parts = [f'<text x="{left}" y="{top - 6}">{label}</text>',
                 f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none"'
                 ' stroke="#999"/>']
        for tick in range(5):
            value = highest * tick / 4
            parts.append(f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">'
                         f"{value:.0f}</text>")
        for seconds, what in self.marks:
            colour = {"kill": "#c33", "cut": "#80c"}.get(what, "#aaa")
            parts.append(f'<line x1="{x(seconds):.1f}" x2="{x(seconds):.1f}" y1="{top}"'
                         f' y2="{top + height}" stroke="{colour}" stroke-opacity="0.5">'
                         f"<title>{what} at {seconds:.0f} s</title></line>")
        for life in sorted({s[1] for s in self.samples}):
            points = " ".join(f"{x(s[0]):.1f},{y(s[column] * scale):.1f}"
                              for s in self.of_life(life))
            parts.append(f'<polyline points="{points}" fill="none" stroke="#147" />')
        for tick in range(7):
            seconds = end * tick / 6
            parts.append(f'<text x="{x(seconds):.1f}" y="{top + height + 15}"'
                         f' text-anchor="middle">{_clock(seconds)}</text>')
        return parts


def _mean(rows, column):
    return sum(row[column] for row in rows) / len(rows)


def _clock(seconds):
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02d}:{int(seconds) % 60:02d}"
