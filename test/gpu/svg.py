"""Small diagrams as SVG files, with nothing but the standard library."""
import math
from xml.sax.saxutils import escape

COLORS = ("#c0504d", "#4472c4", "#70ad47", "#7f6084", "#b8860b", "#4b8b8b")


class Axis:
    """From values to places between `start` and `end`."""

    def __init__(self, start, end, least, most, logarithmic=False):
        self.start, self.end, self.least, self.most, self.logarithmic = start, end, least, most, logarithmic

    def at(self, value):
        scale = math.log if self.logarithmic else float
        share = (scale(value) - scale(self.least)) / (scale(self.most) - scale(self.least))
        return self.start + share * (self.end - self.start)

    def ticks(self):
        if self.logarithmic:
            decades = range(math.floor(math.log10(self.least)), math.ceil(math.log10(self.most)) + 1)
            candidates = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
        else:
            step = 10 ** math.floor(math.log10((self.most - self.least) / 4))
            step *= max(factor for factor in (1, 2, 5) if step * factor <= (self.most - self.least) / 4)
            candidates = [step * count for count in range(math.ceil(self.least / step), math.floor(self.most / step + 1e-9) + 1)]
        return [value for value in candidates if self.least <= value <= self.most * (1 + 1e-9)]


class Drawing:
    def __init__(self, width, height):
        self.width, self.height, self.shapes = width, height, []

    def line(self, x1, y1, x2, y2, color, dashed=False):
        self.path([(x1, y1), (x2, y2)], color, dashed)

    def path(self, points, color, dashed=False):
        if points:
            places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            dash = ' stroke-dasharray="4 3"' if dashed else ""
            self.shapes.append(f'<polyline points="{places}" fill="none" stroke="{color}"{dash}/>')

    def rectangle(self, x, y, width, height, color):
        self.shapes.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{color}" fill-opacity="0.45" stroke="{color}"/>')

    def dot(self, x, y, color):
        self.shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.5" fill="{color}"/>')

    def text(self, x, y, words, anchor="start", turned=False):
        turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
        self.shapes.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}>{escape(words)}</text>')

    def vertical_axis(self, left, right, axis, words):
        self.line(left, axis.start, left, axis.end, "black")
        for value in axis.ticks():
            self.line(left, axis.at(value), right, axis.at(value), "#ddd")
            self.text(left - 5, axis.at(value) + 4, f"{value:g}", "end")
        self.text(left - 42, (axis.start + axis.end) / 2, words, "middle", turned=True)

    def horizontal_axis(self, axis, y, words):
        self.line(axis.start, y, axis.end, y, "black")
        for value in axis.ticks():
            self.line(axis.at(value), y, axis.at(value), y + 4, "black")
            self.text(axis.at(value), y + 16, f"{value:g}", "middle")
        self.text((axis.start + axis.end) / 2, y + 34, words, "middle")

    def write(self, file):
        file.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" font-family="sans-serif" font-size="11">\n'
                        '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(self.shapes) + "\n</svg>\n")
