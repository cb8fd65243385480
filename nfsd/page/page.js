// SPDX-License-Identifier: Apache-2.0
// The status page: asks for /status.json each second and shows what changed. Names come from
// strangers: they are only ever set as text.
"use strict";

const KEPT_S = 300;
const ASK_MS = 1000;
const LATE_MS = 5000;
const ROWS_MAX = 50;
const SVG = "http://www.w3.org/2000/svg";
const SPACE_LOW = 0.05;

const history = []; // { at, read, written, calls, errors, median, slow }, the newest last
let before = null; // the document of a second ago

// ---- figures as words ----

function short(number) {
	return number >= 100 ? number.toFixed(0) : number >= 10 ? number.toFixed(1) : number.toFixed(2);
}

function scaled(number, step, units) {
	let unit = 0;
	while (number >= step && unit < units.length - 1) {
		number /= step;
		unit++;
	}
	return (unit === 0 ? Math.round(number).toString() : short(number)) + units[unit];
}

const size = (bytes) => scaled(bytes, 1024, [" B", " KiB", " MiB", " GiB", " TiB", " PiB"]);
const speed = (bytes) => size(bytes) + "/s";
const count = (number) => scaled(number, 1000, ["", " k", " M", " G"]);
const persecond = (number) => count(number) + "/s";

function duration(us) {
	if (us === null)
		return "\u2013";
	return us < 1000 ? us + " \u00b5s" : us < 1e6 ? short(us / 1000) + " ms" : short(us / 1e6) + " s";
}

function uptime(ms) {
	const minutes = Math.floor(ms / 60000);
	const hours = Math.floor(minutes / 60);
	if (minutes < 60)
		return minutes + " min";
	return hours < 48 ? hours + " h " + minutes % 60 + " min" : Math.floor(hours / 24) + " days";
}

// ---- rates ----

const nothing = { calls: 0, errors: 0, read_bytes: 0, written_bytes: 0, latency: [] };

// The calls between two rows, and the bounds below which half and 99 % of them were.
function between(was, is, seconds) {
	was = was && was.calls <= is.calls ? was : nothing;
	const buckets = is.latency.map((number, i) => number - (was.latency[i] || 0));
	const rate = (name) => Math.max(0, is[name] - was[name]) / seconds;
	return {
		calls: rate("calls"), errors: rate("errors"),
		read: rate("read_bytes"), written: rate("written_bytes"),
		median: within(buckets, 0.5), slow: within(buckets, 0.99),
	};
}

// In microseconds; null if there was no call. Bucket n ends at 2^n.
function within(buckets, part) {
	const all = buckets.reduce((sum, number) => sum + number, 0);
	let sum = 0;
	for (let i = 0; i < buckets.length; i++) {
		sum += buckets[i];
		if (all > 0 && sum >= all * part)
			return 2 ** i;
	}
	return null;
}

function sumOf(rows) {
	const sum = { ...nothing, latency: [] };
	for (const row of rows) {
		for (const name of ["calls", "errors", "read_bytes", "written_bytes"])
			sum[name] += row[name];
		row.latency.forEach((number, i) => {
			sum.latency[i] = (sum.latency[i] || 0) + number;
		});
	}
	return sum;
}

const nfs = (status) => sumOf(status.procedures.filter((row) => row.program === "nfs"));

// ---- what is shown ----

const at = (id) => document.getElementById(id);

function say(id, text) {
	if (at(id).textContent !== text)
		at(id).textContent = text;
}

function element(name, text, kind) {
	const made = document.createElement(name);
	if (text !== undefined)
		made.textContent = text;
	if (kind)
		made.className = kind;
	return made;
}

function svg(name, attributes) {
	const made = document.createElementNS(SVG, name);
	for (const [key, value] of Object.entries(attributes))
		made.setAttribute(key, value);
	return made;
}

function bar(part, text, full) {
	const box = element("div", undefined, full ? "bar full" : "bar");
	const line = svg("svg", { viewBox: "0 0 100 1", preserveAspectRatio: "none",
		"aria-hidden": "true" });
	line.append(svg("rect", { width: Math.min(100, Math.max(0, part * 100)), height: 1 }));
	box.append(element("span", text), line);
	return box;
}

// Rows of cells: text, or an element. With one cell: it spans the table.
function fill(id, rows, kinds, none) {
	const body = document.createElement("tbody");
	for (const cells of rows) {
		const row = body.appendChild(element("tr"));
		cells.forEach((cell, i) => {
			const made = row.appendChild(element("td", undefined, kinds[i]));
			made.append(cell);
		});
	}
	if (rows.length === 0) {
		const cell = element("td", none, "none");
		cell.colSpan = kinds.length;
		body.appendChild(element("tr")).append(cell);
	}
	at(id).replaceChildren(...body.childNodes);
}

const RATES = ["n", "n", "n", "n"];
const rates = (now) => [persecond(now.calls), speed(now.read), speed(now.written),
	duration(now.slow)];
const busiest = (rows) => rows.sort((a, b) => b.now.calls - a.now.calls).slice(0, ROWS_MAX);

function spaceOf(space) {
	if (!space)
		return element("span", "not known", "none");
	const left = space.total_bytes ? space.available_bytes / space.total_bytes : 0;
	return bar(1 - left, size(space.available_bytes) + " of " + size(space.total_bytes) + " free",
		left < SPACE_LOW);
}

function withRates(rows, old, key, seconds) {
	const was = new Map(old.map((row) => [row[key], row]));
	return rows.map((row) => ({ row, now: between(was.get(row[key]), row, seconds) }));
}

