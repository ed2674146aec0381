import { expect } from '@jest/globals';
import { type ClientEvent, eventsOf } from '../gateway-under-test.ts';
import type { MatrixClient } from './client.ts';

export const dialectNames = ['chat.completions', 'responses', 'messages'] as const;
export type DialectName = (typeof dialectNames)[number];

/** What a reply has told its client, in the same words for every dialect. */
export interface Told {
  readonly text: string;
  readonly reasoning: string;
  /** `stop`, `length`, `tool_calls` …; undefined where the reply has not ended well. */
  readonly finish: string | undefined;
  readonly usage: { readonly prompt: number; readonly completion: number } | undefined;
  readonly error: { readonly message: string; readonly type: string } | undefined;
}

/** How a dialect is asked, and a reader of its replies that shares nothing with the code that writes them. */
export interface Dialect {
  readonly path: string;
  request(question: string, more: object): object;
  whole(json: Reply): Told;
  stream(events: readonly ClientEvent[]): Told;
}

/** Members that replies and events of the three dialects have. */
interface Reply {
  readonly [member: string]: unknown;
  readonly type?: string;
  readonly usage?: Readonly<Record<string, number>>;
  readonly error?: { readonly message: string; readonly type: string };
  readonly choices?: readonly Choice[];
  readonly response?: Reply;
  readonly message?: Reply;
  readonly delta?: string | Readonly<Record<string, string>>;
  readonly status?: string;
  readonly stop_reason?: string | null;
  readonly sequence_number?: number;
}
interface Said {
  readonly content?: string | null;
  readonly reasoning?: string;
  readonly role?: string;
}
interface Choice {
  readonly index: number;
  readonly message?: Said;
  readonly delta?: Said;
  readonly finish_reason: string | null;
}
interface Part {
  readonly type: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly content?: readonly Part[];
}

const joined = (texts: readonly unknown[]): string => texts.map(text => text || '').join('');
const usageIn = (usage: Reply['usage'], kind: 'completion' | 'output') => {
  if (!usage) return undefined;
  const prompt = kind === 'completion' ? usage.prompt_tokens : usage.input_tokens;
  return { prompt: prompt!, completion: usage[`${kind}_tokens`]! };
};
const broken = { finish: undefined, usage: undefined };

const chat: Dialect = {
  path: '/v1/chat/completions',
  request: (question, more) => ({
    model: 'aion-labs/aion-3.5',
    messages: [{ role: 'user', content: question }],
    ...more,
  }),
  whole({ choices = [], usage, error }) {
    const [choice] = choices;
    return {
      text: choice?.message?.content ?? '',
      reasoning: choice?.message?.reasoning ?? '',
      finish: choice?.finish_reason ?? undefined,
      usage: usageIn(usage, 'completion'),
      error,
    };
  },
  stream(events) {
    expect(events.at(-1)?.data).toBe('[DONE]');
    const chunks = events.slice(0, -1).map(({ json }) => json as unknown as Reply);
    const error = chunks.at(-1)?.error;
    const shown = chunks.slice(0, error ? -1 : undefined);
    for (const { usage, ...chunk } of shown)
      expect(Object.keys(chunk)).toEqual(['id', 'object', 'created', 'model', 'choices']);
    const heads = chunks.map(({ id, object, created, model }) => `${id} ${object} ${created} ${model}`);
    expect(new Set(heads).size).toBeLessThanOrEqual(error ? 2 : 1);
    const choices = shown.flatMap(chunk => chunk.choices!);
    const indexes = [...new Set(choices.map(({ index }) => index))].toSorted();
    const roles = choices.filter(({ delta }) => delta?.role);
    expect(roles.map(({ index }) => index).toSorted()).toEqual(indexes);
    if (choices[0]) expect(choices[0].delta).toEqual({ role: 'assistant', content: '' });
    const saidIn = (field: 'content' | 'reasoning') =>
      indexes.map(of => joined(choices.map(({ index, delta }) => index === of && delta?.[field]))).join('|');
    const said = { text: saidIn('content'), reasoning: saidIn('reasoning'), error };
    const ends = choices.filter(({ finish_reason }) => finish_reason);
    if (error) {
      expect(ends.length).toBeLessThan(Math.max(indexes.length, 1));
      return { ...said, ...broken };
    }
    expect(ends.map(({ index }) => index).toSorted()).toEqual(indexes);
    expect(choices.at(-1)).toEqual({ ...ends.at(-1), delta: {} });
    const finish = ends.map(({ finish_reason }) => finish_reason).join('|');
    return { ...said, finish, usage: usageIn(chunks.at(-1)?.usage, 'completion') };
  },
};

const responseFinish = (response: Reply | undefined): string | undefined => {
  if (response?.status === 'completed') return 'stop';
  const { reason } = (response?.incomplete_details ?? {}) as { reason?: string };
  return reason === 'max_output_tokens' ? 'length' : reason;
};

