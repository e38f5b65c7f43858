"use strict";
// Draws one round of a recorded run. Every text is set as text, never as markup.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const COLORS = ["#3b8bc4", "#e0752d", "#2fa37a", "#d07aa6", "#8f7be0", "#c9a227", "#888888"];
  const SVG = "http://www.w3.org/2000/svg";
  const rounds = data.policies[0].arms.length;
  const byId = (id) => document.getElementById(id);
  const slider = byId("round"), chooser = byId("policy"), player = byId("play");
  let timer = null;

  const colorOf = (number) => COLORS[number % COLORS.length];
  const short = (value) => (value === null ? "none" : String(Number(value.toPrecision(4))));

  function add(parent, kind, attributes, text) {
    const element = document.createElementNS(SVG, kind);
    for (const name in attributes) element.setAttribute(name, attributes[name]);
    if (text !== undefined) element.textContent = text;
    parent.appendChild(element);
    return element;
  }

  // A panel with its own scales: x and y turn numbers into places.
  function panel(id, width, height, xs, ys, heading, xLabel) {
    const svg = byId(id);
    svg.textContent = "";
    const left = 44, right = width - 8, top = 34, bottom = height - 30;
    const scale = (low, high, from, to) => (value) =>
      from + ((value - low) / (high - low || 1)) * (to - from);
    const x = scale(xs[0], xs[1], left, right), y = scale(ys[0], ys[1], bottom, top);
    add(svg, "rect", { x: left, y: top, width: right - left, height: bottom - top, class: "axis" });
    add(svg, "text", { x: left, y: 13, class: "heading" }, heading);
    add(svg, "text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle" }, xLabel);
    for (const value of xs) add(svg, "text", { x: x(value), y: bottom + 13, "text-anchor": value === xs[0] ? "start" : "end" }, short(value));
    for (const value of ys) add(svg, "text", { x: left - 4, y: y(value) + 4, "text-anchor": "end" }, short(value));
    return { svg: svg, x: x, y: y, top: top, bottom: bottom };
  }

  // Points of a line; where a number is missing the line is interrupted.
  function path(place, xs, ys) {
    let drawn = "", pen = "M";
    for (let i = 0; i < ys.length; i++) {
      if (ys[i] === null) { pen = "M"; continue; }
      drawn += pen + place.x(xs[i]).toFixed(1) + " " + place.y(ys[i]).toFixed(1);
      pen = "L";
    }
    return drawn;
  }

  function range(lists) {
    const known = lists.flat().filter((value) => value !== null);
    return [Math.min(...known), Math.max(...known)];
  }

  function drawCurves(policy, t) {
    const values = range(data.curves.map((curve) => curve.worth));
    const place = panel("curves", 520, 400, data.domain, values, data.worthLabel + " over theta", "theta");
    for (const [arm, low, high] of data.regions) {
      add(place.svg, "rect", {
        x: place.x(low), y: place.top, width: Math.max(0, place.x(high) - place.x(low)),
        height: place.bottom - place.top, fill: colorOf(arm), "fill-opacity": 0.12,
      });
      if (place.x(high) - place.x(low) > 7 * data.arms[arm].length) {
        add(place.svg, "text", { x: (place.x(low) + place.x(high)) / 2, y: place.top - 5, "text-anchor": "middle" }, data.arms[arm]);
      }
    }
    const low = policy.lows[t], high = policy.highs[t];
    if (low !== null && high !== null && low <= high) {
      add(place.svg, "rect", {
        x: place.x(low), y: place.top, width: Math.max(1, place.x(high) - place.x(low)),
        height: place.bottom - place.top, fill: "currentColor", "fill-opacity": 0.1,
      });
    }
    for (const curve of data.curves) {
      const played = curve.arm === policy.arms[t];
      add(place.svg, "path", {
        d: path(place, data.thetas, curve.worth), fill: "none", stroke: colorOf(curve.arm),
        "stroke-width": played ? 4 : 1.4, "stroke-opacity": played ? 1 : 0.75,
      });
    }
    upright(place, data.truth[t], { class: "truth" });
    upright(place, policy.estimates[t], { stroke: "currentColor", "stroke-width": 2 });
  }

  function upright(place, theta, style) {
    if (theta === null) return;
    add(place.svg, "line", Object.assign({ x1: place.x(theta), x2: place.x(theta), y1: place.top, y2: place.bottom }, style));
  }

  function drawEstimates(policy, number, t) {
    const times = Array.from({ length: t + 1 }, (_, i) => i + 1);
    const place = panel("estimates", 430, 190, [1, Math.max(2, rounds)], data.domain, "estimate of theta, " + policy.name, "round");
    const cut = (list) => list.slice(0, t + 1);
    const held = times.filter((_, i) => policy.lows[i] !== null && policy.lows[i] <= policy.highs[i]);
    if (held.length > 0) {
      const upper = held.map((time) => place.x(time).toFixed(1) + " " + place.y(policy.highs[time - 1]).toFixed(1));
      const lower = held.map((time) => place.x(time).toFixed(1) + " " + place.y(policy.lows[time - 1]).toFixed(1));
      add(place.svg, "path", { d: "M" + upper.concat(lower.reverse()).join("L") + "Z", fill: colorOf(number), "fill-opacity": 0.2 });
    }
    add(place.svg, "path", { d: path(place, times, cut(data.truth)), class: "truth" });
    add(place.svg, "path", { d: path(place, times, cut(policy.estimates)), fill: "none", stroke: colorOf(number), "stroke-width": 2 });
  }

  function drawRegrets(chosen, t) {
    const times = Array.from({ length: t + 1 }, (_, i) => i + 1);
    const most = range(data.policies.map((policy) => policy.regrets))[1];
    const place = panel("regrets", 430, 190, [1, Math.max(2, rounds)], [0, most || 1], "regret", "round");
    data.policies.forEach((policy, number) => {
      const values = policy.regrets.slice(0, t + 1);
      add(place.svg, "path", {
        d: path(place, times, values), fill: "none", stroke: colorOf(number),
        "stroke-width": number === chosen ? 3 : 1.6,
      });
      const at = values[values.length - 1];
      const late = t > 0.75 * rounds;
      add(place.svg, "text", { x: place.x(t + 1) + (late ? -4 : 4), y: place.y(at) - 4, "text-anchor": late ? "end" : "start" }, policy.name);
    });
  }

  function sentence(policy, t) {
    const parts = ["Round " + (t + 1) + " of " + rounds + ": " + policy.name + " plays " + data.arms[policy.arms[t]] +
      " and sees " + short(policy.rewards[t]) + "."];
    parts.push(policy.estimates[t] === null ? "It has no estimate of theta." : "It believes theta is " + short(policy.estimates[t]) + ".");
    parts.push(policy.lows[t] === null || policy.lows[t] > policy.highs[t]
      ? "The rewards refute the curves."
      : "The rewards say " + short(policy.lows[t]) + " to " + short(policy.highs[t]) + ".");
    parts.push("Lost so far: " + short(policy.regrets[t]) + ".");
    return parts.join(" ");
  }

  function draw() {
    const t = Number(slider.value) - 1, chosen = Number(chooser.value);
    const policy = data.policies[chosen];
    byId("say").textContent = sentence(policy, t);
    slider.setAttribute("aria-valuetext", "round " + (t + 1));
    drawCurves(policy, t);
    drawEstimates(policy, chosen, t);
    drawRegrets(chosen, t);
  }

  function go(step) {
    slider.value = String(Math.min(rounds, Math.max(1, Number(slider.value) + step)));
    draw();
  }

  function play(on) {
    clearInterval(timer);
    timer = null;
    if (on) {
      if (Number(slider.value) >= rounds) slider.value = "1";
      timer = setInterval(() => { go(1); if (Number(slider.value) >= rounds) play(false); }, 150);
    }
    // A reader is told single steps, not a film.
    byId("say").setAttribute("aria-live", on ? "off" : "polite");
    player.textContent = on ? "Pause" : "Play";
    player.setAttribute("aria-pressed", String(on));
  }

  slider.max = String(rounds);
  data.policies.forEach((policy, number) => {
    const option = document.createElement("option");
    option.value = String(number);
    option.textContent = policy.name;
    chooser.appendChild(option);
  });
  slider.addEventListener("input", draw);
  chooser.addEventListener("change", draw);
  player.addEventListener("click", () => play(timer === null));
  byId("back").addEventListener("click", () => go(-1));
  byId("on").addEventListener("click", () => go(1));
  document.addEventListener("keydown", (event) => {
    const held = event.target && event.target.tagName;
    if (event.altKey || event.ctrlKey || event.metaKey || held === "SELECT" || held === "INPUT") {
      if (!(held === "INPUT" && event.key === " ")) return;
    }
    const steps = { ArrowRight: 1, ArrowLeft: -1, PageUp: 10, PageDown: -10, Home: -rounds, End: rounds };
    if (event.key in steps) { go(steps[event.key]); event.preventDefault(); }
    else if (event.key === " " && held !== "BUTTON") { play(timer === null); event.preventDefault(); }
  });
  draw();
})();
