import { expect } from '@jest/globals';
import { eventsOf } from '../support/gateway-under-test.ts';

interface TextPart {
  readonly type: string;
  readonly text?: string;
  readonly refusal?: string;
}

/** An output item, as far as the tests look at it. */
export interface Item {
  readonly id: string;
  readonly type: 'reasoning' | 'message' | 'function_call' | 'custom_tool_call';
  readonly status: string;
  readonly content?: readonly TextPart[];
  readonly summary?: readonly TextPart[];
  readonly call_id?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly input?: string;
  readonly encrypted_content?: string;
}

interface ResponseEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly output_index?: number;
  readonly content_index?: number;
  readonly item_id?: string;
  readonly item?: Item;
  readonly summary_index?: number;
  readonly part?: TextPart;
  readonly delta?: string;
  readonly text?: string;
  readonly refusal?: string;
  readonly arguments?: string;
  readonly input?: string;
  readonly response?: { readonly status: string; readonly output: readonly Item[]; readonly usage: unknown };
  readonly usage?: unknown;
}

/** What a reader of a Responses stream has at its end. */
export interface Reading {
  readonly events: readonly ResponseEvent[];
  /** The items as they were when they were done, by `output_index`. */
  readonly items: readonly Item[];
  readonly last: ResponseEvent;
}

/** Reads the events of a stream that ends in order, and fails on anything that no reader could make sense of. */
export function readResponse(text: string): Reading {
  const all = eventsOf(text);
  expect(all.at(-1)).toMatchObject({ event: undefined, data: '[DONE]' });
  const events = all.slice(0, -1).map(({ event, json }) => {
    expect(json.type).toBe(event);
    return json as unknown as ResponseEvent;
  });
  expect(events.map(event => event.sequence_number)).toEqual(events.map((_, at) => at));
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
  const reader = new ItemReader();
  for (const event of events.slice(2, -1)) reader.read(event);
  return { events, items: reader.end(), last: events.at(-1)! };
}

/** Content and summary of an item. */
export const textsIn = ({ summary = [], content = [] }: Item): TextPart[] => [...summary, ...content];

/** The event that a piece comes in, by the kind of part, and the one that tells the whole. */
const pieces: Readonly<Record<string, { readonly kind: string; readonly whole?: 'text' | 'refusal' }>> = {
  'response.reasoning_text.delta': { kind: 'reasoning_text' },
  'response.reasoning_text.done': { kind: 'reasoning_text', whole: 'text' },
  'response.reasoning_summary_text.delta': { kind: 'summary_text' },
  'response.reasoning_summary_text.done': { kind: 'summary_text', whole: 'text' },
  'response.output_text.delta': { kind: 'output_text' },
  'response.output_text.done': { kind: 'output_text', whole: 'text' },
  'response.refusal.delta': { kind: 'refusal' },
  'response.refusal.done': { kind: 'refusal', whole: 'refusal' },
};

interface Part {
  readonly kind: string;
  text: string;
  state: 'open' | 'told' | 'done';
}

interface OpenItem {
  readonly added: Item;
  readonly parts: Part[];
  arguments: string;
  argumentsDone: boolean;
  done: Item | undefined;
}

/** The events of the text of a call, by the type of its item. */
const callEvents: Readonly<Record<string, string>> = {
  function_call: 'response.function_call_arguments',
  custom_tool_call: 'response.custom_tool_call_input',
};

/** The text of a call. */
const argumentsOf = ({ arguments: text, input }: Pick<Item, 'arguments' | 'input'>) => text ?? input;

class ItemReader {
  readonly #items: OpenItem[] = [];

  read(event: ResponseEvent): void {
    if (event.type === 'response.output_item.added') return this.#add(event);
    const item = this.#items[event.output_index!];
    if (!item) throw new Error(`no such item: ${JSON.stringify(event)}`);
    expect([event.type, item.done]).toEqual([event.type, undefined]);
    if (event.type === 'response.output_item.done') return this.#done(item, event.item!);
    expect(event.item_id).toBe(item.added.id);
    const ofCall = callEvents[item.added.type];
    if (ofCall) this.#arguments(item, event, ofCall);
    else this.#part(item, event);
  }

  end(): Item[] {
    return this.#items.map(({ done, added }) => {
      if (!done) throw new Error(`${added.id} is never done`);
      return done;
    });
  }

  #add({ output_index, item }: ResponseEvent): void {
    expect(output_index).toBe(this.#items.length);
    const added = item!;
    expect(added.status).toBe('in_progress');
    expect(added.id).not.toBe('');
    const ids = this.#items.flatMap(({ added: known }) => [known.id, known.call_id]);
    expect(ids).not.toContain(added.id);
    if (callEvents[added.type]) {
      expect(argumentsOf(added)).toBe('');
      expect(ids).not.toContain(added.call_id);
    } else expect(textsIn(added)).toEqual([]);
    this.#items.push({ added, parts: [], arguments: '', argumentsDone: false, done: undefined });
  }

  #arguments(item: OpenItem, event: ResponseEvent, name: string): void {
    const { type, delta } = event;
    expect(item.argumentsDone).toBe(false);
    expect([`${name}.delta`, `${name}.done`]).toContain(type);
    if (type.endsWith('.delta')) item.arguments += delta;
    else {
      expect(argumentsOf(event)).toBe(item.arguments);
      item.argumentsDone = true;
    }
  }

  #part(item: OpenItem, { type, part, ...event }: ResponseEvent): void {
    const isSummary = type.startsWith('response.reasoning_summary');
    const content_index = isSummary ? event.summary_index : event.content_index;
    if (/^response\.(content|reasoning_summary)_part\.added$/.test(type)) {
      expect(part?.type === 'summary_text').toBe(isSummary);
      expect(item.parts.filter(({ state }) => state !== 'done')).toEqual([]);
      expect(content_index).toBe(item.parts.length);
      expect(part?.text ?? part?.refusal).toBe('');
      item.parts.push({ kind: part!.type, text: '', state: 'open' });
      return;
    }
    expect(content_index).toBe(item.parts.length - 1);
    const open = item.parts[content_index!]!;
    if (/^response\.(content|reasoning_summary)_part\.done$/.test(type)) {
      expect([open.state, open.kind, open.text]).toEqual(['told', part?.type, part?.text ?? part?.refusal]);
      open.state = 'done';
      return;
    }
    const piece = pieces[type];
    if (!piece) throw new Error(`unknown event: ${type}`);
    expect([open.kind, open.state]).toEqual([piece.kind, 'open']);
    if (!piece.whole) open.text += event.delta;
    else {
      expect(event[piece.whole]).toBe(open.text);
      open.state = 'told';
    }
  }

  #done(item: OpenItem, done: Item): void {
    expect([done.id, done.type, done.call_id, done.name]).toEqual([
      item.added.id,
      item.added.type,
      item.added.call_id,
      item.added.name,
    ]);
    expect(done.status).toMatch(/^(completed|incomplete)$/);
    if (callEvents[done.type]) {
      expect([item.argumentsDone, argumentsOf(done)]).toEqual([true, item.arguments]);
    } else {
      expect(item.parts.every(({ state }) => state === 'done')).toBe(true);
      expect(textsIn(done).map(part => [part.type, part.text ?? part.refusal])).toEqual(
        item.parts.map(({ kind, text }) => [kind, text]),
      );
    }
    item.done = done;
  }
}
