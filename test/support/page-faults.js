/** Runs in a browser: returns the accessibility faults of the current page that axe-core does not look for. */
(() => {
  const faults = [];
  const all = selector => [...document.querySelectorAll(selector)];
  const told = element =>
    `<${element.tagName.toLowerCase()}> “${(element.textContent || element.name || '').trim().slice(0, 40)}”`;

  const ids = all('[id]').map(({ id }) => id);
  for (const id of new Set(ids))
    if (ids.filter(other => other === id).length > 1) faults.push(`the id ${id} is there twice`);

  const textOf = id => document.getElementById(id)?.textContent?.trim();
  const nameOf = element =>
    element.getAttribute('aria-label') ||
    (element.getAttribute('aria-labelledby') || '').split(' ').map(textOf).filter(Boolean).join(' ');
  for (const region of all('nav, section, [role=region]'))
    if (!nameOf(region)) faults.push(`${told(region)} has no name`);
  if (document.documentElement.scrollWidth > window.innerWidth)
    faults.push(
      `the page is ${document.documentElement.scrollWidth} wide in a window of ${window.innerWidth}`,
    );

  const channels = text => {
    const [red, green, blue, alpha = 1] = text.match(/[\d.]+/g).map(Number);
    return { rgb: [red, green, blue], alpha };
  };
  const over = ({ rgb, alpha }, ground) => rgb.map((value, at) => value * alpha + ground[at] * (1 - alpha));
  const groundOf = element => {
    if (!element) return [255, 255, 255];
    const own = channels(getComputedStyle(element).backgroundColor);
    return own.alpha === 1 ? own.rgb : over(own, groundOf(element.parentElement));
  };
  const luminance = rgb => {
    const [red, green, blue] = rgb.map(value => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  for (const field of all('input:not([type=hidden]), select, textarea')) {
    const own = groundOf(field);
    const hint = contrast(over(channels(getComputedStyle(field, '::placeholder').color), own), own);
    if (field.placeholder && hint < 4.5)
      faults.push(`the placeholder of ${told(field)} has a contrast of ${hint.toFixed(2)}`);
    const around = groundOf(field.parentElement);
    const edge = over(channels(getComputedStyle(field).borderTopColor), around);
    if (contrast(edge, around) < 3) faults.push(`the border of ${told(field)} can hardly be seen`);
  }
  return faults;
})();
