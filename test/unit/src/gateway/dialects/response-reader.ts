import { expect } from '@jest/globals';
import { eventsIn, must } from './stream-readers.ts';

/** A part of an item; `text` or `refusal` is what it says. */
interface Part {
  readonly type: string;
  readonly text?: string;
  readonly refusal?: string;
  readonly logprobs?: readonly object[];
}

/** An output item, as far as the tests look at it. */
export interface Item {
  readonly id: string;
  readonly type: 'reasoning' | 'message' | 'function_call' | 'custom_tool_call';
  readonly status: string;
  readonly content?: readonly Part[];
  readonly summary?: readonly Part[];
  readonly call_id?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly arguments?: string;
  readonly input?: string;
  readonly encrypted_content?: string;
}

export interface ResponseEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly output_index?: number;
  readonly content_index?: number;
  readonly summary_index?: number;
  readonly item_id?: string;
  readonly item?: Item;
  readonly part?: Part;
  readonly delta?: string;
  readonly delta_type?: string;
  readonly logprobs?: readonly object[];
  readonly response?: { readonly status: string; readonly output: readonly Item[]; readonly usage: unknown };
  readonly usage?: unknown;
  readonly [whole: string]: unknown;
}

/** What a reader of a Responses stream has at its end. */
export interface Reading {
  readonly events: readonly ResponseEvent[];
  /** The items as they were when they were done, by `output_index`. */
  readonly items: readonly Item[];
  readonly last: ResponseEvent;
}

/** Reads the events of a stream that ends in order, and fails on all that the format does not promise. */
export function readResponse(text: string): Reading {
  const all = eventsIn<ResponseEvent>(text);
  must(all.pop(), { event: undefined, json: undefined });
  const events = all.map(({ event, json }, at) => {
    must([json?.type, json?.sequence_number], [event, at]);
    return json!;
  });
  const [created, begun, ...rest] = events;
  must([created?.type, begun?.type], ['response.created', 'response.in_progress']);
  must(created?.response, begun?.response);
  expect(begun?.response).toMatchObject({ status: 'in_progress', output: [], usage: null });
  const last = rest.pop()!;
  const items: OpenItem[] = [];
  for (const event of rest) {
    if (event.type === 'response.output_item.added') items.push(new OpenItem(event, items));
    else items[event.output_index!]!.read(event);
  }
  return { events, last, items: items.map(item => item.end()) };
}

/** Content and summary of an item. */
export const textsIn = ({ summary = [], content = [] }: Item): Part[] => [...summary, ...content];

/** The events of the text of a call, by the type of its item, and the member that has the whole. */
const callEvents: Readonly<Record<string, readonly [event: string, whole: string]>> = {
  function_call: ['response.function_call_arguments', 'arguments'],
  custom_tool_call: ['response.custom_tool_call_input', 'input'],
};
/** Calls of tools that the format defines: they come whole, with no events of their text. */
const wholeCalls = ['shell_call', 'local_shell_call', 'apply_patch_call'];
/** The events of each kind of part: of its text and around it, its index, the member with the whole and what a delta says that it is. */
const partEvents: Readonly<Record<string, readonly string[]>> = {
  reasoning_text: ['response.reasoning_text', 'response.content_part', 'content_index', 'text', 'reasoning'],
  summary_text: [
    'response.reasoning_summary_text',
    'response.reasoning_summary_part',
    'summary_index',
    'text',
    'reasoning',
  ],
  output_text: ['response.output_text', 'response.content_part', 'content_index', 'text', 'text'],
  refusal: ['response.refusal', 'response.content_part', 'content_index', 'refusal'],
};

/** An item between its first event and its last. */
class OpenItem {
  readonly #added: Item;
  readonly #parts: Part[] = [];
  /** The part between its first event and its last; `told` once its whole text has been. */
  #part: { kind: string; text: string; logprobs: object[]; isTold: boolean } | undefined;
  #text = '';
  #done: Item | undefined;

