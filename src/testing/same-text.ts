/** Stands where reasoning begins or ends, by a tag or by the field it is in. */
const mark = '\0';
const boundaries = /\s*(?:<\/?think>|\0)\s*/g;

export interface TextPiece {
  readonly kind: 'reasoning' | 'content' | 'tool_calls';
  readonly text: string;
}

/** Stands for tool calls: what was said before them may not come after them. */
export const toolCalls: TextPiece = { kind: 'tool_calls', text: '\x01' };

/** The texts of one choice as one, with a mark in place of each tag and each change between reasoning and content. */
export function markedText(pieces: readonly TextPiece[]): string {
  let joined = '';
  let last: TextPiece['kind'] = 'content';
  for (const { kind, text } of pieces) {
    const isBoundary = kind !== last && (kind === 'reasoning' || last === 'reasoning');
    joined += isBoundary ? mark + text : text;
    last = kind;
  }
  return joined.replace(boundaries, mark);
}

/**
 * Whether two marked texts say the same. A mark in one stands for any whitespace in the other, so that stages may split text
 * at its tags, join it, and drop the whitespace around them.
 */
export function sameText(a: string, b: string): boolean {
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (a[i] === mark || b[j] === mark) {
      i = pastSpace(a, a[i] === mark ? i + 1 : i);
      j = pastSpace(b, b[j] === mark ? j + 1 : j);
    } else if (a[i++] !== b[j++]) return false;
  }
  return true;
}

function pastSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && /\s/.test(text[at]!)) at++;
  return at;
}

/** A marked text for people. */
export const readable = (text: string): string =>
  text.replaceAll(mark, '|').replaceAll(toolCalls.text, '[tool calls]');
