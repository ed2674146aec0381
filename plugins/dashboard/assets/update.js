/**
 * Brings live parts of a page up to date. What has not changed stays the same node: selected text, focus, scroll positions and opened <details>
 * survive. Rows follow their `data-key`, other elements their id.
 */

/** Attributes that readers and scripts change. */
const ofReader = new Set(['open', 'style', 'data-ready']);

const nodesIn = text => {
  const template = document.createElement('template');
  // The server has written and escaped it.
  template.innerHTML = text;
  return [...template.content.childNodes];
};

/** Gives `part` the content `text`, which is HTML. */
export function update(part, text) {
  keepingFocus(part, () => arrange(part, nodesIn(text)));
}

/** Where what had the focus is gone, the focus goes to the region around it rather than to the start of the page. */
function keepingFocus(part, change) {
  const focused = part.contains(document.activeElement) ? document.activeElement : undefined;
  const region = focused?.closest('[tabindex="0"]');
  change();
  if (!focused || document.activeElement === focused) return;
  const next = [focused, region, part.querySelector('[tabindex="0"]')].find(one => one?.isConnected);
  next?.focus({ preventScroll: true });
}

const keyOf = node => node.dataset?.key ?? (node.id || undefined);
/** What scripts have added, such as the drawing of a chart, is theirs. */
const isOurs = node => node.dataset?.scripted === undefined;

/** Makes the children of `parent` those of `wanted`, with as few moves as there can be; one that is there already stays as it is. */
function arrange(parent, wanted) {
  const present = [...parent.childNodes].filter(isOurs);
  const matches = matchesOf(present, wanted);
  const kept = new Set(matches.values());
  for (const node of present) if (!kept.has(node)) node.remove();
  let place = firstFrom(parent.firstChild);
  for (const node of wanted) {
    const match = matches.get(node);
    if (match && match !== node) becomeAs(match, node);
    if (match && match === place) place = firstFrom(place.nextSibling);
    else if (match && parent.moveBefore) parent.moveBefore(match, place);
    else parent.insertBefore(match ?? node, place);
  }
}

function firstFrom(node) {
  let place = node;
  while (place && !isOurs(place)) place = place.nextSibling;
  return place;
}

/** What is there by what it becomes: by key, and what has none the next of its kind. */
function matchesOf(present, wanted) {
  const byKey = new Map(present.map(node => [keyOf(node), node]));
  const others = present.filter(node => keyOf(node) === undefined);
  const matches = new Map();
  for (const node of wanted) {
    const key = keyOf(node);
    const at = others.findIndex(({ nodeName }) => nodeName === node.nodeName);
    const match = key === undefined ? others.splice(0, at + 1).at(-1) : byKey.get(key);
    if (match?.nodeName === node.nodeName) matches.set(node, match);
  }
  return matches;
}

function becomeAs(node, wanted) {
  if (node.isEqualNode(wanted)) return;
  if (node.nodeType !== Node.ELEMENT_NODE) {
    node.nodeValue = wanted.nodeValue;
    return;
  }
  for (const name of node.getAttributeNames())
    if (!ofReader.has(name) && !wanted.hasAttribute(name)) node.removeAttribute(name);
  for (const { name, value } of wanted.attributes)
    if (!ofReader.has(name) && node.getAttribute(name) !== value) node.setAttribute(name, value);
  arrange(node, [...wanted.childNodes]);
}
