// The default method of Bandmate's predictor for applications given as
// snapshots (predictor.Snapshots), number for number: what is explained in the
// Go package predictor is not repeated here. bandmateModel(models,
// networks).predict answers as `bandmate predict -o json` does.
"use strict";
const bandmateModel = (models, networks) => {
  const FLOOR = 0.01, HEADROOM = 1.05, FULLEST = 0.97;
  const SETTLED = 1e-5, MAX_ITERATIONS = 64, PAIR_ITERATIONS = 8, LEAST_DAMPING = 1 / 16, SHRINKS = 0.9;
  const CLOSE_ENOUGH = 1e-8, ILLINOIS_STEPS = 24, BISECTION_STEPS = 40;
  const MAX_PHASES = 3, MOST_COMBINATIONS = MAX_PHASES * MAX_PHASES, MOST_COMPOUNDED = 16;
  const NORMAL90 = 1.645, BASE_ERROR = 0.006, DEPTH_ERROR = 0.06, GROUP_DEPTH_ERROR = 0.12;
  const TRAFFIC_ERROR = 0.06, UNSETTLED_TRAFFIC_ERROR = 0.15, EXTRAPOLATION_ERROR = 0.5, PENALTY_DOUBT = 0.25;
  const DESCRIBED_TRAFFIC = 0.02, DESCRIBED_DEPTH = 0.055, DESCRIBED_GROUP = 0.09, DESCRIBED_BEYOND = 0.4, DESCRIBED_POINTS = 4;
  const STEADY = { timeShare: 1, read: 1, write: 1, total: 1 };

  const total = (app) => app.read + app.write;
  const hypot = (a, b) => Math.sqrt(a * a + b * b);
  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

  function fixedPoint(f, low, high) {
    let above = f(low) - low, below = f(high) - high;
    if (below >= 0) return high;
    let lastAbove = false, lastBelow = false;
    for (let step = 0; step < ILLINOIS_STEPS + BISECTION_STEPS; step++) {
      let p = high - below * (high - low) / (below - above);
      if (step >= ILLINOIS_STEPS) p = (low + high) / 2;
      const off = f(p) - p;
      if (off > CLOSE_ENOUGH) {
        low = p; above = off;
        if (lastAbove) below /= 2;
        lastAbove = true; lastBelow = false;
      } else if (off < -CLOSE_ENOUGH) {
        high = p; below = off;
        if (lastBelow) above /= 2;
        lastAbove = false; lastBelow = true;
      } else {
        return p;
      }
    }
    return high;
  }

  // bracket finds the curves on both sides of a read share (eq. 3).
  function bracket(responses, share) {
    const last = responses.length - 1;
    if (!(share > responses[0].readShare)) return { lower: 0, upper: 0, scale: 0 };
    if (share >= responses[last].readShare) return { lower: last, upper: last, scale: 0 };
    let upper = 0;
    while (responses[upper].readShare < share) upper++;
    if (responses[upper].readShare === share) return { lower: upper, upper, scale: 0 };
    const low = responses[upper - 1].readShare, high = responses[upper].readShare;
    return { lower: upper - 1, upper, scale: (share - low) / (high - low) };
  }

  function readSteps(steps, actual) {
    let low = steps[0];
    for (let i = 1; i < steps.length; i++) {
      const high = steps[i];
      if (actual < high[0]) {
        const part = (actual - low[0]) / (high[0] - low[0]);
        return [low[1] + part * (high[1] - low[1]), 0];
      }
      low = high;
    }
    return [low[1], actual - low[0]];
  }

  function extrapolate(app, measured, top, others, capacity) {
    if (capacity <= 0) return measured;
    const own = total(app);
    const waiting = (p, beside) => {
      const load = Math.min((own * p + beside) / capacity, FULLEST);
      return load / (1 - load);
    };
    const alone = waiting(1, 0), atTop = waiting(measured, top);
    const slower = 1 / measured - 1, explained = atTop - alone / measured;
    const at = (p) => {
      const now = waiting(p, others);
      if (explained <= slower * 1e-3) return measured * atTop / now;
      const s = slower / explained;
      return measured * (1 + s * atTop) / (1 + s * now);
    };
    return Math.max(fixedPoint(at, 0, measured), FLOOR);
  }

  function respond(app, read, write, capacity) {
    const sum = read + write;
    if (!(sum > 0) || app.responses.length === 0) {
      return { performance: 1, measured: 1, beyond: 0, bracket: { lower: 0, upper: 0, scale: 0 } };
    }
    const b = bracket(app.responses, read / sum);
    let [performance, beyond] = readSteps(app.responses[b.lower].steps, sum);
    if (b.upper !== b.lower) {
      const [upper, more] = readSteps(app.responses[b.upper].steps, sum);
      beyond = Math.min(beyond, more);
      const mixed = performance * (1 - b.scale) + upper * b.scale;
      performance = clamp(mixed, Math.min(performance, upper), Math.max(performance, upper));
    }
    const measured = performance;
    if (beyond > 0) performance = extrapolate(app, measured, sum - beyond, sum, capacity);
    return { performance, measured, beyond, bracket: b };
  }

  function capacityOf(apps) {
    let most = 0;
    for (const app of apps) most = Math.max(most, app.carried, total(app));
    return most * HEADROOM;
  }

  class Equilibrium {
    constructor(apps) {
      this.apps = apps;
      this.capacity = capacityOf(apps);
      this.phases = apps.map(() => STEADY);
      this.performance = apps.map(() => 1);
      this.settled = false;
    }

    traffic(i) {
      const app = this.apps[i];
      let read = 0, write = 0;
      for (let j = 0; j < this.apps.length; j++) {
        if (j === i) continue;
        const p = app.achievedKnown ? this.performance[j] : 1;
        read += this.apps[j].read * this.phases[j].read * p;
        write += this.apps[j].write * this.phases[j].write * p;
      }
      return [read, write];
    }

    respond(i) {
      const app = this.apps[i];
      if (app.responses.length === 0) return 1;
      const [read, write] = this.traffic(i);
      const p = respond(app, read, write, this.capacity).performance;
      const phase = this.phases[i];
      return phase.total === 1 ? p : Math.max(1 / (1 + (1 / p - 1) * phase.total), FLOOR);
    }

    settle() {
      const n = this.apps.length;
      let damping = 1, lastChange = Infinity;
      this.settled = false;
      for (let step = 0; step < (n === 2 ? PAIR_ITERATIONS : MAX_ITERATIONS); step++) {
        let change = 0;
        for (let i = 0; i < n; i++) {
          const move = this.respond(i) - this.performance[i];
          change = Math.max(change, Math.abs(move));
          this.performance[i] += damping * move;
        }
        if (change > lastChange * SHRINKS) damping = Math.max(damping / 2, LEAST_DAMPING);
        lastChange = change;
        if (change < SETTLED) {
          this.settled = true;
          return;
        }
      }
      if (n === 2) this.settlePair();
    }

    settlePair() {
      this.performance[0] = fixedPoint((x) => {
        this.performance[0] = x;
        this.performance[1] = this.respond(1);
        return this.respond(0);
      }, 0, 1);
      this.performance[1] = this.respond(1);
      this.settled = true;
    }

    combinations() {
      let n = 1;
      for (const app of this.apps) {
        n *= app.phases.length;
        if (n > MOST_COMBINATIONS) return 1;
      }
      return n;
    }

    // settleInPhases returns where the first one's curves are read at mean traffic.
    settleInPhases() {
      this.settle();
      const mean = respond(this.apps[0], ...this.traffic(0), this.capacity);
      if (this.combinations() > 1) this.settlePhases();
      const n = this.apps.length;
      if (n > 2 && n <= MOST_COMPOUNDED) this.compoundPairs();
      return mean;
    }

    settlePhases() {
      const { apps } = this;
      const means = apps.map((app) => app.phases.map(() => ({ progress: 0, duration: 0 })));
      const combination = apps.map(() => 0);
      let allSettled = true;
      for (let more = true; more;) {
        apps.forEach((app, i) => { this.phases[i] = app.phases[combination[i]]; });
        this.settle();
        allSettled = allSettled && this.settled;
        apps.forEach((_, i) => {
          let lasts = 1;
          apps.forEach((_, j) => {
            if (j !== i) lasts *= this.phases[j].timeShare / this.performance[j];
          });
          const mean = means[i][combination[i]];
          mean.progress += lasts * this.performance[i];
          mean.duration += lasts;
        });
        more = false;
        for (let i = 0; i < apps.length && !more; i++) {
          if (++combination[i] < apps[i].phases.length) more = true;
          else combination[i] = 0;
        }
      }
      this.settled = allSettled;
      apps.forEach((app, i) => {
        let time = 0;
        app.phases.forEach((phase, j) => { time += phase.timeShare * means[i][j].duration / means[i][j].progress; });
        this.performance[i] = clamp(1 / time, FLOOR, 1);
        this.phases[i] = STEADY;
      });
    }

    compoundPairs() {
      const { apps } = this;
      const compounded = apps.map(() => 1);
      for (let i = 0; i < apps.length; i++) {
        for (let j = i + 1; j < apps.length; j++) {
          const pair = new Equilibrium([apps[i], apps[j]]);
          pair.settleInPhases();
          compounded[i] *= pair.performance[0];
          compounded[j] *= pair.performance[1];
        }
      }
      compounded.forEach((product, i) => {
        this.performance[i] = Math.max(Math.min(this.performance[i], product), FLOOR);
      });
    }
  }

  function contentiousnessDoubt(corunners) {
    let sum = 0, squares = 0, shares = 0;
    for (const app of corunners) {
      const traffic = total(app);
      sum += traffic;
      squares += traffic * app.trafficDoubt * traffic * app.trafficDoubt;
      shares += traffic * app.readShareDoubt * traffic * app.readShareDoubt;
    }
    return sum === 0 ? [0, 0] : [Math.sqrt(squares) / sum / NORMAL90, Math.sqrt(shares) / sum / NORMAL90];
  }

  // slowdowns is the 90% interval of a performance.
  function slowdowns(performance, variance) {
    const half = NORMAL90 * Math.sqrt(variance);
    return { low: 1 / Math.min(performance + half, 1), high: 1 / Math.max(performance - half, FLOOR) };
  }

  // readingVariance is that of a reading of the target's curves beside traffic of
  // others: what the points, the traffic and a carried profile leave in doubt.
  function readingVariance(apps, [read, write], fit, modelTraffic, lost, responded) {
    const target = apps[0], pressure = read + write;
    let [bandwidth, readShare] = contentiousnessDoubt(apps.slice(1));
    bandwidth = hypot(bandwidth, modelTraffic);
    const at = (share) => responded(pressure * share, pressure - pressure * share);
    const scaled = (factor) => responded(read * factor, write * factor);
    const share = read / pressure;
    const byPressure = Math.abs(scaled(1 - Math.min(bandwidth, 1)) - scaled(1 + bandwidth)) / 2;
    const byShare = Math.abs(at(clamp(share - readShare, 0, 1)) - at(clamp(share + readShare, 0, 1))) / 2;
    const carried = target.lossDoubt * lost;
    return fit * fit + byPressure * byPressure + byShare * byShare + carried * carried;
  }

  // interval is that of the settled state e, whose first application's curves
  // were read at mean.
  function interval(e, mean) {
    const { apps, capacity } = e, target = apps[0], traffic = e.traffic(0), lost = 1 - mean.performance;
    let variance = 0, model = 0;
    if (traffic[0] + traffic[1] !== 0) {
      const residual = Math.max(target.responses[mean.bracket.lower].residual, target.responses[mean.bracket.upper].residual);
      variance = readingVariance(apps, traffic, Math.max(residual, target.noise),
        target.achievedKnown ? TRAFFIC_ERROR : UNSETTLED_TRAFFIC_ERROR, lost,
        (read, write) => respond(target, read, write, capacity).performance);
      model = hypot(BASE_ERROR, DEPTH_ERROR * lost);
    }
    if (apps.length > 2) model = hypot(model, GROUP_DEPTH_ERROR * lost);
    const extrapolation = EXTRAPOLATION_ERROR * (mean.measured - mean.performance);
    return slowdowns(e.performance[0], variance + model * model + extrapolation * extrapolation);
  }

  // --- The model of the memory ----------------------------------------------

  // describedTogether is the model that all applications with curves are
  // described by; null where there is none.
  function describedTogether(apps) {
    let model = null;
    for (const { described, responses } of apps) {
      if (!described && responses.length === 0) continue;
      if (!described || (model !== null && described.model !== model)) return null;
      model = described.model;
    }
    return model === null || apps.length < 2 ? null : models[model];
  }

  function correctionAt({ said, factor }, p) {
    for (let i = 1; i < said.length; i++) {
      if (p >= said[i]) {
        const part = (said[i - 1] - p) / (said[i - 1] - said[i]);
        return factor[i - 1] + part * (factor[i] - factor[i - 1]);
      }
    }
    return factor[factor.length - 1];
  }

  // corrected is what an application's curves make of what the model says of it,
  // beside traffic of others.
  function corrected({ responses, described }, said, [read, write]) {
    const corrections = described?.corrections;
    let performance = said;
    if (read + write > 0 && corrections) {
      const b = bracket(responses, read / (read + write));
      const factor = correctionAt(corrections[b.lower], said) * (1 - b.scale) + correctionAt(corrections[b.upper], said) * b.scale;
      performance = Math.min(said * Math.exp(factor), 1);
    }
    return clamp(performance, FLOOR, 1);
  }

  // describe says how the applications, target first, fare by the model.
  function describe(apps, model) {
    const { rates, combinations } = bandmateMemory.meet(model, apps);
    const others = (i) => {
      let read = 0, write = 0;
      for (let j = 0; j < apps.length; j++) {
        if (j !== i) { read += apps[j].read * rates[j]; write += apps[j].write * rates[j]; }
      }
      return [read, write];
    };
    const performances = apps.map((app, i) => corrected(app, rates[i], others(i)));
    return { performances, said: rates[0], traffic: others(0), combinations };
  }

  function describedInterval(apps, answer) {
    const target = apps[0], { performances: [performance], traffic } = answer, capacity = capacityOf(apps), lost = 1 - performance;
    const few = Math.sqrt(DESCRIBED_POINTS / Math.max(target.described.points, 1));
    const fit = target.described.residual * Math.min(few, 1);
    const variance = traffic[0] + traffic[1] === 0 ? fit * fit :
      readingVariance(apps, traffic, fit, DESCRIBED_TRAFFIC, lost, (read, write) => respond(target, read, write, capacity).measured);
    const depth = apps.length > 2 ? DESCRIBED_GROUP : DESCRIBED_DEPTH;
    const model = hypot(BASE_ERROR, depth * Math.sqrt(1 + few / 2) * lost);
    const lowest = Math.min(1, ...target.responses.map(({ curve }) => curve[curve.length - 1][1]));
    const extrapolation = DESCRIBED_BEYOND * Math.max(lowest - performance, 0);
    return slowdowns(performance, variance + model * model + extrapolation * extrapolation);
  }

  // --- Answers --------------------------------------------------------------

  const byName = (a, b) =>
    (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) || a.read - b.read || a.write - b.write;

  // impossible says why a prediction cannot be made; empty where it can.
  function impossible(target, corunners) {
    if (target.responses.length === 0) return "no sensitivity curves";
    const unknown = corunners.filter((app) => !app.trafficKnown).map((app) => app.name);
    return unknown.length > 0 ? `contentiousness of ${unknown.join(", ")} is unknown` : "";
  }

  // predict says how target fares beside the co-runners; null where that is not
  // known (see impossible).
  function predict(target, corunners) {
    if (impossible(target, corunners) !== "") return null;
    const apps = [target, ...[...corunners].sort(byName)];
    let read = 0, write = 0;
    for (const app of corunners) { read += app.read; write += app.write; }
    const pressure = { bytesPerSecond: read + write, readShare: read + write > 0 ? read / (read + write) : null };
    return communicate(target, corunners, { ...byMemory(apps), pressure }, apps);
  }

  // byMemory is predict as though nobody communicated; performances are of apps.
  function byMemory(apps) {
    const model = describedTogether(apps);
    if (model !== null) {
      const answer = describe(apps, model), { performances, said, traffic, combinations } = answer;
      const at = respond(apps[0], ...traffic, capacityOf(apps));
      return {
        basis: "memory-model", performances, interval: describedInterval(apps, answer), settledTraffic: traffic[0] + traffic[1],
        said, bracket: at.bracket, beyond: at.beyond, combinations,
      };
    }
    const e = new Equilibrium(apps);
    const mean = e.settleInPhases();
    const settled = e.traffic(0);
    return {
      basis: "curves", performances: e.performance, interval: interval(e, mean), settledTraffic: settled[0] + settled[1],
      bracket: mean.bracket, beyond: mean.beyond, combinations: e.combinations(),
    };
  }

  // communicate adds what the applications make each other wait for the network to
  // an answer by memory about apps, which are in order of name.
  function communicate(target, corunners, answer, apps) {
    const memory = 1 / answer.performances[0], given = [target, ...corunners];
    const whole = { ...answer, memorySlowdown: memory, slowdown: memory, normalizedPerformance: answer.performances[0], communicates: target.load !== undefined };
    if (!target.load) return whole;
    const known = new Map();
    for (let i = 1; i < apps.length; i++) {
      if (apps[i].responses.length > 0 && target.trafficKnown) known.set(apps[i].name, 1 / answer.performances[i]);
    }
    const others = corunners.map(({ name }) => known.get(name) ?? 1);
    const bound = (slowdown) => bandmateCommunication.combine(networks, given, [slowdown, ...others])[0];
    const slowdown = bound(memory), added = PENALTY_DOUBT * (slowdown - Math.max(memory, 1));
    const down = slowdown - bound(answer.interval.low), up = bound(answer.interval.high) - slowdown;
    whole.slowdown = slowdown;
    whole.normalizedPerformance = 1 / slowdown;
    whole.interval = { low: Math.max(slowdown - hypot(Math.max(down, 0), added), 1), high: slowdown + hypot(Math.max(up, 0), added) };
    return whole;
  }

  // slowdown is predict for one co-runner without the rest; NaN where unknown.
  function slowdown(target, corunner) {
    if (target.responses.length === 0 || !corunner.trafficKnown) return NaN;
    const apps = [target, corunner], memory = pairByMemory(apps);
    return target.load ? bandmateCommunication.combine(networks, apps, memory)[0] : memory[0];
  }

  function pairByMemory(apps) {
    const model = describedTogether(apps);
    if (model !== null) return describe(apps, model).performances.map((p) => 1 / p);
    const e = new Equilibrium(apps);
    e.settle();
    if (e.combinations() > 1) e.settlePhases();
    return e.performance.map((p) => 1 / p);
  }

  return { predict, slowdown, impossible };
};
