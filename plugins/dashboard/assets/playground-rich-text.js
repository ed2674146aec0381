import { node } from './playground-nodes.js';

/** How often text that grows is drawn, at most. */
const pause_ms = 80;

const fence = /^ {0,3}(`{3,}|~{3,}) *([\w+#.-]*)/;
const item = /^\s*(?:[-*+]|(\d{1,4})[.)])\s+(.*)$/;
const heading = /^#{1,6} +(.*)$/;

/**
 * The blocks of a text, each with the line at which it begins: paragraphs, lists, headings and code. Whatever else Markdown has stays the text
 * that it is.
 */
function blocksOf(lines) {
  const blocks = [];
  let open;
  for (const [at, line] of lines.entries()) {
    if (open?.kind === 'pre') {
      if (line.trim() === open.mark) open = undefined;
      else open.lines.push(line);
      continue;
    }
    const [kind, text, start] = kindOf(line);
    if (kind === undefined) open = undefined;
    else if (kind === 'pre' || kind === 'heading' || open?.kind !== kind) {
      open = { kind, at, lines: kind === 'pre' ? [] : [text], mark: text, start };
      blocks.push(open);
      if (kind === 'heading') open = undefined;
    } else open.lines.push(text);
  }
  return blocks;
}

/** What a line is, outside of code, the text in it and its number in a list. Undefined for an empty one. */
function kindOf(line) {
  const fenced = fence.exec(line);
  if (fenced) return ['pre', fenced[1]];
  const titled = heading.exec(line);
  if (titled) return ['heading', titled[1]];
  const listed = item.exec(line);
  if (listed) return [listed[1] === undefined ? 'ul' : 'ol', listed[2], Number(listed[1])];
  return line.trim() === '' ? [undefined, ''] : ['p', line];
}

function nodeOf({ kind, lines, start }) {
  if (kind === 'pre') return node('pre', { tabIndex: 0 }, lines.join('\n'));
  if (kind === 'heading') return node('p', { className: 'heading' }, ...spansOf(lines[0]));
  if (kind === 'p') return node('p', {}, ...spansOf(lines.join('\n')));
  const items = lines.map(line => node('li', {}, ...spansOf(line)));
  return node(kind, kind === 'ol' ? { start } : {}, ...items);
}

/** Text with `code` and **bold** in it. */
const spansOf = text =>
  text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map(part => {
    if (/^`.+`$/s.test(part)) return node('code', {}, part.slice(1, -1));
    if (/^\*\*.+\*\*$/s.test(part)) return node('strong', {}, part.slice(2, -2));
    return part;
  });

/** Text in `place` that grows, with the commonest marks of Markdown. All of it is made of nodes: nothing in it is taken for HTML. */
export class RichText {
  #place;
  /** What may still change: the last block, whose nodes are the last ones. */
  #open = '';
  #drawn;
  #timer;

  constructor(place) {
    this.#place = place;
  }

  append(text) {
    this.#open += text;
    this.#timer ??= setTimeout(() => this.draw(), pause_ms);
  }

  replace(text) {
    this.#place.replaceChildren();
    this.#drawn = undefined;
    this.#open = text;
    this.draw();
  }

  /** Draws what has not been drawn. The blocks before the last one are final: long answers cost no more than short ones. */
  draw() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#open.split('\n');
    const blocks = blocksOf(lines);
    this.#drawn?.remove();
    this.#drawn = undefined;
    if (blocks.length === 0) return;
    this.#place.append(...blocks.map(nodeOf));
    this.#drawn = this.#place.lastChild;
    this.#open = lines.slice(blocks.at(-1).at).join('\n');
  }
}
