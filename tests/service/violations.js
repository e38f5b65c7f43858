// What makes a page hard to read or to use; a list of words, empty if there is nothing.
() => {
  const found = [];
  const luminance = (text) => {
    const [r, g, b] = text.match(/[\d.]+/g).map(Number).map((c) => {
      const s = c / 255; return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (!/, 0\)$|transparent/.test(color)) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  for (const node of document.querySelectorAll('body *')) {
    const own = [...node.childNodes].some((one) => one.nodeType === 3 && one.textContent.trim());
    if (!own || node.disabled || !node.getClientRects().length || node.closest('.skip')) continue;
    const style = getComputedStyle(node), ground = luminance(back(node));
    const ink = luminance(node instanceof SVGElement ? style.fill : style.color);
    const contrast = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
    if (contrast < 4.5) found.push(`contrast ${contrast.toFixed(2)}: ${node.textContent.slice(0, 40)}`);
  }
  for (const field of document.querySelectorAll('input, select'))
    if (!field.labels.length) found.push(`no label: ${field.id}`);
  for (const svg of document.querySelectorAll('svg'))
    if (svg.getAttribute('role') !== 'img' || !svg.getAttribute('aria-label')) found.push('svg without a name');
  for (const figure of document.querySelectorAll('figure'))
    if (!figure.querySelector('details table caption')) found.push('chart without a table');
  const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`id twice: ${id}`);
  let level = 0;
  for (const head of document.querySelectorAll('h1, h2, h3')) {
    const now = Number(head.tagName[1]);
    if (now > level + 1) found.push(`heading jumps: ${head.textContent}`);
    level = now;
  }
  for (const one of document.querySelectorAll('a, button, summary'))
    if (!one.textContent.trim()) found.push('nothing to read on a control');
  if (!document.documentElement.lang || !document.title) found.push('no language or title');
  if (document.documentElement.scrollWidth > innerWidth) found.push(`sideways: ${document.documentElement.scrollWidth}`);
  return found;
}
