import type { ExtensionContext } from '../../../src/plugin.ts';
import { muted } from './format.ts';
import { type Html, html } from './html.ts';
import { names, tableOf } from './table.ts';

type Path = readonly (string | number)[];

interface Leaf {
  readonly path: Path;
  readonly value: unknown;
}

/** Every value of the part of the configuration at `path`, folded, and the line that it comes from. A text that `isShown` does not know may be a secret. */
export function configDetails(
  context: ExtensionContext,
  part: { readonly path: Path; readonly value: object },
  isShown: (path: Path) => boolean,
): Html {
  const from = ({ path }: Leaf) => {
    const place = context.sourceOf([...part.path, ...path]);
    return typeof place === 'string' ? muted(place) : html`<code>${place.file}:${place.line}</code>`;
  };
  const shown = ({ path, value }: Leaf) => {
    if (value === '') return muted('none');
    return typeof value !== 'string' || isShown(path) ? String(value) : muted('set, and not shown');
  };
  const table = tableOf<Leaf>(
    'Values and where they come from',
    [
      names('Option', ({ path }) => html`<code>${path.join('.')}</code>`),
      names('Value', shown),
      names('From', from),
    ],
    [...leavesOf(part.value, [])],
  );
  return html`<details class="panel"><summary>As configured, with lines</summary>${table}</details>`;
}

/** A list of plain values is one of them. */
function* leavesOf(value: unknown, path: Path): Generator<Leaf> {
  if (value === undefined) return;
  if (typeof value !== 'object' || value === null) return yield { path, value };
  const entries = Object.entries(value);
  const isPlain = Array.isArray(value) && value.every(one => typeof one !== 'object');
  if (isPlain || entries.length === 0) return yield { path, value: isPlain ? value.join(', ') : '' };
  for (const [name, below] of entries)
    yield* leavesOf(below, [...path, Array.isArray(value) ? Number(name) : name]);
}
