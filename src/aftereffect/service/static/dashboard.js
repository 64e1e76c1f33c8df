// Draws the charts of a program's page from the JSON it names. Everything in it is data: names reach the page as text.
"use strict";

function curve(arm, look) {
  const estimate = { name: "estimate", look: { ...look, marker: "", line: "-" }, y: arm.estimate, low: arm.low, high: arm.high };
  return new Chart(arm.arm, () => ({
    label: `Estimated mean reward of ${arm.arm} by share, with a band of 95 percent.`,
    x: arm.share, xTitle: "share held", xPercent: true, yTitle: "mean reward",
    series: [estimate, { name: "seen", look: { ...look, line: NO_LINE }, y: arm.seen }],
  })).figure;
}

function overTime({ title, unit, percent, rounds, lines }, looks) {
  const series = lines.map((line, i) => ({ name: line.label, look: looks[i % looks.length], y: line.values }));
  const chart = new Chart(title, () => ({
    label: `${title} by round.`, x: rounds, xTitle: "round", yTitle: unit, yPercent: percent, joined: true,
    series: series.filter((s) => !legend.hidden.has(s.name)),
  }));
  const legend = new Legend(series.map((s) => ({ name: s.name, ...s.look })), title, () => chart.draw(), (name) => chart.highlight(name));
  chart.figure.append(legend.list);
  return chart.figure;
}

async function drawAll() {
  const curves = document.querySelector("[data-kind=curves]");
  const time = document.querySelector("[data-kind=time]");
  if (!curves) return;
  const answer = await fetch(curves.dataset.charts, { headers: { Accept: "application/json" } });
  if (!answer.ok) { curves.textContent = "The charts could not be loaded."; return; }
  const data = await answer.json();
  if (!data.curves.length) curves.textContent = "This policy keeps no curves, or nothing has been seen yet.";
  curves.append(...data.curves.map((arm, i) => curve(arm, data.looks[i % data.looks.length])));
  time.append(...data.time.map((chart) => overTime(chart, data.looks)));
  document.body.dataset.drawn = "yes";
}

drawAll();
