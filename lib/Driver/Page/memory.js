// Memory over the step by class, with and without the plan, and what is alive.

/// Below `lower`, on top of what is there: the outline of one class.
function areaPath(scale, y, lower, upper) {
  let there = "", back = "";
  for (let at = 0; at < lower.length; ++at) {
    const a = scale.begin(at), b = scale.end(at);
    if (b <= a && at > 0 && at + 1 < lower.length && a !== scale.left) continue;
    there += `${there ? "L" : "M"}${a.toFixed(1)},${y(upper[at]).toFixed(1)}H${b.toFixed(1)}`;
    back = `L${b.toFixed(1)},${y(lower[at]).toFixed(1)}H${a.toFixed(1)}${back}`;
  }
  return `${there}${back}Z`;
}

function drawStack(root, program, scale, y) {
  let lower = new Array(program.totals.length).fill(0);
  for (const name of used) {
    const bytes = program.live_bytes[name];
    const upper = lower.map((below, at) => below + bytes[at]);
    root.append(svg("path", { d: areaPath(scale, y, lower, upper), fill: `var(--${name})`, "data-class": name }));
    lower = upper;
  }
}

/// A strip that says what runs: forward, backward, optimizer, computed again.
function drawPhases(root, program, scale, top) {
  const paths = {};
  program.steps.forEach((step, s) => {
    const a = scale.begin(s + 1), b = scale.end(s + 1);
    if (b > a) paths[phaseOf(step)] = `${paths[phaseOf(step)] ?? ""}M${a.toFixed(1)},${top}H${b.toFixed(1)}v6H${a.toFixed(1)}Z`;
  });
  for (const [phase, d] of Object.entries(paths)) root.append(svg("path", { d, fill: `var(--${phase})` }));
}

function describeClasses(program, position) {
  const rows = [...used].reverse().filter((name) => program.live_bytes[name][position] > 0).map((name) =>
    html("tr", {}, html("td", {}, swatch(name, formatClass(name))),
      html("td", { class: "number" }, formatBytes(program.live_bytes[name][position]))));
  rows.push(html("tr", {}, html("td", {}, html("b", {}, "together")),
    html("td", { class: "number" }, html("b", {}, formatBytes(program.totals[position])))));
  return html("table", {}, ...rows);
}

function drawBudget(root, scale, y, most) {
  const budget = report.budget_bytes;
  if (budget === null || budget > most) return;
  root.append(svg("line", { x1: scale.left, x2: scale.right, y1: y(budget), y2: y(budget), class: "budget" }),
    svg("text", { x: scale.right - 4, y: y(budget) - 5, "text-anchor": "end", class: "accent halo" },
      `budget ${formatBytes(budget)}`));
}

function drawPeak(root, program, scale, y) {
  const at = program.peak_step + 1;
  const x = (scale.begin(at) + scale.end(at)) / 2, top = y(program.peak_bytes);
  if (x <= scale.left || x >= scale.right) return;
  const side = x > (scale.left + scale.right) / 2 ? "end" : "start";
  root.append(svg("circle", { cx: x, cy: top, r: 4, fill: "var(--ink)", stroke: "var(--card)", "stroke-width": 1.5 }),
    svg("text", { x: x + (side === "end" ? -8 : 8), y: top - 7, "text-anchor": side, class: "strong halo" },
      `peak ${formatBytes(program.peak_bytes)}`));
}

function drawMemoryChart(place, program, title, most, zooms) {
  const height = 250;
  const { root, width } = drawing(place, height, `${title}: memory over the step, peak ${formatBytes(program.peak_bytes)}`);
  root.dataset.peak = program.peak_bytes;
  const scale = stepScale(program, width, margin.left, zooms);
  const bottom = height - margin.bottom - 10;
  const y = drawBytes(root, scale.left, scale.right, margin.top, bottom, most);
  drawStack(root, program, scale, y);
  drawPhases(root, program, scale, bottom + 3);
  drawSteps(root, scale, bottom + 10);
  drawBudget(root, scale, y, most);
  drawPeak(root, program, scale, y);
  if (zooms && state.position !== null) {
    const x = (scale.begin(state.position) + scale.end(state.position)) / 2;
    root.append(svg("line", { class: "pin", x1: x, x2: x, y1: margin.top, y2: bottom }));
  }
  root.append(svg("text", { x: scale.left, y: 14, class: "strong" }, title));
  interact(root, program, scale, { top: margin.top, bottom }, zooms, (position) =>
    [...describePosition(program, position), describeClasses(program, position)]);
}

function drawMemory() {
  const place = byId("charts-memory");
  place.replaceChildren();
  const both = [unplanned, shown].filter((p) => p);
  const most = Math.max(...both.map((p) => p.peak_bytes), 1) * 1.06;
  if (unplanned) drawMemoryChart(place, unplanned, "Without recomputation", most, false);
  const title = planned ? (unplanned ? "With the plan" : "The program") : "The smallest that was found";
  drawMemoryChart(place, shown, title, most, true);
  drawAlive();
}

/// The largest values at the chosen step, else at the peak.
function drawAlive() {
  const position = state.position ?? shown.peak_step + 1;
  const step = shown.steps[position - 1];
  const where = step ? `step ${position - 1}, ${step.name ?? step.op}` : position === 0 ? "the begin" : "the end";
  const workspace = shown.live_bytes.workspaces[position];
  byId("alive-title").textContent =
    `Largest values ${state.position === null ? "at the peak" : "alive"}: ${where}` +
    (workspace ? ` (with a workspace of ${formatBytes(workspace)})` : "");
  const alive = aliveAt(shown, position).slice(0, 12);
  const most = alive.length ? alive[0].tensor.bytes : 1;
  const rows = alive.map(({ tensor }) => html("tr", {},
    html("td", { class: "number" }, formatBytes(tensor.bytes)),
    html("td", { class: "bar" }, html("div", { class: "bars" }, html("span",
      { style: `width:${(tensor.bytes / most) * 100}%;background:var(--${tensor.class})`, title: formatClass(tensor.class) }))),
    html("td", {}, tensor.name), html("td", {}, formatClass(tensor.class)), html("td", {}, typeOf(tensor)),
    html("td", { class: "source" }, sourceOf(shown, tensor))));
  const head = html("tr", {}, ...["bytes", "", "value", "class", "type", "source"].map((text) =>
    html("th", { class: text === "bytes" ? "number" : undefined }, text)));
  byId("alive").replaceChildren(html("div", { class: "scroll" }, html("table", {}, head, ...rows)));
}
