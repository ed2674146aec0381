/** Run in a browser: what keeps people from using the page that is shown (WCAG 2.2 AA, as far as a program can tell). */
(() => {
  const faults = [];
  const all = selector => [...document.querySelectorAll(selector)];
  const told = element =>
    `<${element.tagName.toLowerCase()}> “${(element.textContent || element.name || '').trim().slice(0, 40)}”`;
  const isShown = element => element.checkVisibility({ visibilityProperty: true });

  if (!document.documentElement.lang) faults.push('the page has no language');
  if (!document.title) faults.push('the page has no title');
  for (const [selector, count] of [
    ['main', 1],
    ['h1', 1],
  ])
    if (all(selector).length !== count) faults.push(`there are ${all(selector).length} ${selector}`);
  let level = 0;
  for (const heading of all('h1, h2, h3, h4')) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) faults.push(`${told(heading)} skips a level`);
    level = own;
  }
  const ids = all('[id]').map(({ id }) => id);
  for (const id of new Set(ids))
    if (ids.filter(other => other === id).length > 1) faults.push(`the id ${id} is there twice`);

  const textOf = id => document.getElementById(id)?.textContent?.trim();
  const nameOf = element =>
    element.getAttribute('aria-label') ||
    (element.getAttribute('aria-labelledby') || '').split(' ').map(textOf).filter(Boolean).join(' ') ||
    [...(element.labels ?? [])].map(label => label.textContent.trim()).join(' ');
  for (const field of all('input:not([type=hidden]), select, textarea'))
    if (!nameOf(field)) faults.push(`${told(field)} has no label`);
  for (const element of all('a, button, summary'))
    if (isShown(element) && !nameOf(element) && !element.textContent.trim())
      faults.push(`${told(element)} has no name`);
  for (const region of all('nav, section, [role=region]'))
    if (!nameOf(region)) faults.push(`${told(region)} has no name`);
  for (const image of all('img:not([alt]), svg:not([aria-hidden=true], [aria-label], [aria-labelledby])'))
    faults.push(`${told(image)} has no text`);
  for (const cell of all('th:not([scope])')) faults.push(`${told(cell)} heads nothing`);
  for (const reference of all('[aria-describedby]'))
    if (!textOf(reference.getAttribute('aria-describedby')))
      faults.push(`${told(reference)} is described by nothing`);
  for (const element of all('[tabindex]'))
    if (element.tabIndex > 0) faults.push(`${told(element)} is out of order`);
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
  const check = (element, style, what) => {
    const ground = groundOf(element);
    const ratio = contrast(over(channels(style.color), ground), ground);
    const size = Number.parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5))
      faults.push(`${what} ${told(element)} has a contrast of ${ratio.toFixed(2)}`);
  };
  for (const element of all('body *')) {
    const hasText = [...element.childNodes].some(
      node => node.nodeType === Node.TEXT_NODE && node.data.trim(),
    );
    if (hasText && isShown(element)) check(element, getComputedStyle(element), 'the text of');
    if (element.placeholder) check(element, getComputedStyle(element, '::placeholder'), 'the placeholder of');
    if (element.matches('input:not([type=hidden]), select')) {
      const edge = channels(getComputedStyle(element).borderTopColor);
      const around = groundOf(element.parentElement);
      if (contrast(over(edge, around), around) < 3)
        faults.push(`the border of ${told(element)} can hardly be seen`);
    }
  }
  return faults;
})();
