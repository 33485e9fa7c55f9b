// SPDX-License-Identifier: BSD-2-Clause
#include "report/page.h"

#include "report/markup.h"

namespace rdma_bench::report {
namespace {

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--paper:#fff;--ink:#1a1a1a;--soft:#595959;--line:#d9d9d9;--band:#f5f5f3;--good:#00674a;--bad:#a8200d}
@media (prefers-color-scheme:dark){:root{--paper:#16181b;--ink:#e9e9e7;--soft:#adb0b3;--line:#3b3f44;--band:#1f2226;--good:#5cd6ab;--bad:#ff9a86}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:76rem;background:var(--paper);color:var(--ink);font:16px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.2;margin:.3rem 0}
h2{font-size:1.15rem;margin:2rem 0 .6rem;border-bottom:1px solid var(--line);padding-bottom:.2rem}
h3{font-size:1rem;margin:0 0 .3rem}
p{margin:.4rem 0;max-width:46rem} .soft{color:var(--soft)}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr));gap:1.4rem}
figure{margin:0;min-width:0}
ul.legend{list-style:none;margin:.2rem 0 0;padding:0;display:flex;flex-wrap:wrap;gap:.15rem 1rem;font-size:.85rem}
ul.legend li{display:flex;align-items:center;gap:.35rem;min-width:0}
.wide{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums;overflow-wrap:normal}
caption{text-align:left;color:var(--soft);padding:.2rem 0;font-size:.85rem}
th,td{padding:.22rem .6rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
td.n,th.n{text-align:right;white-space:nowrap}
thead th{border-bottom:2px solid var(--line);vertical-align:bottom}
tbody th{font-weight:normal;white-space:nowrap}
tbody tr:nth-child(even){background:var(--band)}
tr.better td:last-child{color:var(--good)} tr.worse td:last-child{color:var(--bad);font-weight:bold}
tr.differs td,tr.differs th{font-weight:bold}
@media print{body{max-width:none} figure,table{break-inside:avoid}}
)";

std::string cell(std::string_view tag, std::string_view scope, bool is_number,
                 std::string_view text) {
    std::string out = "<";
    out += tag;
    if (!scope.empty()) {
        out += " scope=\"";
        out += scope;
        out += '"';
    }
    if (is_number) {
        out += " class=\"n\"";
    }
    out += '>' + escape_markup(text) + "</";
    out += tag;
    return out + '>';
}

}  // namespace

std::string render(const Table& table) {
    std::string out = "<div class=\"wide\" tabindex=\"0\"><table>";
    if (!table.caption.empty()) {
        out += "<caption>" + escape_markup(table.caption) + "</caption>";
    }
    if (!table.head.empty()) {
        out += "<thead><tr>";
        for (std::size_t i = 0; i < table.head.size(); ++i) {
            out += cell("th", "col", i >= table.text_columns, table.head[i]);
        }
        out += "</tr></thead>";
    }
    out += "<tbody>\n";
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        out += "<tr";
        if (r < table.marks.size() && !table.marks[r].empty()) {
            out += " class=\"" + escape_markup(table.marks[r]) + "\"";
        }
        out += '>';
        for (std::size_t i = 0; i < table.rows[r].size(); ++i) {
            const bool first = i == 0;
            out += cell(first ? "th" : "td", first ? "row" : "", i >= table.text_columns,
                        table.rows[r][i]);
        }
        out += "</tr>\n";
    }
    return out + "</tbody></table></div>\n";
}

std::string render(const Plot& plot) {
    const std::string picture = draw(plot);
    if (picture.empty()) {
        return {};
    }
    std::string out = "<figure><h3>" + escape_markup(plot.title) + "</h3>" + picture;
    if (!plot.series.empty()) {
        out += "<ul class=\"legend\">";
        for (const Series& series : plot.series) {
            if (!series.points.empty()) {
                out += "<li>" + draw_key(series.look) + "<span>" + escape_markup(series.name) +
                       "</span></li>";
            }
        }
        out += "</ul>";
    }
    return out + "</figure>\n";
}

std::string render(const std::vector<Plot>& plots) {
    std::string out;
    for (const Plot& plot : plots) {
        out += render(plot);
    }
    return out.empty() ? out : "<div class=\"plots\">\n" + out + "</div>\n";
}

std::string heading(std::string_view text) {
    return "<h2>" + escape_markup(text) + "</h2>\n";
}

std::string paragraph(std::string_view text) {
    return "<p>" + escape_markup(text) + "</p>\n";
}

std::string page(std::string_view title, std::string_view body) {
    std::string out =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";
    out += escape_markup(title);
    out += "</title>\n<style>";
    out += kStyle;
    out += plot_style();
    out += "</style>\n</head>\n<body>\n<h1>";
    out += escape_markup(title);
    out += "</h1>\n";
    out += body;
    return out + "</body>\n</html>\n";
}

}  // namespace rdma_bench::report
