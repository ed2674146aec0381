import { isObject, type ReasoningDetail } from '../../../src/plugin.ts';

/** The details listed in `value`. */
export const detailsIn = (value: unknown): readonly ReasoningDetail[] =>
  Array.isArray(value) ? value.filter(isDetail) : [];

const isDetail = (value: unknown): value is ReasoningDetail =>
  isObject(value) && typeof value.type === 'string';

/** The one format of signatures that the models of a vendor read. */
const formats: Readonly<Record<string, string>> = {
  anthropic: 'anthropic-claude-v1',
  google: 'google-gemini-v1',
  openai: 'openai-responses-v1',
  'x-ai': 'xai-responses-v1',
};
const known: readonly unknown[] = Object.values(formats);

/** The details without those that another vendor has signed, which the model would refuse after a failover; undefined if none is left. */
export function readableBy(
  model: string,
  details: readonly ReasoningDetail[] | undefined,
): readonly ReasoningDetail[] | undefined {
  const vendor = model.slice(0, Math.max(0, model.indexOf('/')));
  const own = Object.hasOwn(formats, vendor) ? formats[vendor] : undefined;
  if (own === undefined) return details;
  const readable = details?.filter(({ format }) => format === own || !known.includes(format));
  return readable?.length ? readable : undefined;
}

/** Adds the details of one event, and joins the pieces of texts and summaries that belong to one block. */
export function addDetails(to: ReasoningDetail[], pieces: readonly ReasoningDetail[]): void {
  for (const piece of pieces) {
    const last = to.at(-1);
    if (last && isSameBlock(last, piece)) join(last, piece);
    else to.push({ ...piece });
  }
}

/** Whether nothing can be added to a detail. */
export const isWhole = ({ type, signature }: ReasoningDetail): boolean =>
  type === 'reasoning.encrypted' || signature != null;

const isSameBlock = (last: ReasoningDetail, piece: ReasoningDetail): boolean =>
  last.type === piece.type &&
  last.index === piece.index &&
  (piece.type === 'reasoning.text' || piece.type === 'reasoning.summary') &&
  // A signature ends its block.
  last.signature == null;

/** Joins in place: copying at every piece would take quadratic time. */
function join(last: ReasoningDetail, piece: ReasoningDetail): void {
  const key = piece.type === 'reasoning.summary' ? 'summary' : 'text';
  const text = textOf(last[key]) + textOf(piece[key]);
  for (const [name, value] of Object.entries(piece)) {
    if (value != null && name !== '__proto__') last[name] = value;
  }
  last[key] = text;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
