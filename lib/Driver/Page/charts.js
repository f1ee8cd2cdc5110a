// What the charts with steps along x have in common.

const margin = { left: 66, right: 14, top: 26, bottom: 26 };

/// Scales of a program's steps in a drawing `width` wide; zoomed if `zooms`.
function stepScale(program, width, left, zooms) {
  const begins = program.begins[state.axis];
  const low = begins[0], high = begins[begins.length - 1] || 1;
  const span = (high - low) || 1;
  const from = low + (zooms ? state.from : 0) * span, to = low + (zooms ? state.to : 1) * span;
  const right = width - margin.right;
  const clamp = (x) => Math.max(left, Math.min(right, x));
  const x = (value) => clamp(left + ((value - from) / (to - from)) * (right - left));
  return {
    left, right, from, to,
    begin: (position) => x(begins[position]),
    end: (position) => x(begins[Math.min(position + 1, begins.length - 1)]),
    x,
    fraction: (pixel) => (from + ((pixel - left) / (right - left)) * (to - from) - low) / span,
    /// The position that is drawn at a pixel.
    position(pixel) {
      const value = from + ((pixel - left) / (right - left)) * (to - from);
      let a = 0, b = begins.length - 2;
      while (a < b) {
        const middle = (a + b + 1) >> 1;
        if (begins[middle] <= value) a = middle;
        else b = middle - 1;
      }
      return a;
    },
  };
}

function drawSteps(root, scale, bottom) {
  const unit = state.axis === "step" ? 1 : undefined;
  const count = Math.max(3, Math.floor((scale.right - scale.left) / 110));
  const found = ticks(scale.to - scale.from, count, false), by = Math.max(found[1] - found[0] || 1, unit ?? 0);
  for (let value = Math.ceil(Math.max(0, scale.from) / by) * by; value <= scale.to; value += by) {
    const x = scale.x(value);
    if (x > scale.right - 30) continue;
    root.append(svg("line", { x1: x, x2: x, y1: bottom, y2: bottom + 4, class: "axis" }),
      svg("text", { x, y: bottom + 17, "text-anchor": "middle" }, unit ? formatCount(value) : formatTime(value)));
  }
  root.append(svg("text", { x: scale.right, y: bottom + 17, "text-anchor": "end" }, unit ? "step" : "time"));
}

function drawBytes(root, left, right, top, bottom, most) {
  const y = (bytes) => bottom - (bytes / most) * (bottom - top);
  for (const tick of ticks(most, 5, true))
    root.append(svg("line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: "grid" }),
      svg("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, formatBytes(tick).replace(/\.0+ /, " ")));
  return y;
}

/// A new drawing in `place` that fills its width.
function drawing(place, height, label) {
  const width = Math.max(360, Math.round(place.clientWidth));
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, tabindex: 0 });
  place.append(root);
  return { root, width };
}

function showTip(event, ...content) {
  const tip = byId("tip");
  tip.replaceChildren(...content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const x = event.clientX + 16 + box.width > innerWidth ? event.clientX - box.width - 16 : event.clientX + 16;
  const y = Math.min(event.clientY + 14, innerHeight - box.height - 8);
  tip.style.left = `${Math.max(4, x)}px`;
  tip.style.top = `${Math.max(4, y)}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}

/// What runs at a position: lines for a tip.
function describePosition(program, position) {
  const lines = [];
  const step = program.steps[position - 1];
  if (!step) {
    lines.push(html("b", {}, position === 0 ? "before the first step" : "the end of the step"));
  } else {
    lines.push(html("b", {}, step.name ?? step.op), html("div", {}, `step ${position - 1}: ${describeOp(step)}`));
    if (step.location && step.location !== step.name) lines.push(html("div", { class: "soft" }, step.location));
    const facts = [phaseOf(step) === "recomputed" ? `computes step ${step.recomputes} again` : step.phase];
    const time = stepTime(program, step);
    if (time !== undefined) facts.push(`${formatTime(time)} ${program.measured ? "measured" : "predicted"}`);
    if (step.flops) facts.push(formatFlops(step.flops));
    lines.push(html("div", {}, facts.join(", ")));
  }
  return lines;
}

/// Hovering, dragging and arrow keys of a chart whose x axis is the steps.
/// `describe(position, y, event)` gives the tip; `zooms`: dragging selects.
function interact(root, program, scale, area, zooms, describe) {
  const cursor = svg("line", { class: "cursor", y1: area.top, y2: area.bottom, visibility: "hidden" });
  const brush = svg("rect", { class: "brush", y: area.top, height: area.bottom - area.top, visibility: "hidden" });
  root.append(brush, cursor);
  let pressed = null, current = state.position ?? program.peak_step + 1;
  const place = (event) => {
    const box = root.getBoundingClientRect(), by = root.viewBox.baseVal.width / box.width;
    return { x: (event.clientX - box.left) * by, y: (event.clientY - box.top) * by };
  };
  const moveTo = (position) => {
    const x = (scale.begin(position) + scale.end(position)) / 2;
    fill(cursor, { x1: x, x2: x, visibility: "visible" }, []);
    current = position;
  };
  root.addEventListener("pointermove", (event) => {
    const { x, y } = place(event);
    if (pressed !== null && Math.abs(x - pressed) > 4)
      fill(brush, { x: Math.min(x, pressed), width: Math.abs(x - pressed), visibility: "visible" }, []);
    if (x < scale.left || x > scale.right) return hideTip();
    moveTo(scale.position(x));
    showTip(event, ...describe(current, y));
  });
  root.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    hideTip();
  });
  root.addEventListener("pointerdown", (event) => (pressed = zooms ? place(event).x : null));
  root.addEventListener("pointerup", (event) => {
    const { x } = place(event), from = pressed;
    pressed = null;
    if (from !== null && Math.abs(x - from) > 4) return zoom(scale.fraction(Math.min(x, from)), scale.fraction(Math.max(x, from)));
    if (zooms && x >= scale.left && x <= scale.right) pinAt(scale.position(x));
  });
  root.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -25, PageDown: 25 }[event.key];
    if (event.key === "Escape") return zoom(0, 1);
    if (event.key === "Enter" && zooms) return pinAt(current);
    if (by === undefined) return;
    event.preventDefault();
    moveTo(Math.max(0, Math.min(program.totals.length - 1, current + by)));
    byId("spoken").textContent = describe(current).map((line) => line.textContent).join(". ");
    const box = root.getBoundingClientRect(), by2 = box.width / root.viewBox.baseVal.width;
    showTip({ clientX: box.left + scale.begin(current) * by2, clientY: box.top + 40 }, ...describe(current));
  });
}
