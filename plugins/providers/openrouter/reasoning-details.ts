import { isObject } from '../../../src/plugin.ts';

/** One piece of what OpenRouter calls `reasoning_details`: text, a summary, or an encrypted block; to be sent back as it came. */
export type ReasoningDetail = Readonly<Record<string, unknown>>;

/** The details that `value` lists. */
export const detailsIn = (value: unknown): readonly ReasoningDetail[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

/** A detail that is being put together here. */
export type OwnDetail = Record<string, unknown>;

/** Adds the details of one event: texts and summaries come in pieces, and what belongs to one block is joined. */
export function addDetails(to: OwnDetail[], pieces: readonly ReasoningDetail[]): void {
  for (const piece of pieces) {
    const last = to.at(-1);
    if (last && isSameBlock(last, piece)) join(last, piece);
    else to.push({ ...piece });
  }
}

const isSameBlock = (last: ReasoningDetail, piece: ReasoningDetail): boolean =>
  last.type === piece.type &&
  last.index === piece.index &&
  (piece.type === 'reasoning.text' || piece.type === 'reasoning.summary') &&
  // A signature closes its block.
  last.signature == null;

/** In place: a copy at every piece would cost what came before it. */
function join(last: OwnDetail, piece: ReasoningDetail): void {
  const key = piece.type === 'reasoning.summary' ? 'summary' : 'text';
  const text = textOf(last[key]) + textOf(piece[key]);
  for (const [name, value] of Object.entries(piece)) {
    if (value != null && name !== '__proto__') last[name] = value;
  }
  last[key] = text;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
