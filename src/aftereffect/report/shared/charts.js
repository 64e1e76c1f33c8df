// Line charts of the report and the dashboard: uPlot draws; bands, markers, logarithmic axes, legend, reading by pointer,
// finger or arrow keys, and following the page's width and colours are here. Names reach the page as text.
"use strict";

// ---------------------------------------------------------------------------------------------- elements

const SVG = "http://www.w3.org/2000/svg"; // a namespace's name; nothing is fetched
const SVG_TAGS = new Set(["svg", "path"]);

/** A node; functions become listeners, `style` its properties (the page allows no style attributes), false and null are left out. */
function element(tag, attributes = {}, ...children) {
  const node = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (name === "style") Object.entries(value).forEach(([key, v]) => node.style.setProperty(key, v));
    else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

/** A colour as the page shows it now, light or dark: only elements have light-dark() resolved. */
function resolved(node, colour) {
  node.style.color = colour;
  const found = getComputedStyle(node).color;
  node.style.color = "";
  return found;
}

// ---------------------------------------------------------------------------------------------- numbers

const exact = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 5 });
const whole = new Intl.NumberFormat("en-US");
const MINUS = "\u2212";

const inWords = (value) => (value == null ? "none" : exact.format(value).replace("-", MINUS));
const inPercent = (value) => (value == null ? "none" : `${inWords(parseFloat((100 * value).toFixed(1)))} %`);

/** A tick's label: 500, 1.5k, 100k, 2M. */
function short(value) {
  const size = Math.abs(value);
  const trimmed = (v) => String(parseFloat(v.toPrecision(6))).replace("-", MINUS);
  if (size >= 1e6) return `${trimmed(value / 1e6)}M`;
  if (size >= 1e3) return `${trimmed(value / 1e3)}k`;
  return size > 0 && size < 1e-3 ? value.toExponential(0).replaceAll("-", MINUS) : trimmed(value);
}

/** Ticks of a logarithmic axis: at multiples of powers of ten, as many as there is room for; of a step within a decade. */
function logTicks(low, high, room, step) {
  const decades = Math.log10(high / low);
  const ticks = [];
  if (decades < 1) for (let i = Math.ceil(low / step); i * step <= high; i++) ticks.push(i * step);
  else {
    const multiples = [[1, 2, 5], [1, 3]].find((m) => decades * m.length <= room) ?? [1];
    const stride = Math.max(1, Math.ceil(decades / room));
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += stride)
      for (const m of multiples) ticks.push(parseFloat((m * 10 ** e).toPrecision(6)));
  }
  return ticks.filter((v) => v >= low * 0.999 && v <= high * 1.001);
}

/** What an axis must cover: all lines and bands, and zero on a linear axis. A band may leave a logarithmic one below. */
function extent(kind, lines, bands) {
  const smallest = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const shown = lines.filter((v) => v != null && (kind === "linear" || v > 0));
  if (!shown.length) return kind === "log" ? [1, 10] : [0, 1];
  const low = kind === "log" ? smallest(shown) : smallest([0, ...shown, ...bands]);
  const high = -smallest([...shown, ...bands].map((v) => -v));
  return [low, high > low ? high : kind === "log" ? low * 10 : low + 1];
}

// ---------------------------------------------------------------------------------------------- looks

function polygon(corners, turn, dent = 1) {
  const count = dent === 1 ? corners : 2 * corners;
  const points = Array.from({ length: count }, (_, i) => {
    const angle = ((i / count + turn) * 2 - 0.5) * Math.PI;
    const radius = i % 2 ? dent : 1;
    return `${(radius * Math.cos(angle)).toFixed(3)} ${(radius * Math.sin(angle)).toFixed(3)}`;
  });
  return `M${points.join("L")}Z`;
}

