// The page: what the service's own API tells, drawn. Nothing here knows more than any other client.
import { bars, el, fmt, lines, more, ranges, table } from "/charts.js";
import { best, bestOfEvidence, uploaded, words, worthByArm, worthOfEvidence } from "/prices.js";

const $ = (id) => document.getElementById(id);
const KEY = "globalbandits.token"; // for this tab only
let view = null; // what is shown now; anything late for another view is dropped

class Problem extends Error {
  constructor(status, detail) { super(detail); this.status = status; }
}

async function api(method, path, body, signal) {
  const headers = {};
  const token = sessionStorage.getItem(KEY);
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "the service does not answer");
  }
  if (answer.status === 202) return null;
  if (!answer.ok) {
    const said = await answer.json().catch(() => ({}));
    throw new Problem(answer.status, said.detail ?? answer.statusText);
  }
  return answer.headers.get("content-type").startsWith("application/json") ? answer.json() : answer;
}

function say(text, lost = false) {
  if ($("connection").textContent !== text) $("connection").textContent = text;
  $("connection").classList.toggle("lost", lost);
}

function put(host, ...children) { host?.replaceChildren(...children); }

function show(template) {
  view?.abort.abort();
  view = { abort: new AbortController(), timers: [] };
  put($("main"), $(template).content.cloneNode(true));
  return view;
}

function isNow(mine) { return view === mine; }

function askForToken(reason) {
  show("token-view");
  say("");
  document.querySelector(".error").textContent = reason;
  $("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, $("token").value.trim());
    route();
  });
  $("token").focus();
}

function failed(error, host) {
  if (error.name === "AbortError") return;
  if (error.status === 401) {
    const had = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    askForToken(had ? "This token is not valid here." : "");
    return;
  }
  if (error.status === 0) say("connection lost, trying again", true);
  if (host) put(host, el("p", { class: "error" }, error.message));
}

const PER_PAGE = 20;

async function names() {
  const { bandits } = await api("GET", `/v1/bandits?limit=${PER_PAGE}`);
  const here = decodeURIComponent(location.hash.split("/")[2] ?? "");
  put($("bandits"), ...bandits.map((name) => {
    const link = el("a", { href: `#/bandit/${encodeURIComponent(name)}` }, name);
    if (name === here) link.setAttribute("aria-current", "page");
    return el("li", {}, link);
  }));
  return bandits;
}

async function showList(search = "", after = "") {
  const mine = show("list-view");
  put($("list"), el("p", {}, "Loading …"));
  $("search").value = search;
  $("search-form").addEventListener("submit", (event) => { event.preventDefault(); showList($("search").value.trim()); });
  try {
    await names();
    const query = new URLSearchParams({ search, after, limit: PER_PAGE });
    const { bandits: found, next } = await api("GET", `/v1/bandits?${query}`);
    const all = await Promise.all(found.map((name) => api("GET", `/v1/bandits/${encodeURIComponent(name)}`)));
    if (!isNow(mine)) return;
    say("connected");
    if (!all.length && search) {
      put($("list"), el("p", {}, "No name has this text in it."));
      return;
    }
    if (!all.length) {
      put($("list"), el("p", {}, "There is no bandit yet."), el("p", {}, el("a", { href: "#/new" }, "Create the first one"), " from the catalogue of curves."));
      return;
    }
    const made = table(next || after || search ? "Bandits" : "All bandits", ["name", "policy", "mode", "rewards", "open", "estimate"],
      all.map((one) => [one.name, one.policy, one.mode, one.version, one.open, one.estimate]));
    made.querySelectorAll("tbody tr").forEach((row, place) => {
      const name = all[place].name;
      put(row.firstChild, el("a", { href: `#/bandit/${encodeURIComponent(name)}` }, name));
    });
    put($("list"), made);
    if (next) {
      const more = el("button", { type: "button" }, "Next page");
      more.addEventListener("click", () => showList(search, next));
      $("list").append(more);
    }
  } catch (error) {
    if (!isNow(mine)) return;
    failed(error, $("list"));
    if (error.status === 0) setTimeout(() => isNow(mine) && showList(search, after), 2000);
  }
}

// A new bandit

function asArm(text) { return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text; }

function described() {
  const model = { family: $("family").value, arms: $("arms").value.split(",").map((text) => asArm(text.trim())).filter((arm) => arm !== "") };
  for (const part of $("parameters").value.split(",").filter((text) => text.trim())) {
    const [name, value] = part.split("=").map((text) => text.trim());
    model[name] = asArm(value ?? "");
  }
  return model;
}

