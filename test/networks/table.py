"""The networks that run, as a table in Markdown: compare.py --markdown. Rows are compare.py's, those of other boards from its files (--json)."""
import collections
import importlib.metadata
import textwrap

from infer import REFUSED, WRONG

BEGIN, END = "<!-- networks: begin -->", "<!-- networks: end -->"
SOURCES = {"tv_": "torchvision", "timm_": "timm", "ul_": "ultralytics", "hf_": "transformers", "": "by hand"}
PACKAGES = ("torch", "torchvision", "timm", "ultralytics", "transformers", "onnx", "onnxruntime")
SUFFIXES = {"traced": "", "dynamo": "-dynamo"}  # what follows a network's name in the name of its file
PRECISIONS = ("fp32", "tf32", "fp16")
COLUMNS = 120


def exporter_of(stem):
    """A network's name without the exporter's, and that."""
    suffix = SUFFIXES["dynamo"]
    return (stem.removesuffix(suffix), "dynamo") if stem.endswith(suffix) else (stem, "traced")


def source_of(name):
    prefix = next(prefix for prefix in SOURCES if name.startswith(prefix))
    return SOURCES[prefix], name.removeprefix(prefix)


def amount(count):
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}" if count < 10 * size else f"{count / size:.0f} {unit}"
    return str(count)


def cell(rows):
    """The worst of them."""
    if not rows:
        return ""
    if any(row["result"] == REFUSED for row in rows):
        return REFUSED
    worst = max(rows, key=lambda row: (row["result"] == WRONG, float("inf") if row["error"] is None else row["error"]))
    if worst["error"] is None:
        return WRONG
    error = "0" if worst["error"] == 0 else f"{worst['error']:.0e}".replace("e-0", "e-")
    return f"{WRONG} {error}" if worst["result"] == WRONG else error


def heading_of(board, precision):
    return board if board == "host" else f"{board} {precision}"


def line(cells):
    return f"| {' | '.join(cells)} |"


def table(rows):
    """A line for each network: on the host by each exporter, elsewhere the worse of both."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    parameters = {}
    for row in rows:
        name, exporter = exporter_of(row["network"])
        place = row["board"], row["precision"]
        found[name][(*place, exporter) if row["board"] == "host" else place].append(row)
        parameters.setdefault(name, row["parameters"])
    others = sorted({(row["board"], row["precision"]) for row in rows if row["board"] != "host"},
                    key=lambda place: (place[0], PRECISIONS.index(place[1])))
    places = [("host", "fp32", exporter) for exporter in SUFFIXES] + others
    headings = ["network", "from", "parameters", *(f"host, {exporter}" for exporter in SUFFIXES), *(heading_of(*place) for place in others)]
    lines = [line(headings), "|---" * len(headings) + "|"]
    order = list(SOURCES.values())
    for name in sorted(found, key=lambda name: (order.index(source_of(name)[0]), name)):
        source, short = source_of(name)
        lines.append(line([f"`{short}`", source, amount(parameters[name]), *(cell(found[name][place]) for place in places)]))
    return "\n".join(lines)


def versions():
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    return ", ".join(found)


def summary(rows):
    """What was run, how often, and with what."""
    counts = collections.defaultdict(collections.Counter)
    for row in rows:
        counts[heading_of(row["board"], row["precision"])][row["result"]] += 1
    told = "; ".join(f"{place}: {', '.join(f'{count} {result}' for result, count in results.items())}" for place, results in counts.items())
    text = (f"`python3 test/networks/compare.py --write rtexec/docs/user-guide/supported-networks.md FOLDER` wrote this table ({versions()}). "
            f"Files by result: {told}. A number alone means that the network is right. "
            "The host has a column for each exporter. The column of any other board shows the larger error of the two exporters' files.")
    return textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False)


def markdown(rows):
    return f"{summary(rows)}\n\n{table(rows)}"


def renew(document, text):
    """Puts the text between the marks of the document."""
    before, _, rest = document.read_text().partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"{document}: it has no {BEGIN} and {END}")
    document.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
