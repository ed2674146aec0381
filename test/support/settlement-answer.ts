import { constants, gzipSync } from 'node:zlib';
import { expect } from '@jest/globals';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { RunningUsage } from '../../src/plugin.ts';
import { completion, delta, used } from './hostile-setting.ts';
import { chunk, events, lastChunk, streamHead, whole } from './scripted-upstream.ts';
import { question } from './settlement.ts';

/** When an upstream reports its usage: on every chunk, at the end, never. */
export interface UsageKind {
  readonly usage: 'running' | 'final' | 'none';
  readonly adapter: 'vllm' | 'openai';
}

export const usageKinds: readonly UsageKind[] = [
  { usage: 'running', adapter: 'vllm' },
  { usage: 'final', adapter: 'openai' },
  { usage: 'none', adapter: 'openai' },
];

const halves = [
  'A proxy that meters tokens keeps a running total: {prompt_tokens, completion_tokens}. When the reader disconnects (TCP FIN or RST), `res.on("close")` fires with `writableEnded === false`. Abort the upstream request via AbortController, bill `usage` as of the last SSE event,',
  ' then release the reservation: settle(exchange, { reason: "client_gone" }). Do it in `finally`, so that HTTP 502s, time-outs, idle sockets & resets (ECONNRESET, UND_ERR_SOCKET) pass through the same line. Otherwise quotas drift: 1,000 cancelled streams × ~400 tokens = 400,000 unbilled tokens per hour.',
] as const;

/** Patterns in the bytes a client has received: after the first half, after all of the text, after `[DONE]`. */
export const halfSeen = /" event,"/;
export const textSeen = /" hour\."/;
export const doneSeen = /data: \[DONE\]\n\n/;

/** The upstream's usage: far from any estimate, so that the two cannot be confused. */
const prompt = 331;
const perWord = 7;
const cached = 108;

const wordsOf = (text: string): readonly string[] => text.match(/\s*\S+/g) ?? [];
const firstWords = wordsOf(halves[0]).length;
const allWords = firstWords + wordsOf(halves[1]).length;
const counted = (words: number) => ({ prompt_tokens: prompt, completion_tokens: words * perWord });

/** The events of an upstream's stream. */
function eventsOf({ usage }: UsageKind) {
  const running = (words: number) => (usage === 'running' ? { usage: counted(words) } : {});
  const texts = (half: 0 | 1) =>
    wordsOf(halves[half]).map((word, at) =>
      delta({ content: word }, null, running(at + 1 + half * firstWords)),
    );
  return {
    role: events(delta({ role: 'assistant', content: '' }, null, running(0))),
    firstHalf: events(...texts(0)),
    secondHalf: events(...texts(1)),
    finish: events(delta({}, 'stop', running(allWords))),
    usage: usage === 'none' ? '' : events(used(prompt, allWords * perWord, cached)),
    done: events('[DONE]'),
  };
}

export type StreamPart = 'head' | 'end' | keyof ReturnType<typeof eventsOf>;

/** These parts of the stream, each in a chunk of its own. */
export function partsOf(kind: UsageKind, ...names: readonly StreamPart[]): Buffer {
  const texts = eventsOf(kind);
  const bytesOf = (name: StreamPart): Buffer => {
    if (name === 'head') return Buffer.from(streamHead());
    if (name === 'end') return Buffer.from(lastChunk);
    return texts[name] === '' ? Buffer.alloc(0) : chunk(texts[name]);
  };
  return Buffer.concat(names.map(bytesOf));
}

/** The stream, or its first half, gzipped although the request did not accept it. */
export function compressed(kind: UsageKind, how: 'whole' | 'half'): Buffer {
  const { role, firstHalf, ...rest } = eventsOf(kind);
  const text = how === 'half' ? role + firstHalf : [role, firstHalf, ...Object.values(rest)].join('');
  const bytes = gzipSync(text, how === 'half' ? { finishFlush: constants.Z_SYNC_FLUSH } : {});
  const body = how === 'half' ? [] : [Buffer.from(lastChunk)];
  return Buffer.concat([Buffer.from(streamHead({ 'content-encoding': 'gzip' })), chunk(bytes), ...body]);
}

const upToHalf = ['head', 'role', 'firstHalf'] as const;
/** The first half of the stream, since most faults happen in the middle. */
export const middleOf = (kind: UsageKind): Buffer => partsOf(kind, ...upToHalf);

export const wholeStreamOf = (kind: UsageKind): Buffer =>
  partsOf(kind, ...upToHalf, 'secondHalf', 'finish', 'usage', 'done', 'end');

/** The same answer not streamed; whether usage runs makes no difference then. */
export function wholeReplyOf({ usage }: UsageKind): Buffer {
  const { usage: told } = used(prompt, allWords * perWord, cached);
  return whole(200, completion(halves.join(''), {}, { usage: usage === 'none' ? undefined : told }));
}

/**
 * What is billed: `nothing` of a request that got nothing; the `prompt` of one that the client gave up; the `role` chunk, the first
 * `half` or all of the `text`, as counted while it ran; or `all`, as the upstream counted in the end.
 */
export type Bill = 'nothing' | 'prompt' | 'role' | 'half' | 'text' | 'all';

/** Fails unless `usage` is exact where the upstream reported it, and within 15 % of the true count where it did not. */
export function expectBilled(usage: Readonly<RunningUsage>, kind: UsageKind, bill: Bill): void {
  const { prompt_tokens, completion_tokens, cached_tokens, estimated } = usage;
  const words = { nothing: 0, prompt: 0, role: 0, half: firstWords, text: allWords, all: allWords }[bill];
  if (bill === 'nothing') {
    expect({ ...usage, estimated }).toMatchObject({
      prompt_tokens: 0,
      completion_tokens: 0,
      cached_tokens: 0,
    });
    return;
  }
  const told = bill !== 'prompt' && (kind.usage === 'running' || (kind.usage === 'final' && bill === 'all'));
  if (told) {
    const exact = { ...counted(words), cached_tokens: bill === 'all' ? cached : 0, estimated: false };
    expect({ prompt_tokens, completion_tokens, cached_tokens, estimated }).toEqual(exact);
    return;
  }
  const text = words === 0 ? '' : words === allWords ? halves.join('') : halves[0];
  expect({ cached_tokens, estimated }).toEqual({ cached_tokens: 0, estimated: true });
  expectNear(completion_tokens, countTokens(text));
  // The frame of a message is about four tokens in most chat templates.
  expectNear(prompt_tokens, countTokens(question) + 4);
}

/** Within 15 %. */
export function expectNear(estimate: number, truth: number): void {
  const near = estimate >= truth * 0.85 && estimate <= truth * 1.15;
  expect({ estimate, truth, near }).toEqual({ estimate, truth, near: true });
}
