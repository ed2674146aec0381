import { isDeepStrictEqual } from 'node:util';
import { expect } from '@jest/globals';

/** Readers of the three formats, which share nothing with what writes them and fail on all that the format does not promise. */

type Json = Readonly<Record<string, unknown>>;

/** Expects what nearly always holds, in a hundredth of the time. */
export function must(given: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(given, expected)) expect(given).toEqual(expected);
}

/** An event of a stream; `json` is undefined for `[DONE]`. */
export interface SentEvent<T = Json> {
  readonly event: string | undefined;
  readonly json: T | undefined;
}

/** The events of a text that is nothing but events. */
export function eventsIn<T = Json>(text: string): SentEvent<T>[] {
  const blocks = text.split('\n\n');
  must(blocks.pop(), '');
  return blocks.map(block => {
    const [, event, data] = /^(?:event: ([^\n]+)\n)?data: ([^\n]+)$/.exec(block) ?? [];
    if (data === undefined) throw new Error(`no event: ${block}`);
    return { event, json: data === '[DONE]' ? undefined : (JSON.parse(data) as T) };
  });
}

export const namesIn = (text: string) => eventsIn(text).map(({ event, json }) => event ?? (json && 'data'));

interface CallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}
interface ChatDelta {
  readonly role?: string;
  readonly tool_calls?: readonly CallDelta[];
  readonly [text: string]: unknown;
}
interface ChatChoice {
  readonly index: number;
  readonly delta: ChatDelta;
  readonly finish_reason: string | null;
  readonly logprobs?: { readonly content: readonly object[] } | null;
}
interface ChatChunk {
  readonly choices: readonly ChatChoice[];
  readonly usage?: object;
}

/** The whole reply that a stream of chat completions adds up to. */
export function readChat(text: string): object {
  const events = eventsIn<ChatChunk>(text);
  must(events.pop(), { event: undefined, json: undefined });
  let usage: object | undefined;
  const heads = new Set<string>();
  const choices: ReadChoice[] = [];
  for (const { event, json } of events) {
    const { choices: pieces, usage: told, ...head } = json!;
    must(event, undefined);
    heads.add(JSON.stringify(head));
    usage = told ?? usage;
    for (const piece of pieces) (choices[piece.index] ??= new ReadChoice()).add(piece);
  }
  must(heads.size, 1);
  const head = JSON.parse([...heads][0]!) as Json;
  must(head.object, 'chat.completion.chunk');
  return {
    ...head,
    object: 'chat.completion',
    choices: choices.map((choice, index) => ({ index, ...choice.end() })),
    ...(usage && { usage }),
  };
}

class ReadChoice {
  readonly #texts: Record<string, string> = {};
  readonly #calls: { id: string; type: string; function: { name: string; arguments: string } }[] = [];
  readonly #logprobs: object[] = [];
  #role: string | undefined;
  #finish: string | null = null;

  add({
    index: _,
    delta: { role, tool_calls = [], ...texts },
    finish_reason,
    logprobs,
    ...rest
  }: ChatChoice) {
    must([rest, this.#finish], [{}, null]);
    must(role === undefined, this.#role !== undefined);
    this.#role ??= role;
    this.#finish = finish_reason;
    for (const name in texts) this.#texts[name] = (this.#texts[name] ?? '') + texts[name];
    for (const call of tool_calls) this.#call(call);
    this.#logprobs.push(...(logprobs?.content ?? []));
  }

  #call({ index, id, type, function: { name = '', arguments: text = '' } = {} }: CallDelta) {
    const known = (this.#calls[index] ??= { id: id!, type: type!, function: { name: '', arguments: '' } });
    known.function.name += name;
    known.function.arguments += text;
  }

  end() {
    expect(this.#finish).not.toBeNull();
    const { content, ...texts } = this.#texts;
    const said = Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));
    return {
      message: {
        role: this.#role,
        content: content || (this.#calls.length > 0 || said.refusal ? null : ''),
        ...said,
        ...(this.#calls.length > 0 && { tool_calls: this.#calls }),
      },
      finish_reason: this.#finish,
      ...(this.#logprobs.length > 0 && { logprobs: { content: this.#logprobs } }),
    };
  }
}

interface Block {
  readonly type: 'text' | 'thinking' | 'redacted_thinking' | 'tool_use';
  readonly [member: string]: unknown;
}
interface MessageEvent {
  readonly type: string;
  readonly index?: number;
  readonly message?: Json & { readonly content: readonly unknown[] };
  readonly content_block?: Block;
  readonly delta?: {
    readonly type?: string;
    readonly stop_reason?: string | null;
    readonly [text: string]: unknown;
  };
  readonly usage?: object;
}

/** What each kind of block is made of. */
const deltasOf: Readonly<Record<string, readonly string[]>> = {
  text_delta: ['text', 'text'],
  thinking_delta: ['thinking', 'thinking'],
  signature_delta: ['thinking', 'signature'],
  input_json_delta: ['tool_use', 'partial_json'],
};

/** The message that a Messages stream adds up to, and its `message_delta` events before the last. */
export function readMessage(text: string): { message: Json & { content: Block[] }; running: MessageEvent[] } {
  const events = eventsIn<MessageEvent>(text).map(({ event, json }) => {
    must(json?.type, event);
    return json!;
  });
  must(
    events.slice(0, 2).map(({ type }) => type),
    ['message_start', 'ping'],
  );
  must(
    events.slice(-2).map(({ type }) => type),
    ['message_delta', 'message_stop'],
  );
  const [{ message: start }] = events as [MessageEvent];
  const { content, ...head } = start!;
  must([content, head.stop_reason, head.stop_sequence], [[], null, null]);
  const end = events.at(-2)!;
  const blocks = new ReadBlocks();
  const running: MessageEvent[] = [];
  for (const event of events.slice(2, -2))
    if (event.type === 'message_delta') running.push(event);
    else blocks.read(event);
  const isCut = /max_tokens|refusal/.test(end.delta?.stop_reason ?? '');
  const message = { ...head, content: blocks.end(isCut), ...end.delta, usage: end.usage };
  return { message, running };
}

class ReadBlocks {
  readonly #blocks: Block[] = [];
  #open: (Block & { input?: object; readonly texts: Record<string, string> }) | undefined;

  read({ type, index, content_block, delta }: MessageEvent): void {
    must(index, this.#blocks.length);
    if (type === 'content_block_start') {
      must(this.#open, undefined);
      this.#open = { ...content_block!, texts: {} };
    } else if (type === 'content_block_delta') this.#add(delta!);
    else {
      must([type, this.#open === undefined], ['content_block_stop', false]);
      const { texts, ...block } = this.#open!;
      // Without a signature, be it empty, clients do not send thinking back.
      if (block.type === 'thinking' && texts.thinking) expect(texts).toHaveProperty('signature');
      this.#blocks.push({ ...block, ...texts });
      this.#open = undefined;
    }
  }

  #add({ type = '', ...member }: Json & { readonly type?: string }): void {
    const [kind, name = ''] = deltasOf[type] ?? [];
    const { texts } = this.#open!;
    must(kind, this.#open!.type);
    must(texts.signature, undefined);
    must(Object.keys(member), [name]);
    texts[name] = (texts[name] ?? '') + member[name];
  }

  end(isCut: boolean): Block[] {
    must(this.#open, undefined);
    return this.#blocks.map(({ partial_json: text, ...block }) =>
      text === undefined ? block : { ...block, input: inputOf(text as string, isCut) },
    );
  }
}

/** A call that was cut off has no input. */
function inputOf(text: string, isCut: boolean): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    if (!isCut) throw thrown;
    return {};
  }
}
