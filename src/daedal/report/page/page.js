"use strict";
(() => {
  const NARROW = 640; // pixels below which panels that stand side by side go below each other
  const PAPER = 718; // pixels of A4 between its margins
  const LETTER = 7.7; // pixels of a letter of a title, about
  const LINES = 3; // of a title, at most
  const NAMES = 0.4; // of the width that names beside a panel may take
  // Nothing here sends anything anywhere, not even when asked to.
  const config = {
    displaylogo: false, showSendToCloud: false, plotlyServerURL: "", showLink: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  const GAP = 65535; // the level of a number that is missing
  const spread = ({ first, last, count }) => Float64Array.from(
    { length: count }, (_, k) => first + ((last - first) * k) / (count - 1));
  const scale = ({ low, step }, text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return Float64Array.from(new Uint16Array(bytes.buffer), (level) => (level === GAP ? NaN : low + step * level));
  };
  const unpack = (value, pool) => {
    if (Array.isArray(value)) return value.map((entry) => unpack(entry, pool));
    if (value === null || typeof value !== "object") return value;
    if (typeof value.levels === "number") return scale(value, pool[value.levels]);
    if (typeof value.listed === "number") return JSON.parse(pool[value.listed]);
    if (typeof value.count === "number") return spread(value);
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, unpack(entry, pool)]));
  };
  // Letters as they are seen: an entity is one, a picture as wide as two.
  const spell = (text) => text.match(/&[#\w]+;|./gsu) || [];
  const size = (letters) => letters.reduce((sum, one) => sum + (one.length > 1 && one[0] !== "&" ? 2 : 1), 0);
  const cut = (text, most) => {
    const letters = spell(text);
    if (size(letters) <= most) return text;
    while (size(letters) >= most && letters.length > 1) letters.pop();
    return `${letters.join("")}…`;
  };
  // Words that do not fit into a line by themselves go on in the next.
  const divide = (word, most) => {
    const parts = [""];
    for (const letter of spell(word)) {
      if (size(spell(parts[parts.length - 1])) >= most) parts.push("");
      parts[parts.length - 1] += letter;
    }
    return parts;
  };
  const breakLines = (text, pixels) => {
    const most = Math.max(8, Math.floor(pixels / LETTER));
    if (!text || size(spell(text)) <= most || text.includes("<br>")) return text;
    const lines = [""];
    for (const word of text.split(" ").flatMap((one) => divide(one, most))) {
      const last = lines[lines.length - 1];
      if (last && size(spell(last)) + 1 + size(spell(word)) > most) lines.push(word);
      else lines[lines.length - 1] = last ? `${last} ${word}` : word;
    }
    if (lines.length > LINES) lines.splice(LINES, lines.length, "…");
    return lines.join("<br>");
  };
  // Names at an axis without room for all of them: smaller, and as many as can be read, cut where they are long.
  const thin = (axis, pixels, width) => {
    if (!axis.ticktext || axis.showgrid !== false) return; // numbers
    const most = Math.floor((NAMES * width) / LETTER);
    if (axis.anchor.startsWith("x")) axis.ticktext = axis.ticktext.map((name) => cut(name, most));
    if (axis.tickangle !== -90 && (axis.anchor.startsWith("y") || pixels > 12 * axis.ticktext.length)) return;
    const pitch = pixels / axis.ticktext.length, step = Math.ceil(9 / pitch);
    axis.tickfont = { size: Math.max(8, Math.min(12, Math.floor(pitch * step) - 1)) };
    const kept = (_, k) => k % step === 0;
    axis.tickvals = axis.tickvals.filter(kept);
    axis.ticktext = axis.ticktext.filter(kept);
  };
  // Pixels that names beside a panel take, with what else stands there.
  const measure = (axis) => (axis.ticktext && axis.showgrid === false
    ? Math.max(...axis.ticktext.map((name) => name.length)) * (LETTER - 1) + 40 : 0);
  // The layout for a width: on narrow screens one column of panels, and titles in lines that fit their panels.
  const suit = (given, width) => {
    const layout = structuredClone(given);
    const { l, r, t, b } = layout.margin;
    const panels = Object.keys(layout).filter((key) => /^xaxis\d*$/.test(key)).map((key) => {
      const x = layout[key], y = layout[`y${key.slice(1)}`];
      const title = layout.annotations.find((one) => Math.abs(one.x - (x.domain[0] + x.domain[1]) / 2) < 1e-6
        && Math.abs(one.y - y.domain[1]) < 1e-6);
      return { x, y, title };
    });
    let tall = layout.height - t - b;
    const under = layout.legend ? -layout.legend.y * tall : 0; // pixels from the panels to the legend
    if (width < NARROW && panels.some(({ x }) => x.domain[0] > 0.05)) {
      const row = Math.max(...panels.map(({ y }) => (y.domain[1] - y.domain[0]) * tall));
      const gap = 76 + (layout.annotations.length ? 34 : 0);
      tall = panels.length * row + (panels.length - 1) * gap;
      panels.forEach(({ x, y, title }, k) => {
        const top = 1 - (k * (row + gap)) / tall;
        x.domain = [0, 1];
        y.domain = [Math.max(0, top - row / tall), top];
        if (title) Object.assign(title, { x: 0.5, y: top });
      });
      layout.height = tall + t + b;
    }
    let lines = 1; // of the longest title below the panels
    for (const { x, y, title } of panels) {
      const across = (x.domain[1] - x.domain[0]) * (width - l - r), upward = (y.domain[1] - y.domain[0]) * tall;
      thin(y, upward, width);
      const room = across - Math.max(0, measure(y) - l);
      thin(x, room, width);
      if (x.title) x.title.text = breakLines(x.title.text, room);
      if (x.title && x.title.text && y.domain[0] < 0.01) lines = Math.max(lines, x.title.text.split("<br>").length);
      if (y.title) y.title.text = breakLines(y.title.text, upward);
      if (title) title.text = breakLines(cut(title.text, Math.floor((1.7 * across) / LETTER)), across);
    }
    const more = (lines - 1) * 17;
    if (layout.legend) layout.legend.y = -(under + more) / tall;
    layout.height += more;
    layout.margin = { ...layout.margin, b: b + more };
    return layout;
  };
  // Pictures that know their own size shrink with the paper when the page is printed.
  const frame = (plot, width, height) => {
    for (const layer of plot.querySelectorAll("svg.main-svg")) {
      const box = `0 0 ${layer.getAttribute("width")} ${layer.getAttribute("height")}`;
      if (layer.getAttribute("viewBox") !== box) layer.setAttribute("viewBox", box);
    }
    plot.style.setProperty("--ratio", `${width} / ${height}`);
  };
  const drawn = new Map();
  let printing = false;
  const draw = (figure) => {
    if (figure.closest("details:not([open])")) return;
    const plot = figure.querySelector(".plot"), width = printing ? PAPER : plot.clientWidth;
    if (!drawn.has(figure)) {
      const { data, layout, pool } = JSON.parse(figure.querySelector("script").textContent);
      drawn.set(figure, { width: 0, data: unpack(data, pool), layout: unpack(layout, pool) });
    }
    const known = drawn.get(figure);
    if (known.width === width) return;
    known.width = width;
    figure.dataset.state = "drawing";
    const layout = suit({ ...known.layout, width }, width);
    plot.style.height = `${layout.height}px`;
    const most = Math.floor((0.75 * width) / LETTER);
    const data = known.data.map((trace) => (trace.name ? { ...trace, name: cut(trace.name, most) } : trace));
    Plotly.react(plot, data, layout, config).then(() => {
      frame(plot, width, layout.height);
      figure.dataset.state = "ready";
    });
  };
  const drawAll = () => document.querySelectorAll("figure.drawn").forEach(draw);
  const copy = async (button) => {
    const text = document.getElementById(button.dataset.copy).textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    const said = button.textContent;
    button.textContent = "copied";
    setTimeout(() => { button.textContent = said; }, 1200);
  };
  // A link to what is folded opens it.
  const reveal = () => {
    let target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (; target; target = target.parentElement) if (target.tagName === "DETAILS") target.open = true;
  };
  // Letters on paper are as large as on a screen: figures are drawn anew for its width.
  const print = (now) => { printing = now; drawAll(); };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  let later = 0;
  document.addEventListener("toggle", drawAll, true);
  addEventListener("resize", () => {
    clearTimeout(later);
    if (!matchMedia("print").matches) later = setTimeout(drawAll, 150);
  });
  addEventListener("hashchange", () => { reveal(); drawAll(); });
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", () => copy(button));
  }
  reveal();
  drawAll();
})();