async function showNew() {
  const mine = show("new-view");
  let file = null; // an uploaded model, and perhaps its policy
  try {
    await names();
    const { families, policies, advice } = await api("GET", "/v1/catalogue");
    if (!isNow(mine)) return;
    say("connected");
    put($("family"), ...families.map((one) => el("option", { value: one.family }, one.family)));
    $("family").value = "demand.linear_power";
    const option = (policy, text) => el("option", { value: JSON.stringify(policy) }, text);
    put($("policy"),
      el("optgroup", { label: "Recommended" }, ...advice.map((one) => option(one.policy, one.label))),
      el("optgroup", { label: "All others" }, ...policies.filter((name) => !advice.some((one) => one.policy.policy === name)).map((name) => option({ policy: name }, name))));
    const advise = () => {
      $("policy-hint").textContent = file?.policy ? "The policy is that of the file."
        : advice.find((one) => JSON.stringify(one.policy) === $("policy").value)?.text ?? "For experts: see the page on policies in the documentation.";
    };
    $("policy").addEventListener("input", advise);
    const name = () => {
      const said = words({ family: $("family").value });
      $("arms-label").textContent = `${said.arms[0].toUpperCase()}${said.arms.slice(1)}, lowest to highest`;
      $("incumbent-label").textContent = `${said.incumbent[0].toUpperCase()}${said.incumbent.slice(1)} (may be empty)`;
    };
    $("family").addEventListener("input", name);
    name();
    advise();
    const draw = async () => {
      if (!isNow(mine)) return;
      const family = families.find((one) => one.family === $("family").value);
      $("parameters-hint").textContent = `${family.summary} Parameters: ${family.parameters.join(", ")}.`;
      try {
        const drawn = await api("POST", "/v1/models:preview", { model: file?.model ?? described() });
        if (!isNow(mine)) return;
        document.querySelector("#new-form .error").textContent = "";
        drawCurves($("preview"), drawn, null);
      } catch (error) {
        if (!isNow(mine)) return;
        document.querySelector("#new-form .error").textContent = error.message;
        put($("preview"));
      }
    };
    let timer = 0;
    for (const id of ["family", "arms", "parameters"]) {
      $(id).addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(draw, 250); });
    }
    $("upload").addEventListener("change", async () => {
      const chosen = $("upload").files[0];
      try { file = chosen ? uploaded(await chosen.text()) : null; } catch (error) {
        file = null;
        $("upload").value = "";
        document.querySelector("#new-form .error").textContent = error.message;
        return;
      }
      for (const id of ["family", "arms", "parameters"]) $(id).disabled = file !== null;
      $("policy").disabled = Boolean(file?.policy);
      advise();
      await draw();
    });
    await draw();
  } catch (error) {
    failed(error, $("preview"));
    return;
  }
  $("new-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = { model: file?.model ?? described(), policy: file?.policy ?? JSON.parse($("policy").value) };
    if ($("incumbent").value.trim()) body.incumbent = asArm($("incumbent").value.trim());
    try {
      await api("PUT", `/v1/bandits/${encodeURIComponent($("name").value)}`, body);
      location.hash = `#/bandit/${encodeURIComponent($("name").value)}`;
    } catch (error) {
      if (error.status === 401) failed(error);
      else document.querySelector("#new-form .error").textContent = error.message;
    }
  });
}

// One bandit

const named = (estimate) => estimate !== null && typeof estimate === "object"
  ? Object.entries(estimate).map(([name, value]) => `${name} ${fmt(value)}`).join(", ") : fmt(estimate);

