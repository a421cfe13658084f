(() => {
  const faults = [];
  const fault = (e, what) => faults.push(`${e.tagName.toLowerCase()}${e.id ? `#${e.id}` : ""} ${JSON.stringify((e.textContent || "").trim().slice(0, 24))}: ${what}`);
  const shown = (e) => e.checkVisibility({ visibilityProperty: true });
  const name = (e) => (e.getAttribute("aria-label") || [...(e.labels || [])].map((l) => l.textContent).join("") ||
    (e.getAttribute("aria-labelledby") || "").split(" ").map((id) => document.getElementById(id)?.textContent || "").join("") ||
    (e.matches("a, button") ? e.textContent : "")).trim();
  if (!document.documentElement.lang) faults.push("no language");
  if (document.querySelectorAll("main").length !== 1 || document.querySelectorAll("h1").length !== 1) faults.push("want one main and one h1");
  const ids = new Set();
  for (const e of document.querySelectorAll("[id]")) {
    if (ids.has(e.id)) fault(e, "its id is given twice");
    ids.add(e.id);
  }
  for (const e of document.querySelectorAll("[aria-labelledby]")) {
    for (const id of e.getAttribute("aria-labelledby").split(" ")) if (!ids.has(id)) fault(e, `is labeled by ${id}, which is not there`);
  }
  for (const e of document.querySelectorAll("a[href], button, input, select, section:not([hidden]), [role=img], [role=region]")) {
    if (shown(e) && !name(e)) fault(e, "has no name");
  }
  for (const e of document.querySelectorAll("svg")) if (!e.hasAttribute("aria-hidden") && e.getAttribute("role") !== "img") fault(e, "is neither hidden nor a named picture");
  for (const e of document.querySelectorAll("th")) if (!e.hasAttribute("scope")) fault(e, "has no scope");
  for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) fault(e, "takes the tab order into its own hands");
  let level = 0;
  for (const h of document.querySelectorAll("h1, h2, h3, h4")) {
    if (!shown(h)) continue;
    const now = Number(h.tagName[1]);
    if (now > level + 1) fault(h, `follows a heading of level ${level}`);
    level = now;
  }
  for (const e of document.querySelectorAll("button, input, select")) {
    const box = e.getBoundingClientRect();
    if (shown(e) && (box.width < 24 || box.height < 24)) fault(e, `is ${Math.round(box.width)} × ${Math.round(box.height)} pixels, want 24 (WCAG 2.5.8)`);
  }
  // Contrast of text, WCAG 1.4.3.
  const channels = (c) => { const m = c.match(/[\d.]+/g).map(Number); return { rgb: m.slice(0, 3), alpha: m.length > 3 ? m[3] : 1 }; };
  const luminance = (rgb) => rgb.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const { rgb, alpha } = channels(getComputedStyle(e).backgroundColor);
      if (alpha > 0.5) return rgb;
    }
    return [255, 255, 255];
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || seen.has(e) || !shown(e) || e.closest("script, style, noscript, title, :disabled")) continue;
    seen.add(e);
    const style = getComputedStyle(e);
    const ink = e.closest("svg") ? style.fill : style.color;
    const [light, dark] = [luminance(channels(ink).rgb), luminance(ground(e))].sort((a, b) => b - a);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5) fault(e, `has a contrast of ${contrast.toFixed(2)}, want 4.5`);
  }
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) faults.push(`the page is ${document.documentElement.scrollWidth} pixels wide in a window of ${document.documentElement.clientWidth}`);
  return [...new Set(faults)].slice(0, 12).join("; ");
})()
