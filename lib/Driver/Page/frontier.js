// Which time which budget allows: found, proven, chosen.

function frontierPoints() {
  if (data.frontier.length) return data.frontier;
  // A program file says only of itself.
  return planned && report.predicted_ms !== null
    ? [{ bytes: report.predicted_peak_bytes, ms: report.predicted_ms }] : [];
}

function drawRegion(root, x1, x2, top, bottom, text) {
  if (x2 - x1 < 2) return;
  root.append(svg("rect", { x: x1, y: top, width: x2 - x1, height: bottom - top, class: "bound-area" }));
  const middle = (x1 + x2) / 2, y = (top + bottom) / 2;
  if (x2 - x1 > 24)
    root.append(svg("text",
      { x: middle, y, "text-anchor": "middle", class: "halo", transform: `rotate(-90 ${middle} ${y})` }, text));
}

/// The best known for a budget is what was found for it or less.
function foundPath(points, x, y, end) {
  const [first, ...more] = points;
  return `M${x(first.bytes)},${y(first.ms)}${more.map((p) => `H${x(p.bytes)}V${y(p.ms)}`).join("")}H${end}`;
}

/// What is proven for a budget holds for every smaller one.
function boundPath(points, x, y, begin) {
  const [first, ...more] = points;
  const steps = more.map((p) => `V${y(p.lower_bound_ms)}H${x(p.bytes)}`);
  return `M${begin},${y(first.lower_bound_ms)}H${x(first.bytes)}${steps.join("")}`;
}

function describePoint(point, isChosen) {
  const lines = [html("b", {}, `${formatBytes(point.bytes)}: ${formatTime(point.ms)}`),
    html("div", {}, isChosen ? "the program that was chosen" : "a program that was made")];
  if (point.lower_bound_ms !== undefined)
    lines.push(html("div", {}, `no program of these bytes takes less than ${formatTime(point.lower_bound_ms)}`));
  return lines;
}

function drawPoint(root, point, { x, y, high }) {
  const isChosen = point.bytes === report.predicted_peak_bytes;
  const cx = x(point.bytes), cy = y(point.ms);
  const mark = svg("circle", { cx, cy, r: isChosen ? 6.5 : 4.5, class: isChosen ? "chosen" : "found", tabindex: 0,
    role: "img", "aria-label": `${formatBytes(point.bytes)}: ${formatTime(point.ms)}` });
  mark.addEventListener("pointermove", (event) => showTip(event, ...describePoint(point, isChosen)));
  mark.addEventListener("pointerleave", hideTip);
  if (point.ms > high)
    root.append(svg("text", { x: cx + 9, y: cy + 17, class: "halo" }, `↑ ${formatTime(point.ms)}`));
  root.append(mark);
  if (isChosen)
    root.append(svg("text", { x: cx + 11, y: cy - 8, class: "strong halo" },
      `chosen: ${formatTime(point.ms)} in ${formatBytes(point.bytes)}`));
}

/// Where bytes and times lie in a drawing, and which of them it shows.
function frontierScales(points, box) {
  const budget = report.budget_bytes ?? Infinity;
  const shownBudget = budget === Infinity ? 0 : Math.min(budget, 1.2 * report.unplanned_peak_bytes);
  const widest = 1.04 * Math.max(...points.map((p) => p.bytes), shownBudget);
  const narrow = 0.88 * Math.min(report.smallest_feasible_bytes, budget, points[0].bytes);
  // One far slower program does not press the others flat: it stands at the edge, with its time.
  const times = points.map((p) => p.ms).sort((l, r) => r - l), most = times[0];
  const usual = times.length > 2 && most > times[1] * 1.2 ? times[1] : most;
  const least = Math.min(...points.map((p) => p.lower_bound_ms ?? p.ms)), range = usual - least || usual || 1;
  const low = Math.max(0, least - range * 0.12), high = usual + range * (usual < most ? 0.45 : 0.15);
  return {
    widest, narrow, low, high,
    x: (bytes) => box.left + ((bytes - narrow) / (widest - narrow)) * (box.right - box.left),
    y: (ms) => box.bottom - ((Math.min(ms, high) - low) / (high - low)) * (box.bottom - box.top),
  };
}

function drawFrontierAxes(root, box, { x, y, low, high, narrow, widest }) {
  for (const tick of ticks(high, Math.max(5, (5 * high) / (high - low)), false))
    if (tick >= low)
      root.append(svg("line", { x1: box.left, x2: box.right, y1: y(tick), y2: y(tick), class: "grid" }),
        svg("text", { x: box.left - 8, y: y(tick) + 4, "text-anchor": "end" }, formatTime(tick)));
  for (const tick of ticks(widest, Math.max(8, (8 * widest) / (widest - narrow)), true))
    if (tick >= narrow)
      root.append(svg("line", { x1: x(tick), x2: x(tick), y1: box.bottom, y2: box.bottom + 4, class: "axis" }),
        svg("text", { x: x(tick), y: box.bottom + 18, "text-anchor": "middle" },
          formatBytes(tick).replace(/\.0+ /, " ")));
  root.append(svg("line", { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, class: "axis" }));
}

/// What no program reaches.
function drawProven(root, points, box, { x, y, narrow }) {
  const bounds = points.filter((p) => p.lower_bound_ms !== undefined);
  if (bounds.length) {
    const line = boundPath(bounds, x, y, box.left);
    root.append(svg("path", { d: `${line}V${box.bottom}H${box.left}Z`, class: "bound-area" }),
      svg("path", { d: line, class: "bound-line" }),
      svg("text", { x: box.right - 6, y: box.bottom - 10, "text-anchor": "end", class: "halo" },
        "proven: no program is here"));
  }
  if (report.impossible_bytes > narrow)
    drawRegion(root, box.left, x(report.impossible_bytes), box.top, box.bottom, "proven: nothing fits");
}

function drawBudgetLine(root, box, { x, widest }) {
  const budget = report.budget_bytes;
  if (budget === null || budget > widest) return;
  const at = x(budget), isRight = at > (box.left + box.right) / 2;
  root.append(svg("line", { x1: at, x2: at, y1: box.top, y2: box.bottom, class: "budget" }),
    svg("text", { x: at + (isRight ? -6 : 6), y: box.bottom - 30, "text-anchor": isRight ? "end" : "start",
      class: "accent halo" }, `budget ${formatBytes(budget)}`));
}

function drawFrontier() {
  const place = byId("chart-frontier"), points = frontierPoints();
  place.replaceChildren();
  place.dataset.points = points.length;
  byId("frontier-lead").textContent = data.frontier.length
    ? "Predicted time of programs that were made, by the bytes of their arena. Below the line of the proven bound " +
      "there is no program, whatever it recomputes and in whatever order."
    : "A program file knows of itself only.";
  if (!points.length) return;
  const height = 330;
  const { root, width } = drawing(place, height, "predicted time by budget, with the proven bound");
  const box = { left: margin.left, right: width - margin.right, top: 14, bottom: height - 36 };
  const scales = frontierScales(points, box);
  drawFrontierAxes(root, box, scales);
  drawProven(root, points, box, scales);
  root.append(svg("path", { d: foundPath(points, scales.x, scales.y, box.right), class: "found-line" }));
  drawBudgetLine(root, box, scales);
  for (const point of points) drawPoint(root, point, scales);
}