function drawCurves(host, drawn, estimate) {
  const where = drawn.regions.map((one) => `${fmt(drawn.values[one.arm])} from ${fmt(one.low)} to ${fmt(one.high)}`).join("; ");
  if (estimate !== null && typeof estimate === "object") estimate = estimate[drawn.parameter] ?? null;
  const others = Object.entries(drawn.fixed).map(([name, value]) => `${name} = ${fmt(value)}`).join(", ");
  const now = (others ? ` Drawn at ${others}.` : "") + (estimate === null ? "" : ` The estimate stands at ${fmt(estimate)}.`);
  const kinds = drawn.valued ? [["mean", drawn.means], ["worth", drawn.worths]] : [["mean", drawn.means]];
  put(host, ...kinds.map(([kind, ys]) => {
    const best = kind === "worth" || !drawn.valued;
    const top = drawn.thetas.map((_, place) => Math.max(...ys.map((column) => column[place] ?? -Infinity)));
    return lines(host, {
      id: kind,
      title: best ? `${kind === "worth" ? "Worth" : "Mean reward"} of each arm. Best: ${where}.${now}` : `Mean reward of each arm.${now}`,
      xs: drawn.thetas,
      series: drawn.values.map((value, arm) => ({ name: fmt(value), ys: ys[arm] })),
      envelope: best ? top : null,
      marks: estimate === null ? [] : [estimate],
      xLabel: drawn.parameter, yLabel: kind, beside: kinds.length,
    });
  }));
}

// The main picture: what each price earns, with a band, and what was observed.
// After a refutation the curves are left out.
function drawProfit(curves, bandit, { interval, theta, worths, contenders }, observed, refuted) {
  const said = words(bandit.settings.model);
  $("profit-title").textContent = `What each ${said.arm} is worth`;
  if (!worths && (!interval || !Number.isFinite(theta))) {
    const waits = bandit.version > 0 && theta !== null && typeof theta === "object";
    put($("profit"), el("p", {}, waits ? "The evidence is being computed …" : "Without rewards nothing can be said."));
    return;
  }
  const follows = !refuted && (worths ? worths.every((row) => row[1] !== null) : interval.low !== null);
  const known = () => (worths ? worthOfEvidence(curves, worths) : worthByArm(curves, theta, interval.low, interval.high));
  const rows = follows ? known() : curves.values.map((value, arm) => ({ value, arm }));
  const numeric = rows.every((one) => typeof one.value === "number");
  const order = numeric ? [...rows].sort((a, b) => a.value - b.value) : rows;
  const xs = order.map((one, place) => (numeric ? one.value : place));
  const place = new Map(order.map((one, index) => [one.arm, xs[index]]));
  const dots = bandit.arms.filter((arm) => arm.pulls > 0 && arm.worth !== null)
    .map((arm) => ({ x: place.get(arm.arm), y: arm.worth, share: arm.pulls / bandit.version, low: observed?.[arm.arm]?.[0], high: observed?.[arm.arm]?.[1],
      title: `${fmt(arm.value)}: ${fmt(arm.worth)} observed, ${arm.pulls} times` }));
  const today = bandit.arms.find((arm) => arm.value === bandit.settings.incumbent);
  const common = {
    id: "profit", xs, names: numeric ? null : order.map((one) => fmt(one.value)), dots, xLabel: said.arm, yLabel: said.worth, padded: true,
    marks: today ? [place.get(today.arm)] : [],
  };
  const key = `Circles: observed, larger with more rewards, with what is possible (95%)${today ? `; dashed: the ${said.incumbent}` : ""}.`.replace("the today", "today");
  if (!follows) {
    const seen = bandit.arms.filter((arm) => arm.worth !== null), missing = bandit.arms.filter((arm) => arm.worth === null);
    if (!seen.length) { put($("profit"), el("p", {}, "The rewards do not follow the curves, and this segment has none.")); return; }
    const first = seen.reduce((a, b) => (b.worth > a.worth ? b : a));
    const rest = missing.length ? ` Not tried: ${missing.map((arm) => fmt(arm.value)).join(", ")}.` : "";
    put($("profit"), lines($("profit"), { ...common, series: [],
      title: `The rewards do not follow the curves. Best observed ${said.arm}: ${fmt(first.value)}, with a ${said.worth} of ${fmt(first.worth)}.${rest} ${key}` }));
    return;
  }
  const top = worths ? bestOfEvidence(rows, contenders) : best(rows, curves.regions, interval);
  const rest = top.others.length ? ` It is not certain: ${top.others.map(fmt).join(", ")} may be as good.` : " No other can be as good (95%).";
  put($("profit"), lines($("profit"), { ...common,
    series: [{ name: "expected", ys: order.map((one) => one.mid) }],
    band: { low: order.map((one) => one.low), high: order.map((one) => one.high) },
    title: `Best ${said.arm} so far: ${fmt(top.value)}, with a ${said.worth} of about ${fmt(top.mid)}.${rest} Line: expected; band: what the rewards allow. ${key}`,
  }));
}

