// Charts as SVG. Each is a figure with a title that states its numbers, and a table of the same numbers.
// No text ever becomes HTML: names of arms are text nodes.

const SVG = "http://www.w3.org/2000/svg";
const opened = new Set(); // opened tables stay open when a chart is drawn again

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function shape(tag, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

export function fmt(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "object") return Object.entries(value).map(([name, one]) => `${name} ${fmt(one)}`).join(", ");
  if (typeof value !== "number") return String(value);
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
}

export function table(caption, heads, rows) {
  const head = el("tr", {}, ...heads.map((text) => el("th", { scope: "col" }, text)));
  const body = rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, fmt(cell)))));
  const made = el("table", {}, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, ...body));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, made);
}

export function more(id, summary, ...children) {
  const details = el("details", {}, el("summary", {}, summary), ...children);
  details.open = opened.has(id);
  details.addEventListener("toggle", () => (details.open ? opened.add(id) : opened.delete(id)));
  return details;
}

function figure(id, title, svg, heads, rows, key = null) {
  const details = more(id, "Numbers", table(title, heads, rows));
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", title);
  return el("figure", { "data-chart": id }, el("figcaption", {}, title), svg, ...(key ? [key] : []), details);
}

function ticks(low, high) {
  const step = 10 ** Math.floor(Math.log10((high - low) / 3 || 1));
  const size = [5, 2, 1].map((by) => by * step).find((s) => (high - low) / s >= 3) ?? step;
  const found = [];
  for (let at = Math.ceil(low / size); at * size <= high + 1e-9 * size; at += 1) found.push(Number((at * size).toPrecision(6)));
  return found;
}

function extent(values) {
  const finite = values.filter((value) => Number.isFinite(value));
  if (!finite.length) return [0, 1];
  const low = Math.min(...finite), high = Math.max(...finite);
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

function path(xs, ys, x, y) {
  let text = "", pen = "M";
  xs.forEach((at, place) => {
    if (!Number.isFinite(ys[place])) { pen = "M"; return; }
    text += `${pen}${x(at).toFixed(1)} ${y(ys[place]).toFixed(1)}`;
    pen = "L";
  });
  return text;
}

// series: [{name, ys}]; band: {low, high}; envelope: ys; marks: [x]; levels: [y]; beside: charts in a row
// dots: [{x, y, title, share, low, high}], larger with the share; names: texts in place of the numbers of the x axis
// padded: whether the first and the last x keep a distance from the edges
export function lines(host, { id, title, xs, series, band, envelope, marks = [], levels = [], dots = [], names = null, xLabel, yLabel, range, beside = 1, padded = false }) {
  const width = Math.max(280, (host.clientWidth || 560) / Math.min(beside, columns(host)));
  const height = 240, left = 48, right = 12, top = 26, bottom = 34;
  const all = series.flatMap((one) => one.ys).concat(band ? [...band.low, ...band.high] : [], levels, dots.map((dot) => dot.y));
  const [first, last] = extent(xs), room = padded ? 0.03 * (last - first) : 0;
  const x0 = first - room, x1 = last + room;
  let [y0, y1] = range ?? extent(all);
  if (padded) [y0, y1] = [y0 - 0.05 * (y1 - y0), y1 + 0.05 * (y1 - y0)];
  const x = (at) => left + ((at - x0) / (x1 - x0)) * (width - left - right);
  const y = (at) => height - bottom - ((at - y0) / (y1 - y0)) * (height - top - bottom);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, height });
  for (const at of ticks(y0, y1)) {
    svg.append(shape("line", { class: "axis", x1: left, x2: width - right, y1: y(at), y2: y(at) }));
    svg.append(shape("text", { x: left - 6, y: y(at) + 4, "text-anchor": "end" }, fmt(at)));
  }
  for (const at of names ? xs : ticks(x0, x1)) svg.append(shape("text", { x: x(at), y: height - 16, "text-anchor": "middle" }, names ? names[at] : fmt(at)));
  svg.append(shape("text", { x: width - right, y: height - 2, "text-anchor": "end" }, xLabel));
  svg.append(shape("text", { x: 4, y: 12 }, yLabel));
  if (band) {
    const back = [...xs].reverse();
    const low = [...band.low].reverse();
    const text = `${path(xs, band.high, x, y)}${path(back, low, x, y).replace(/^M/, "L")}Z`;
    svg.append(shape("path", { class: "band", d: text }));
  }
  if (envelope) svg.append(shape("path", { class: "envelope", d: path(xs, envelope, x, y) }));
  series.forEach((one, place) => {
    const dash = place >= 8 ? { "stroke-dasharray": "6 3" } : {};
    svg.append(shape("path", { class: `curve c${place % 8}`, d: path(xs, one.ys, x, y), ...dash }));
  });
  for (const dot of dots) {
    // A bar that is longer than the picture ends at its edge.
    const inside = (at) => y(Math.min(Math.max(at, y0), y1));
    if (Number.isFinite(dot.low)) svg.append(shape("line", { class: "bar-of-dot", x1: x(dot.x), x2: x(dot.x), y1: inside(dot.low), y2: inside(dot.high) }));
    const made = shape("circle", { class: "dot", cx: x(dot.x), cy: y(dot.y), r: 3 + 5 * Math.sqrt(dot.share ?? 0.04) });
    made.append(shape("title", {}, dot.title));
    svg.append(made);
  }
  for (const at of marks) if (Number.isFinite(at)) svg.append(shape("line", { class: "mark", x1: x(at), x2: x(at), y1: top, y2: height - bottom }));
  for (const at of levels) svg.append(shape("line", { class: "mark", x1: left, x2: width - right, y1: y(at), y2: y(at) }));
  const seen = new Map(dots.map((dot) => [dot.x, dot.y]));
  const heads = [xLabel, ...series.map((one) => one.name), ...(band ? ["low", "high"] : []), ...(dots.length ? ["observed"] : [])];
  const every = Math.max(1, Math.floor(xs.length / 40));
  const rows = xs.map((at, place) => [names ? names[at] : at, ...series.map((one) => one.ys[place]), ...(band ? [band.low[place], band.high[place]] : []), ...(dots.length ? [seen.get(at) ?? null] : [])])
    .filter((_, place) => place % every === 0 || place === xs.length - 1);
  return figure(id, title, svg, heads, rows, series.length > 1 ? legend(series.map((one) => one.name)) : null);
}

