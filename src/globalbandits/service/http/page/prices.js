// What a bandit's curves say about each arm, and the words for it. Nothing here draws.

// The words of a shop, of a dose trial, and of everything else.
export function words(model) {
  const family = model.family ?? "";
  const costs = Number.isFinite(model.cost);
  if (family.startsWith("demand.")) {
    return { arm: "price", arms: "prices", worth: costs ? "profit per customer" : "income per customer", incumbent: "today's price", reward: costs ? "sold (1) or not (0)" : "amount paid" };
  }
  if (family.startsWith("dose.")) {
    return { arm: "dose", arms: "doses", worth: "worth", incumbent: "dose in use before", reward: "response" };
  }
  return { arm: "arm", arms: "arms", worth: "worth", incumbent: "arm in use before", reward: "reward" };
}

// A curve at a point between its samples.
export function at(xs, ys, x) {
  if (x <= xs[0]) return ys[0];
  const place = xs.findIndex((found) => found >= x);
  if (place < 0) return ys[ys.length - 1];
  const share = (x - xs[place - 1]) / (xs[place] - xs[place - 1]);
  return ys[place - 1] + share * (ys[place] - ys[place - 1]);
}

// For each arm what it is worth at theta, and between which bounds for theta from low to high.
export function worthByArm({ values, thetas, worths }, theta, low, high) {
  return values.map((value, arm) => {
    const ys = worths[arm];
    const inside = ys.filter((_, place) => thetas[place] > low && thetas[place] < high);
    const all = [...inside, at(thetas, ys, low), at(thetas, ys, high)].filter((y) => Number.isFinite(y));
    return { value, arm, mid: at(thetas, ys, theta), low: Math.min(...all), high: Math.max(...all) };
  });
}

// The same where the service has computed the worths, because there are several unknown numbers.
export function worthOfEvidence({ values }, worths) {
  return values.map((value, arm) => ({ value, arm, mid: worths[arm][0], low: worths[arm][1], high: worths[arm][2] }));
}

// The arm with the largest worth, and the others that can be best.
export function bestOfEvidence(rows, contenders) {
  const first = rows.reduce((a, b) => (b.mid > a.mid ? b : a));
  const others = rows.filter((one) => one !== first && contenders.includes(one.arm)).map((one) => one.value);
  return { value: first.value, mid: first.mid, others };
}

// The arm with the largest worth, and the others that are best somewhere in the interval. Bands of two arms may
// overlap where one of them is better for every theta, so bands do not decide.
export function best(rows, regions, { low, high }) {
  const first = rows.reduce((a, b) => (b.mid > a.mid ? b : a));
  const possible = new Set(regions.filter((one) => one.low <= high && one.high >= low).map((one) => one.arm));
  const others = rows.filter((one) => one !== first && possible.has(one.arm)).map((one) => one.value);
  return { value: first.value, mid: first.mid, others };
}

// A file of a fitted model: the description itself, or a model and a policy.
export function uploaded(text) {
  let found;
  try { found = JSON.parse(text); } catch { throw new Error("the file must be JSON"); }
  const model = found?.model ?? found;
  if (model === null || typeof model !== "object" || Array.isArray(model)) throw new Error("the file must have a model");
  return { model, policy: found.policy?.policy ? found.policy : null };
}