function drawShares(bandit, latest) {
  const shown = bandit.arms.reduce((sum, arm) => sum + arm.shown, 0);
  if (!shown) { put($("shares"), el("p", {}, "No decision yet.")); return; }
  const chosen = (latest ?? []).map((one) => one.decision.chosen);
  const rows = bandit.arms.map((arm) => ({
    name: fmt(arm.value), first: arm.shown / shown,
    second: chosen.length ? chosen.filter((one) => one === arm.arm).length / chosen.length : 0,
  }));
  const most = rows.reduce((a, b) => (b.first > a.first ? b : a));
  put($("shares"), bars($("shares"), {
    id: "shares", rows, first: "shown, of all", second: `chosen, of the latest ${chosen.length}`,
    title: `${shown} decisions. Shown most: ${most.name}, ${Math.round(100 * most.first)}%. Upper bar: shown, of all. Lower: chosen by the policy, of the latest ${chosen.length}.`,
  }));
}

function drawNow(said, used) {
  const arm = said.arms[said.choice];
  const heads = [used.arm, "rewards", "observed mean", "expected mean", used.worth];
  const remarks = (said.remarks ?? []).map((text) => el("p", { class: "error" }, `${text[0].toUpperCase()}${text.slice(1)}.`));
  put($("now"), el("p", { class: "big" }, fmt(arm.value)), ...remarks, more("reason", "Why", el("p", {}, said.reason)),
    table(`What it knows of each ${used.arm}`, heads, said.arms.map((one) => [one.value, one.pulls, one.mean, one.model_mean, one.worth])));
}

function drawHistory(history) {
  const points = history.points.filter((one) => one.theta !== null);
  if (!points.length) {
    put($("history"), el("p", {}, "No reward yet: nothing is known."));
    put($("evalue"));
    return;
  }
  const xs = points.map((one) => one.version), last = points.at(-1);
  const bounds = (end) => points.map((one) => one[end] ?? one.theta);
  const several = typeof last.theta === "object";
  $("history-title").textContent = `The unknown number${several ? "s" : ""} over time`;
  if (several) put($("history"), ...Object.keys(last.theta).map((name) => lines($("history"), {
    id: `history-${name}`, xs, series: [{ name: "estimate", ys: points.map((one) => one.theta[name]) }], xLabel: "rewards", yLabel: name,
    title: `After ${last.version} rewards the ${name} that fits best is ${fmt(last.theta[name])}.`, beside: Object.keys(last.theta).length,
  })));
  else put($("history"), lines($("history"), {
    id: "history", xs, series: [{ name: "estimate", ys: points.map((one) => one.theta) }],
    band: { low: bounds("low"), high: bounds("high") }, xLabel: "rewards", yLabel: "theta",
    title: last.low === null ? `After ${last.version} rewards no value of theta is left: the model is refuted.`
      : `After ${last.version} rewards theta is about ${fmt(last.theta)}, between ${fmt(last.low)} and ${fmt(last.high)} (95%, at all times).`,
  }));
  const ys = points.map((one) => one.log_e_value === null ? null : one.log_e_value / Math.LN10);
  const now = ys.at(-1);
  put($("evalue"), lines($("evalue"), {
    id: "evalue", xs, series: [{ name: "log10 e-value", ys }], levels: [Math.log10(20)], xLabel: "rewards", yLabel: "log10 e",
    title: `Evidence against the curves: the e-value is ${fmt(now === null ? null : 10 ** now)} after ${last.version} rewards. Above 20 (dashed) the model is refuted.`,
  }));
}

