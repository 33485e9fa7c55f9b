// SPDX-License-Identifier: BSD-2-Clause
// Which tables there are.

/** Cells from column `texts` on are numbers. `marks` are classes of the rows. */
function table(caption, texts, head, rows, marks = []) {
    const cell = (name, text, i, more = {}) => html(name, { ...more, ...(i >= texts ? { class: "n" } : {}) }, text);
    return html("div", { class: "wide", tabindex: "0" }, html("table", {}, ...(caption ? [html("caption", {}, caption)] : []),
        html("thead", {}, html("tr", {}, ...head.map((text, i) => cell("th", text, i, { scope: "col" })))),
        html("tbody", {}, ...rows.map((row, r) => html("tr", marks[r] ? { class: marks[r] } : {},
            ...row.map((text, i) => (i === 0 ? cell("th", text, i, { scope: "row" }) : cell("td", text, i))))))));
}

/** A number that JSON does not have is null. */
const fixed = (value, digits) => (Number.isFinite(value) ? value.toFixed(digits) : "?");
const signed = (value, digits) => (value < 0 ? "" : "+") + fixed(value, digits);
const hundredths = (value) => fixed(value, 2);
const speed = (value) => (gigabits(value) < 1 ? threeDigits(gigabits(value)) : fixed(gigabits(value), 3));
const perMessage = (cost) => (cost?.messages ? hundredths((cost.user_seconds + cost.system_seconds) / cost.messages * 1e6) : "");

function interval({ bandwidth, intervals_of_the_median: all, repeats }) {
    const s = bandwidth ? all?.bandwidth_bytes_per_second : all?.median_us, shown = (v) => threeDigits(bandwidth ? gigabits(v) : v);
    return s ? `${shown(s.low)} to ${shown(s.high)} (${fixed(s.confidence * 100, 1)} % of ${repeats.length})` : "";
}

function verdict(v) {
    return v.wrong_messages === 0 ? `${v.messages} right${v.lost_messages > 0 ? `, ${v.lost_messages} lost` : ""}`
        : `${v.wrong_messages} of ${v.messages} WRONG: ${v.first_mismatch}`;
}

const percentiles = ["50", "90", "95", "99", "99.9", "99.99", "99.999"];
const columns = [
    ["size, bytes", (e) => `${e.size_bytes}${e.partial ? " (interrupted)" : ""}`],
    ["QPs", (e) => `${e.qps}`],
    ["threads", (e) => e.threads > 1 && `${e.threads}`],
    ["messages", (e) => `${e.iterations}`],
    ["Gb/s", (e) => e.bandwidth && speed(e.bandwidth.average_bytes_per_second)],
    ["peak Gb/s", (e) => e.bandwidth?.peak_bytes_per_second && speed(e.bandwidth.peak_bytes_per_second)],
    ["messages/s", (e) => e.bandwidth && count(e.bandwidth.messages_per_second)],
    ["min, µs", (e) => e.latency && hundredths(e.latency.min_us)],
    ["mean", (e) => e.latency && hundredths(e.latency.mean_us)],
    ...percentiles.map((p) => [p === "50" ? "median" : p + " %", ({ latency: l }) => l &&
        (l.percentiles_us[p] === null ? `needs ${l.percentiles_need_samples[p]} samples` : hundredths(l.percentiles_us[p]))]),
    ["max, µs", (e) => e.latency && hundredths(e.latency.max_us)],
    ["fairness (Jain)", (e) => e.fairness && fixed(e.fairness.jain_index, 4)],
    ["interval of the median, Gb/s or µs", interval],
    ["wanted/s", (e) => e.rate && count(e.rate.wanted_messages_per_second)],
    ["reached/s", (e) => e.rate && count(e.rate.reached_messages_per_second)],
    ["late", (e) => e.rate && `${e.rate.late_messages}`],
    ["CPU µs/message", (e) => perMessage(e.cpu)],
    ["instructions/message", ({ cpu }) => cpu.instructions !== null && cpu.messages > 0 && fixed(cpu.instructions / cpu.messages, 0)],
    ["peer's CPU µs/message", (e) => perMessage(e.peer_cpu)],
    ["data", (e) => e.verification && verdict(e.verification)],
];

