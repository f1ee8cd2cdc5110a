// A row for each value: where its bytes hold it, where it is dropped.

const kinds = {
  again: ["computed again", (line) => line.recomputations > 0],
  kept: ["kept for the backward", (line) => line.recomputations === 0 && firstOf(line).class === "activations"],
  all: ["all values", () => true],
};

const firstOf = (line) => shown.tensors[line.tensors[0]];

function chooseLines() {
  const text = state.text.toLowerCase();
  const [, wanted] = kinds[state.kind];
  return shown.lines
    .filter((line) => wanted(line) && firstOf(line).name.toLowerCase().includes(text))
    .sort((l, r) => firstOf(r).bytes - firstOf(l).bytes || firstOf(l).first - firstOf(r).first);
}

function describeLine(line) {
  const first = firstOf(line);
  const lines = [html("b", {}, first.name),
    html("div", {}, `${formatBytes(first.bytes)}, ${formatClass(first.class)}, ${typeOf(first)}`)];
  const source = sourceOf(shown, first);
  if (source && source !== first.name) lines.push(html("div", { class: "soft" }, source));
  const rows = line.tensors.map((number) => {
    const tensor = shown.tensors[number], step = shown.steps[tensor.first];
    const time = step ? stepTime(shown, step) : undefined;
    const how = step && step.recomputes !== undefined ? "computed again" : "written";
    const made = step ? `${how} at step ${tensor.first}` : "there from the begin";
    const until = tensor.last >= shown.steps.length ? "to the end" : `to step ${tensor.last}`;
    return html("tr", {}, html("td", {}, made), html("td", {}, until),
      html("td", { class: "number" }, time === undefined ? "" : formatTime(time)));
  });
  const why = (report.explain ?? []).find((entry) => entry.name === first.name);
  return [...lines, html("table", {}, ...rows), ...(why && why.kind === "recomputed" ? [describeReason(why)] : [])];
}

/// What --explain found of a value that is computed again.
function describeReason(why) {
  const text = why.relieves && why.saved_bytes > 0
    ? `Kept instead, it would raise the memory at ${why.relieves.name} by ${formatBytes(why.saved_bytes)}.`
    : "Kept instead, it would raise the memory nowhere.";
  return html("div", { class: "soft" }, `${text} Computing it again takes ${formatTime(why.chain_ms)} with what it reads.`);
}

function shorten(text, most) {
  return text.length <= most ? text : `…${text.slice(text.length - most + 1)}`;
}

function drawRow(root, line, scale, top, height) {
  const middle = top + height / 2;
  line.tensors.forEach((number, i) => {
    const tensor = shown.tensors[number];
    const a = scale.begin(tensor.first + 1), b = Math.max(scale.end(tensor.last + 1), a);
    if (i > 0) {
      const before = scale.end(shown.tensors[line.tensors[i - 1]].last + 1);
      if (a > before) root.append(svg("line", { x1: before, x2: a, y1: middle, y2: middle, class: "gap" }));
    }
    if (b > a)
      root.append(svg("rect", { x: a, y: top + 3, width: Math.max(b - a, 1.5), height: height - 6, rx: 2,
        fill: `var(--${tensor.class})` }));
    if (i > 0 && tensor.first >= 0 && shown.steps[tensor.first].recomputes !== undefined && a > scale.left && a < scale.right)
      root.append(svg("circle", { cx: a, cy: middle, r: 3.6, class: "again" }));
  });
}

function drawLifelines() {
  const place = byId("chart-lifelines");
  place.replaceChildren();
  const all = chooseLines(), lines = all.slice(0, state.rows);
  byId("more").replaceChildren();
  if (all.length > lines.length) {
    const button = html("button", { type: "button" }, "show more");
    button.addEventListener("click", () => {
      state.rows += 80;
      drawLifelines();
    });
    byId("more").append(`${lines.length} of ${formatCount(all.length)} values, the largest first `, button);
  }
  if (!lines.length) {
    place.append(html("p", { class: "soft" }, state.kind === "again" && !state.text
      ? "Nothing is computed again." : "No value has this name."));
    place.dataset.rows = 0;
    return;
  }
  const rowHeight = 15, top = 8, bottom = top + lines.length * rowHeight;
  const { root, width } = drawing(place, bottom + margin.bottom + 4, `lifelines of ${lines.length} values`);
  place.dataset.rows = all.length;
  const left = Math.min(330, width * 0.36);
  const scale = stepScale(shown, width, left, true);
  lines.forEach((line, i) => {
    const y = top + i * rowHeight, first = firstOf(line);
    if (i % 2) root.append(svg("rect", { x: 0, y, width: scale.right, height: rowHeight, fill: "var(--shade)" }));
    root.append(svg("text", { x: left - 76, y: y + 11, "text-anchor": "end", class: "row-name" },
      shorten(first.name, Math.floor((left - 80) / 6.6))),
      svg("text", { x: left - 8, y: y + 11, "text-anchor": "end" }, formatBytes(first.bytes)));
    drawRow(root, line, scale, y, rowHeight);
  });
  drawSteps(root, scale, bottom + 3);
  interact(root, shown, scale, { top, bottom }, true, (position, y) => {
    const line = lines[Math.floor(((y ?? top) - top) / rowHeight)];
    return line ? describeLine(line) : describePosition(shown, position);
  });
}

function makeFilters() {
  const kind = html("select", { "aria-label": "which values" });
  for (const [name, [text, wanted]] of Object.entries(kinds))
    kind.append(html("option", { value: name }, `${text} (${formatCount(shown.lines.filter(wanted).length)})`));
  if (!shown.lines.some(kinds.again[1])) state.kind = shown.lines.some(kinds.kept[1]) ? "kept" : "all";
  kind.value = state.kind;
  const search = html("input", { type: "search", placeholder: "name contains …", "aria-label": "name contains" });
  const change = () => {
    Object.assign(state, { kind: kind.value, text: search.value, rows: 40 });
    drawLifelines();
  };
  kind.addEventListener("change", change);
  search.addEventListener("input", change);
  byId("filters").append(kind, search);
}
