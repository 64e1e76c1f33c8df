// The interactive half of the page: switches, charts, sorting, downloads. Everything else is plain HTML.
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);

// ---------------------------------------------------------------------------------------------- experiments

const BANDS = { sd: "±2 std. deviations", ci: "95 % interval of the mean", none: "none" };
const MEASURES = { regret: "regret", scaled: "regret / t^(2/3)" };
const TITLES = { regret: "regret so far (reward units)", scaled: "regret so far / t^(2/3) (reward units)" };
const KINDS = { linear: "linear", log: "log" };

/** One experiment's switches and charts. */
class ExperimentView {
  constructor(experiment, host) {
    this.experiment = experiment;
    this.choice = { band: "sd", measure: "regret", x: "linear", y: "linear", policy: 0, problem: 0 };
    const single = experiment.instances * experiment.runs === 1;
    this.curves = experiment.problems.map((p) => new Chart(p.name, () => this.regretChart(p)));
    this.shares = ["allocation", "impact"].map((what) => new Chart(
      `${what[0].toUpperCase()}${what.slice(1)} of each arm${single ? "" : ", mean over runs"}`, () => this.shareChart(what)));
    this.armLegend = element("ul", { class: "legend", "aria-label": "arms" });
    this.pairLegend = element("ul", { class: "legend", "aria-label": "pairs of arms" });
    const fair = experiment.problems.some((p) => p.fairness);
    this.parity = fair ? [new Chart("Gap between each pair's measures", () => this.gapChart()),
      new Chart("Violation per round so far", () => this.violationChart())] : [];
    this.legend = new Legend(experiment.policies, "policies", () => this.redraw([...this.curves, ...this.parity]),
      (name) => this.curves.forEach((c) => c.highlight(name)));
    host.append(this.controls(), this.legend.list, this.grid("regret", this.curves),
      element("h3", {}, "Allocation and impact over time"), this.pickers(), this.armLegend, this.grid("shares", this.shares));
    if (fair) host.append(element("h3", {}, "Fairness over time"), this.pairLegend, this.grid("parity", this.parity));
    this.showArms();
  }

  grid(what, charts) { return element("div", { class: `charts ${what}` }, ...charts.map((c) => c.figure)); }

  redraw(charts = [...this.curves, ...this.shares, ...this.parity]) { charts.forEach((c) => c.draw()); }

  controls() {
    const several = this.experiment.instances * this.experiment.runs > 1;
    return element("div", { class: "controls" }, this.radios("measure", "show", MEASURES),
      several ? this.radios("band", "band", BANDS) : "", this.radios("x", "x axis", KINDS), this.radios("y", "y axis", KINDS));
  }

  radios(key, title, options) {
    const entries = Object.entries(options).map(([value, text]) => element("label", {},
      element("input", { type: "radio", name: `${this.experiment.id}-${key}`, value, checked: this.choice[key] === value,
        change: () => { this.choice[key] = value; this.redraw(); } }), text));
    return element("fieldset", { "data-control": key }, element("legend", {}, title), ...entries);
  }

  /** What all charts over the rounds have in common. */
  overRounds(series, yKind, covered = series.flatMap((s) => s.y)) {
    const x = this.experiment.rounds, xKind = this.choice.x, last = x.at(-1);
    const xDomain = xKind === "linear" ? [0, last] : [x[0], last > x[0] ? last : 10 * last];
    const bands = series.flatMap((s) => [...(s.low ?? []), ...(s.high ?? [])]);
    return { x, xKind, xDomain, xTitle: "round t", series, yKind, yDomain: extent(yKind, covered, bands) };
  }

  regretChart(problem) {
    const { band, measure, y } = this.choice;
    const { rounds } = this.experiment;
    const scale = rounds.map((t) => (measure === "scaled" ? t ** (-2 / 3) : 1));
    const series = this.experiment.policies.flatMap((look, q) => {
      const curve = problem.curves[q];
      if (!curve || this.legend.hidden.has(look.name)) return [];
      const half = band === "sd" ? curve.sd?.map((v) => 2 * v) : band === "ci" ? curve.half : null;
      const times = (values) => values.map((v, i) => v * scale[i]);
      return [{ name: look.name, look, y: times(curve.mean),
        low: half && times(curve.mean.map((m, i) => m - half[i])), high: half && times(curve.mean.map((m, i) => m + half[i])) }];
    });
    const ends = series.map((s) => `${s.name} ${inWords(s.y.at(-1))}`).join(", ");
    return { ...this.overRounds(series, y), yTitle: TITLES[measure],
      label: `Line chart of ${MEASURES[measure]} by round on ${problem.name}; at the end: ${ends || "nothing shown"}.` };
  }

  pickers() {
    const select = (key, names) => element("label", {}, `${key} `, element("select", { "data-choice": key,
      change: (e) => { this.choice[key] = Number(e.target.value); this.showArms(); this.redraw([...this.shares, ...this.parity]); } },
    ...names.map((name, i) => element("option", { value: i }, name))));
    const { policies, problems } = this.experiment;
    const box = element("div", { class: "controls" }, select("policy", policies.map((p) => p.name)));
    if (problems.length > 1) box.append(select("problem", problems.map((p) => p.name)));
    return box;
  }