function showExports(page, seconds) {
	const spaces = new Map(page.space.map((space) => [space.id, space]));
	const rows = busiest(withRates(page.status.exports, before.status.exports, "id", seconds));
	fill("exports", rows.map(({ row, now }) => [row.path, spaceOf(spaces.get(row.id)),
		...rates(now)]), ["", "", ...RATES],
		"nothing is exported");
}

function showClients(page, seconds) {
	const rows = busiest(withRates(page.status.clients, before.status.clients, "address", seconds));
	fill("clients", rows.map(({ row, now }) => [row.address === null ? "others" : row.address,
		count(row.connections), ...rates(now)]), ["", "n", ...RATES],
		"nobody is connected, or has been");
}

function showJobs(offload) {
	const rows = offload.jobs.map((job) => [
		job.kind + (job.engine ? " by " + job.engine : "") + ", " + job.state,
		job.source, job.destination,
		bar(job.bytes_total ? job.bytes_done / job.bytes_total : 0,
			size(job.bytes_done) + " of " + size(job.bytes_total)),
		speed(job.rate),
	]);
	fill("jobs", rows, ["", "name", "name", "", "n"], offload.answers ? "none"
		: "lodestore-offloadd does not answer: hosts copy for themselves");
}

function showNow(page, now) {
	const { status } = page;
	say("about", "version " + status.version + ", port " + status.port + ", up "
		+ uptime(status.uptime_ms));
	health(page.trouble || "good", !page.trouble);
	say("now-read", speed(now.read));
	say("now-written", speed(now.written));
	say("now-calls", persecond(now.calls));
	say("now-median", duration(now.median));
	say("now-slow", duration(now.slow));
	say("now-flush", now.flush === null ? "\u2013" : short(now.flush));
	say("now-connections", count(status.connections.open));
	say("now-memory", size(status.buffers.used_bytes));
}

function health(text, good) {
	say("health", text);
	at("health").className = good ? "good" : "bad";
}

// ---- charts ----

// A round number that is not less: 1, 2 or 5 times a power of ten (of two, for bytes).
function ceiling(number, base) {
	let top = 1;
	while (top < number)
		top *= base === 2 ? 2 : String(top)[0] === "2" ? 2.5 : 2;
	return top;
}

const linear = (value, top) => value / top;
// One slow call must not hide how quick the others are: each power of ten has the same height.
const logarithmic = (value, top) => Math.log(Math.max(1, value)) / Math.log(top);

function points(values, newest, height) {
	return values.filter(([, value]) => value !== null).map(([when, value]) =>
		(KEPT_S - (newest - when)).toFixed(1) + "," + (100 - height(value) * 100).toFixed(2))
		.join(" ");
}

// @names: which figures, first and second line; @words: a figure as text.
function chart(id, names, words, base, scale) {
	const plot = at(id).querySelector(".plot");
	const newest = history[history.length - 1].at;
	const values = names.map((name) => history.map((now) => [now.at, now[name]]));
	const top = ceiling(Math.max(2, ...values.flat().map(([, value]) => value || 0)), base);
	plot.querySelector(".top").textContent = words(top)
		+ (scale === logarithmic ? ", logarithmic" : "");
	plot.querySelectorAll("polyline").forEach((line, i) =>
		line.setAttribute("points", points(values[i], newest, (value) => scale(value, top))));
}

function chartsBegin() {
	for (const plot of document.querySelectorAll(".plot")) {
		const lines = svg("svg", { viewBox: "0 0 300 100", preserveAspectRatio: "none" });
		const time = element("div", undefined, "time");
		lines.append(svg("polyline", { class: "one" }), svg("polyline", { class: "two" }));
		time.append(element("span", "5 min ago"), element("span", "now"));
		plot.append(element("div", "\u00a0", "top"), lines, time);
	}
}

// ---- each second ----

function flushesBetween(was, is) {
	const flushes = is.count - was.count;
	return flushes > 0 ? (is.calls - was.calls) / flushes : null;
}

function show(page) {
	const { status } = page;
	if (status.workers.silent > 0) { // what those have counted is missing
		health(page.trouble, false);
		return;
	}
	if (!before || before.status.pid !== status.pid) {
		before = page; // a first look, or another server: nothing to compare with yet
		history.length = 0;
		return;
	}
	const seconds = (status.uptime_ms - before.status.uptime_ms) / 1000;
	if (seconds < 0.2)
		return;
	const now = between(nfs(before.status), nfs(status), seconds);
	now.at = status.uptime_ms / 1000;
	now.flush = flushesBetween(before.status.flushes, status.flushes);
	history.push(now);
	while (history[0].at < now.at - KEPT_S)
		history.shift();
	showNow(page, now);
	showExports(page, seconds);
	showClients(page, seconds);
	showJobs(page.offload);
	chart("chart-bytes", ["read", "written"], speed, 2, linear);
	chart("chart-latency", ["median", "slow"], duration, 10, logarithmic);
	chart("chart-calls", ["calls", "errors"], persecond, 10, linear);
	before = page;
}

async function ask() {
	try {
		const answer = await fetch("/status.json", { signal: AbortSignal.timeout(LATE_MS) });
		if (!answer.ok)
			throw new Error("status " + answer.status);
		show(await answer.json());
	} catch {
		health("the server does not answer", false);
	}
	setTimeout(ask, ASK_MS);
}

chartsBegin();
ask();
