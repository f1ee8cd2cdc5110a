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
    root.append(svg("text", { x: middle, y, "text-anchor": "middle", class: "halo", transform: `rotate(-90 ${middle} ${y})` }, text));
}

/// The best known for a budget is what was found for it or less.
function foundPath(points, x, y, end) {
  const [first, ...more] = points;
  return `M${x(first.bytes)},${y(first.ms)}${more.map((p) => `H${x(p.bytes)}V${y(p.ms)}`).join("")}H${end}`;
}

/// What is proven for a budget holds for every smaller one.
function boundPath(points, x, y, begin) {
  const [first, ...more] = points;
  return `M${begin},${y(first.lower_bound_ms)}H${x(first.bytes)}${more.map((p) => `V${y(p.lower_bound_ms)}H${x(p.bytes)}`).join("")}`;
}

function drawPoints(root, points, x, y, high) {
  const chosen = report.predicted_peak_bytes;
  for (const point of points) {
    const isChosen = point.bytes === chosen;
    if (point.ms > high)
      root.append(svg("text", { x: x(point.bytes) + 9, y: y(point.ms) + 17, class: "halo" }, `↑ ${formatTime(point.ms)}`));
    const mark = svg("circle", { cx: x(point.bytes), cy: y(point.ms), r: isChosen ? 6.5 : 4.5, class: isChosen ? "chosen" : "found",
      tabindex: 0, role: "img", "aria-label": `${formatBytes(point.bytes)}: ${formatTime(point.ms)}` });
    const tip = (event) => showTip(event, html("b", {}, `${formatBytes(point.bytes)}: ${formatTime(point.ms)}`),
      html("div", {}, isChosen ? "the program that was chosen" : "a program that was made"),
      ...(point.lower_bound_ms === undefined ? [] : [html("div", {}, `no program of these bytes takes less than ${formatTime(point.lower_bound_ms)}`)]));
    mark.addEventListener("pointermove", tip);
    mark.addEventListener("pointerleave", hideTip);
    root.append(mark);
    if (isChosen)
      root.append(svg("text", { x: x(point.bytes) + 11, y: y(point.ms) - 8, class: "strong halo" },
        `chosen: ${formatTime(point.ms)} in ${formatBytes(point.bytes)}`));
  }
}

function drawFrontier() {
  const place = byId("chart-frontier");
  place.replaceChildren();
  const points = frontierPoints();
  byId("frontier-lead").textContent = data.frontier.length
    ? "Predicted time of programs that were made, by the bytes of their arena. Below the line of the proven bound there is no program, whatever it recomputes and in whatever order."
    : "A program file knows of itself only.";
  place.dataset.points = points.length;
  if (!points.length) return;
  const height = 330, top = 14, bottom = height - 36, left = margin.left;
  const { root, width } = drawing(place, height, "predicted time by budget, with the proven bound");
  const right = width - margin.right;
  const bounds = points.filter((p) => p.lower_bound_ms !== undefined);
  const least = Math.min(...points.map((p) => p.lower_bound_ms ?? p.ms)), most = Math.max(...points.map((p) => p.ms));
  // One far slower program does not press the others flat: it stands at the edge, with its time.
  const slowest = points.length > 2 ? points.map((p) => p.ms).sort((l, r) => r - l)[1] : most;
  const usual = most > slowest * 1.2 ? slowest : most, range = usual - least || usual;
  const low = Math.max(0, least - range * 0.12), high = usual + range * (usual < most ? 0.45 : 0.15);
  const widest = Math.max(...points.map((p) => p.bytes), report.budget_bytes === null ? 0 : Math.min(report.budget_bytes, 1.2 * report.unplanned_peak_bytes)) * 1.04;
  const narrow = Math.min(report.smallest_feasible_bytes, report.budget_bytes ?? Infinity, points[0].bytes) * 0.88;
  const x = (bytes) => left + ((bytes - narrow) / (widest - narrow)) * (right - left);
  const y = (ms) => bottom - ((Math.min(ms, high) - low) / (high - low)) * (bottom - top);
  for (const tick of ticks(high, Math.max(5, (5 * high) / (high - low)), false))
    if (tick >= low) root.append(svg("line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: "grid" }),
      svg("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, formatTime(tick)));
  for (const tick of ticks(widest, Math.max(8, (8 * widest) / (widest - narrow)), true))
    if (tick >= narrow) root.append(svg("line", { x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4, class: "axis" }),
      svg("text", { x: x(tick), y: bottom + 18, "text-anchor": "middle" }, formatBytes(tick).replace(/\.0+ /, " ")));
  root.append(svg("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }));
  if (bounds.length) {
    const line = boundPath(bounds, x, y, left);
    root.append(svg("path", { d: `${line}V${bottom}H${left}Z`, class: "bound-area" }),
      svg("path", { d: line, class: "bound-line" }),
      svg("text", { x: right - 6, y: bottom - 10, "text-anchor": "end", class: "halo" }, "proven: no program is here"));
  }
  if (report.impossible_bytes > narrow)
    drawRegion(root, left, x(report.impossible_bytes), top, bottom, "proven: nothing fits");
  root.append(svg("path", { d: foundPath(points, x, y, right), class: "found-line" }));
  const budget = report.budget_bytes;
  if (budget !== null && budget <= widest) {
    const side = x(budget) > (left + right) / 2 ? "end" : "start";
    root.append(svg("line", { x1: x(budget), x2: x(budget), y1: top, y2: bottom, class: "budget" }),
      svg("text", { x: x(budget) + (side === "end" ? -6 : 6), y: bottom - 30, "text-anchor": side, class: "accent halo" }, `budget ${formatBytes(budget)}`));
  }
  drawPoints(root, points, x, y, high);
}