  get shown() { return this.experiment.problems[this.choice.problem]; }

  showArms() {
    const entries = (names) => names.map((name, k) =>
      element("li", { class: "entry" }, swatch(DATA.arms[k % DATA.arms.length]), name));
    this.armLegend.replaceChildren(...entries(this.shown.arms));
    this.pairLegend.replaceChildren(...entries(this.pairs));
  }

  get pairs() {
    const fair = this.shown.curves.find((c) => c?.fair)?.fair;
    return (fair?.pairs ?? []).map(([i, j]) => `${this.shown.arms[i]} and ${this.shown.arms[j]}`);
  }

  gapChart() {
    const { rounds, policies } = this.experiment;
    const fair = this.shown.curves[this.choice.policy]?.fair;
    const series = (fair?.gaps ?? []).map((y, i) => ({ name: this.pairs[i], look: DATA.arms[i % DATA.arms.length], y }));
    const tolerance = this.shown.fairness?.tolerance;
    if (series.length) series.push({ name: "tolerance", look: { colour: "#666666", dark: "#BBBBBB", marker: "_", line: "--" },
      y: rounds.map(() => tolerance) });
    return { ...this.overRounds(series, "linear"), yTitle: "gap between measures",
      label: `Line chart of the gap between each pair's measures by round under ${policies[this.choice.policy].name} on ${this.shown.name}.` };
  }

  violationChart() {
    const series = this.experiment.policies.flatMap((look, q) => {
      const fair = this.shown.curves[q]?.fair;
      return fair && !this.legend.hidden.has(look.name) ? [{ name: look.name, look, y: fair.violation }] : [];
    });
    return { ...this.overRounds(series, this.choice.y), yTitle: "violation per round so far",
      label: `Line chart of the mean violation of the tolerance by round on ${this.shown.name}, one line a policy.` };
  }

  shareChart(what) {
    const { policies } = this.experiment;
    const curve = this.shown.curves[this.choice.policy];
    const series = (curve ? curve[what] : []).map((y, k) =>
      ({ name: this.shown.arms[k], look: DATA.arms[k % DATA.arms.length], y }));
    const both = curve ? [...curve.allocation, ...curve.impact].flat() : [];
    const policy = policies[this.choice.policy].name;
    return { ...this.overRounds(series, "linear", both),
      yTitle: what === "allocation" ? "share of the allocation" : "impact (in shares)",
      label: `Line chart of each arm's ${what} by round under ${policy} on ${this.shown.name}.` };
  }
}

// ---------------------------------------------------------------------------------------------- tables

function makeSortable(table) {
  const heads = [...table.querySelectorAll("thead th")];
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    heads.forEach((h) => h.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort((a, b) => direction * compare(value(a, column), value(b, column))));
  }));
}

// ---------------------------------------------------------------------------------------------- downloads

function toCsv(experiments) {
  const arms = Math.max(...experiments.flatMap((e) => e.problems.map((p) => p.arms.length)), 0);
  const numbered = (what) => Array.from({ length: arms }, (_, k) => `${what}_${k + 1}`);
  const rows = [["experiment", "problem", "policy", "round", "regret_mean", "regret_sd", "regret_low", "regret_high",
    ...numbered("allocation"), ...numbered("impact")]];
  for (const e of experiments) for (const p of e.problems) p.curves.forEach((c, q) => c && e.rounds.forEach((t, i) => {
    const interval = c.half ? [c.mean[i] - c.half[i], c.mean[i] + c.half[i]].map((v) => parseFloat(v.toPrecision(6))) : ["", ""];
    const shares = (what) => Array.from({ length: arms }, (_, k) => c[what][k]?.[i] ?? "");
    rows.push([e.name, p.name, e.policies[q].name, t, c.mean[i], c.sd?.[i] ?? "", ...interval, ...shares("allocation"), ...shares("impact")]);
  }));
  const field = (v) => (/[",\n\r]/.test(v) ? `"${String(v).replaceAll('"', '""')}"` : v);
  return rows.map((r) => r.map(field).join(",")).join("\r\n") + "\r\n";
}

function save(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = element("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function download(kind, id) {
  const experiments = id ? DATA.experiments.filter((e) => e.id === id) : DATA.experiments;
  const name = `aftereffect-${id ? experiments[0].name : "report"}.${kind}`;
  if (kind === "csv") save(name, "text/csv", toCsv(experiments));
  else save(name, "application/json", JSON.stringify(id ? experiments[0] : DATA, null, 1));
}

// ---------------------------------------------------------------------------------------------- the page

function setUpTheme() {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => { button.textContent = dark() ? "Light page" : "Dark page"; };
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; label(); redraw(); });
  system.addEventListener("change", label);
  label();
}

setUpTheme();
for (const experiment of DATA.experiments)
  new ExperimentView(experiment, document.querySelector(`#${CSS.escape(experiment.id)} .curves`));
document.querySelectorAll("table.sortable").forEach(makeSortable);
document.querySelectorAll("[data-download]").forEach((button) =>
  button.addEventListener("click", () => download(button.dataset.download, button.dataset.experiment)));
addEventListener("beforeprint", () => document.querySelectorAll("details.explanation").forEach((d) => { d.open = true; }));