/** matplotlib's markers on a unit circle, so that page and figures agree. */
const MARKERS = {
  o: "M1 0A1 1 0 1 1 -1 0A1 1 0 1 1 1 0Z", s: polygon(4, 1 / 8), D: polygon(4, 0),
  "^": polygon(3, 0), ">": polygon(3, 1 / 4), v: polygon(3, 1 / 2), "<": polygon(3, 3 / 4),
  p: polygon(5, 0), h: polygon(6, 0), "*": polygon(5, 0, 0.4),
  P: "M-.35-1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35Z",
  X: "M-.5-1L0-.5L.5-1L1-.5L.5 0L1 .5L.5 1L0 .5L-.5 1L-1 .5L-.5 0L-1-.5Z",
  _: "M-1 0L1 0", "|": "M0 -1L0 1", "": "",
};
const NO_LINE = ""; // a look's line where only the markers are drawn
const DASHES = { "-": null, "--": [8, 4], ":": [2, 3], "-.": [9, 3, 2, 3] };
const RADIUS = 4.5; // of a marker, in pixels
const BAND = 0.14; // opacity
const DIM = 0.15; // opacity of what is not highlighted

const markerPath = (look) => MARKERS[look.marker] ?? MARKERS.o;
const markerWidth = (look) => ("_|".includes(look.marker) ? 2 : 1);
const bothColours = (look) => `light-dark(${look.colour}, ${look.dark})`;

function swatch(look) {
  const line = element("path", { class: "line", d: look.line === NO_LINE ? "" : "M1 7H33", "stroke-dasharray": DASHES[look.line]?.join(" ") });
  const marker = element("path", { class: "marker", d: markerPath(look), style: { "stroke-width": markerWidth(look) / RADIUS },
    transform: `translate(17 7) scale(${RADIUS})` });
  return element("svg", { width: 34, height: 14, "aria-hidden": "true", style: { "--ink": bothColours(look) } }, line, marker);
}

/** uPlot's points, drawn as a look's marker. */
function markers(look) {
  return (plot, i, first, last, chosen) => {
    const path = new Path2D(), shape = new Path2D(markerPath(look)), size = RADIUS * devicePixelRatio;
    for (const at of chosen)
      path.addPath(shape, new DOMMatrix([size, 0, 0, size,
        plot.valToPos(plot.data[0][at], "x", true), plot.valToPos(plot.data[i][at], "y", true)]));
    return { fill: path, stroke: path };
  };
}

// ---------------------------------------------------------------------------------------------- legends

/** Buttons that show and hide series by name, for one chart or many. `entries` are {name, ...look}. */
class Legend {
  constructor(entries, label, changed, highlighted) {
    this.hidden = new Set();
    this.changed = changed;
    this.names = entries.map((e) => e.name);
    this.buttons = entries.map((entry) => element("button", {
      type: "button", "aria-pressed": "true", "data-name": entry.name, click: () => this.toggle(entry.name),
      pointerenter: () => highlighted(this.hidden.has(entry.name) ? null : entry.name), pointerleave: () => highlighted(null),
    }, swatch(entry), entry.name));
    this.list = element("ul", { class: "legend", "aria-label": `${label}: press to show or hide` },
      ...this.buttons.map((b) => element("li", {}, b)));
    const all = (text, names) => element("li", {}, element("button", { type: "button", class: "quiet", click: () => this.hide(names) }, text));
    if (entries.length > 4) this.list.append(all("show all", []), all("hide all", this.names));
  }

  toggle(name) {
    const hidden = new Set(this.hidden);
    if (!hidden.delete(name)) hidden.add(name);
    this.hide(hidden);
  }

  hide(names) {
    this.hidden = new Set(names);
    for (const b of this.buttons) b.setAttribute("aria-pressed", String(!this.hidden.has(b.dataset.name)));
    this.changed();
  }
}

// ---------------------------------------------------------------------------------------------- charts

/** A line chart of what `describe()` gives: {label, x, xTitle, yTitle, series: [{name, look, y, low, high}]}, and where
 *  wanted {xKind, yKind: "linear" | "log", xDomain, yDomain, xPercent, yPercent, joined: gaps are bridged}. */
class Chart {
  static all = [];

  constructor(caption, describe) {
    this.describe = describe;
    this.near = false; // only charts near the window are drawn: phones have little memory for pictures
    this.host = element("div", { class: "chart", role: "img", tabindex: 0, keydown: (e) => this.step(e), blur: () => this.point(null),
      pointerdown: (e) => this.touch(e), pointermove: (e) => this.touch(e) });
    this.tooltip = element("div", { class: "tooltip", role: "status", hidden: true });
    this.note = element("p", { class: "muted note" });
    this.titles = ["y", "x"].map((axis) => element("div", { class: `axis-title ${axis}-title`, "aria-hidden": "true" }));
    this.figure = element("figure", {}, element("figcaption", {}, caption), this.titles[0], this.host, this.titles[1], this.note, this.tooltip);
    new ResizeObserver(() => { if (this.plot && this.host.clientWidth !== this.plot.width) this.draw(); }).observe(this.host);
    new IntersectionObserver(([seen]) => { this.near = seen.isIntersecting; this.draw(); }, { rootMargin: "600px" }).observe(this.host);
    Chart.all.push(this);
  }

