import {
  type ChunkChoice,
  type Completion,
  decodeOpenAiReply,
  type Json,
  OpenAiStreamDecoder,
} from '../../../src/plugin.ts';

const [opening, closing] = ['<reasoning>', '</reasoning>'] as const;
const options = { errorsHaveStatus: true };

/**
 * Separates reasoning that stands in tags before the answer. Of a stream each piece may have tags of its own, or a tag be cut. Once the
 * answer has begun, tags are its text.
 */
class TaggedReasoning {
  #isInside = false;
  #hasReasoned = false;
  #isAnswering = false;
  /** The end of the text so far, where it may be the beginning of a tag or stand before one. */
  #held = '';

  push(text: string): { content: string; reasoning: string } {
    const said = { content: '', reasoning: '' };
    let rest = this.#held + text;
    this.#held = '';
    while (!this.#isAnswering) {
      const tag = this.#isInside ? closing : opening;
      const at = rest.indexOf(tag);
      const end = at === -1 ? rest.length - cutTag(rest, tag) : at;
      if (this.#isInside) said.reasoning += rest.slice(0, end);
      else if (rest.slice(0, end).trim() !== '') break;
      if (at === -1) {
        this.#held = this.#isInside ? rest.slice(end) : rest;
        return said;
      }
      this.#hasReasoned = true;
      this.#isInside = !this.#isInside;
      rest = rest.slice(at + tag.length);
    }
    said.content = this.#isAnswering || !this.#hasReasoned ? rest : rest.trimStart();
    this.#isAnswering = true;
    return said;
  }

  /** What is held back at the end, which was no tag. */
  flush(): { content: string; reasoning: string } {
    const [content, reasoning] = this.#isInside ? ['', this.#held] : [this.#held, ''];
    this.#held = '';
    return { content, reasoning };
  }
}

/** How many characters at the end of `text` may be the beginning of `tag`. */
function cutTag(text: string, tag: string): number {
  let length = Math.min(text.length, tag.length - 1);
  while (length > 0 && !text.endsWith(tag.slice(0, length))) length--;
  return length;
}

/** A whole reply of the runtime's endpoint, which leaves reasoning of open models in the text. */
export function bedrockReply(body: unknown): Completion {
  const reply = decodeOpenAiReply(body, options);
  const choices = reply.choices.map(choice => {
    const { content } = choice.message;
    if (typeof content !== 'string' || !content.trimStart().startsWith(opening)) return choice;
    const tagged = new TaggedReasoning();
    const [said, rest] = [tagged.push(content), tagged.flush()];
    const message = {
      ...choice.message,
      content: said.content + rest.content || (choice.message.tool_calls ? null : ''),
      reasoning: said.reasoning + rest.reasoning,
    };
    return { ...choice, message };
  });
  return { ...reply, choices };
}

/** A stream of it. */
export class BedrockStream extends OpenAiStreamDecoder {
  readonly #choices = new Map<number, TaggedReasoning>();

  constructor() {
    super(options);
  }

  protected override choice(given: Json): ChunkChoice {
    const choice = super.choice(given);
    const { index, delta, finish_reason } = choice;
    let tagged = this.#choices.get(index);
    if (!tagged) this.#choices.set(index, (tagged = new TaggedReasoning()));
    const said = delta.content ? tagged.push(delta.content) : { content: '', reasoning: '' };
    const rest = finish_reason ? tagged.flush() : undefined;
    const content = said.content + (rest?.content ?? '');
    const reasoning = (delta.reasoning ?? '') + said.reasoning + (rest?.reasoning ?? '');
    if (delta.content !== undefined || content !== '') delta.content = content;
    if (reasoning !== '') delta.reasoning = reasoning;
    return choice;
  }
}
