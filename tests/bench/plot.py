# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG text, from numbers alone: nothing but the standard library, nothing read or written.

Three kinds: bars of ratios around 1, marks of latencies on a line a row, lines over a few sizes.
Axes are logarithmic, since servers differ by factors.
"""
import math
from xml.sax.saxutils import escape

WIDTH = 960
LABEL_WIDTH = 330
RIGHT = 90
ROW_HEIGHT = 24
TOP = 76
BOTTOM = 44
LINES_HEIGHT = 420
COLOURS = ("#0b6e4f", "#c8553d", "#3d5a80", "#8a6d3b", "#6b4c9a", "#555555")
GRID, TEXT = "#dddddd", "#222222"


def _text(x, y, words, anchor="start", size=12, colour=TEXT):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}"'
            f' text-anchor="{anchor}">{escape(str(words))}</text>')


def _line(x1, y1, x2, y2, colour, width=1.0):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"'
            f' stroke-width="{width}"/>')


def _circle(x, y, radius, colour, filled=True):
    return (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" stroke="{colour}"'
            f' fill="{colour if filled else "white"}"/>')


def _document(title, subtitle, height, parts):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}" font-family="DejaVu Sans, Helvetica, sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        _text(16, 26, title, size=17), _text(16, 46, subtitle, colour="#666666"),
        *parts, "</svg>", ""])


def axis(low, high):
    """A logarithmic axis that holds both: its ends and its ticks (1, 2, 5 and their tens)."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [factor * 10.0 ** power for power in range(first - 1, last + 1)
             for factor in (1, 2, 5)]
    start = max(tick for tick in ticks if tick <= low * 1.0000001)
    end = min((tick for tick in ticks if tick >= high * 0.9999999 and tick > start),
              default=start * 10)
    return start, end, [tick for tick in ticks if start <= tick <= end]


def _number(tick):
    return f"{tick:,.0f}" if tick >= 1 else f"{tick:g}"


class _Scale:
    """From numbers to places on a line."""

    def __init__(self, numbers, begin, end):
        self.low, self.high, self.ticks = axis(min(numbers), max(numbers))
        self.begin, self.end = begin, end

    def __call__(self, number):
        share = math.log(number / self.low) / math.log(self.high / self.low)
        return self.begin + share * (self.end - self.begin)

    def labelled(self, gap=48):
        """The ticks that have room for a label."""
        chosen, last = [], None
        for tick in self.ticks:
            if last is None or abs(self(tick) - last) >= gap:
                chosen.append(tick)
                last = self(tick)
        return chosen


def _grid(scale, top, bottom):
    parts = [_line(scale(tick), top, scale(tick), bottom, GRID) for tick in scale.ticks]
    return parts + [_text(scale(tick), bottom + 16, _number(tick), "middle", 11)
                    for tick in scale.labelled()]


def _legend(names, y=62):
    parts, x = [], 16.0
    for number, name in enumerate(names):
        colour = COLOURS[number % len(COLOURS)]
        parts += [_circle(x + 5, y - 4, 4, colour), _text(x + 14, y, name)]
        x += 30 + 7.5 * len(name)
    return parts


def ratio_bars(title, subtitle, rows, more_is_better=True):
    """rows: (label, [ratio of each turn]). A bar from 1 to the median, a line over the spread."""
    height = TOP + ROW_HEIGHT * len(rows) + BOTTOM
    numbers = [1.0] + [value for _, values in rows for value in values]
    scale = _Scale(numbers, LABEL_WIDTH, WIDTH - RIGHT)
    bottom = height - BOTTOM
    parts = _grid(scale, TOP, bottom)
    for number, (label, values) in enumerate(rows):
        y = TOP + ROW_HEIGHT * (number + 0.5)
        median = sorted(values)[len(values) // 2]
        left, right = sorted((scale(1), scale(median)))
        colour = COLOURS[0] if (median >= 1) == more_is_better else COLOURS[1]
        parts += [_text(LABEL_WIDTH - 10, y + 4, label, "end"),
                  f'<rect x="{left:.1f}" y="{y - 7:.1f}" width="{max(1, right - left):.1f}"'
                  f' height="14" fill="{colour}" fill-opacity="0.75"/>',
                  _line(scale(min(values)), y, scale(max(values)), y, TEXT, 1.5),
                  _text(max(right, scale(max(values))) + 6, y + 4, f"{median:.2f}", size=11)]
    parts.append(_line(scale(1), TOP, scale(1), bottom, TEXT, 1.2))
    return _document(title, subtitle, height, parts)


def latency_marks(title, subtitle, names, rows):
    """rows: (label, {name: (p50, p99, p99.9)}). A filled mark for p50, hollow ones for the rest."""
    step = ROW_HEIGHT + 10 * (len(names) - 1)
    height = TOP + step * len(rows) + BOTTOM
    scale = _Scale([max(value, 0.1) for _, marks in rows for points in marks.values()
                    for value in points], LABEL_WIDTH, WIDTH - RIGHT)
    parts = _legend(names) + _grid(scale, TOP, height - BOTTOM)
    for number, (label, marks) in enumerate(rows):
        middle = TOP + step * (number + 0.5)
        parts.append(_text(LABEL_WIDTH - 10, middle + 4, label, "end"))
        for place, name in enumerate(names):
            if name not in marks:
                continue
            y = middle + 10 * (place - (len(names) - 1) / 2)
            colour = COLOURS[place % len(COLOURS)]
            points = [scale(max(value, 0.1)) for value in marks[name]]
            parts.append(_line(points[0], y, points[-1], y, colour, 1.5))
            parts += [_circle(x, y, 3.5, colour, filled=rank == 0)
                      for rank, x in enumerate(points)]
    return _document(title, subtitle, height, parts)


def lines(title, subtitle, sizes, series):
    """series: {name: [value for each size, or None]}."""
    height, top, bottom = LINES_HEIGHT, TOP, LINES_HEIGHT - BOTTOM
    left, right = 80, WIDTH - RIGHT
    scale = _Scale([value for values in series.values() for value in values if value],
                   bottom, top)
    step = (right - left) / max(1, len(sizes) - 1)
    parts = _legend(series)
    parts += [_line(left, scale(tick), right, scale(tick), GRID) for tick in scale.ticks]
    parts += [_text(left - 8, scale(tick) + 4, _number(tick), "end", 11)
              for tick in scale.labelled(gap=14)]
    parts += [_text(left + step * number, bottom + 18, size, "middle", 11)
              for number, size in enumerate(sizes)]
    for number, values in enumerate(series.values()):
        colour = COLOURS[number % len(COLOURS)]
        points = [(left + step * place, scale(value)) for place, value in enumerate(values)
                  if value]
        parts += [_line(*a, *b, colour, 2) for a, b in zip(points, points[1:])]
        parts += [_circle(x, y, 4, colour) for x, y in points]
    return _document(title, subtitle, height, parts)
