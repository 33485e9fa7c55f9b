// SPDX-License-Identifier: BSD-2-Clause
// Prints what a browser with JavaScript shows of a report's page when its script has run: reads the HTML as HTML says (a script
// ends at the first "</script"), obeys the policy's hash, and has as much of a DOM as the page may use.
// usage: node page.js FILE [EXPRESSION]   with an expression: its value, in the script's scope, as JSON
"use strict";
const crypto = require("crypto"), fs = require("fs"), vm = require("vm");

const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const empty = ["meta", "!DOCTYPE"], raw = ["script", "style", "title", "noscript"];

class Element {
    constructor(name, attributes = {}) {
        Object.assign(this, { name, attributes, children: [] });
    }
    setAttribute(name, value) {
        if (!/^[a-zA-Z-]+[12]?$/.test(name) || name.startsWith("on")) throw new Error(`attribute ${name}`);
        this.attributes[name] = String(value);
    }
    append(...children) {
        const strange = children.find((child) => typeof child !== "string" && !(child instanceof Element));
        if (strange !== undefined) throw new Error(`<${this.name}> got ${strange}`);
        this.children.push(...children);
    }
    get textContent() {
        return this.children.map((child) => (typeof child === "string" ? child : child.textContent)).join("");
    }
    all() {
        return [this, ...this.children.filter((child) => child instanceof Element).flatMap((child) => child.all())];
    }
    toString() {
        const attributes = Object.entries(this.attributes).map(([name, value]) => ` ${name}="${escape(value)}"`).join("");
        if (empty.includes(this.name)) return `<${this.name}${attributes}>`;
        const hidden = ["script", "style", "noscript"].includes(this.name);
        const inner = hidden ? [] : this.children.map((child) => (child instanceof Element ? String(child) : escape(child)));
        return `<${this.name}${attributes}>${inner.join("")}</${this.name}>`;
    }
}

function parse(text) {
    const open = [new Element("document")], tag = /<(\/?)(!?[a-zA-Z][^\s>\/]*)([^>]*)>/y;
    for (let at = 0; at < text.length;) {
        const here = open.at(-1);
        const next = raw.includes(here.name) ? text.toLowerCase().indexOf(`</${here.name}`, at) : text.indexOf("<", at);
        if (next !== at) {
            here.append(text.slice(at, next < 0 ? text.length : next));
            at = next < 0 ? text.length : next;
            continue;
        }
        tag.lastIndex = at;
        const [whole, closes, name, rest] = tag.exec(text) ?? [];
        if (whole === undefined) throw new Error(`no tag: ${text.slice(at, at + 40)}`);
        at = tag.lastIndex;
        if (closes) {
            if (here.name !== name) throw new Error(`</${name}> in <${here.name}>`);
            open.pop();
            continue;
        }
        const made = new Element(name);
        for (const [, key, value] of rest.matchAll(/([a-zA-Z-]+)(?:="([^"]*)")?/g)) made.attributes[key] = value ?? "";
        here.append(made);
        if (!empty.includes(name)) open.push(made);
    }
    if (open.length > 1) throw new Error(`<${open.at(-1).name}> is not closed`);
    return open[0];
}

const [file, expression] = process.argv.slice(2);
const page = parse(fs.readFileSync(file, "utf-8"));
const scripts = page.all().filter((element) => element.name === "script" && !element.attributes.type);
const policy = page.all().find((element) => element.attributes["http-equiv"] === "Content-Security-Policy").attributes.content;
const document = {
    createElement: (name) => new Element(name),
    createElementNS: (space, name) => new Element(name, name === "svg" ? { xmlns: space } : {}),
    getElementById: (id) => page.all().find((element) => element.attributes.id === id),
};
const context = vm.createContext({ made: document });
// As in a browser, a script cannot declare these again.
vm.runInContext("const document = made, location = {}, top = {}, window = {};", context);
for (const script of scripts) {
    const hash = crypto.createHash("sha256").update(script.textContent).digest("base64");
    if (!policy.includes(`script-src 'sha256-${hash}'`)) throw new Error("the policy forbids a script");
    vm.runInContext(script.textContent, context, { filename: "report" });
}
process.stdout.write(expression ? JSON.stringify(vm.runInContext(expression, context)) + "\n" : page.children.join(""));
