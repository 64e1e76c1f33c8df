"use strict";
// A line chart in SVG that follows its width, is read with pointer or arrow keys, and has linear or logarithmic axes.

// ---------------------------------------------------------------------------------------------- elements

const SVG = "http://www.w3.org/2000/svg"; // a namespace's name; nothing is fetched
const SVG_TAGS = new Set(["svg", "g", "path", "line", "rect", "text"]);

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

// ---------------------------------------------------------------------------------------------- numbers

const exact = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 5 });
const whole = new Intl.NumberFormat("en-US");
const MINUS = "\u2212";

const inWords = (value) => (value == null ? "none" : exact.format(value).replace("-", MINUS));

/** A tick's label: 500, 1.5k, 100k, 2M. */
function short(value) {
  const size = Math.abs(value);
  const trimmed = (v) => String(parseFloat(v.toPrecision(6))).replace("-", MINUS);
  if (size >= 1e6) return `${trimmed(value / 1e6)}M`;
  if (size >= 1e3) return `${trimmed(value / 1e3)}k`;
  return size > 0 && size < 1e-3 ? value.toExponential(0).replaceAll("-", MINUS) : trimmed(value);
}

// ---------------------------------------------------------------------------------------------- scales

function linearTicks(low, high, room) {
  const rough = (high - low) / Math.max(room, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => parseFloat(((first + i) * step).toPrecision(12)));
}

function logTicks(low, high, room) {
  const decades = Math.log10(high / low);
  if (decades < 1) return linearTicks(low, high, room).filter((v) => v > 0);
  const multiples = [[1, 2, 5], [1, 3]].find((m) => decades * m.length <= room) ?? [1];
  const stride = Math.max(1, Math.ceil(decades / room));
  const ticks = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += stride)
    for (const m of multiples) ticks.push(parseFloat((m * 10 ** e).toPrecision(6)));
  return ticks.filter((v) => v >= low * 0.999 && v <= high * 1.001);
}

/** Maps values to pixels; values a logarithm cannot show give null. */
function makeScale(kind, [low, high], [from, to], room) {
  const log = kind === "log";
  const bend = log ? Math.log : (v) => v;
  const at = (v) => from + ((bend(v) - bend(low)) / (bend(high) - bend(low))) * (to - from);
  const place = (v) => (v == null || (log && v <= 0) ? null : at(v));
  const clamped = (v) => at(Math.min(high, Math.max(low, v)));
  return { place, clamped, ticks: (log ? logTicks : linearTicks)(low, high, room) };
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
  _: "M-1 0L1 0", "|": "M0 -1L0 1",
};
const DASHES = { "-": null, "--": "8 4", ":": "2 3", "-.": "9 3 2 3" };

const ink = (look) => ({ "--ink": `light-dark(${look.colour}, ${look.dark})` });

function marker(look, x, y, size = 4.5) {
  const width = "_|".includes(look.marker) ? 2 / size : 1 / size;
  return element("path", { class: "marker", d: MARKERS[look.marker] ?? MARKERS.o, style: { "stroke-width": width },
    transform: `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${size})` });
}

function swatch(look) {
  const stroke = element("path", { class: "line", d: "M1 7H33", "stroke-dasharray": DASHES[look.line] });
  return element("svg", { width: 34, height: 14, "aria-hidden": "true", style: ink(look) }, stroke, marker(look, 17, 7));
}

// ---------------------------------------------------------------------------------------------- charts

/** Pixels of a line as a path, broken where a value cannot be shown. */
function linePath(xs, ys) {
  let pen = "M";
  return xs.map((x, i) => {
    if (ys[i] == null) { pen = "M"; return ""; }
    const step = `${pen}${x.toFixed(1)} ${ys[i].toFixed(1)}`;
    pen = "L";
    return step;
  }).join("");
}

function bandPath(xs, lows, highs) {
  const forth = xs.map((x, i) => `${x.toFixed(1)} ${highs[i].toFixed(1)}`);
  const back = xs.map((x, i) => `${x.toFixed(1)} ${lows[i].toFixed(1)}`).reverse();
  return `M${[...forth, ...back].join("L")}Z`;
}

/** A line chart that redraws itself to its width. `describe()` gives {rounds, series, xKind, yKind, yTitle, domain, label}. */
class Chart {
  constructor(caption, describe) {
    this.describe = describe;
    this.host = element("div", { class: "chart" });
    this.tooltip = element("div", { class: "tooltip", role: "status", hidden: true });
    this.note = element("p", { class: "muted note" });
    this.figure = element("figure", {}, element("figcaption", {}, caption), this.host, this.note, this.tooltip);
    new ResizeObserver(() => { if (this.host.clientWidth !== this.width) this.draw(); }).observe(this.host);
  }

  draw() {
    this.width = this.host.clientWidth;
    if (!this.width) return;
    this.content = this.describe();
    this.height = this.width > 700 ? 380 : 300;
    this.lay();
    const { series } = this.content;
    const svg = element("svg", {
      viewBox: `0 0 ${this.width} ${this.height}`, role: "img", tabindex: 0,
      "aria-label": `${this.content.label} Left and right arrow keys read the values.`,
      pointermove: (e) => this.follow(e), pointerdown: (e) => this.follow(e), pointerleave: () => this.point(null),
      keydown: (e) => this.step(e), blur: () => this.point(null),
    });
    svg.append(this.axes(), ...series.map((s) => this.band(s)), ...series.map((s) => this.line(s)));
    this.guide = element("g", {});
    svg.append(this.guide);
    this.host.replaceChildren(svg);
    this.svg = svg;
    this.note.textContent = this.missing();
    this.point(null);
  }

