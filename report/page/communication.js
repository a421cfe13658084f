// Several communications on one network card (Go package
// predictor/communication), for loads and machines given as snapshots, number for
// number: what is explained there is not repeated here.
"use strict";
const bandmateCommunication = (() => {
  const MOST_STEPS = 200, SETTLED = 1e-4, MOST_CORES = 1 << 12;

  const penaltyOf = (known, k) => k <= known.length ? known[k - 1] : known[known.length - 1] * k / known.length;

  function besideCores(machine, cores) {
    const most = Math.min(cores, MOST_CORES), whole = Math.floor(most), last = machine.beside.length - 1;
    const low = machine.beside[Math.min(whole, last)], high = machine.beside[Math.min(whole + 1, last)];
    return low + (most - whole) * (high - low);
  }
  const lossOf = (machine, own, others) =>
    Math.max(1, besideCores(machine, own / machine.perCore) / besideCores(machine, (own + others) / machine.perCore));

  const stretched = (load, s) => Math.max(load.out * s.out, load.in * s.in) * s.loss;
  function whole(load, s, memory) {
    if (!load || load.machine === undefined) return memory;
    const alone = Math.max(load.out, load.in);
    if (load.overlapped) return Math.max(memory, stretched(load, s) + load.waiting);
    if (load.apart) return (1 - alone - load.waiting) * memory + stretched(load, s) + load.waiting;
    return memory + stretched(load, s) - alone;
  }

  // combine returns the slowdown of each application, all on one card, from that by
  // memory alone.
  function combine(machines, apps, memorySlowdowns) {
    const memory = memorySlowdowns.map((s) => Math.max(s, 1));
    const traffics = apps.map((app, i) => (app.read + app.write) / memory[i]);
    let traffic = 0;
    for (const one of traffics) traffic += one;
    const uses = apps.map(({ load }) => load !== undefined && load.machine !== undefined);
    const states = apps.map(({ load }, i) => {
      const s = { out: 1, in: 1, loss: 1, time: memory[i] };
      if (uses[i] && load.apart && machines[load.machine].beside) {
        s.loss = lossOf(machines[load.machine], load.overlapped ? traffics[i] : 0, Math.max(traffic - traffics[i], 0));
      }
      s.time = whole(load, s, memory[i]);
      return s;
    });
    const penalty = (i, known, side) => {
      if (!known || known.length === 0) return 1;
      const chances = [1];
      for (let j = 0; j < apps.length; j++) {
        if (j === i || !uses[j]) continue;
        const s = states[j], busy = Math.min(apps[j].load[side] * s[side] * s.loss / s.time, 1);
        if (busy === 0) continue;
        chances.push(0);
        for (let k = chances.length - 1; k > 0; k--) chances[k] = chances[k] * (1 - busy) + chances[k - 1] * busy;
        chances[0] *= 1 - busy;
      }
      let rate = 0;
      chances.forEach((chance, k) => { rate += chance / penaltyOf(known, k + 1); });
      return 1 / rate;
    };
    for (let step = 0; step < MOST_STEPS; step++) {
      let change = 0;
      apps.forEach(({ load }, i) => {
        if (!uses[i]) return;
        const s = states[i], before = { ...s }, machine = machines[load.machine];
        if (load.out > 0) s.out = penalty(i, machine.leaving, "out");
        if (load.in > 0) s.in = penalty(i, machine.arriving, "in");
        s.time = whole(load, s, memory[i]);
        change = Math.max(change, Math.abs(s.out - before.out), Math.abs(s.in - before.in));
      });
      if (change < SETTLED) break;
    }
    return states.map((s) => s.time);
  }

  return { combine };
})();