  draw() {
    this.plot?.destroy();
    this.plot = null;
    this.content = this.describe();
    this.host.setAttribute("aria-label", `${this.content.label} Left and right arrow keys read the values.`);
    this.titles.forEach((title, i) => { title.textContent = this.content[["yTitle", "xTitle"][i]]; });
    this.note.textContent = this.missing();
    if (this.near && this.host.clientWidth) this.plot = new uPlot(this.options(), this.data(), this.host);
    this.show(null);
  }

  /** What a logarithmic axis leaves out is said. */
  missing() {
    if (this.content.yKind !== "log") return "";
    const names = this.content.series.filter((s) => s.y.some((v) => v <= 0)).map((s) => s.name);
    return names.length ? `Not shown on a log axis: values of 0 and below of ${names.join(", ")}.` : "";
  }

  /** Highs and lows of the bands, then the lines, as `options` lists them. */
  data() {
    const { x, series, yKind, yDomain } = this.content;
    const log = yKind === "log";
    const inside = (values) => (log ? values.map((v) => Math.max(v, yDomain[0])) : values);
    const above = (values) => (log ? values.map((v) => (v > 0 ? v : null)) : values);
    return [x, ...series.filter((s) => s.low).flatMap((s) => [inside(s.high), inside(s.low)]), ...series.map((s) => above(s.y))];
  }

