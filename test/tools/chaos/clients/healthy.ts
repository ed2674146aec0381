import { ok } from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { type Check, hasRunningUsage, isAnswer } from './checks.ts';
import {
  answered,
  chat,
  continuous,
  type Kind,
  kind,
  maybeStreaming,
  plain,
  simulated,
  streaming,
  uniqueText,
} from './request.ts';

/** Every request of the kind must be completed. */
const healthy = (name: string, weight: number, make: Kind['make']): Kind => ({
  ...kind(name, weight, ['completed'], make),
  good: true,
});
const tools = ['weather', 'dice'].map(name => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { place: { type: 'string' } } } },
}));
const reasoning = 'reasoning={field|reasoning_content|tags|implicit} reasoning_tokens={1-60} chunk={1-4}';
const splits = [{}, { reasoning_split: true }, { reasoning_split: false }];
const isCatalog: Check = ({ status, text }) =>
  ok(status === 200 && (text === '' || text.includes('"object":"list"')), 'no catalog');

/** What most clients ask for. */
export const everydayKinds: readonly Kind[] = [
  healthy('whole reply', 20, (dice, id) => answered(dice, id, 'reasoning=none')),
  healthy('stream', 25, (dice, id) => answered(dice, id, '', streaming)),
  healthy('running usage', 15, (dice, id) => {
    const request = answered(dice, id, 'usage={vllm|final|none} chunk={1-5}', continuous);
    const check: Check = reply => {
      request.check(reply);
      hasRunningUsage(reply);
    };
    return { ...request, check };
  }),
  healthy('paced stream', 8, (dice, id) => answered(dice, id, 'ttft={0-300} tps={80-400}', continuous)),
];

/** Clients and upstreams that do what they should, in every shape that there is. */
export const healthyKinds: readonly Kind[] = [
  ...everydayKinds,
  healthy('reasoning', 15, (dice, id) =>
    answered(dice, id, reasoning, () => ({ ...dice.pick(splits), ...maybeStreaming(dice) })),
  ),
  healthy('tools', 8, (dice, id) => ({
    ...simulated(dice, id, 'tool=dice calls={1-3}', () => ({ ...maybeStreaming(dice), tools })),
    check: isAnswer('', 'tool_calls'),
  })),
  healthy('several choices', 4, (dice, id) =>
    answered(dice, id, '', () => ({ ...maybeStreaming(dice), n: dice.integer(2, 3) })),
  ),
  healthy('cut by max_tokens', 4, (dice, id) => ({
    ...simulated(dice, id, 'tokens=500', () => ({
      ...maybeStreaming(dice),
      max_tokens: dice.integer(1, 100),
    })),
    check: isAnswer('', 'length'),
  })),
  healthy('slow reader', 4, (dice, id) => ({
    ...answered(dice, id, 'reasoning_tokens=60 tps=300', streaming),
    pause_ms: dice.integer(5, 60),
  })),
  healthy('model without reasoning', 4, (dice, id) =>
    answered(dice, id, 'reasoning=none', () => ({
      ...maybeStreaming(dice),
      model: 'aion-labs/aion-rp-llama-3.1-8b',
    })),
  ),
  healthy('JSON for a stream', 2, (dice, id) => answered(dice, id, 'json', streaming)),
  healthy('no [DONE]', 2, (dice, id) => answered(dice, id, 'no_done', streaming)),
  healthy('large prompt', 1, (dice, id) => {
    const answer = uniqueText(dice, id);
    const prompt = 'Many words. '.repeat(dice.integer(2_000, 20_000));
    return { ...chat(`${prompt}[[sim:say=${answer}]]`, maybeStreaming(dice)), check: isAnswer(answer) };
  }),
  healthy('compressed request', 2, (dice, id) => {
    const request = answered(dice, id, '', maybeStreaming);
    const headers = { ...request.headers, 'content-encoding': 'gzip' };
    return { ...request, headers, body: gzipSync(request.body) };
  }),
  healthy('catalog', 3, dice => ({ ...plain(dice.pick(['GET', 'HEAD']), '/v1/models'), check: isCatalog })),
];
