// SPDX-License-Identifier: BSD-2-Clause
// The page: { runs: [{ name, result }], comparisons: [...] } from top to bottom.

/** The result in a few sentences. */
function summary(runs, run) {
    const r = run.result, at = (entry) => bytes(entry.size_bytes) + (entry.qps > 1 ? ` and ${entry.qps} QPs` : "");
    const best = (entries, figure) => entries.filter((e) => Number.isFinite(figure(e))).sort((a, b) => figure(a) - figure(b))[0];
    const fastest = best(r.entries, (e) => e.bandwidth && -e.bandwidth.average_bytes_per_second);
    const quickest = best(r.entries, (e) => e.latency?.percentiles_us[50]);
    const sum = (key) => r.entries.reduce((all, e) => all + (e.verification?.[key] ?? 0), 0);
    const [checked, wrong] = [sum("messages"), sum("wrong_messages")], side = (host) => `${host.name} (${host.device.name})`;
    const [client, server] = r.side === "client" ? [r.local, r.peer] : [r.peer, r.local];
    return html("p", {}, [
        `${prefix(runs, run, ": ")}${r.test} from ${r.clients ? `${r.clients.length} clients` : side(client)} ` +
            `to ${side(server)}, ${r.started_utc}.`,
        fastest && `Up to ${threeDigits(gigabits(fastest.bandwidth.average_bytes_per_second))} Gb/s with ${at(fastest)}.`,
        quickest && `Latency from ${microseconds(quickest.latency.percentiles_us[50])} (median, with ${at(quickest)}).`,
        checked > 0 && (wrong === 0 ? `All ${checked} messages that were checked had the right content.`
            : `${wrong} of ${checked} messages that were checked had wrong content!`),
        r.error && `The run ended early: ${r.error}`].filter(Boolean).join(" "));
}

function comparison(first, c) {
    if (c.refused) return [html("p", {}, `${c.name} is not compared with ${first}: ${c.refused}.`)];
    const change = (value, digits) => signed((value - 1) * 100, digits);
    const rows = c.figures.map((f) => {
        const shown = f.unit === "us" ? microseconds : (value) => `${count(value * 8)}b/s`, i = f.interval_of_the_ratio;
        return [f.figure, bytes(f.size_bytes), `${f.qps}`, shown(f.first), shown(f.second), `${change(f.ratio, 1)} %`,
            i ? `${change(i.low, 1)} to ${change(i.high, 1)}` : "", f.verdict];
    });
    return [table(`${c.name} against ${first}`, 1, ["figure", "size", "QPs", first, c.name, "change", "interval, %", "verdict"], rows,
        c.figures.map((f) => (["better", "worse"].includes(f.verdict) ? f.verdict : ""))),
    html("p", {}, `Judged ${c.judged}.`), ...c.failures.map((failure) => html("p", {}, `Failed: ${failure}`))];
}

function report({ runs, comparisons }) {
    const plots = (all) => all.flatMap(draw), each = (make) => runs.flatMap((run) => make(prefix(runs, run, ""), run.result));
    const grid = (figures) => (figures.length ? [html("div", { class: "plots" }, ...figures)] : []);
    const overview = grid(plots(overviewPlots(runs)));
    const sections = [
        ["Overview", overview],
        ["Comparison", [...grid(plots(ratioPlots(comparisons))), ...comparisons.flatMap((c) => comparison(runs[0].name, c))]],
        ["Over time", grid(draw(timePlot(runs)))],
        ["Latency distribution", grid(plots(distributionPlots(runs)))],
        ["Results", each((name, result) => [resultsTable(name, result)])],
        ["Clients", each(clientsTable)],
        ["Counters that moved", each(countersTable)],
        ["Settings", [settingsTable(runs)]],
        ["Machines", [machinesTable(runs)]],
    ].filter(([, parts]) => parts.length > 0).flatMap(([title, parts]) => [html("h2", {}, title), ...parts]);
    return [...runs.map((run) => summary(runs, run)), ...(overview.length ? [] : [html("p", {}, "Nothing was measured.")]), ...sections,
        ...runs.map((run) => html("p", {}, `${prefix(runs, run, ": ")}Made by rdma-bench ${run.result.program_version}. ` +
            `Exchange of addresses and keys: ${run.result.security || "not told"}.`))];
}

try {
    document.getElementById("report").append(...report(JSON.parse(document.getElementById("data").textContent)));
} catch (error) {
    document.getElementById("report").append(html("p", {}, `The data of this page cannot be shown: ${error.message}`));
}