function drawEvidence({ evidence, as_of }, used, segment) {
  const { model, drift, earnings, region } = evidence;
  const contenders = segment === null ? evidence.contenders : evidence.contenders[segment];
  $("earnings-title").textContent = `Against ${used.incumbent === "today's price" ? "" : "the "}${used.incumbent}`;
  const left = new Set(contenders?.arms);
  const names = (contenders?.arms ?? []).map((arm) => fmt(contenders.values[arm]));
  const possible = names.length === 1 ? `Only ${names[0]} can still be best (95%).` : `${names.length} of ${contenders?.values.length} ${used.arms} can still be best (95%): ${names.join(", ")}.`;
  if (!contenders) put($("contenders"), el("p", {}, "This is computed for the first segments only."));
  else put($("contenders"), el("p", {}, names.length ? possible : contenders.text), table(`Can the ${used.arm} be best?`, [used.arm, "can be best", "p-value"],
    contenders.values.map((value, arm) => [value, left.has(arm) ? "yes" : "no", contenders.p_values?.[arm] ?? null])));
  put($("verdict"), el("p", { class: model.refuted ? "error" : "good" }, model.refuted ? "Refuted: the rewards do not follow these curves." : "Nothing speaks against the curves."), el("p", {}, model.text));
  $("drift-title").textContent = region ? "What the unknown numbers can be" : "Does it change?";
  if (region) put($("drift"), el("p", {}, region.text));
  else put($("drift"), el("p", { class: drift.alarm ? "error" : "good" }, drift.alarm ? "Alarm: the unknown number has changed." : "No change found."), el("p", {}, drift.text));
  put($("earnings"), ...(earnings
    ? [el("p", { class: "big" }, `${earnings.amount < 0 ? "" : "+"}${fmt(earnings.amount)}`), el("p", {}, `earned ${earnings.amount < 0 ? "compared with" : "more than with"} ${used.incumbent} all the time, between ${fmt(earnings.low)} and ${fmt(earnings.high)} (95%)`), more("earnings", "Numbers", el("p", {}, earnings.text))]
    : segment !== null ? [el("p", {}, "There is no comparison for a bandit with segments.")] : [el("p", {}, `Say which ${used.arm} was in use before, and the comparison is here (setting: incumbent).`)]));
  for (const id of ["contenders", "verdict", "drift", "earnings"]) $(id).append(el("p", { class: "hint" }, `as of ${as_of} rewards`));
}

function drawLatest(latest) {
  if (!latest.length) { put($("latest"), el("p", {}, "No decision yet.")); return; }
  const segments = latest.some((one) => one.decision.context !== null);
  put($("latest"), table("The latest decisions, newest first", ["time (UTC)", ...(segments ? ["segment"] : []), "shown", "chosen", "state", "reward", "id"],
    latest.slice(0, 20).map((one) => [one.decision.decided_at.slice(0, 19).replace("T", " "), ...(segments ? [one.decision.context] : []), one.decision.value, one.decision.chosen_value, one.state, one.reward, one.decision.decision_id])));
}

