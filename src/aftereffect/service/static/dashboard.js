// Draws the charts of a program's page from the JSON it names. Everything in it is data: names reach the page as text.
"use strict";

const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D1F", "#7A4FA3"];
const HEIGHT = 220;


// light-dark() is not resolved in custom properties: read the colours that elements really have.
function inks() {
  const style = getComputedStyle(document.body);
  const foot = document.querySelector("footer");
  return { text: style.color, muted: foot ? getComputedStyle(foot).color : style.color };
}

function axis(label, values) {
  const ink = inks();
  return {
    label, stroke: ink.muted, labelSize: 18, size: 46, labelFont: "12px system-ui", font: "12px system-ui",
    grid: { stroke: "rgba(128,128,128,.22)", width: 1 }, ticks: { stroke: "rgba(128,128,128,.4)", width: 1 },
    ...(values ? { values } : {}),
  };
}

const percents = (_, ticks) => ticks.map((v) => (v === null ? "" : `${Math.round(100 * v)} %`));
const asPercent = (_, v) => (v === null || v === undefined ? "–" : `${(100 * v).toFixed(1)} %`);
const asNumber = (_, v) => (v === null || v === undefined ? "–" : Number(v).toPrecision(4));

function frame(parent, caption, described) {
  const figure = document.createElement("figure");
  const title = document.createElement("figcaption");
  title.textContent = caption;
  figure.append(title);
  figure.setAttribute("aria-label", described);
  figure.setAttribute("role", "img");
  parent.append(figure);
  return figure;
}

function draw(parent, caption, described, options, data) {
  const figure = frame(parent, caption, described);
  const width = Math.max(260, figure.clientWidth || parent.clientWidth || 320);
  const chart = new uPlot({ width, height: HEIGHT, cursor: { points: { size: 7 } }, ...options }, data, figure);
  charts.push([figure, chart]);
}

const charts = [];
window.addEventListener("resize", () => {
  for (const [figure, chart] of charts) chart.setSize({ width: Math.max(260, figure.clientWidth), height: HEIGHT });
});

function drawCurve(parent, arm, colour) {
  const dots = { label: "seen", stroke: colour, width: 0, paths: () => null, points: { show: true, size: 5, stroke: colour, fill: colour }, value: asNumber };
  draw(parent, arm.arm, `Estimated mean reward of ${arm.arm} by share, with a band of 95 percent`, {
    scales: { x: { time: false } },
    axes: [axis("share", percents), axis("mean reward")],
    bands: [{ series: [3, 2], fill: `${colour}33` }],
    series: [
      { label: "share", value: asPercent },
      { label: "estimate", stroke: colour, width: 2, points: { show: false }, value: asNumber },
      { label: "low", stroke: `${colour}66`, width: 1, points: { show: false }, value: asNumber },
      { label: "high", stroke: `${colour}66`, width: 1, points: { show: false }, value: asNumber },
      dots,
    ],
  }, [arm.share, arm.estimate, arm.low, arm.high, arm.seen]);
}

function drawLines(parent, chart) {
  const spread = chart.percent ? percents : undefined;
  draw(parent, chart.title, chart.title, {
    scales: { x: { time: false } },
    axes: [axis("round"), axis(chart.unit, spread)],
    series: [
      { label: "round" },
      ...chart.lines.map((line, i) => ({
        label: line.label, stroke: COLOURS[i % COLOURS.length], width: 2, spanGaps: true,
        dash: i >= COLOURS.length ? [6, 4] : undefined, points: { show: chart.rounds.length < 2 },
        value: chart.percent ? asPercent : asNumber,
      })),
    ],
  }, [chart.rounds, ...chart.lines.map((line) => line.values)]);
}

async function drawAll() {
  const curves = document.querySelector("[data-kind=curves]");
  const time = document.querySelector("[data-kind=time]");
  if (!curves) return;
  const answer = await fetch(curves.dataset.charts, { headers: { Accept: "application/json" } });
  if (!answer.ok) { curves.textContent = "The charts could not be loaded."; return; }
  const data = await answer.json();
  if (!data.curves.length) curves.textContent = "This policy keeps no curves, or nothing has been seen yet.";
  data.curves.forEach((arm, i) => drawCurve(curves, arm, COLOURS[i % COLOURS.length]));
  data.time.forEach((chart) => drawLines(time, chart));
  document.body.dataset.drawn = "yes";
}

drawAll();
