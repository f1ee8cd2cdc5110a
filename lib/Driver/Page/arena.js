// Addresses over the step.

/// The block at a position and address: the one that was written last.
function blockAt(position, address) {
  let found;
  for (const tensor of shown.tensors)
    if (tensor.first <= position - 1 && position - 1 <= tensor.last && tensor.offset <= address &&
        address < tensor.offset + tensor.bytes && (!found || tensor.first >= found.first))
      found = tensor;
  return found;
}

function describeBlock(position, address) {
  const tensor = address === undefined ? undefined : blockAt(position, address);
  if (tensor)
    return [...describeLine(shown.lineOf[shown.tensors.indexOf(tensor)]),
      html("div", { class: "soft" }, `bytes ${formatCount(tensor.offset)} to ${formatCount(tensor.offset + tensor.bytes - 1)}`)];
  const step = shown.steps[position - 1];
  if (step && step.workspace_bytes && address >= step.workspace_offset && address < step.workspace_offset + step.workspace_bytes)
    return [html("b", {}, `workspace of ${formatBytes(step.workspace_bytes)}`), ...describePosition(shown, position)];
  return [html("b", {}, "holds nothing"), ...describePosition(shown, position)];
}

function drawArena() {
  const place = byId("chart-arena");
  place.replaceChildren();
  const height = 420, bottom = height - margin.bottom;
  const { root, width } = drawing(place, height, `the arena of ${formatBytes(shown.arena_bytes)} over the step`);
  const scale = stepScale(shown, width, margin.left, true);
  const most = Math.max(shown.arena_bytes, 1);
  const y = drawBytes(root, scale.left, scale.right, 10, bottom, most);
  const paths = {};
  const add = (name, first, last, offset, bytes) => {
    const a = scale.begin(first + 1), b = scale.end(last + 1);
    if (b <= a) return;
    // A hair's breadth between blocks that are large enough to lose it.
    const inset = y(0) - y(bytes) > 3 ? 0.4 : 0;
    const high = y(offset + bytes) + inset, low = y(offset) - inset;
    paths[name] = `${paths[name] ?? ""}M${a.toFixed(1)},${high.toFixed(2)}H${b.toFixed(1)}V${low.toFixed(2)}H${a.toFixed(1)}Z`;
  };
  for (const tensor of shown.tensors) add(tensor.class, tensor.first, tensor.last, tensor.offset, tensor.bytes);
  shown.steps.forEach((step, s) => {
    if (step.workspace_bytes) add("workspaces", s, s, step.workspace_offset, step.workspace_bytes);
  });
  for (const name of stack)
    if (paths[name]) root.append(svg("path", { d: paths[name], fill: `var(--${name})`, class: "arena-block", "data-class": name }));
  drawSteps(root, scale, bottom);
  interact(root, shown, scale, { top: 10, bottom }, true, (position, at) =>
    describeBlock(position, at === undefined ? undefined : ((bottom - at) / (bottom - 10)) * most));
}
