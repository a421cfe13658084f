// Shows the data that the page carries. Texts of profiles become text nodes
// and attributes, never markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const apps = data.applications;
  const byId = (id) => document.getElementById(id);
  // The list names all applications. What else is known of one is in a part, which is
  // read when something of it is shown.
  const parts = [...document.querySelectorAll("script.part")], read = [];
  const whole = (i) => {
    const k = Math.floor(i / data.perPart);
    return (read[k] ??= JSON.parse(parts[k].textContent))[i % data.perPart];
  };
  const approximation = bandmateFast({ application: whole, memories: data.memories, pairs: data.pairs });
  const MISSING = "–", MOST_TOGETHER = 16, MATRIX_PAGE = 40, CARD_PAGE = 12, MOST_CSV = 400;
  const HEATS = [[1.05, "< 1.05"], [1.15, "1.05–1.15"], [1.3, "1.15–1.30"], [1.6, "1.30–1.60"], [2, "1.60–2.00"], [Infinity, "≥ 2.00"]];

  const BASES = {
    "memory-model": "Predicted by the model of the memory, fitted to all profiles of the machine and corrected by each application’s curves.",
    curves: "Predicted from the curves of these applications.",
    "at-least": "At least: the highest slowdown beside one of them, which is exact. Together they also take more of the shared cache, which this page cannot compute. Exact: bandmate predict, or this page from bandmate serve.",
    bandwidth: "About, by bandwidth alone: what the shared cache adds is left out, which may be most of the slowdown. Exact: bandmate predict, or this page from bandmate serve.",
    approximate: "About: approximated, without the network; off by 2 points of normalized performance on average, for groups without a model of the memory by 6.5. Exact: bandmate predict, or this page from bandmate serve.",
  };

  // Applications measured on several machines share a name.
  const counts = new Map();
  for (const a of apps) counts.set(a.name, (counts.get(a.name) || 0) + 1);
  apps.forEach((a, i) => { a.index = i; a.label = counts.get(a.name) > 1 ? `${a.name} @ ${a.machine}` : a.name; });

  function element(name, attributes, ...children) {
    const e = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === "class") e.className = value;
      else if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
      else if (value === true) e.setAttribute(key, "");
      else if (value !== false && value !== undefined) e.setAttribute(key, value);
    }
    e.append(...children.filter((c) => c !== undefined));
    return e;
  }
  function drawn(name, attributes, ...children) {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes || {})) e.setAttribute(key, value);
    e.append(...children);
    return e;
  }
  const bdi = (text) => element("bdi", {}, text);

  // Numbers look as those of the command line.
  const significant = (v) => v.toFixed(Math.abs(v) >= 99.95 ? 0 : Math.abs(v) >= 9.995 ? 1 : 2);
  const bandwidth = (b) => b >= 0.9995e9 ? `${significant(b / 1e9)} GB/s` : b >= 0.9995e6 ? `${significant(b / 1e6)} MB/s` : b >= 999.5 ? `${significant(b / 1e3)} kB/s` : `${significant(b)} B/s`;
  const times = (s) => Number.isFinite(s) ? `${s.toFixed(2)}×` : MISSING;
  const between = (i) => `${i.low.toFixed(2)}–${times(i.high)}`;
  const reads = (share) => `${Number((100 * share).toPrecision(3))}% reads`;
  const seconds = (s) => s >= 0.9995 ? `${significant(s)} s` : s >= 0.9995e-3 ? `${significant(s * 1e3)} ms` : `${significant(s * 1e6)} µs`;
  const rate = (r) => `${Number(r.toPrecision(6))} requests/s`;
  const bytes = (n) => {
    for (const unit of ["B", "KiB", "MiB", "GiB"]) {
      if (n < 1024) return `${Math.round(n * 10) / 10} ${unit}`;
      n /= 1024;
    }
    return `${Math.round(n * 10) / 10} TiB`;
  };
  const known = (a) => a.readBytesPerSecond !== undefined;
  const traffic = (a) => known(a) ? a.readBytesPerSecond + a.writeBytesPerSecond : 0;
  function pressureText(others) {
    if (!others.every(known)) return "unknown";
    let read = 0, sum = 0;
    for (const a of others) { read += a.readBytesPerSecond; sum += traffic(a); }
    return bandwidth(sum) + (sum > 0 ? `, ${reads(read / sum)}` : "");
  }
  const trafficText = (a, source) => pressureText([a]) + (known(a) && source ? ` (by ${source})` : "");

  // --- Predictions ---------------------------------------------------------
  // Applications are given by index. A prediction is as the API gives it, or says
  // why there is none. It is exact where the page carries the pair or the server
  // answered.

  function impossible(target, others) {
    if (!apps[target].sensitive) return "no sensitivity curves";
    const unknown = others.filter((i) => !known(apps[i])).map((i) => apps[i].name);
    return unknown.length > 0 ? `contentiousness of ${unknown.join(", ")} is unknown` : "";
  }
  // pair returns the slowdown of one application beside another; NaN where unknown.
  function pair(i, j) {
    if (data.pairs) return data.pairs[i][j]?.[0] ?? NaN;
    return impossible(i, [j]) === "" ? approximation.pair(i, j) : NaN;
  }
  // predict returns what the page can say at once.
  function predict(target, others) {
    const why = impossible(target, others);
    if (why !== "") return { why };
    const all = [target, ...others], inCache = all.some((i) => apps[i].sharesCache);
    if (others.length > 1 && inCache && data.pairs) return { slowdown: approximation.atLeast(target, others), basis: "at-least" };
    const basis = inCache ? "bandwidth" : "approximate";
    if (others.length > 1) return { slowdown: approximation.group(all)[0], basis };
    if (!data.pairs) return { slowdown: approximation.pair(target, others[0]), basis };
    const [slowdown, low, high, model, extrapolatedBytesPerSecond, memorySlowdown] = data.pairs[target][others[0]];
    return { exact: true, slowdown, interval: { low, high }, basis: model ? "memory-model" : "curves", extrapolatedBytesPerSecond, parts: memorySlowdown && { memorySlowdown } };
  }
  // askable says whether the server knows the applications by their names.
  const askable = (all) => data.served && all.every((i) => counts.get(apps[i].name) === 1 || all.every((j) => apps[j].machine === apps[i].machine));
  async function ask(target, others, { explain = false, demands = [] }) {
    const query = new URLSearchParams({ target: apps[target].name, explain });
    for (const i of others) query.append("corunner", apps[i].name);
    for (const [parameter, value] of demands) query.append(parameter, value);
    if ([target, ...others].some((i) => counts.get(apps[i].name) > 1)) query.append("machine", apps[target].machine);
    const response = await fetch(`api/v1/predict?${query}`);
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.errors[0].message);
    return { exact: true, ...answer };
  }
  // follow shows what the page can say, then what the server answers, unless the
  // place is used for another question by then. What only the server can say is asked
  // for in more: the steps, and the demands of services as parameters of the API.
  const latest = new Map();
  async function follow(place, questions, more, show) {
    latest.set(place, questions);
    const first = questions.map(([target, others]) => predict(target, others));
    const wanted = ([target, others], k) => !first[k].why && (more.explain || more.demands?.length > 0 || !first[k].exact) && askable([target, ...others]);
    const busy = questions.some(wanted);
    byId(place).setAttribute("aria-busy", String(busy));
    show(first);
    if (!busy) return;
    const answers = await Promise.all(questions.map(async (q, k) => {
      try { return wanted(q, k) ? await ask(...q, more) : first[k]; } catch (error) { return { ...first[k], failed: error.message }; }
    }));
    if (latest.get(place) !== questions) return;
    show(answers);
    byId(place).setAttribute("aria-busy", "false");
  }
  // A page of many applications carries no predictions: what it computes of pairs is about right.
  const PAIRS = data.pairs ? undefined : apps.some((a) => a.sharesCache) ? "bandwidth" : "approximate";
  const pairText = (s) => PAIRS && Number.isFinite(s) ? `about ${times(s)}` : times(s);
  const slowdownText = (p) => p.exact ? times(p.slowdown) : `${p.basis === "at-least" ? "at least" : "about"} ${times(p.slowdown)}`;

  const orders = {
    name: (a, b) => a.label < b.label ? -1 : a.label > b.label ? 1 : a.index - b.index,
    suffers: (a, b) => (b.suffers ?? -1) - (a.suffers ?? -1) || a.index - b.index,
    causes: (a, b) => (b.causes ?? -1) - (a.causes ?? -1) || a.index - b.index,
    bandwidth: (a, b) => traffic(b) - traffic(a) || a.index - b.index,
  };
  const found = (text) => {
    const wanted = text.trim().toLowerCase();
    return wanted === "" ? [...apps] : apps.filter((a) => a.label.toLowerCase().includes(wanted));
  };

  // later waits for the end of typing.
  const later = (show) => {
    let waiting = 0;
    return () => { clearTimeout(waiting); waiting = setTimeout(show, 120); };
  };
  function save(name, type, parts) {
    const url = URL.createObjectURL(new Blob(parts, { type }));
    const link = element("a", { href: url, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
  const field = (v) => {
    let text = String(v ?? "");
    if (typeof v === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const line = (...values) => values.map(field).join(",") + "\n";

  // pager shows "1–40 of 2000" with buttons; turn is given the first index.
  function pager(place, what, first, size, count, turn) {
    place.replaceChildren();
    if (count === 0) { place.append(`no ${what} found`); return; }
    const last = Math.min(first + size, count);
    if (count <= size) { place.append(count === 1 ? `1 ${what.replace(/s$/, "")}` : `${count} ${what}`); return; }
    const move = (text, to, possible) => element("button", {
      type: "button", class: "quiet", "aria-label": `${text} ${what}`, disabled: !possible,
      onclick: () => {
        turn(to);
        const again = [...place.querySelectorAll("button")];
        (again.find((b) => !b.disabled && b.textContent === (text === "Previous" ? "‹" : "›")) || again.find((b) => !b.disabled))?.focus();
      },
    }, text === "Previous" ? "‹" : "›");
    place.append(move("Previous", Math.max(first - size, 0), first > 0), `${what} ${first + 1}–${last} of ${count}`, move("Next", first + size, last < count));
  }

  // --- What if -------------------------------------------------------------

  const chosen = [];
  function add(index) {
    if (chosen.length >= MOST_TOGETHER) {
      byId("answer").replaceChildren(element("p", {}, `At most ${MOST_TOGETHER} applications: remove one first.`));
      return;
    }
    chosen.push(index);
    showWhatIf();
  }
  function addTyped() {
    const input = byId("add"), text = input.value.trim();
    const a = apps.find((x) => x.label === text) || apps.find((x) => x.name === text);
    if (!a) {
      if (text !== "") byId("answer").replaceChildren(element("p", {}, "No application is called ", bdi(text), ": choose one of the list."));
      return;
    }
    input.value = "";
    add(a.index);
  }
  function showWhatIf() {
    byId("chosen").replaceChildren(...chosen.map((index, at) => element("li", {}, bdi(apps[index].label), element("button", {
      type: "button", "aria-label": `Remove ${apps[index].label}`,
      onclick: () => { chosen.splice(at, 1); showWhatIf(); byId("add").focus(); },
    }, "✕"))));
    showDemands();
    askWhatIf();
  }
  function askWhatIf() {
    const { demands, faults } = demanded();
    const others = (at) => chosen.filter((_, j) => j !== at);
    if (chosen.length < 2) {
      latest.delete("answer");
      byId("answer").replaceChildren(element("p", { class: "lead" }, chosen.length === 0 ? "Nothing chosen yet." : "Add at least one more."));
      return;
    }
    follow("answer", chosen.map((index, at) => [index, others(at)]), { demands }, (answers) => showAnswers(answers.map((p, at) => ({ app: apps[chosen[at]], p, others: others(at).map((i) => apps[i]) })), faults));
  }
  function showAnswers(answers, faults) {
    const most = Math.max(1.5, ...answers.map(({ p }) => p.interval?.high ?? p.slowdown ?? 1));
    const rows = answers.map(({ app, p, others }) => element("tr", {},
      element("th", { scope: "row" }, bdi(app.label)),
      element("td", { class: "number", "data-slowdown": p.slowdown ?? "", "data-low": p.interval?.low ?? "", "data-high": p.interval?.high ?? "", "data-basis": p.basis ?? "" }, p.why ? MISSING : slowdownText(p)),
      element("td", { class: "number" }, p.interval ? between(p.interval) : MISSING),
      element("td", { class: "wide" }, p.why ?? rangeBar(p, most)),
      element("td", { class: "number wide" }, p.why ? MISSING : pressureText(others)),
    ));
    const bases = new Set(answers.map(({ p }) => p.basis).filter((basis) => basis));
    const services = answers.filter(({ app, p }, at) => p.service && answers.findIndex((one) => one.app === app) === at);
    const notes = [...faults.map((fault) => element("li", {}, fault)), ...answers.flatMap(({ app, p }) => [
      ...(p.extrapolatedBytesPerSecond > 0 ? [element("li", {}, bdi(app.label), `: ${bandwidth(p.extrapolatedBytesPerSecond)} beyond the pressure it was measured at; extrapolated.`)] : []),
      ...(p.failed ? [element("li", {}, bdi(app.label), ": the server gave no answer: ", bdi(p.failed))] : []),
    ])];
    byId("answer").replaceChildren(
      element("table", { class: "plain" }, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Application"), element("th", { scope: "col", class: "number" }, "Slowdown"), element("th", { scope: "col", class: "number" }, "90% interval"), element("th", { scope: "col", class: "wide" }, "1.00× to ", times(most)), element("th", { scope: "col", class: "number wide" }, "Pressure"))), element("tbody", {}, ...rows)),
      ...[...bases].map((basis) => element("p", { class: "basis" }, BASES[basis])),
      ...(services.length > 0 ? [element("div", { class: "cards services" }, ...services.map(serviceCard))] : []),
      ...(notes.length > 0 ? [element("ul", { class: "doubt" }, ...notes)] : []),
    );
  }
  function rangeBar(p, most) {
    const x = (s) => 6 + 228 * (Math.min(s, most) - 1) / (most - 1);
    return drawn("svg", { class: "bar", viewBox: "0 0 240 24", "aria-hidden": "true" },
      drawn("line", { class: "grid", x1: 6, x2: 234, y1: 12, y2: 12 }),
      ...(p.interval ? [drawn("line", { class: "range", x1: x(p.interval.low), x2: x(p.interval.high), y1: 12, y2: 12 })] : []),
      drawn("circle", { class: "dot", cx: x(p.slowdown), cy: 12, r: 5 }));
  }

  // --- Services ------------------------------------------------------------
  // The page asks its server about load and p99: only the server knows them.

  // typed holds the texts of the fields of a service, by index.
  const typed = new Map();
  const isService = (index) => apps[index].saturationRequestsPerSecond !== undefined;
  const RATE = /^\d+(\.\d+)?(e\d+)?$/i, DURATION = /^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/;
  const FIELDS = {
    load: { says: "requests per second", fault: (text) => !RATE.test(text) || !(Number(text) > 0), wants: "requests per second such as 20000" },
    maxP99: { says: "p99 at most", fault: (text) => !DURATION.test(text) || !/[1-9]/.test(text), wants: "a duration such as 2ms" },
  };
  // demanded returns the demands of the chosen services, as parameters of the API, and
  // what is wrong with their fields.
  function demanded() {
    const demands = [], faults = [];
    for (const index of new Set(chosen)) {
      const texts = typed.get(index);
      if (!texts) continue;
      for (const [parameter, { fault, wants }] of Object.entries(FIELDS)) {
        const text = texts[parameter], input = byId(`${parameter}-${index}`);
        let wrong = "";
        if (text !== "" && fault(text)) wrong = `${apps[index].label}: “${text}”: want ${wants}.`;
        else if (text !== "" && texts.load === "") wrong = `${apps[index].label}: a limit of p99 needs a load.`;
        input?.setAttribute("aria-invalid", String(wrong !== ""));
        if (wrong !== "") faults.push(wrong);
        else if (text !== "") demands.push([parameter, `${apps[index].name}=${text}`]);
      }
    }
    // A limit cannot be asked for without its load, so that one fault asks for nothing.
    return { demands: faults.length > 0 ? [] : demands, faults };
  }
  // showDemands offers fields for the load and the limit of each chosen service.
  function showDemands() {
    const services = [...new Set(chosen)].filter(isService);
    if (services.length > 0 && !data.served) {
      byId("demands").replaceChildren(element("p", { class: "basis" }, bdi(services.map((i) => apps[i].label).join(", ")),
        services.length === 1 ? " is a service. " : " are services. ", "What becomes of p99 at a load, this page tells when bandmate serve serves it, and bandmate predict APP WITH --load RATE without it."));
      return;
    }
    byId("demands").replaceChildren(...services.map((index) => {
      if (!typed.has(index)) typed.set(index, { load: "", maxP99: "" });
      const texts = typed.get(index), { label, saturationRequestsPerSecond } = apps[index];
      const examples = { load: `below ${Number(saturationRequestsPerSecond.toPrecision(3))}`, maxP99: "such as 2ms" };
      return element("div", { class: "controls", role: "group", "aria-label": `Load of ${label}` }, ...Object.entries(FIELDS).flatMap(([parameter, { says }]) => [
        element("label", { for: `${parameter}-${index}` }, bdi(label), `, ${says}`),
        element("input", {
          id: `${parameter}-${index}`, name: parameter, value: texts[parameter], placeholder: examples[parameter], autocomplete: "off", spellcheck: "false",
          oninput: (event) => { texts[parameter] = event.target.value.trim(); askLater(); },
        }),
      ]));
    }));
  }
  const askLater = later(askWhatIf);
  function serviceCard({ app, p: { service: s } }) {
    const interval = s.p99Interval && `, 90% interval ${seconds(s.p99Interval.low)} to ${s.p99Interval.high === undefined ? "no upper end" : seconds(s.p99Interval.high)}`;
    const facts = [
      ["p99 alone", s.p99AloneSeconds === undefined ? "not known" : seconds(s.p99AloneSeconds)],
      ["p99 beside", s.p99BesideSeconds !== undefined ? seconds(s.p99BesideSeconds) + interval : s.p99AloneSeconds === undefined && s.load < 0.99 * s.saturationBeside ? "not known" : "without end"],
      ["Saturates at", `${rate(s.saturationAlone)} alone, ${rate(s.saturationBeside)} beside`],
    ];
    if (s.maxP99Seconds !== undefined) facts.push(["Limit of p99", `${seconds(s.maxP99Seconds)}: ${s.kept === undefined ? "not known" : s.kept ? "kept" : "exceeded"}`]);
    return element("article", {
      class: "card", "aria-labelledby": `service-${app.index}`, "data-load": s.load, "data-alone": s.p99AloneSeconds, "data-beside": s.p99BesideSeconds,
      "data-low": s.p99Interval?.low, "data-high": s.p99Interval?.high, "data-saturation-alone": s.saturationAlone, "data-saturation-beside": s.saturationBeside,
      "data-limit": s.maxP99Seconds, "data-kept": s.kept === undefined ? undefined : String(s.kept),
    },
      element("h3", { id: `service-${app.index}` }, bdi(app.label), ` at ${rate(s.load)}`),
      element("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
      ...(s.warnings.length > 0 ? [element("ul", { class: "doubt" }, ...s.warnings.map((w) => element("li", {}, bdi(w))))] : []));
  }

  // --- Matrix --------------------------------------------------------------

  const matrix = { first: 0, firstColumn: 0, sort: null, rows: [], columns: [] };
  const heatOf = (s) => Number.isFinite(s) ? `h${HEATS.findIndex(([below]) => s < below)}` : "hn";
  function orderMatrix() {
    const order = orders[byId("order").value];
    matrix.rows = found(byId("search").value).sort(order);
    matrix.columns = [...matrix.rows].sort(order);
    const { sort } = matrix;
    if (sort) {
      const sign = sort.ascending ? 1 : -1;
      const value = sort.axis === "column" ? (a) => pair(a.index, sort.index) : (a) => pair(sort.index, a.index);
      const by = (a, b) => {
        const x = value(a), y = value(b);
        return Number.isNaN(x) || Number.isNaN(y) ? Number.isNaN(x) - Number.isNaN(y) : sign * (x - y) || a.index - b.index;
      };
      (sort.axis === "column" ? matrix.rows : matrix.columns).sort(by);
    }
    matrix.first = Math.min(matrix.first, Math.max(0, matrix.rows.length - 1));
    matrix.firstColumn = Math.min(matrix.firstColumn, Math.max(0, matrix.columns.length - 1));
  }
  function sortBy(axis, index) {
    const same = matrix.sort && matrix.sort.axis === axis && matrix.sort.index === index;
    matrix.sort = same ? (matrix.sort.ascending ? null : { axis, index, ascending: true }) : { axis, index, ascending: false };
    if (axis === "column") matrix.first = 0; else matrix.firstColumn = 0;
    showMatrix();
    byId("matrix-scroll").querySelector(`button[data-axis="${axis}"][data-index="${index}"]`)?.focus();
  }
  function header(axis, a) {
    const { sort } = matrix;
    const active = sort && sort.axis === axis && sort.index === a.index;
    const says = axis === "column" ? `Sort rows by slowdown beside ${a.label}` : `Sort columns by slowdown of ${a.label}`;
    return element("th", { scope: axis === "column" ? "col" : "row", "aria-sort": active ? (sort.ascending ? "ascending" : "descending") : "none" },
      element("button", { type: "button", title: a.label, "aria-label": says, "data-axis": axis, "data-index": a.index, onclick: () => sortBy(axis, a.index) }, bdi(a.label)));
  }
  function showMatrix() {
    orderMatrix();
    const rows = matrix.rows.slice(matrix.first, matrix.first + MATRIX_PAGE);
    const columns = matrix.columns.slice(matrix.firstColumn, matrix.firstColumn + MATRIX_PAGE);
    const body = rows.map((a, r) => element("tr", {}, header("row", a), ...columns.map((b, c) => {
      const s = pair(a.index, b.index);
      return element("td", { class: heatOf(s), tabindex: r === 0 && c === 0 ? 0 : -1, "data-target": a.index, "data-corunner": b.index, "data-slowdown": Number.isFinite(s) ? s : "" }, Number.isFinite(s) ? s.toFixed(2) : MISSING);
    })));
    byId("matrix-scroll").replaceChildren(rows.length === 0 ? element("p", {}, "No application of that name.") :
      element("table", { class: "heat", "aria-label": "Slowdown of the application in the row beside the one in the column" },
        element("thead", {}, element("tr", {}, element("td", {}, "suffers ↓ causes →"), ...columns.map((b) => header("column", b)))),
        element("tbody", {}, ...body)));
    const rowsPager = element("span", { class: "pager" }), columnsPager = element("span", { class: "pager" });
    const count = matrix.rows.length;
    if (count > MATRIX_PAGE) {
      pager(rowsPager, "rows", matrix.first, MATRIX_PAGE, count, (to) => { matrix.first = to; showMatrix(); });
      pager(columnsPager, "columns", matrix.firstColumn, MATRIX_PAGE, count, (to) => { matrix.firstColumn = to; showMatrix(); });
      byId("pager").replaceChildren(rowsPager, columnsPager);
    } else {
      byId("pager").replaceChildren(count === 1 ? "1 application" : `${count} applications`);
    }
    if (PAIRS) byId("pager").append(element("span", { id: "approximate", title: BASES[PAIRS] }, "(approximate)"));
  }
  let explained = null;
  function explain(cell) {
    if (!cell || cell === explained) return;
    explained = cell;
    const a = apps[cell.dataset.target], b = apps[cell.dataset.corunner];
    const back = pair(b.index, a.index);
    follow("explanation", [[a.index, [b.index]]], { explain: true }, ([p]) => byId("explanation").replaceChildren(
      ...(p.why ? [element("p", {}, element("strong", {}, bdi(a.label), " beside ", bdi(b.label)), `: not known, ${p.why}.`)] : [
        element("p", {}, element("strong", {}, bdi(a.label), " beside ", bdi(b.label), `: ${slowdownText(p)}`), `${p.interval ? `, 90% interval ${between(p.interval)}` : ""}. The other way round: ${pairText(back)}.`),
        element("p", {}, bdi(b.label), known(b) && traffic(b) === 0 ? " causes no traffic. " : ` alone moves ${pressureText([b])}. `, BASES[p.basis]),
        ...(p.parts ? [element("p", {}, `By memory alone: ${times(p.parts.memorySlowdown)}; the rest is waiting for the network.`)] : []),
        ...(p.extrapolatedBytesPerSecond > 0 ? [element("p", {}, `${bandwidth(p.extrapolatedBytesPerSecond)} of it lie beyond the pressure that was measured: extrapolated.`)] : []),
        element("p", {}, p.explanation ? bdi(p.explanation.equation) : "The steps: bandmate predict --explain."),
      ])));
  }
  function moveFocus(event) {
    const cell = event.target.closest("td[data-target]");
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1e9], End: [0, 1e9] }[event.key];
    if (!cell || !step) return;
    event.preventDefault();
    const lines = [...cell.closest("tbody").rows], r = lines.indexOf(cell.parentNode);
    const row = lines[Math.min(Math.max(r + step[0], 0), lines.length - 1)];
    const next = row.cells[Math.min(Math.max(cell.cellIndex + step[1], 1), row.cells.length - 1)];
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
  function matrixCSV() {
    const all = matrix.rows.length <= MOST_CSV;
    const rows = all ? matrix.rows : matrix.rows.slice(matrix.first, matrix.first + MATRIX_PAGE);
    const columns = all ? matrix.columns : matrix.columns.slice(matrix.firstColumn, matrix.firstColumn + MATRIX_PAGE);
    const parts = [line("target", "corunner", "slowdown", "low", "high", "basis")];
    for (const a of rows) for (const b of columns) {
      const { slowdown, interval, basis } = predict(a.index, [b.index]);
      parts.push(line(a.label, b.label, PAIRS ? slowdown?.toFixed(4) : slowdown, interval?.low, interval?.high, basis));
    }
    const part = (what, first, some) => `-${what}-${first + 1}-${first + some.length}`;
    save(`bandmate-matrix${all ? "" : part("rows", matrix.first, rows) + part("columns", matrix.firstColumn, columns)}.csv`, "text/csv", parts);
  }

  // --- Pairings ------------------------------------------------------------

  function showPairings() {
    const { pairing } = data, body = byId("pairings-body");
    if (!pairing) {
      body.replaceChildren(element("p", { class: "lead" }, apps.length < 2 ? "It takes two applications." : "Not computed for these applications: bandmate pair names what is missing, and pairs those it is given."));
      return;
    }
    const rows = [...pairing.pairs].sort((x, y) => pair(y[0], y[1]) + pair(y[1], y[0]) - pair(x[0], x[1]) - pair(x[1], x[0])).map(([i, j]) => element("tr", {},
      element("th", { scope: "row" }, bdi(apps[i].label)), element("td", { class: "number" }, times(pair(i, j))),
      element("th", { scope: "row" }, bdi(apps[j].label)), element("td", { class: "number" }, times(pair(j, i)))));
    body.replaceChildren(
      element("p", { class: "lead" }, `Pairs with the least sum of slowdowns: ${pairing.total.toFixed(2)}; greedy pairing gives ${pairing.greedy.toFixed(2)}, pairing at random ${pairing.random.toFixed(2)} on average.`, ...(pairing.alone.length > 0 ? [" Alone: ", bdi(pairing.alone.map((i) => apps[i].label).join(", ")), "."] : [])),
      element("table", { class: "plain pairs" }, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Application"), element("th", { scope: "col", class: "number" }, "Slowdown"), element("th", { scope: "col" }, "with"), element("th", { scope: "col", class: "number" }, "Slowdown"))), element("tbody", {}, ...rows)));
  }

  // --- Applications --------------------------------------------------------

  const W = 400, H = 240, LEFT = 38, RIGHT = 10, TOP = 10, BOTTOM = 36;
  const MARKS = [
    (x, y) => drawn("circle", { cx: x, cy: y, r: 3.8 }),
    (x, y) => drawn("rect", { x: x - 3.5, y: y - 3.5, width: 7, height: 7 }),
    (x, y) => drawn("path", { d: `M${x} ${y - 4.6}L${x + 4.4} ${y + 3.4}L${x - 4.4} ${y + 3.4}Z` }),
    (x, y) => drawn("path", { d: `M${x} ${y - 5}L${x + 4.4} ${y}L${x} ${y + 5}L${x - 4.4} ${y}Z` }),
    (x, y) => drawn("path", { d: `M${x} ${y + 4.6}L${x + 4.4} ${y - 3.4}L${x - 4.4} ${y - 3.4}Z` }),
  ];
  const HIGHEST = 1.6; // of a plot's axis; whiskers beyond it are cut
  function ticks(high, wanted) {
    const raw = high / wanted, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
    const all = [];
    for (let k = 0; k * step <= high * 1.0001; k++) all.push(k * step);
    return all;
  }
  function plot(a, label) {
    const points = a.curves.flatMap((c) => c.points);
    const high = Math.max(...points.map((p) => p.x)) * 1.04;
    const top = Math.max(1, ...points.map((p) => Math.min(p.y + (p.spread || 0), HIGHEST)));
    const lowest = Math.min(...points.map((p) => p.y - (p.spread || 0)));
    const bottom = Math.max(0, Math.min(Math.floor(lowest * 10 - 0.01) / 10, 0.8));
    const x = (b) => LEFT + (W - LEFT - RIGHT) * b / high;
    const y = (p) => TOP + (H - TOP - BOTTOM) * (top - Math.min(Math.max(p, bottom), top)) / (top - bottom);
    const said = a.curves.map((c) => `${reads(c.readShare)}: ${Math.min(...c.points.map((p) => p.y)).toFixed(2)} at worst`).join("; ");
    const svg = drawn("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Sensitivity curves of ${label}. ${said}` });
    const gap = top - bottom > 0.5 ? 0.2 : top - bottom > 0.25 ? 0.1 : 0.05;
    for (let v = Math.ceil(bottom / gap - 1e-9) * gap; v <= top + 1e-9; v += gap) {
      svg.append(drawn("line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: y(v), y2: y(v) }), drawn("text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, v.toFixed(2)));
    }
    for (const t of ticks(high / 1e9, 6)) {
      svg.append(drawn("line", { class: "axis", x1: x(t * 1e9), x2: x(t * 1e9), y1: H - BOTTOM, y2: H - BOTTOM + 4 }), drawn("text", { x: x(t * 1e9), y: H - BOTTOM + 16, "text-anchor": "middle" }, String(Number(t.toPrecision(6)))));
    }
    svg.append(drawn("line", { class: "axis", x1: LEFT, x2: W - RIGHT, y1: H - BOTTOM, y2: H - BOTTOM }), drawn("text", { x: (LEFT + W - RIGHT) / 2, y: H - 4, "text-anchor": "middle" }, "interferer alone, GB/s"));
    const shares = [...new Set(a.curves.map((c) => c.readShare))].sort((p, q) => p - q);
    const fits = new Map(a.fits.map((r) => [r.readShare, r]));
    const pattern = (c) => c.pattern || "sequential";
    const fitted = a.curves.some((c) => pattern(c) === "sequential") ? "sequential" : pattern(a.curves[0]);
    const front = [];
    for (const c of a.curves) {
      const k = shares.indexOf(c.readShare) % MARKS.length, fit = pattern(c) === fitted ? fits.get(c.readShare) : undefined;
      const group = drawn("g", { class: `c${k}` });
      if (fit) {
        const knots = [[0, 1], ...fit.curve];
        const half = fit.halfWidth;
        // Alone, performance is 1 by definition and not in doubt.
        const path = (shift) => knots.map(([b, p]) => `${x(b).toFixed(1)} ${y(b === 0 ? p : p + shift).toFixed(1)}`);
        if (half > 0) group.append(drawn("path", { class: "band", d: `M${path(half).join("L")}L${path(-half).reverse().join("L")}Z` }));
        front.push(drawn("g", { class: `c${k}` }, drawn("path", { class: "fit", d: `M${path(0).join("L")}` })));
      } else {
        front.push(drawn("g", { class: `c${k}` }, drawn("path", { class: "measured", d: `M${c.points.map((p) => `${x(p.x).toFixed(1)} ${y(p.y).toFixed(1)}`).join("L")}` })));
      }
      svg.append(group);
      const marks = drawn("g", { class: `c${k}` });
      for (const p of c.points) {
        if (p.spread) marks.append(drawn("line", { class: "spread", x1: x(p.x), x2: x(p.x), y1: y(p.y - p.spread), y2: y(p.y + p.spread) }));
        const mark = MARKS[k](x(p.x), y(p.y));
        mark.setAttribute("class", p.inferred ? "mark inferred" : "mark");
        const repeats = p.inferred ? "inferred" : `${p.repeats} repeats`;
        mark.append(drawn("title", {}, `${bandwidth(p.x)}, ${reads(c.readShare)}: ${p.y.toFixed(3)}${p.spread ? ` ± ${p.spread.toFixed(3)}` : ""} (${repeats})`));
        marks.append(mark);
      }
      front.push(marks);
    }
    svg.append(...front);
    return [svg, element("ul", { class: "legend", "aria-label": "Read shares" }, ...shares.map((share, k) => {
      const mark = MARKS[k % MARKS.length](7, 7);
      mark.setAttribute("class", "mark");
      const key = drawn("svg", { width: 14, height: 14, viewBox: "0 0 14 14", class: `c${k % MARKS.length}`, "aria-hidden": "true" }, mark);
      key.style.width = "14px"; key.style.display = "inline-block"; key.style.verticalAlign = "-2px";
      return element("li", {}, key, ` ${reads(share)}`);
    }))];
  }
  function partners(a) {
    if (apps.length < 2 || apps.length > 3000) return [];
    let best = null, worst = null;
    for (const b of apps) {
      if (b.index === a.index) continue;
      const mine = pair(a.index, b.index), theirs = pair(b.index, a.index);
      if (!Number.isFinite(mine)) continue;
      if (Number.isFinite(theirs) && (!best || mine + theirs < best.sum)) best = { b, mine, theirs, sum: mine + theirs };
      if (!worst || mine > worst.mine) worst = { b, mine };
    }
    const rows = [];
    if (best) rows.push(["Best beside", [bdi(best.b.label), ` (${pairText(best.mine)}, and it ${pairText(best.theirs)})`]]);
    if (worst) rows.push(["Suffers most by", [bdi(worst.b.label), ` (${pairText(worst.mine)})`]]);
    return rows;
  }
  function card(a) {
    const all = whole(a.index);
    const facts = [
      ["Traffic alone", [trafficText(a, all.source)]], isService(a.index) ? ["Saturates at", [`${rate(a.saturationRequestsPerSecond)} alone`]] : ["Time alone", [`${seconds(all.seconds)}, ${all.repeats} runs`]],
      ["Suffers on average", [pairText(a.suffers ?? NaN)]], ["Causes on average", [pairText(a.causes ?? NaN)]], ...partners(a),
    ];
    return element("article", { class: "card", "aria-labelledby": `card-${a.index}` },
      element("h3", { id: `card-${a.index}` }, bdi(a.label)),
      element("p", { class: "what" }, bdi(all.command ? all.command.join(" ") : "imported"), a.machine ? " on " : "", bdi(a.machine)),
      ...(all.curves.length > 0 ? plot(all, a.label) : [element("p", {}, "No sensitivity curves.")]),
      element("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, ...value)])),
      ...(all.warnings && all.warnings.length > 0 ? [element("ul", { class: "doubt" }, ...all.warnings.map((w) => element("li", {}, bdi(w))))] : []));
  }
  let firstCard = 0;
  function showCards() {
    const some = found(byId("card-search").value).sort(orders[byId("card-order").value]);
    firstCard = Math.min(firstCard, Math.max(0, some.length - 1));
    byId("cards").replaceChildren(...some.slice(firstCard, firstCard + CARD_PAGE).map(card));
    pager(byId("card-pager"), "applications", firstCard, CARD_PAGE, some.length, (to) => { firstCard = to; showCards(); });
  }
  function curvesCSV() {
    const lines = [line("application", "machine", "readShare", "pattern", "interfererBytesPerSecond", "achievedBytesPerSecond", "normalizedPerformance", "spread", "repeats", "inferred")];
    for (const a of apps) for (const c of whole(a.index).curves) for (const p of c.points) lines.push(line(a.name, a.machine, c.readShare, c.pattern || "sequential", p.x, p.achieved, p.y, p.spread, p.repeats || 0, !!p.inferred));
    save("bandmate-curves.csv", "text/csv", lines);
  }
  function saveData() {
    const { perPart, ...all } = JSON.parse(byId("data").textContent);
    save("bandmate-report.json", "application/json", [JSON.stringify({ ...all, applications: apps.map((a) => whole(a.index)) })]);
  }

  // --- Machines ------------------------------------------------------------

  function showMachines() {
    byId("machines-body").replaceChildren(...(data.machines.length === 0 ? [element("p", { class: "lead" }, "No machine profile: measure it with bandmate machine.")] : data.machines.map((m) => {
      const most = Math.max(...m.sustained.map((s) => s.bytesPerSecond));
      const facts = [["CPUs", `${m.cpus} in ${m.sockets} socket${m.sockets === 1 ? "" : "s"}, ${m.numaNodes} NUMA node${m.numaNodes === 1 ? "" : "s"}`]];
      if (m.lastLevelCacheBytes) facts.push(["Last-level cache", bytes(m.lastLevelCacheBytes)]);
      if (m.memoryBytes) facts.push(["Memory", bytes(m.memoryBytes)]);
      if (m.virtualMachine) facts.push(["Kind", "virtual machine"]);
      return element("article", { class: "card" }, element("h3", {}, bdi(m.name)), element("p", { class: "what" }, bdi(m.cpuModel || "")),
        element("dl", { class: "facts" }, ...facts.flatMap(([k, v]) => [element("dt", {}, k), element("dd", {}, v)])),
        element("table", { class: "plain" }, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Sustained at"), element("th", { scope: "col", class: "number" }, "Bandwidth"), element("th", { scope: "col", class: "wide" }, "of the highest"))),
          element("tbody", {}, ...m.sustained.map((s) => element("tr", {}, element("th", { scope: "row" }, reads(s.readShare) + (s.pattern && s.pattern !== "sequential" ? `, ${s.pattern}` : "")),
            element("td", { class: "number" }, bandwidth(s.bytesPerSecond) + (s.relativeSpread ? ` ± ${(100 * s.relativeSpread).toFixed(0)}%` : "")),
            element("td", { class: "wide" }, drawn("svg", { class: "bar", viewBox: "0 0 240 24", preserveAspectRatio: "none", "aria-hidden": "true" }, drawn("rect", { class: "fill", x: 0, y: 6, width: 240 * s.bytesPerSecond / most, height: 12, rx: 3 }))))))),
        ...(m.warnings && m.warnings.length > 0 ? [element("ul", { class: "doubt" }, ...m.warnings.map((w) => element("li", {}, bdi(w))))] : []));
    })));
  }

  // --- Page ----------------------------------------------------------------

  const themes = ["system", "light", "dark"];
  byId("theme").addEventListener("click", () => {
    const now = document.documentElement.dataset.theme || "system";
    const next = themes[(themes.indexOf(now) + 1) % themes.length];
    if (next === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    byId("theme").textContent = `Theme: ${next}`;
  });
  if (data.generated) byId("subtitle").textContent = `${apps.length} application${apps.length === 1 ? "" : "s"}, ${new Date(data.generated).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })}`;
  if (data.warnings.length > 0) {
    byId("warnings").hidden = false;
    byId("warnings").querySelector("ul").replaceChildren(...data.warnings.map((w) => element("li", {}, bdi(w))));
  }
  showMachines();
  if (apps.length === 0) {
    byId("empty").hidden = false;
    byId("content").hidden = true;
    return;
  }
  byId("names").replaceChildren(...[...apps].sort(orders.name).map((a) => element("option", { value: a.label })));
  byId("add-button").addEventListener("click", addTyped);
  byId("add").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); addTyped(); } });
  byId("clear").addEventListener("click", () => { chosen.length = 0; showWhatIf(); byId("add").focus(); });
  byId("search").addEventListener("input", later(() => { matrix.first = matrix.firstColumn = 0; showMatrix(); }));
  byId("order").addEventListener("change", () => { matrix.sort = null; matrix.first = matrix.firstColumn = 0; showMatrix(); });
  byId("matrix-csv").addEventListener("click", matrixCSV);
  byId("matrix-scroll").addEventListener("keydown", moveFocus);
  let pointed = null;
  const explainLater = later(() => explain(pointed));
  for (const kind of ["mouseover", "focusin"]) byId("matrix-scroll").addEventListener(kind, (event) => { pointed = event.target.closest("td[data-target]"); explainLater(); });
  byId("card-search").addEventListener("input", later(() => { firstCard = 0; showCards(); }));
  byId("card-order").addEventListener("change", () => { firstCard = 0; showCards(); });
  byId("curves-csv").addEventListener("click", curvesCSV);
  byId("data-json").addEventListener("click", saveData);
  byId("legend").replaceChildren(...HEATS.map(([, label], k) => element("li", { class: `h${k}` }, label)));
  // What the example shows first: the two with most traffic.
  chosen.push(...[...apps].sort(orders.bandwidth).slice(0, 2).map((a) => a.index));
  showWhatIf();
  showMatrix();
  showPairings();
  showCards();
  document.documentElement.dataset.ready = "true";
})();
