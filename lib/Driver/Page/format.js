"use strict";
// Numbers as people read them, and elements.

function formatBytes(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes, unit = 0;
  while (Math.abs(value) >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    ++unit;
  }
  return `${unit === 0 ? value : value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)} ${units[unit]}`;
}

function formatTime(ms) {
  if (ms === 0) return "0 ms";
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms >= 100) return `${ms.toFixed(0)} ms`;
  if (ms >= 1) return `${ms.toFixed(ms >= 10 ? 1 : 2)} ms`;
  return `${(ms * 1000).toFixed(ms >= 0.01 ? 0 : 1)} µs`;
}

function formatFlops(flops) {
  const units = ["", "k", "M", "G", "T", "P"];
  let value = flops, unit = 0;
  while (value >= 1000 && unit + 1 < units.length) {
    value /= 1000;
    ++unit;
  }
  return `${unit === 0 ? value : value.toFixed(value >= 100 ? 0 : 1)} ${units[unit]}FLOP`;
}

const formatCount = (number) => number.toLocaleString("en-US");
const formatPercent = (part) => `${(part * 100).toFixed(Math.abs(part) >= 0.0995 ? 0 : 1)} %`;
const formatClass = (name) => name.replaceAll("_", " ");

const byId = (id) => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function swatch(color, text) {
  return html("span", {}, html("span", { class: "swatch", style: `background:var(--${color})` }), text);
}

/// Round steps so that about `count` of them reach `most`; of bytes in powers of two.
function ticks(most, count, ofBytes) {
  if (!(most > 0)) return [0];
  const base = ofBytes ? 2 ** Math.floor(Math.log2(most / count)) : 10 ** Math.floor(Math.log10(most / count));
  const step = (ofBytes ? [1, 2, 4] : [1, 2, 5, 10]).map((by) => by * base).find((s) => most / s <= count + 1);
  const found = [];
  for (let at = 0; at <= most * 1.0001; at += step) found.push(at);
  return found;
}
