"""What notebooks show of graphs, profiles and tuning reports: HTML without scripts or anything from elsewhere."""
from __future__ import annotations

from html import escape

_STYLE = ("<style>.tessera{font-family:monospace;font-size:12px;border-collapse:collapse}"
          ".tessera td,.tessera th{padding:2px 10px;text-align:right;border-bottom:1px solid #8884}"
          ".tessera td:first-child,.tessera th:first-child{text-align:left}"
          ".tessera .bar{display:inline-block;height:9px;background:#48a}</style>")


def _table(head, rows):
    """Rows of cells, which are HTML already."""
    cells = "".join(f"<th>{escape(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    return f'{_STYLE}<table class="tessera"><tr>{cells}</tr>{body}</table>'


def graph(g):
    """Inputs, outputs, the number of each op, and the IR text folded away."""
    rows = [(f"input {escape(repr(i))}", "") for i in g.inputs] + [(f"output {escape(repr(o))}", "") for o in g.outputs]
    rows += [(escape(name), n) for name, n in sorted(g.ops().items(), key=lambda one: (-one[1], one[0]))]
    return (_table(["graph", "number"], rows) +
            f"<details><summary>IR text</summary><pre>{escape(str(g))}</pre></details>")


def _number(x, unit=""):
    return "n/a" if x is None else f"{x:,.4g}{unit}"


def profile(p):
    """A row per kernel with its share of the time as a bar."""
    rows = []
    for r in p.rows:
        share = r["share"] or 0
        bar = f'<span class="bar" style="width:{share * 120:.0f}px"></span> {share * 100:.1f}%'
        occupancy = None if r["occupancy"] is None else r["occupancy"] * 100
        rows.append((escape(r["label"]), escape(r["device"]), r["count"], _number(r["median_ns"] / 1000),
                     _number(r["gflops"]), _number(r["gbytes_per_s"]), _number(occupancy, "%"), escape(r["bound"]),
                     bar))
    return _table(["kernel", "device", "runs", "median µs", "GFLOP/s", "GB/s", "occupancy", "bound", "share"], rows)


def report(r):
    """A row per kernel with the best time after each sample as a curve."""
    rows = [(escape(f"{row['kernel']} {row['op']}"), escape(row["shape"]), escape(row["dtype"]), escape(row["tile"]),
             _number(row["default_us"]), _number(row["best_us"]), row["measurements"], escape(row["source"]),
             curve(row["curve_us"], row["default_us"])) for row in r]
    return _table(["kernel", "shape", "types", "tile", "default µs", "best µs", "measured", "source", "search"], rows)


def curve(best_us, default_us, width=180, height=48):
    """The best time after each sample as SVG; the dashed line is the untuned schedule."""
    points = [us for us in best_us if us > 0]
    if not points:
        return ""
    most = max(points + [default_us]) * 1.05

    def y(us):
        return height - us / most * height
    step = width / max(len(points) - 1, 1)
    line = " ".join(f"{i * step:.1f},{y(us):.1f}" for i, us in enumerate(points + points[-1:] * (len(points) == 1)))
    dashed = (f'<line x1="0" x2="{width}" y1="{y(default_us):.1f}" y2="{y(default_us):.1f}" stroke="#888" '
              'stroke-dasharray="4 3"/>') if default_us > 0 else ""
    title = f"{len(points)} samples, best {points[-1]:.4g} µs, untuned {default_us:.4g} µs"
    return (f'<svg width="{width}" height="{height}" role="img"><title>{title}</title>{dashed}'
            f'<polyline points="{line}" fill="none" stroke="#48a" stroke-width="1.5"/></svg>')
