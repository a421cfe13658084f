// The approximation of the Go package predictor/fast, equal to it but for the
// rounding of 32-bit numbers. That package explains the formulas.
"use strict";
// application returns the application at a place of the report; pairs are the exact pairs,
// where the page carries them.
const bandmateFast = ({ application, memories, pairs }) => {
  const CELLS = 36, MEASURED = 24, FARTHEST = 1e6, STEPS = 16, DELAYS = 53, FULLEST = 0.9999, BISECTIONS = 12;

  // --- Tables ----------------------------------------------------------------

  function numbers(text) {
    if (!text) return undefined;
    const letters = atob(text), bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    return new Float32Array(bytes.buffer);
  }
  const columnOf = (read, total) => total > 0 ? Math.min(Math.max(2 * read / total - 1, 0), 1) : 0;
  const decoded = [];
  function app(i) {
    if (decoded[i]) return decoded[i];
    const { readBytesPerSecond: read = 0, writeBytesPerSecond: write = 0, fits, tables } = application(i);
    return decoded[i] = {
      read, write, traffic: read + write, column: columnOf(read, read + write), sensitive: fits.length > 0,
      top: tables.top, perByte: tables.top > 0 ? MEASURED / tables.top : 0, performance: numbers(tables.traffic),
      memory: memories[tables.memory], tables,
    };
  }
  // delays returns the delay table of a as the target or as a co-runner.
  function delays(a, isTarget) {
    a.target ??= numbers(a.tables.target);
    return isTarget ? a.target : a.corunner ??= numbers(a.tables.corunner) ?? a.target;
  }

  // --- Traffic tables --------------------------------------------------------

  // beside returns the performance of a beside traffic of others.
  function beside(a, traffic, column) {
    const x = traffic * a.perByte, p = a.performance;
    const at = (cell) => p[2 * cell] + column * (p[2 * cell + 1] - p[2 * cell]);
    if (x < CELLS) {
      const cell = Math.floor(x);
      return at(cell) + (x - cell) * (at(cell + 1) - at(cell));
    }
    const before = 1 / at(CELLS - 1), last = 1 / at(CELLS);
    return 1 / (last + (Math.min(x, FARTHEST) - CELLS) * (last - before));
  }
  function pair(i, j) {
    const a = app(i), b = app(j);
    const slowed = beside(b, Math.min(a.traffic, b.top), a.column);
    return 2 / (beside(a, Math.min(b.traffic, a.top), b.column) + beside(a, Math.min(b.traffic * slowed, a.top), b.column));
  }
  function fixedPoint(members) {
    const performance = members.map(() => 1);
    for (let step = 0; step < STEPS; step++) {
      members.forEach((a, i) => {
        let read = 0, write = 0;
        members.forEach((b, j) => { if (j !== i) { read += b.read * performance[j]; write += b.write * performance[j]; } });
        performance[i] = (performance[i] + beside(a, read + write, columnOf(read, read + write))) / 2;
      });
    }
    return performance.map((p) => 1 / p);
  }

  // --- Delay tables ----------------------------------------------------------
  // Of each delay: read flow, write flow, slowdown less 1 by column.

  function load(memory, read, write) {
    const nodes = memory.slowness, last = nodes.length - 1, share = read / (read + write);
    if (!(read + write > 0)) return 0;
    if (!(share > nodes[0][0])) return (read + write) * nodes[0][1];
    if (share >= nodes[last][0]) return (read + write) * nodes[last][1];
    let i = 0;
    while (nodes[i + 1][0] <= share) i++;
    const [low, lower] = nodes[i], [high, upper] = nodes[i + 1], part = (share - low) / (high - low);
    return (read + write) * (lower + part * (upper - lower)) * (1 + memory.bend * (high - low) * (high - low) * part * (1 - part));
  }
  function loadOf(memory, delay, writeShare) {
    const b = memory.linear + memory.queue + memory.writeQueue * writeShare + delay - 1;
    if (b <= 0) return 0;
    return Math.min(2 * (delay - 1) / (b + Math.sqrt(Math.max(b * b - 4 * memory.linear * (delay - 1), 0))), FULLEST);
  }
  const delayAt = (place) => 2 ** (place / 4);
  // behind returns the places in their tables of those who come over a shared link, by
  // that of the memory: their delay is longer by the wait for the link.
  function behind({ capacity, write, queue }, flow) {
    const use = Array.from({ length: DELAYS }, (_, place) => (flow(place)[0] + write * flow(place)[1]) / capacity);
    let place = 0;
    return use.map((_, memory) => {
      const overload = (part) => {
        const next = Math.min(place + 1, DELAYS - 1);
        const wait = delayAt(place) + part * (delayAt(next) - delayAt(place)) - delayAt(memory);
        return use[place] + part * (use[next] - use[place]) - wait / (queue + wait);
      };
      place = Math.max(place, memory);
      while (place < DELAYS - 1 && overload(1) > 0) place++;
      let low = 0, high = 1;
      for (let step = 0; step < BISECTIONS; step++) {
        const middle = (low + high) / 2;
        if (overload(middle) > 0) low = middle; else high = middle;
      }
      return place + (place === DELAYS - 1 || use[place] <= 0 ? 0 : low);
    });
  }
  function byDelay(memory, members) {
    const tables = members.map((a, i) => delays(a, i === 0));
    const between = (at, value) => {
      const low = Math.min(Math.floor(at), DELAYS - 2);
      return value(low) + (at - low) * (value(low + 1) - value(low));
    };
    const flowOf = (i) => (place) => [0, 1].map((k) => tables[i] ? tables[i][4 * place + k] : [members[i].read, members[i].write][k] / memory.unit);
    const others = (place) => members.reduce(([read, write], _, i) => i === 0 ? [read, write] : [read + flowOf(i)(place)[0], write + flowOf(i)(place)[1]], [0, 0]);
    const places = memory.link && behind(memory.link, others);
    const standing = (at) => places ? between(at, (place) => places[place]) : at;
    const flow = (place) => [0, 1].map((k) => flowOf(0)(place)[k] + (places ? between(places[place], (p) => others(p)[k]) : others(place)[k]));
    const overload = (place) => {
      const [read, write] = flow(place);
      return load(memory, read, write) - loadOf(memory, delayAt(place), read + write > 0 ? write / (read + write) : 0);
    };
    let place = 0, part = 0, before = overload(0), after = before;
    while (before > 0 && place < DELAYS - 1 && (after = overload(place + 1)) > 0) { place++; before = after; }
    if (place === DELAYS - 1) { place--; part = 1; } else if (before > 0) part = before / (before - after);
    const [low, high] = [flow(place), flow(place + 1)], read = low[0] + part * (high[0] - low[0]);
    const column = columnOf(read, read + low[1] + part * (high[1] - low[1]));
    return tables.map((t, i) => !t ? 1 : 1 + between(i === 0 ? place + part : standing(place + part), (at) => t[4 * at + 2] + column * (t[4 * at + 3] - t[4 * at + 2])));
  }

  // group returns the slowdown of each application beside the others, the first
  // as the target.
  function group(chosen) {
    const members = chosen.map(app), curved = members.filter((a) => a.memory || a.sensitive);
    const shared = curved[0]?.memory;
    return shared && curved.every((a) => a.memory === shared) ? byDelay(shared, members) : fixedPoint(members);
  }

  // atLeast returns the highest exact slowdown of a target beside one of the others. Where a
  // cache is shared, that beside all of them is about as high or higher, by no table here.
  function atLeast(target, others) {
    return Math.max(...others.map((other) => pairs[target][other][0]));
  }

  return { pair, group, atLeast };
};
