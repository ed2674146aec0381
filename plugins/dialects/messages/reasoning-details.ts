import { isObject, jsonSizeOf, type ReasoningDetail } from '../../../src/plugin.ts';

/** Thinking blocks of the Messages format, which are reasoning and its details in the canonical form. */

export interface ThinkingBlock {
  readonly type: 'thinking';
  readonly thinking: string;
  /** Empty for reasoning that is not signed. */
  readonly signature: string;
}

export interface RedactedBlock {
  readonly type: 'redacted_thinking';
  readonly data: string;
}

/** Format of details that Anthropic has signed. */
const anthropic_format = 'anthropic-claude-v1';

/** Separates the texts of two blocks where they are joined, as decoders do. */
export const block_separator = '\n';

/** Begins a signature that holds a whole detail, because it has members beside its text and signature. */
const seal = 'sluice-detail-v1:';
const max_members = 32;
/** Of the JSON of a sealed detail: the object and its members. */
const max_json = { values: max_members + 1, keys: max_members };

/** The text of a detail that a client may read. */
export const textOfDetail = ({ type, text, summary }: ReasoningDetail): string =>
  words(type === 'reasoning.summary' ? summary : text);

/** A member if it is a text: the upstream may have sent anything. */
const words = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Signature of a block with the text `shown`, from which the detail can be read again; empty for a text that is not signed. */
export function signatureOf(detail: ReasoningDetail, shown: string): string {
  const { type, format } = detail;
  const signature = words(detail.signature);
  if (type === 'reasoning.text' && signature === '') return '';
  const isShown = textOfDetail(detail) === shown;
  const isPlain = format === anthropic_format && type === 'reasoning.text' && isShown;
  if (isPlain) return signature;
  if (!isShown) return sealed(detail);
  const { text, summary, ...rest } = detail;
  return sealed(rest as ReasoningDetail);
}

/** The block of a detail without a text. */
export function redactedBlock(detail: ReasoningDetail): RedactedBlock {
  const { type, format } = detail;
  const data = words(detail.data);
  const isPlain = format === anthropic_format && type === 'reasoning.encrypted' && data !== '';
  return { type: 'redacted_thinking', data: isPlain ? data : sealed(detail) };
}

const sealed = (detail: ReasoningDetail): string =>
  seal + Buffer.from(JSON.stringify(flat(detail))).toString('base64');

/** A detail without members that are objects, since nothing else bounds their depth. */
const flat = (detail: object): ReasoningDetail =>
  Object.fromEntries(
    Object.entries(detail)
      .filter(([, value]) => typeof value !== 'object' || value === null)
      .slice(0, max_members),
  ) as ReasoningDetail;

/** The detail of a block that a client sends back; without a signature, if it has none. */
export function detailOf(block: ThinkingBlock | RedactedBlock): ReasoningDetail {
  if (block.type === 'redacted_thinking')
    return (
      unsealed(block.data, '') ?? { type: 'reasoning.encrypted', data: block.data, format: anthropic_format }
    );
  const { thinking: text, signature } = block;
  if (signature === '') return { type: 'reasoning.text', text };
  return unsealed(signature, text) ?? { type: 'reasoning.text', text, signature, format: anthropic_format };
}

/** The detail in a signature, with the text of its block. Counted before it is parsed: a client may have made it. */
function unsealed(signature: string, shown: string): ReasoningDetail | undefined {
  if (!signature.startsWith(seal)) return undefined;
  try {
    const bytes = Buffer.from(signature.slice(seal.length), 'base64');
    const { values, keys } = jsonSizeOf(bytes, max_json);
    if (values > max_json.values || keys > max_json.keys) return undefined;
    const given: unknown = JSON.parse(bytes.toString());
    if (!isObject(given) || typeof given.type !== 'string') return undefined;
    const detail = flat(given);
    if (shown !== '') detail[detail.type === 'reasoning.summary' ? 'summary' : 'text'] ??= shown;
    return detail;
  } catch {
    return undefined;
  }
}

/**
 * The thinking blocks of a whole reply: one for each detail, or one of all reasoning without a signature. Signed texts that differ from the
 * reasoning are left out: a stage has changed what the client may read.
 */
export function thinkingBlocks(
  reasoning = '',
  details: readonly ReasoningDetail[] = [],
): (ThinkingBlock | RedactedBlock)[] {
  if (reasoning === '' || isMadeOf(reasoning, details)) return details.flatMap(blockOf);
  const opaque = details.filter(detail => textOfDetail(detail) === '');
  return [{ type: 'thinking', thinking: reasoning, signature: '' }, ...opaque.flatMap(blockOf)];
}

/** Whether `reasoning` is the texts of `details`, with nothing but white space between. */
function isMadeOf(reasoning: string, details: readonly ReasoningDetail[]): boolean {
  const texts = details.map(textOfDetail).filter(text => text !== '');
  let end = 0;
  for (const text of texts) {
    const at = reasoning.indexOf(text, end);
    if (at === -1 || reasoning.slice(end, at).trim() !== '') return false;
    end = at + text.length;
  }
  return texts.length > 0 && reasoning.slice(end).trim() === '';
}

function blockOf(detail: ReasoningDetail): (ThinkingBlock | RedactedBlock)[] {
  if (detail.type === 'reasoning.encrypted') return [redactedBlock(detail)];
  const thinking = textOfDetail(detail);
  const signature = signatureOf(detail, thinking);
  return thinking === '' && signature === '' ? [] : [{ type: 'thinking', thinking, signature }];
}
