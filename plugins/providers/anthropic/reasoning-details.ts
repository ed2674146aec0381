import type { Message, ReasoningDetail } from '../../../src/plugin.ts';
import { type Block, isSealed, textOf } from './blocks.ts';

/** Marks reasoning that this API has signed; another maker's signature would be refused. */
const format = 'anthropic-claude-v1';

/** The detail of a finished block of thinking, with its position among them; `undefined` for any other block and for thinking without a signature. */
export function detailOf(block: Block, index: number): ReasoningDetail | undefined {
  if (!isSealed(block)) return undefined;
  if (block.type === 'redacted_thinking')
    return { type: 'reasoning.encrypted', data: textOf(block.data), format, index };
  const { thinking, signature } = block;
  return { type: 'reasoning.text', text: textOf(thinking), signature: textOf(signature), format, index };
}

/** The blocks of thinking that a message's details stand for; none for those of other makers, which this API cannot read. */
export function sealedBlocks({ reasoning_details = [] }: Message): Block[] {
  return reasoning_details.flatMap(({ type, format: own, text, signature, data }) => {
    if (own !== format) return [];
    const block: Block =
      type === 'reasoning.encrypted'
        ? { type: 'redacted_thinking', data: textOf(data) }
        : { type: 'thinking', thinking: textOf(text), signature: textOf(signature) };
    return isSealed(block) ? [block] : [];
  });
}