const responses: Dialect = {
  path: '/v1/responses',
  request: (question, { max_tokens, ...more }: { max_tokens?: number }) => ({
    model: 'aion-labs/aion-3.5',
    input: question,
    ...(max_tokens !== undefined && { max_output_tokens: max_tokens }),
    ...more,
  }),
  whole({ output = [], usage, error, ...response }) {
    const items = output as readonly Part[];
    const parts = items.flatMap(({ content = [] }) => content);
    const textOf = (type: string) => joined(parts.filter(part => part.type === type).map(({ text }) => text));
    return {
      text: textOf('output_text'),
      reasoning: textOf('reasoning'),
      finish: error ? undefined : responseFinish(response),
      usage: usageIn(usage, 'output'),
      error: error ?? undefined,
    };
  },
  stream(events) {
    const all = events.slice(0, -1).map(({ event, json }) => ({ event, ...(json as unknown as Reply) }));
    expect(events.at(-1)?.data).toBe('[DONE]');
    expect(all.slice(0, 2).map(({ event }) => event)).toEqual(['response.created', 'response.in_progress']);
    expect(all.map(({ sequence_number }) => sequence_number)).toEqual(all.map((_, at) => at));
    for (const { event, type } of all) expect(type).toBe(event);
    const deltasOf = (type: string) =>
      joined(all.filter(({ event }) => event === `response.${type}.delta`).map(({ delta }) => delta));
    const said = { text: deltasOf('output_text'), reasoning: deltasOf('reasoning_text') };
    const [before, last] = all.slice(-2);
    if (last?.event === 'response.failed') {
      expect(before?.event).toBe('error');
      return { ...said, ...broken, error: before?.error };
    }
    expect(last?.event).toMatch(/^response\.(completed|incomplete)$/);
    // The whole response at the end says what its events have said.
    const told = responses.whole(last?.response ?? {});
    expect({ text: told.text, reasoning: told.reasoning }).toEqual(said);
    return told;
  },
};

const messageFinishes: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

const messages: Dialect = {
  path: '/v1/messages',
  request: (question, more) => ({ max_tokens: 20_000, ...chat.request(question, more) }),
  whole({ content = [], usage, error, stop_reason }) {
    const parts = content as readonly Part[];
    return {
      text: joined(parts.map(({ text }) => text)),
      reasoning: joined(parts.map(({ thinking }) => thinking)),
      finish: messageFinishes[stop_reason ?? ''],
      usage: messageUsage(usage),
      error,
    };
  },
  stream(events) {
    const all = events
      .filter(({ event }) => event !== 'ping')
      .map(({ event, json }) => ({ event, ...(json as unknown as Reply) }));
    const deltas = all.flatMap(({ event, delta }) => (event === 'content_block_delta' ? [delta] : []));
    const textOf = (member: string) =>
      joined(deltas.map(delta => (delta as Readonly<Record<string, string>>)[member]));
    const said = { text: textOf('text'), reasoning: textOf('thinking') };
    const last = all.at(-1);
    if (last?.event === 'error') return { ...said, ...broken, error: last.error };
    expect(last?.event).toBe('message_stop');
    expect(all[0]?.event).toBe('message_start');
    const end = all.at(-2);
    expect(end?.event).toBe('message_delta');
    const finish = messageFinishes[(end?.delta as Reply | undefined)?.stop_reason ?? ''];
    return { ...said, finish, usage: messageUsage(end?.usage), error: undefined };
  },
};

/** Anthropic's input tokens do not include those from the cache. */
function messageUsage(usage: Reply['usage']): Told['usage'] {
  const { input_tokens = 0, cache_read_input_tokens = 0, output_tokens = 0 } = usage ?? {};
  return usage && { prompt: input_tokens + cache_read_input_tokens, completion: output_tokens };
}

export const dialects: Readonly<Record<DialectName, Dialect>> = {
  'chat.completions': chat,
  responses,
  messages,
};

/** The error type that a dialect has for one of ours; Anthropic's follow from the status. */
export function errorTypeIn(dialect: DialectName, status: number, type: string): string {
  if (dialect !== 'messages') return type;
  // A stream has only the error's own type.
  if (status === 200 && /^(invalid_request|configuration)_error$/.test(type)) return 'invalid_request_error';
  const byStatus: Readonly<Record<number, string>> = {
    200: 'api_error',
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found_error',
    413: 'request_too_large',
    429: 'rate_limit_error',
    524: 'timeout_error',
  };
  return byStatus[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}

/** Reads a reply that has ended. Fails on anything that its dialect does not promise. */
export function toldBy({ headers, text, isWhole }: MatrixClient, dialect: DialectName): Told {
  expect({ isWhole, text }).toEqual({ isWhole: true, text });
  if (headers['content-type']?.startsWith('text/event-stream'))
    return dialects[dialect].stream(eventsOf(text));
  expect(headers['content-type']).toMatch(/^application\/json/);
  return dialects[dialect].whole(JSON.parse(text) as Reply);
}