  options() {
    const { series, xKind, yKind, xDomain, yDomain } = this.content;
    const bands = series.filter((s) => s.low);
    const edge = (s) => ({ label: s.name, edge: true, width: 0, points: { show: false } });
    const fill = (s) => resolved(this.host, bothColours(s.look)).replace("rgb", "rgba").replace(")", `, ${BAND})`);
    const scale = (kind, domain) => ({ time: false, distr: kind === "log" ? 3 : 1, ...(domain ? { range: () => domain } : {}) });
    return {
      width: this.host.clientWidth, height: this.host.clientHeight, padding: [10, 20, 0, 0], legend: { show: false },
      scales: { x: scale(xKind, xDomain), y: scale(yKind, yDomain) },
      axes: [this.axis("x", 60), this.axis("y", 45)],
      series: [{}, ...bands.flatMap((s) => [edge(s), edge(s)]), ...series.map((s) => this.line(s))],
      bands: bands.map((s, i) => ({ series: [2 * i + 1, 2 * i + 2], fill: fill(s) })),
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 9 },
        dataIdx: (plot, i, at) => (plot.series[i].edge ? null : at) },
      hooks: { setCursor: [(plot) => this.show(plot.cursor.idx)], drawAxes: [(plot) => this.zero(plot)] },
    };
  }

  axis(which, space) {
    const kind = this.content[`${which}Kind`], percent = this.content[`${which}Percent`];
    const [muted, rule, text] = ["muted", "grid", "text"].map((name) => resolved(this.host, `var(--${name})`));
    const ticks = { show: which === "x", stroke: muted, size: 4, width: 1 };
    const written = percent ? inPercent : short;
    const log = { filter: (_, splits) => splits, splits: (plot, i, low, high, step) =>
      logTicks(low, high, plot.bbox[i ? "height" : "width"] / devicePixelRatio / space, step) };
    return {
      stroke: text, font: "12px system-ui, sans-serif", space, gap: 4, ticks,
      grid: { show: which === "y", stroke: rule, width: 1 }, border: { show: true, stroke: muted, width: 1 },
      values: (_, splits) => splits.map((v) => written(v)),
      size: which === "x" ? 24 : (_, values) => 14 + 7 * Math.max(2, ...(values ?? []).map((v) => v.length)),
      ...(kind === "log" ? log : {}),
    };
  }

  line({ name, look, y }) {
    const dots = look.line === NO_LINE;
    const colour = resolved(this.host, bothColours(look));
    const every = dots ? 1 : Math.max(1, Math.floor(y.length / 8));
    const marked = (plot, i) => plot.data[i].flatMap((v, at) => (v != null && at % every === 0 ? [at] : []));
    return { label: name, stroke: colour, width: dots ? 0 : 2, dash: DASHES[look.line]?.map((v) => v * devicePixelRatio),
      spanGaps: Boolean(this.content.joined),
      points: { show: true, filter: marked, paths: markers(look), fill: colour, stroke: colour, width: markerWidth(look) } };
  }

  /** The line of zero, over the grid's. */
  zero(plot) {
    const { ctx, bbox, scales: { y } } = plot;
    if (y.distr === 3 || y.min > 0 || y.max < 0) return;
    ctx.save();
    ctx.fillStyle = resolved(this.host, "var(--muted)");
    ctx.fillRect(bbox.left, Math.round(plot.valToPos(0, "y", true)), bbox.width, Math.max(1, Math.round(devicePixelRatio)));
    ctx.restore();
  }

  touch(event) {
    if (event.pointerType !== "mouse" && this.plot) // uPlot listens to the mouse alone
      this.plot.setCursor({ left: Math.max(0, event.clientX - this.plot.over.getBoundingClientRect().left), top: 0 });
  }

  step(event) {
    const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") this.point(null);
    if (!(event.key in moves)) return;
    event.preventDefault();
    const last = this.content.x.length - 1;
    const from = this.at ?? (moves[event.key] > 0 ? -1 : last + 1);
    this.point(Math.min(last, Math.max(0, from + moves[event.key])));
  }

  /** Move the cursor to a point, or away. */
  point(at) {
    const left = at == null ? -10 : Math.max(0, this.plot?.valToPos(this.content.x[at], "x"));
    this.plot?.setCursor({ left, top: 0 });
  }

  /** Show the values at a point, or none. */
  show(at) {
    this.at = at;
    this.tooltip.hidden = at == null || !this.content.series.length;
    if (this.tooltip.hidden) return;
    const { series, x, xTitle, xPercent, yPercent } = this.content;
    const written = yPercent ? inPercent : inWords;
    const ordered = series.filter((s) => s.look.line !== NO_LINE || s.y[at] != null).sort((a, b) => (b.y[at] ?? -Infinity) - (a.y[at] ?? -Infinity));
    const row = (s) => element("tr", {}, element("td", {}, swatch(s.look)), element("td", {}, s.name),
      element("td", { class: "number" }, written(s.y[at])),
      element("td", { class: "number muted range" }, s.low ? `${written(s.low[at])} to ${written(s.high[at])}` : ""));
    this.tooltip.replaceChildren(element("strong", {}, `${xTitle.split(" ")[0]} ${xPercent ? inPercent(x[at]) : whole.format(x[at])}`),
      element("table", {}, ...ordered.map(row)));
    this.placeTooltip(this.plot.over.offsetLeft + this.plot.valToPos(x[at], "x"));
  }

  placeTooltip(x) {
    const room = this.figure.clientWidth - this.tooltip.offsetWidth;
    const wanted = x > this.plot.width / 2 ? x - this.tooltip.offsetWidth - 14 : x + 14;
    this.tooltip.style.left = `${Math.max(0, Math.min(room, wanted))}px`;
    this.tooltip.style.top = `${this.host.offsetTop + (room < this.plot.width / 2 ? this.plot.height + 4 : 8)}px`;
  }

  highlight(name) {
    this.plot?.series.forEach((s) => { s.alpha = name == null || s.label === name ? 1 : DIM; });
    this.plot?.redraw(false);
  }
}

// ---------------------------------------------------------------------------------------------- the page's colours and paper

const redraw = () => Chart.all.forEach((chart) => chart.draw());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

/** Paper is light, and all of the page is on it. */
addEventListener("beforeprint", () => {
  const root = document.documentElement, screen = [root.dataset.theme, Chart.all.map((chart) => chart.near)];
  addEventListener("afterprint", () => {
    if (screen[0]) root.dataset.theme = screen[0]; else delete root.dataset.theme;
    Chart.all.forEach((chart, i) => { chart.near = screen[1][i]; });
    redraw();
  }, { once: true });
  root.dataset.theme = "light";
  Chart.all.forEach((chart) => { chart.near = true; });
  redraw();
});
