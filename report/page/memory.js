// The model of the memory (Go package predictor/memory) and how the phases of
// applications meet in it (predictor, company.go), for models and members given
// as snapshots, number for number: what is explained there is not repeated here.
"use strict";
const bandmateMemory = (() => {
  const FULLEST = 0.9999, SETTLE_STEPS = 24, SETTLE_CLOSE = 1e-6;
  const MOST_TOGETHER = 3 ** 4, LONGEST = 300;

  const power = (t, k) => k === 1 ? t : k === 2 ? t * t : k === 4 ? t * t * (t * t) : Math.exp(k * Math.log(t));
  const root = (t, k) => k === 1 ? t : k === 2 ? Math.sqrt(t) : k === 4 ? Math.sqrt(Math.sqrt(t)) : Math.exp(Math.log(t) / k);
  const writeShare = (read, write) => read + write <= 0 ? 0 : write / (read + write);

  function inverseCapacity(model, share) {
    const nodes = model.slowness, last = nodes.length - 1;
    if (!(share > nodes[0][0])) return nodes[0][1];
    if (share >= nodes[last][0]) return nodes[last][1];
    let i = 0;
    while (nodes[i + 1][0] <= share) i++;
    const [low, lower] = nodes[i], [high, upper] = nodes[i + 1];
    const part = (share - low) / (high - low), straight = lower + part * (upper - lower);
    return straight * (1 + model.bend * (high - low) * (high - low) * part * (1 - part));
  }
  const load = (model, read, write) =>
    read + write <= 0 ? 0 : (read + write) * inverseCapacity(model, read / (read + write));
  const growth = (model, writes) => model.queue + model.writeQueue * writes;
  function delayAt(model, at, writes) {
    const full = Math.min(at, FULLEST);
    return 1 + model.linear * full + growth(model, writes) * full / (1 - full);
  }
  function loadOf(model, delay, writes) {
    const excess = Math.max(delay - 1, 0), b = model.linear + growth(model, writes) + excess;
    if (b <= 0) return 0;
    return Math.min(2 * excess / (b + Math.sqrt(Math.max(b * b - 4 * model.linear * excess, 0))), FULLEST);
  }

  function performance(member, delay) {
    const more = delay - member.delay;
    if (more <= 0 || member.time === 0) return 1;
    const k = member.overlap;
    let time = root(member.compute + power(member.memory + more / member.inFlight, k), k);
    if (member.link > 0) time = root(member.link + power(time, 4), 4);
    return Math.min(member.time / time, 1);
  }

  const shrink = (ratio) => ratio < 1 ? 1 - ratio : 0.5;

  // settle returns the performance of each member.
  function settle(model, members) {
    let allReads = 0, allWrites = 0;
    for (const member of members) { allReads += member.read; allWrites += member.write; }
    const reference = writeShare(allReads, allWrites), performances = new Array(members.length);
    const excess = (x) => {
      const delay = delayAt(model, x, reference);
      let read = 0, write = 0;
      members.forEach((member, i) => {
        const p = performances[i] = performance(member, delay);
        read += member.read * p;
        write += member.write * p;
      });
      return load(model, read, write) - loadOf(model, delay, writeShare(read, write));
    };
    let low = 0, above = load(model, allReads, allWrites);
    if (above <= 0) { excess(low); return performances; }
    let high = Math.min(above, FULLEST), below = excess(high), side = 0;
    if (below >= -SETTLE_CLOSE && high < FULLEST) {
      if (below <= SETTLE_CLOSE) return performances;
      low = high; above = below; high = FULLEST;
      below = excess(high);
    }
    if (below >= 0) return performances;
    for (let step = 0; step < SETTLE_STEPS; step++) {
      const x = (low * below - high * above) / (below - above), off = excess(x);
      if (off > SETTLE_CLOSE) {
        if (side > 0) below *= shrink(off / above);
        low = x; above = off;
        side = 1;
      } else if (off < -SETTLE_CLOSE) {
        if (side < 0) above *= shrink(off / below);
        high = x; below = off;
        side = -1;
      } else {
        break;
      }
    }
    return performances;
  }

  // memberOf returns an application in a phase, -1 for its mean over the run. One
  // without curves that the model does not know keeps its traffic.
  function memberOf(model, app, phase, home) {
    const known = app.described;
    if (known) return phase < 0 ? (home ? known.steadyHome : known.steadyAway) : (home ? known.home : known.away)[phase];
    const { read, write } = phase < 0 ? { read: 1, write: 1 } : app.phases[phase];
    return { read: app.read * read / model.unit, write: app.write * write / model.unit, delay: 0, time: 0 };
  }
  const timeShare = (app, phase, home) => home && app.described ? app.described.homeShares[phase] : app.phases[phase].timeShare;

  // steadyOf says which of the applications are taken at their mean traffic.
  function steadyOf(apps) {
    const steady = apps.map((app) => app.phases.length > 1);
    let combinations = 1, next = 0;
    while (next >= 0 && combinations * apps[next].phases.length <= MOST_TOGETHER) {
      combinations *= apps[next].phases.length;
      steady[next] = false;
      next = -1;
      steady.forEach((is, i) => {
        if (is && (next < 0 || apps[i].read + apps[i].write > apps[next].read + apps[next].write)) next = i;
      });
    }
    return steady;
  }

  // meet returns what the model says of the performance of each application, the
  // target first, when their phases meet at random.
  function meet(model, apps) {
    const steady = steadyOf(apps), combination = apps.map(() => 0), reference = [];
    const means = apps.map((app) => app.phases.map(() => ({ progress: 0, duration: 0 })));
    const share = (i) => steady[i] ? 1 : timeShare(apps[i], combination[i], i === 0);
    for (let more = true; more;) {
      const settled = settle(model, apps.map((app, i) => memberOf(model, app, steady[i] ? -1 : combination[i], i === 0)));
      const lasts = settled.map((p, i) => Math.log(share(i) / p));
      let all = 0;
      for (const one of lasts) all += one;
      apps.forEach((_, i) => {
        const others = all - lasts[i];
        if (reference.length <= i) reference.push(others);
        const weight = Math.exp(Math.min(Math.max(others - reference[i], -LONGEST), LONGEST));
        const mean = means[i][combination[i]];
        mean.progress += weight * settled[i];
        mean.duration += weight;
      });
      more = false;
      for (let i = 0; i < apps.length && !more; i++) {
        if (steady[i]) continue;
        if (++combination[i] < apps[i].phases.length) more = true;
        else combination[i] = 0;
      }
    }
    const rates = apps.map((app, i) => {
      let time = 0;
      for (let j = 0; j < (steady[i] ? 1 : app.phases.length); j++) {
        time += (steady[i] ? 1 : timeShare(app, j, i === 0)) * means[i][j].duration / means[i][j].progress;
      }
      return 1 / time;
    });
    return { rates, combinations: apps.reduce((n, app, i) => steady[i] ? n : n * app.phases.length, 1) };
  }

  return { meet };
})();
