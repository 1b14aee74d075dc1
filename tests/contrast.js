// The texts of a page whose contrast to their ground is under 4.5 to 1, each with its contrast.
(() => {
  const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const linear = (v) => (v / 255 <= .03928 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4);
  const light = (c) => c.slice(0, 3).map(linear);
  const luminance = (c) => { const [r, g, b] = light(c); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || e.closest("script, style, title") || !e.getClientRects().length) continue;
    const svg = e.closest("svg");
    const colour = parse(svg ? getComputedStyle(e).fill : getComputedStyle(e).color);
    const a = luminance(colour), b = luminance(ground(svg ? svg.parentElement : e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) bad.push(text.slice(0, 40) + " " + ratio.toFixed(2));
  }
  return bad;
})()