  /** What a logarithmic axis leaves out is said. */
  missing() {
    if (this.content.yKind !== "log") return "";
    const names = this.content.series.filter((s) => s.y.some((v) => v <= 0)).map((s) => s.name);
    return names.length ? `Not shown on a log axis: values of 0 and below of ${names.join(", ")}.` : "";
  }

  /** Scales, with room on the left for the longest label. */
  lay() {
    const { rounds, series, xKind, yKind, domain } = this.content;
    const bands = series.flatMap((s) => [...(s.low ?? []), ...(s.high ?? [])]);
    const yRange = domain ?? extent(yKind, series.flatMap((s) => s.y), bands);
    const bottom = this.height - 42;
    this.y = makeScale(yKind, yRange, [bottom, 26], Math.floor(this.height / 45));
    const left = 16 + 7 * Math.max(...this.y.ticks.map((t) => short(t).length), 2);
    const xRange = xKind === "log" ? [rounds[0], rounds.at(-1)] : [0, rounds.at(-1)];
    if (xRange[0] === xRange[1]) xRange[1] *= 10;
    this.box = { left, right: this.width - 20, top: 26, bottom };
    this.x = makeScale(xKind, xRange, [left, this.box.right], Math.max(2, Math.floor((this.width - left) / 75)));
    this.xs = rounds.map(this.x.place);
  }

  axes() {
    const { left, right, top, bottom } = this.box;
    const group = element("g", { "aria-hidden": "true" });
    const text = (x, y, content, anchor, kind) =>
      group.append(element("text", { x, y, "text-anchor": anchor, class: kind }, content));
    for (const tick of this.y.ticks) {
      const y = this.y.place(tick);
      group.append(element("line", { class: tick === 0 ? "zero" : "grid", x1: left, x2: right, y1: y, y2: y }));
      text(left - 6, y + 4, short(tick), "end", "y-tick");
    }
    for (const tick of this.x.ticks) {
      const x = this.x.place(tick);
      group.append(element("line", { class: "axis", x1: x, x2: x, y1: bottom, y2: bottom + 4 }));
      text(x, bottom + 17, short(tick), "middle", "x-tick");
    }
    group.append(element("path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}` }));
    text(2, 14, this.content.yTitle, "start", "axis-title");
    text(right, this.height - 6, "round t", "end", "axis-title");
    return group;
  }

  band(series) {
    if (!series.low) return "";
    const d = bandPath(this.xs, series.low.map(this.y.clamped), series.high.map(this.y.clamped));
    return element("path", { class: "band", style: ink(series.look), d, "data-name": series.name });
  }

  line(series) {
    const ys = series.y.map(this.y.place);
    const dash = DASHES[series.look.line];
    const group = element("g", { class: "series", style: ink(series.look), "data-name": series.name },
      element("path", { class: "line", d: linePath(this.xs, ys), "stroke-dasharray": dash }));
    const every = Math.max(1, Math.floor(ys.length / 8));
    ys.forEach((y, i) => { if (y != null && i % every === 0) group.append(marker(series.look, this.xs[i], y)); });
    return group;
  }

  follow(event) {
    const frame = this.svg.getBoundingClientRect();
    const x = ((event.clientX - frame.left) / frame.width) * this.width;
    const distance = this.xs.map((at) => Math.abs(at - x));
    this.point(distance.indexOf(Math.min(...distance)));
  }

  step(event) {
    const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") this.point(null);
    if (!(event.key in moves)) return;
    event.preventDefault();
    const last = this.xs.length - 1;
    const from = this.at ?? (moves[event.key] > 0 ? -1 : last + 1);
    this.point(Math.min(last, Math.max(0, from + moves[event.key])));
  }

  /** Show the values at a checkpoint, or none. */
  point(at) {
    this.at = at;
    this.guide.replaceChildren();
    this.tooltip.hidden = at == null || !this.content.series.length;
    if (this.tooltip.hidden) return;
    const { series, rounds } = this.content;
    const x = this.xs[at];
    this.guide.append(element("line", { class: "guide", x1: x, x2: x, y1: this.box.top, y2: this.box.bottom }));
    const ordered = [...series].sort((a, b) => (b.y[at] ?? -Infinity) - (a.y[at] ?? -Infinity));
    for (const s of ordered) {
      const y = this.y.place(s.y[at]);
      if (y != null) this.guide.append(element("g", { style: ink(s.look) }, marker(s.look, x, y, 5.5)));
    }
    const row = (s) => element("tr", {}, element("td", {}, swatch(s.look)), element("td", {}, s.name),
      element("td", { class: "number" }, inWords(s.y[at])),
      element("td", { class: "number muted range" }, s.low ? `${inWords(s.low[at])} to ${inWords(s.high[at])}` : ""));
    this.tooltip.replaceChildren(element("strong", {}, `round ${whole.format(rounds[at])}`),
      element("table", {}, ...ordered.map(row)));
    this.placeTooltip(x);
  }

  placeTooltip(x) {
    const room = this.figure.clientWidth - this.tooltip.offsetWidth;
    const wanted = x > this.width / 2 ? x - this.tooltip.offsetWidth - 14 : x + 14;
    this.tooltip.style.left = `${Math.max(0, Math.min(room, wanted))}px`;
    this.tooltip.style.top = `${this.host.offsetTop + (room < this.width / 2 ? this.height + 4 : this.box.top)}px`;
  }

  highlight(name) {
    for (const node of this.host.querySelectorAll("[data-name]"))
      node.classList.toggle("dim", name != null && node.dataset.name !== name);
  }
}
