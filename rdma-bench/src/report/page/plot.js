// SPDX-License-Identifier: BSD-2-Clause
// Elements, numbers as text, axes, and plots as SVG.
"use strict";

/** Text of strangers: controls, and marks that turn the direction of writing, as U+FFFD. */
const clean = (text) =>
    text.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/g, "\ufffd");

/** All text goes in by append(), so that none of it is markup. */
function build(made, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children.map((child) => (typeof child === "string" ? clean(child) : child)));
    return made;
}
const html = (name, attributes = {}, ...children) => build(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) =>
    build(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

const threeDigits = (value) => (Number.isFinite(value) ? String(+value.toPrecision(3)) : "?");
/** In the greatest unit in which the number is not below 1. */
function scaled(value, step, carry, units) {
    let unit = 0;
    while (Math.abs(value) >= carry && unit + 1 < units.length) {
        value /= step;
        ++unit;
    }
    return `${threeDigits(value)} ${units[unit]}`.trim();
}
const bytes = (value) => scaled(value, 1024, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
const count = (value) => scaled(value, 1000, 999.5, ["", "k", "M", "G"]);
const microseconds = (value) => scaled(value * 1000, 1000, 999.5, ["ns", "µs", "ms", "s"]);
const ratio = (value) => threeDigits(value) + "×";
/** A percentile needs all its nines. */
const percent = (value) => (value > 99.9 ? String(+value.toFixed(6)) : threeDigits(value));

const mostPercent = 99.9999;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const project = {
    linear: (value) => value,
    log2: Math.log2,
    log10: Math.log10,
    nines: (value) => -Math.log10(1 - clamp(value, 0, mostPercent) / 100),
};

/** The shortest run of `steps` that encloses low to high, at least three of them around a single one. */
function enclosing(steps, low, high) {
    let first = Math.max(0, steps.findLastIndex((step) => step <= low * 1.000001));
    let last = steps.findIndex((step) => step >= high * 0.999999);
    last = last < 0 ? steps.length - 1 : last;
    if (first >= last) [first, last] = [Math.max(0, last - 1), Math.min(steps.length - 1, last + 1)];
    return steps.slice(first, last + 1);
}

/** Ticks that do not crowd; the first and the last are the ends. One without a label is a line only. */
function ticksOf(scale, low, high, most) {
    const labelled = (value) => ({ value, label: true });
    if (scale === "nines") {
        const all = [0, 50, 90, 99, 99.9, 99.99, 99.999, mostPercent], most = clamp(high, 90, mostPercent);
        return all.slice(0, all.findIndex((value) => value >= most) + 1).map(labelled);
    }
    if (scale === "linear") {
        low = Math.min(low, 0);
        high = high > low ? high : low + 1;
        const rough = (high - low) / (most - 1), decade = 10 ** Math.floor(Math.log10(rough));
        const step = decade * ([1, 2, 2.5, 5].find((factor) => decade * factor >= rough * 0.999) ?? 10);
        const first = Math.floor(low / step), steps = Math.ceil(high / step - 1e-9) - first;
        return Array.from({ length: steps + 1 }, (_, i) => labelled((first + i) * step));
    }
    const base = scale === "log2" ? 2 : 10, from = Math.floor(project[scale](low)) - 1;
    const powers = Array.from({ length: Math.ceil(project[scale](high)) + 2 - from }, (_, i) => from + i);
    // Within two decades powers of ten alone would leave the reader without a label.
    const factors = base === 10 && high / low < 100 ? [1, 2, 5] : [1];
    const ends = enclosing(powers.flatMap((power) => factors.map((factor) => factor * base ** power)), low, high);
    if (factors.length > 1) return ends.map(labelled);
    // Every tenth power of two is a unit, every third of ten nearly so: labels sit where they are round.
    const every = [1, 2, 4, 5, 10, 20, 50].find((n) => Math.floor((ends.length - 1) / n) < most) ?? 50;
    return ends.map((value) => ({ value, label: Math.round(project[scale](value)) % every === 0 }))
        .filter((tick, i) => tick.label || ends.length <= 25 || i === 0 || i === ends.length - 1);
}

/** Where a value lies between the ends of an axis, 0 to 1, and its ticks. */
function axis(scale, low, high, most) {
    const log = scale.startsWith("log");
    if (!Number.isFinite(low) || !Number.isFinite(high) || high < low) [low, high] = [log ? 1 : 0, 1];
    if (log) {
        high = high > 0 ? high : 1;
        low = low > 0 ? low : Math.min(high, 1);
    }
    const ticks = ticksOf(scale, low, high, most);
    const from = project[scale](ticks[0].value), to = project[scale](ticks.at(-1).value);
    return { ticks, place: (value) => clamp((project[scale](value) - from) / (to - from), 0, 1) };
}

// Units of the drawing. A phone shows it at about 0.7 of that: the text stays readable there.
const width = 480, height = 300, box = { left: 74, right: 450, top: 14, bottom: 246 };
const looks = 8;
const shapes = ["M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z",
    "M-3.3-3.3h6.6v6.6h-6.6z", "M0-4.4L4.2 3.4H-4.2z", "M0-4.8L4.8 0L0 4.8L-4.8 0z"];
const marker = (look, x, y, ...children) =>
    svg("path", { class: "marker", d: shapes[look % 4], transform: `translate(${x} ${y})` }, ...children);

/** A series looks the same in every plot: colour, dashes and marker follow from `look`. */
function drawSeries(plot, series, points, at) {
    const look = series.look % looks, [start, ...rest] = points.map(at);
    const path = `M${start.join(" ")}` + rest.map(([x, y]) => (series.steps ? `H${x}V${y}` : `L${x} ${y}`)).join("");
    const markers = series.plain || series.steps ? [] : points.map((point) => marker(look, ...at(point),
        svg("title", {}, `${series.name}: ${plot.y.format(point[1])} (${plot.x.format(point[0])})`)));
    return svg("g", { class: `look${look}` }, svg("path", { class: "line", d: path }), ...markers);
}

/** What the picture shows, for readers that cannot see it. */
function describe(plot, lines, all) {
    const best = all.reduce((a, b) => ((plot.lowest ? b.point[1] < a.point[1] : b.point[1] > a.point[1]) ? b : a));
    return `${plot.title} against ${plot.x.title}, ${lines} line(s). ${plot.lowest ? "Lowest" : "Highest"}: ` +
        `${plot.y.format(best.point[1])} at ${plot.x.format(best.point[0])} (${best.series.name}).`;
}

/** A plot { id, title, x, y, series, reference }, an axis { title, scale, format }, a series { name, look, points };
    nothing without a point that can be shown. */
function draw(plot) {
    const usable = (scale, value) => Number.isFinite(value) && (!scale.startsWith("log") || value > 0);
    const shown = plot.series.map((series) => ({ series, points: series.points.filter(
        ([x, y]) => usable(plot.x.scale, x) && usable(plot.y.scale, y)) })).filter(({ points }) => points.length > 0);
    const all = shown.flatMap(({ series, points }) => points.map((point) => ({ series, point })));
    if (all.length === 0) return [];
    const over = (values, { scale }) => axis(scale, values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b)), 6);
    const x = over(all.map(({ point }) => point[0]), plot.x);
    const y = over(all.map(({ point }) => point[1]).concat(plot.reference ?? []), plot.y);
    const across = (value) => +(box.left + x.place(value) * (box.right - box.left)).toFixed(1);
    const down = (value) => +(box.bottom - y.place(value) * (box.bottom - box.top)).toFixed(1);
    const line = (name, x1, y1, x2, y2) => svg("line", { class: name, x1, y1, x2, y2 });
    const text = (attributes, words) => svg("text", { "text-anchor": "middle", ...attributes }, words);
    const grid = x.ticks.map((t) => line(t.label ? "" : "minor", across(t.value), box.top, across(t.value), box.bottom))
        .concat(y.ticks.map((t) => line(t.label ? "" : "minor", box.left, down(t.value), box.right, down(t.value))));
    const labels = x.ticks.filter((t) => t.label).map((t) => text({ x: across(t.value), y: box.bottom + 18 }, plot.x.format(t.value)))
        .concat(y.ticks.filter((t) => t.label).map((t) =>
            text({ "text-anchor": "end", x: box.left - 7, y: down(t.value) + 4.5 }, plot.y.format(t.value))));
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": `${plot.id}-t ${plot.id}-d` },
        svg("title", { id: `${plot.id}-t` }, plot.title), svg("desc", { id: `${plot.id}-d` }, describe(plot, shown.length, all)),
        svg("g", { class: "grid" }, ...grid), ...labels,
        text({ class: "axis", x: (box.left + box.right) / 2, y: height - 12 }, plot.x.title),
        text({ class: "axis", transform: `translate(15 ${(box.top + box.bottom) / 2}) rotate(-90)` }, plot.y.title),
        ...(plot.reference ? [line("reference", box.left, down(plot.reference), box.right, down(plot.reference))] : []),
        ...shown.map(({ series, points }) => drawSeries(plot, series, points, ([a, b]) => [across(a), down(b)])));
    const legend = shown.map(({ series: { name, look } }) => html("li", {},
        svg("svg", { class: `key look${look % looks}`, viewBox: "0 0 30 12", "aria-hidden": "true" },
            svg("path", { class: "line", d: "M1 6H29" }), marker(look % looks, 15, 6)), html("span", {}, name)));
    return [html("figure", {}, html("h3", {}, plot.title), picture, html("ul", {}, ...legend))];
}