async function showBandit(name) {
  const mine = show("bandit-view");
  const base = `/v1/bandits/${encodeURIComponent(name)}`;
  $("title").textContent = name;
  document.title = `${name} · globalbandits`;
  let segment = null, whole = null; // the segment that is shown, if there are any, and all of them
  let curves = null, bandit = null, latest = null, theta = null, interval = null, evidence = null, used = words({});

  const query = () => (segment === null ? "" : `?context=${encodeURIComponent(segment)}`);
  const here = (rows) => { // the rows of this segment, of one for each arm of every segment
    const n = bandit.arms.length, start = segment === null ? 0 : whole.contexts.indexOf(segment) * n;
    return rows?.slice(start, start + n);
  };
  const shown = () => latest?.filter((one) => one.decision.context === segment);
  const facts = () => {
    $("facts").textContent = `${bandit.policy}, ${bandit.mode}; ${bandit.version} rewards learned, ${bandit.open} decisions open; estimate ${named(bandit.estimate)}.`;
    used = words(bandit.settings.model);
    put($("warnings"), ...(bandit.warnings ?? []).map((text) => el("p", { class: "error" }, text)));
    drawShares(bandit, shown());
    const possible = segment === null ? evidence?.contenders : evidence?.contenders[segment];
    const worths = here(evidence?.worths);
    // Evidence from before arms were added has fewer rows.
    const fits = worths !== undefined && worths.length === curves?.values.length;
    const known = { interval, theta: theta ?? bandit.estimate, worths: fits ? worths : null, contenders: possible?.arms ?? [] };
    if (curves) drawProfit(curves, bandit, known, here(evidence?.observed_bounds), evidence?.model.refuted ?? false);
    // Policies that estimate nothing: where the evidence stands.
    if (curves) drawCurves($("curves"), curves, bandit.estimate ?? theta);
  };
  const parts = [
    [async () => { curves = await api("GET", `${base}/curves${query()}`); $("range").textContent = `A number from ${fmt(curves.reward_range[0])} to ${fmt(curves.reward_range[1])}.`; facts(); }, "curves", Infinity],
    [async () => drawNow((await api("GET", `${base}/explanation${query()}`)).explanation, used), "now", 1000],
    [async () => { latest = (await api("GET", `${base}/decisions?limit=100`)).decisions; drawLatest(latest); drawShares(bandit, shown()); }, "latest", 1000],
    [async () => { const found = await api("GET", `${base}/history`); if (found) { drawHistory(found); const last = found.points.at(-1); theta = last?.theta ?? null; interval = last ?? null; if (isNow(mine)) facts(); } return found && found.version === (found.points.at(-1)?.version ?? 0); }, "history", 1500],
    [async () => { const found = await api("GET", `${base}/evidence`); if (found) { drawEvidence(found, used, segment); evidence = found.evidence; if (isNow(mine)) facts(); } return found && found.as_of === found.version; }, "contenders", 1500],
  ].map(([load, host, every]) => ({ load, host, every, at: -Infinity, busy: false, due: true }));

  const refresh = async () => {
    if (!isNow(mine) || !bandit) return;
    await Promise.all(parts.map(async (part) => {
      if (part.busy || !part.due || performance.now() - part.at < part.every) return;
      part.busy = true; part.due = false; part.at = performance.now();
      try {
        if ([false, null].includes(await part.load())) part.due = true; // not there yet, or of an earlier version
      } catch (error) {
        if (isNow(mine)) { part.due = true; if (part.every === Infinity) part.at = -Infinity; failed(error, error.status > 0 ? $(part.host) : null); }
      }
      part.busy = false;
    }));
  };
  const heartbeat = setInterval(refresh, 500);
  mine.abort.signal.addEventListener("abort", () => clearInterval(heartbeat));

  const took = (now) => {
    if (!whole) whatIf(base, mine, now).catch((error) => failed(error, $("what-if")));
    whole = now;
    if (now.contexts.length && !now.contexts.includes(segment)) {
      segment = now.contexts[0];
      put($("segment"), ...now.contexts.map((name) => el("option", { value: name }, name)));
      $("segments").hidden = false;
    }
    bandit = segment === null ? now : { ...now, arms: now.arms.filter((arm) => arm.context === segment) };
    for (const part of parts) if (part.every !== Infinity) part.due = true;
    facts();
    refresh();
  };
  addEventListener("resize", () => bandit && took(whole), { signal: mine.abort.signal });
  $("segment").addEventListener("change", () => {
    segment = $("segment").value;
    curves = null;
    for (const part of parts) { part.due = true; part.at = -Infinity; }
    took(whole);
  });
  byHand(base, mine, () => segment);
  for (let wait = 500; isNow(mine); wait = Math.min(2 * wait, 4000)) {
    try {
      await names();
      for await (const now of messages(`${base}/stream`, mine.abort.signal)) {
        if (!isNow(mine)) return;
        say("live");
        wait = 250;
        took(now);
      }
      throw new Problem(0, "the stream ended");
    } catch (error) {
      if (!isNow(mine) || error.name === "AbortError") return;
      if (error.status === 401) { failed(error); return; }
      if (error.status === 404) { put($("main"), el("section", { class: "card" }, el("h2", {}, name), el("p", { class: "error" }, error.message))); return; }
      say(error.status ? `${error.message}, trying again` : "connection lost, trying again", true);
    }
    await new Promise((done) => setTimeout(done, wait));
  }
}

// Server-sent events by fetch: an EventSource cannot send a token.
async function* messages(path, signal) {
  const answer = await api("GET", path, undefined, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    let piece;
    try { piece = await reader.read(); } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, "the connection broke");
    }
    if (piece.done) return;
    text += piece.value;
    const parts = text.split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const data = part.split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice(6));
    }
  }
}