// Names beside short lines in the colours of the curves. Names in the picture would hide each other.
function legend(names) {
  const line = (place) => el("i", { class: `c${place % 8}${place >= 8 ? " dashed" : ""}` });
  return el("p", { class: "legend", "aria-hidden": "true" }, ...names.map((name, place) => el("span", {}, line(place), ` ${name}`)));
}

function columns(host) {
  return getComputedStyle(host).gridTemplateColumns.split(" ").length || 1;
}

// rows: [{name, first, second}], shares between 0 and 1
export function bars(host, { id, title, rows, first, second }) {
  const width = Math.max(280, host.clientWidth || 420), left = 76, right = 50, each = 34;
  const height = rows.length * each + 8;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, height });
  rows.forEach((row, place) => {
    const top = place * each + 6, room = width - left - right;
    svg.append(shape("text", { x: left - 8, y: top + 15, "text-anchor": "end" }, row.name));
    [["first", row.first], ["second", row.second]].forEach(([kind, share], line) => {
      svg.append(shape("rect", { class: `bar ${kind}`, x: left, y: top + 11 * line, height: 9, width: Math.max(1, share * room) }));
      svg.append(shape("text", { x: left + share * room + 5, y: top + 11 * line + 9 }, `${Math.round(100 * share)}%`));
    });
  });
  return figure(id, title, svg, ["arm", first, second], rows.map((row) => [row.name, row.first, row.second]));
}

// rows: [{name, low, mid, high}], each a dot on a line, with its name above
export function ranges(host, { id, title, rows, xLabel, heads, cells }) {
  const width = Math.max(280, host.clientWidth || 420), left = 12, right = 12, each = 40, bottom = 34;
  const height = rows.length * each + bottom;
  const [x0, x1] = extent(rows.flatMap((row) => [row.low, row.high]));
  const x = (at) => left + ((at - x0) / (x1 - x0)) * (width - left - right);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, height });
  for (const at of ticks(x0, x1)) {
    svg.append(shape("line", { class: "axis", x1: x(at), x2: x(at), y1: 4, y2: height - bottom }));
    svg.append(shape("text", { x: x(at), y: height - 16, "text-anchor": "middle" }, fmt(at)));
  }
  svg.append(shape("text", { x: width - right, y: height - 2, "text-anchor": "end" }, xLabel));
  rows.forEach((row, place) => {
    const middle = place * each + 28;
    svg.append(shape("text", { x: left, y: middle - 12 }, row.name));
    svg.append(shape("line", { class: "bar-of-dot", x1: x(row.low), x2: x(row.high), y1: middle, y2: middle }));
    svg.append(shape("circle", { class: "dot", cx: x(row.mid), cy: middle, r: 5 }));
  });
  return figure(id, title, svg, heads, cells);
}
