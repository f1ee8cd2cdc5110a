// Begins here.

function complain(message) {
  const place = byId("errors");
  place.hidden = false;
  place.append(`${message}\n`);
}
addEventListener("error", (event) => complain(`${event.message} (line ${event.lineno})`));

function addNumber(name, value, text, note) {
  const lines = [html("dt", {}, name), html("dd", { "data-value": value }, text)];
  if (note) lines.push(html("dd", {}, note));
  byId("numbers").append(html("div", {}, ...lines));
}

function drawHead() {
  const title = data.title.split("/").pop();
  byId("title").textContent = title === "-" ? "standard input" : title;
  document.title = `${title} · remat`;
  const facts = [shown ? `${shown.device} ${shown.arch}`.trim() : report.device,
    report.budget_bytes === null ? "no budget" : `budget ${formatBytes(report.budget_bytes)}`];
  if (shown) facts.push(`${formatCount(shown.steps.length)} operations a step`);
  if (report.device_description) facts.push(report.device_description);
  byId("subtitle").textContent = facts.join(" · ");
  drawNumbers();
}

function drawNumbers() {
  const peak = report.predicted_peak_bytes, before = report.unplanned_peak_bytes;
  if (peak !== null)
    addNumber("peak memory", peak, formatBytes(peak),
      before > peak ? `${formatPercent(1 - peak / before)} less than without` : "nothing is saved");
  addNumber("without recomputation", before, formatBytes(before));
  addNumber("smallest budget found", report.smallest_feasible_bytes, formatBytes(report.smallest_feasible_bytes),
    report.impossible_bytes > 0 ? `proven too little: ${formatBytes(report.impossible_bytes)}` : undefined);
  if (report.predicted_ms !== null)
    addNumber("predicted time of a step", report.predicted_ms, formatTime(report.predicted_ms),
      `${formatPercent(report.predicted_overhead)} above the fastest program`);
  if (report.lower_bound_ms)
    addNumber("proven least time", report.lower_bound_ms, formatTime(report.lower_bound_ms),
      `a gap of ${formatPercent(report.gap)}`);
  if (report.recomputed_ops !== null)
    addNumber("computed again", report.recomputed_ops, formatCount(report.recomputed_ops), "operations");
  if (report.ms_per_step !== null)
    addNumber("measured time of a step", report.ms_per_step, formatTime(report.ms_per_step),
      `measured peak ${formatBytes(report.measured_peak_bytes)}`);
}

function makeControls() {
  const choose = (axis, text) => {
    const input = html("input", { type: "radio", name: "axis", value: axis });
    input.checked = state.axis === axis;
    input.addEventListener("change", () => {
      Object.assign(state, { axis, from: 0, to: 1 });
      drawSteppedViews();
    });
    return html("label", {}, input, ` ${text}`);
  };
  const reset = html("button", { type: "button" }, "whole step");
  reset.addEventListener("click", () => {
    state.position = null;
    zoom(0, 1);
  });
  byId("controls").append(choose("step", "by step"), ...(shown.timed ? [choose("time", "by time")] : []), reset,
    html("span", { class: "soft" }, "drag to enlarge, click to list what is alive"));
  byId("legend").append(...used.map((name) => swatch(name, formatClass(name))), html("span", {}, "·"),
    ...phases.map((phase) => swatch(phase, phaseName(phase))));
}

function zoom(from, to) {
  if (to - from < 1e-4) return;
  Object.assign(state, { from: Math.max(0, from), to: Math.min(1, to) });
  drawSteppedViews();
}

function pinAt(position) {
  state.position = position;
  drawMemory();
}

function drawSteppedViews() {
  drawMemory();
  drawLifelines();
  drawArena();
}

function drawAll() {
  drawSteppedViews();
  drawFrontier();
  drawTimes();
}

/// Shading of what is proven, for all drawings.
function addHatch() {
  const pattern = svg("pattern",
    { id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    svg("rect", { width: 7, height: 7, fill: "var(--shade)" }),
    svg("line", { x1: 0, x2: 0, y1: 0, y2: 7, stroke: "var(--line)", "stroke-width": 2 }));
  document.body.append(svg("svg", { width: 0, height: 0, style: "position:absolute", "aria-hidden": "true" },
    svg("defs", {}, pattern)));
}

function begin() {
  addHatch();
  drawHead();
  drawRefusal();
  if (!shown) {
    for (const id of ["memory", "lifelines", "arena", "frontier", "times"]) byId(id).hidden = true;
  } else {
    makeControls();
    makeFilters();
    drawAll();
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth === width) return;
      width = innerWidth;
      drawAll();
    });
  }
  document.documentElement.dataset.drawn = "yes";
  if (location.hash) byId(location.hash.slice(1))?.scrollIntoView();
}
begin();