  constructor({ output_index, item }: ResponseEvent, before: readonly OpenItem[]) {
    const { id, type, status, name, call_id, namespace, ...rest } = item!;
    must([output_index, status], [before.length, 'in_progress']);
    const ids = before.flatMap(({ ids: known }) => known);
    for (const one of [id, call_id]) if (one !== undefined) expect([...ids, '']).not.toContain(one);
    const empty: Readonly<Record<string, object>> = {
      message: { role: 'assistant', content: [] },
      reasoning: { summary: [], content: [] },
    };
    if (!wholeCalls.includes(type)) must(rest, empty[type] ?? { [callEvents[type]![1]]: '' });
    this.#added = item!;
  }

  get ids(): readonly (string | undefined)[] {
    return [this.#added.id, this.#added.call_id];
  }

  read(event: ResponseEvent): void {
    const { type, id } = this.#added;
    must([event.type, this.#done], [event.type, undefined]);
    if (event.type === 'response.output_item.done') return this.#end(event.item!);
    must(event.item_id, id);
    if (callEvents[type]) this.#call(event, ...callEvents[type]);
    else if (event.part) this.#bound(event, event.part);
    else this.#say(event);
  }

  end(): Item {
    if (!this.#done) throw new Error(`${this.#added.id} is never done`);
    return this.#done;
  }

  #call(event: ResponseEvent, name: string, whole: string): void {
    must(this.#part, undefined);
    if (event.type === `${name}.delta`) this.#text += event.delta;
    else {
      must([event.type, event[whole]], [`${name}.done`, this.#text]);
      if (whole === 'arguments') must(event.name, this.#added.name);
      this.#part = { kind: '', text: '', logprobs: [], isTold: true };
    }
  }

  /** The first or last event of a part. */
  #bound(event: ResponseEvent, part: Part): void {
    const [, name, index = ''] = partEvents[part.type]!;
    must(event[index], this.#parts.filter(({ type }) => partEvents[type]![2] === index).length);
    const text = (part.text ?? part.refusal)!;
    if (event.type === `${name}.added`) {
      must([this.#part, text, part.logprobs ?? []], [undefined, '', []]);
      this.#part = { kind: part.type, text: '', logprobs: [], isTold: false };
      return;
    }
    const told = { kind: part.type, text, logprobs: part.logprobs ?? [], isTold: true };
    must([event.type, told], [`${name}.done`, this.#part]);
    this.#parts.push(part);
    this.#part = undefined;
  }

  /** A piece of the open part, or the whole of it. */
  #say(event: ResponseEvent): void {
    const open = this.#part!;
    const [name, , index = '', whole = '', delta_type] = partEvents[open.kind]!;
    must([event[index], open.isTold], [this.#parts.length, false]);
    if (event.type === `${name}.delta`) {
      must([event.delta_type, event.delta === ''], [delta_type, false]);
      open.text += event.delta;
      open.logprobs.push(...(event.logprobs ?? []));
    } else {
      must([event.type, event[whole]], [`${name}.done`, open.text]);
      must(event.logprobs ?? [], open.logprobs);
      open.isTold = true;
    }
  }

  #end(done: Item): void {
    const { status, content, summary, arguments: text, input, encrypted_content, ...same } = done;
    // What a call of the format's own does is known once it is whole.
    const { action, operation, ...begun } = same as typeof same & Readonly<Record<string, unknown>>;
    expect(this.#added).toMatchObject(wholeCalls.includes(done.type) ? begun : same);
    expect(status).toMatch(/^(completed|incomplete)$/);
    if (callEvents[done.type]) must([text ?? input, this.#part?.isTold], [this.#text, true]);
    else {
      must(this.#part, undefined);
      must(textsIn(done).map(withoutEmpty), this.#parts.map(withoutEmpty));
    }
    this.#done = done;
  }
}

/** Log probabilities that were not asked for are an empty list in events, and absent in items. */
const withoutEmpty = ({ logprobs = [], ...part }: Part) => ({
  ...part,
  ...(logprobs.length > 0 && { logprobs }),
});