/** Without the columns that no entry fills. */
function resultsTable(caption, { entries }) {
    const filled = columns.map(([head, cell]) => [head, entries.map((entry) => cell(entry) || "")])
        .filter(([, cells]) => cells.some(Boolean));
    return table(caption, 0, filled.map(([head]) => head), entries.map((_, i) => filled.map(([, cells]) => cells[i])));
}

function clientsTable(caption, { entries, clients }) {
    const share = (part, all) => (all > 0 ? fixed(part / all * 100, 1) : "");
    const rows = entries.flatMap((entry) => (entry.clients ?? []).map((c, i) => [
        `${i + 1}${clients?.[i] ? `: ${clients[i].name}` : ""}`, `${entry.size_bytes}`, `${entry.qps}`, `${c.iterations}`,
        speed(c.bandwidth_bytes_per_second), count(c.messages_per_second),
        share(c.bandwidth_bytes_per_second, entry.bandwidth?.average_bytes_per_second)]));
    return rows.length ? [table(caption, 1, ["client", "size, bytes", "QPs", "messages", "Gb/s", "messages/s", "share, %"], rows)] : [];
}

function countersTable(caption, { entries }) {
    const rows = [["counters", "this side"], ["peer_counters", "peer"]].flatMap(([key, side]) =>
        distinct(entries.flatMap((entry) => entry[key] ?? []).filter((c) => c.moved !== 0).map((c) => c.name)).map((name) => [name, side,
            ...entries.map((entry) => entry[key]?.find((c) => c.name === name)?.moved).map((moved) => (moved ? signed(moved, 0) : ""))]));
    return rows.length ? [table(caption, 2, ["counter", "side", ...entries.map((entry) => entryName(entries, entry))], rows)] : [];
}

function settingsTable(runs) {
    const rows = distinct(runs.flatMap((run) => run.result.parameters.map((p) => p.name))).map((name) =>
        [name, ...runs.map((run) => run.result.parameters.find((p) => p.name === name)?.value ?? "")]);
    return table("", runs.length + 1, ["setting", ...runs.map((run) => prefix(runs, run, "") || "value")], rows,
        rows.map(([, ...values]) => (distinct(values).length > 1 ? "differs" : "")));
}

const node = (number) => (number < 0 ? "not told" : `${number}`);
const facts = [
    ["host", (h) => h.name],
    ["kernel", (h) => h.kernel],
    ["processor", (h) => h.cpu + (h.cpus > 0 ? `, ${h.cpus} CPU(s)` : "")],
    ["threads", (h) => (h.pinned_cpus ? `pinned to ${h.pinned_cpus}` : "not pinned") +
        (h.thread_numa_nodes ? `, NUMA node(s) ${h.thread_numa_nodes}` : "")],
    ["NUMA node of the memory", (h) => node(h.memory_numa_node)],
    ["NUMA node of the device", (h) => node(h.device_numa_node)],
    ["clock", (h) => h.clock],
    ["device", ({ device: d }) => `${d.name}, port ${d.port}`],
    ["vendor, part", ({ device: d }) => `0x${d.vendor_id.toString(16).padStart(4, "0")}, ${d.part_id}`],
    ["firmware", (h) => h.device.firmware],
    ["node GUID", (h) => h.device.node_guid],
    ["link", ({ device: d }) => `${d.link_layer}, ${d.state}` +
        (d.rate_gbits_per_second > 0 ? `, ${threeDigits(d.rate_gbits_per_second)} Gb/s` : "")],
    ["active MTU", (h) => `${h.device.active_mtu_bytes} bytes`],
    ["GID", ({ device: d }) => (d.gid_index < 0 ? "none" : `${d.gid_index}: ${d.gid}, ${d.gid_type}`)],
];

function machinesTable(runs) {
    const hosts = runs.flatMap((run) => {
        const { side, local, peer, clients } = run.result;
        const others = clients?.map((client, i) => [`client ${i + 1}`, client]) ?? [[side === "client" ? "server" : "client", peer]];
        return [[side, local], ...others].map(([name, host]) => [prefix(runs, run, ", ") + name, host]);
    });
    return table("", hosts.length + 1, ["", ...hosts.map(([name]) => name)],
        facts.map(([name, value]) => [name, ...hosts.map(([, host]) => value(host))]));
}