// What other policies would earn: asked for by hand, because it takes seconds.
async function whatIf(base, mine, bandit) {
  // Policies are compared in one market, not in one per segment.
  if (bandit.contexts.length) { $("what-if-form").closest("section").hidden = true; return; }
  const used = words(bandit.settings.model);
  const { advice } = await api("GET", "/v1/catalogue");
  if (!isNow(mine)) return;
  $("what-if-horizon").value = Math.min(20000, Math.max(1, bandit.version));
  $("what-if-always-label").textContent = `Always this ${used.arm}`;
  put($("what-if-always"), ...bandit.arms.map((arm) => el("option", { value: JSON.stringify(arm.value) }, fmt(arm.value))));
  $("what-if-always").value = JSON.stringify(bandit.settings.incumbent ?? bandit.arms[0].value);
  const own = bandit.settings.policy;
  const others = advice.filter((one) => JSON.stringify(one.policy) !== JSON.stringify(own));
  const choices = [{ policy: own, label: `${bandit.policy}, as now` }, ...others];
  $("what-if-policies").append(...choices.map((one, place) => {
    const box = el("input", { type: "checkbox", value: JSON.stringify(one.policy), ...(place === 0 ? { checked: "" } : {}) });
    return el("label", { class: "choice" }, box, ` ${one.label}`);
  }));
  $("what-if-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = $("what-if-form").querySelector("button"), error = $("what-if-form").querySelector(".error");
    const policies = [...document.querySelectorAll("#what-if-policies input:checked")].map((box) => JSON.parse(box.value));
    button.disabled = true;
    error.textContent = "";
    put($("what-if"), el("p", {}, "Playing … The first time takes up to a minute."));
    try {
      const body = { always: [JSON.parse($("what-if-always").value)], policies, horizon: Number($("what-if-horizon").value) };
      let found = null;
      while (isNow(mine) && !(found = await api("POST", `${base}/what-if`, body))) await new Promise((done) => setTimeout(done, 1000));
      if (isNow(mine)) drawWhatIf(found, used);
    } catch (problem) {
      if (!isNow(mine)) return;
      put($("what-if"));
      if (problem.status === 401) failed(problem);
      else error.textContent = problem.message;
    }
    button.disabled = false;
  });
}

function drawWhatIf({ policies, horizon, n_rewards, notes }, used) {
  const [first, ...rest] = policies;
  const most = policies.reduce((a, b) => (b.earned > a.earned ? b : a));
  const gains = rest.map((one) => `${one.policy} earns ${one.gain < 0 ? "" : "+"}${fmt(one.gain)} (${fmt(one.gain_low)} to ${fmt(one.gain_high)}) against ${first.policy}, and more with a probability of ${Math.round(100 * one.beats_first)}%.`);
  const figure = ranges($("what-if"), {
    id: "what-if", xLabel: `${used.worth.split(" per ")[0]} of ${horizon} decisions`,
    title: `In ${horizon} decisions ${most.policy} earns most: ${fmt(most.earned)}, between ${fmt(most.low)} and ${fmt(most.high)} (95%). ${gains.join(" ")}`,
    rows: policies.map((one) => ({ name: one.policy, low: one.low, mid: one.earned, high: one.high })),
    heads: ["policy", "earned", "low", "high", "per decision", "gain", "gain, low", "gain, high", "beats the first"],
    cells: policies.map((one) => [one.policy, one.earned, one.low, one.high, one.per_decision, one.gain, one.gain_low, one.gain_high, one.beats_first]),
  });
  put($("what-if"), figure, ...notes.map((text) => el("p", { class: "hint" }, text)), el("p", { class: "hint" }, `as of ${n_rewards} rewards`));
}

function byHand(base, mine, segment) {
  let decision = null;
  const enable = (on) => { $("reward").disabled = !on; $("reward-form").querySelector("button").disabled = !on; };
  const attempt = async (work) => {
    $("hand-error").textContent = "";
    try { await work(); } catch (error) {
      if (!isNow(mine)) return;
      if (error.status === 401) failed(error);
      else $("hand-error").textContent = error.message;
    }
  };
  $("decide-form").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      const context = segment() === null ? {} : { context: segment() };
      decision = await api("POST", `${base}/decisions`, { request_id: `page-${crypto.randomUUID?.() ?? Math.random()}`, ...context });
      $("decided").textContent = `Show ${fmt(decision.value)} (decision ${decision.decision_id}).`;
      $("told").textContent = "";
      enable(true);
      $("reward").focus();
    });
  });
  $("reward-form").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      const told = await api("PUT", `${base}/decisions/${decision.decision_id}/reward`, { reward: Number($("reward").value) });
      $("told").textContent = `${told.status === "learned" ? "Learned" : "Known already"}: reward ${fmt(told.reward)}, version ${told.version}.`;
      $("reward").value = "";
      enable(false);
    });
  });
}

function route() {
  const [, kind, name] = location.hash.split("/");
  document.title = "globalbandits";
  if (kind === "bandit" && name) showBandit(decodeURIComponent(name));
  else if (kind === "new") showNew();
  else showList();
}

addEventListener("hashchange", () => { route(); $("main").focus(); });
route();
