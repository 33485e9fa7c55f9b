// SPDX-License-Identifier: BSD-2-Clause
// Which plots there are of runs: [{ name, result }], the result being the JSON of docs/reference/rdma-bench.md.

const gigabits = (bytesPerSecond) => (bytesPerSecond ?? NaN) * 8 / 1e9;
const queuePairs = (n) => `${n} QP${n === 1 ? "" : "s"}`;
const distinct = (values) => [...new Set(values)];
const entriesOf = (runs) => runs.flatMap((run) => run.result.entries);
const prefix = (runs, run, mark) => (runs.length > 1 ? run.name + mark : "");

/** What tells the entries of a run apart. */
function entryName(entries, entry) {
    return bytes(entry.size_bytes) + (distinct(entries.map((e) => e.qps)).length > 1 ? ` x ${queuePairs(entry.qps)}` : "");
}

const bandwidthAxis = { title: "bandwidth, Gb/s", scale: "linear", format: threeDigits };
const latencyAxis = { title: "latency", scale: "log10", format: microseconds };
const sizeAxis = { title: "message size", scale: "log2", format: bytes };

/** Lines over the sizes, one for each run and number of QPs; with one size over the numbers of QPs. */
function partsOf(runs) {
    const several = (key) => distinct(entriesOf(runs).map((entry) => entry[key])).length > 1;
    const byQps = several("qps") && !several("size_bytes");
    const [along, apart] = byQps ? ["qps", "size_bytes"] : ["size_bytes", "qps"];
    const parts = runs.flatMap((run) => distinct(run.result.entries.map((entry) => entry[apart])).sort((a, b) => a - b)
        .map((key) => ({
            name: [prefix(runs, run, ""), several("qps") && !byQps ? queuePairs(key) : ""].filter(Boolean).join(", ") || run.result.test,
            entries: run.result.entries.filter((entry) => entry[apart] === key).sort((a, b) => a[along] - b[along]),
        })));
    const line = (part, name, look, figure) => ({ name, look, points: part.entries.map((entry) => [entry[along], figure(entry)]) });
    return { parts, line, x: byQps ? { title: "queue pairs", scale: "log2", format: threeDigits } : sizeAxis };
}

function overviewPlots(runs) {
    const { parts, line, x } = partsOf(runs);
    const lines = (figure) => parts.map((part, i) => line(part, part.name, i, figure));
    // One line has room for its percentiles; several are easier to tell apart with fewer.
    const shown = parts.length === 1 ? ["50", "90", "99", "99.9", "99.99", "99.999"] : parts.length <= 4 ? ["50", "99"] : ["50"];
    const called = (p) => (p === "50" ? "median" : p + " %");
    const latencies = shown.flatMap((p, row) => parts.map((part, i) => line(part,
        parts.length === 1 ? called(p) : `${part.name}, ${called(p)}`,
        // The looks from 4 on are dashed: the tail of the line with the same marker.
        parts.length === 1 ? row : i + row * 4, (entry) => entry.latency?.percentiles_us[p])));
    return [
        { id: "bandwidth", title: "Bandwidth", x, y: bandwidthAxis,
            series: lines(({ bandwidth }) => bandwidth && gigabits(bandwidth.average_bytes_per_second)) },
        { id: "message-rate", title: "Message rate", x, y: { title: "messages per second", scale: "log10", format: count },
            series: lines(({ bandwidth }) => bandwidth?.messages_per_second) },
        { id: "latency", title: "Latency", x, y: latencyAxis, lowest: true, series: latencies },
    ];
}

function timePlot(runs) {
    const isBandwidth = runs.some((run) => !run.result.test.endsWith("-lat"));
    const series = runs.flatMap((run) => run.result.entries.filter((entry) => entry.series_seconds_and_messages).map((entry) => {
        const all = entry.series_seconds_and_messages;
        const points = all.map(([end, messages], i) => {
            const rate = messages / (end - (i ? all[i - 1][0] : 0));
            return [end, isBandwidth ? gigabits(rate * entry.size_bytes) : rate];
        });
        return { name: prefix(runs, run, ", ") + entryName(run.result.entries, entry), plain: true, points };
    })).slice(0, looks).map((line, look) => ({ ...line, look }));
    return { id: "series", title: "Throughput over time", x: { title: "seconds", scale: "linear", format: threeDigits },
        y: isBandwidth ? bandwidthAxis : { title: "messages per second", scale: "linear", format: count }, series };
}

/** The outline of a histogram whose bins are 8 % wider, each, than the one before. */
function outline({ samples, histogram }) {
    const bins = new Map(), width = Math.log(1.08), edge = (bin) => Math.exp(bin * width);
    for (const [ticks, n] of histogram.buckets_from_ticks_and_count) {
        const bin = Math.floor(Math.log((ticks + 0.5) * histogram.tick_ns / 1000) / width);
        bins.set(bin, (bins.get(bin) ?? 0) + n);
    }
    return [...bins].flatMap(([bin, n]) => [
        ...(bins.has(bin - 1) ? [] : [[edge(bin), 0]]), [edge(bin), 100 * n / samples],
        ...(bins.has(bin + 1) ? [] : [[edge(bin + 1), 0]])]);
}

/** Entries with enough samples, spread evenly over those that there are. */
function distributionPlots(runs) {
    const each = Math.max(1, Math.floor(6 / runs.length));
    const chosen = runs.flatMap((run) => {
        const entries = run.result.entries.filter((entry) => entry.latency?.samples >= 20), take = Math.min(each, entries.length);
        return Array.from({ length: take }, (_, i) => entries[take === 1 ? 0 : Math.floor(i * (entries.length - 1) / (take - 1))])
            .map((entry) => ({ name: prefix(runs, run, ", ") + entryName(entriesOf(runs), entry), latency: entry.latency }));
    }).slice(0, looks);
    const percentiles = chosen.map(({ name, latency }, look) => ({ name, look, points: latency.curve_percent_and_us }));
    return [
        { id: "percentiles", title: "Latency by percentile", x: { title: "percentile", scale: "nines", format: percent },
            y: latencyAxis, series: percentiles },
        { id: "shares", title: "Distribution of latencies", x: latencyAxis,
            y: { title: "% of the messages", scale: "linear", format: percent }, series: chosen.map(({ name, latency }, look) => ({ name, look, steps: true, points: outline(latency) })) },
    ];
}

function ratioPlots(comparisons) {
    const figures = comparisons.flatMap(({ name, figures: all = [] }) => all.map((f) => ({ ...f, run: name })));
    return distinct(figures.map((f) => f.figure)).map((title, n) => {
        const of = figures.filter((f) => f.figure === title)
            .map((f) => ({ ...f, line: f.run + (f.qps > 1 ? `, ${queuePairs(f.qps)}` : "") }));
        const better = of[0].unit === "us" ? "less" : "more";
        return { id: `ratio-${n}`, title: `Ratio of ${title}`, x: sizeAxis, reference: 1,
            y: { title: `ratio to the first; ${better} is better`, scale: "linear", format: ratio },
            series: distinct(of.map((f) => f.line)).map((name, i) => ({ name, look: i + 1,
                points: of.filter((f) => f.line === name).map((f) => [f.size_bytes, f.ratio]) })) };
    });
}
