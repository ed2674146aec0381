import { gzipSync } from 'node:zlib';
import { isAnswer, runningFault } from './checks.ts';
import type { Draw } from './draw.ts';
import { chat, type Errand, type Kind, plain, type Reply, secret } from './errand.ts';

const endings = ['completed'] as const;
const continuous = { stream: true, stream_options: { continuous_usage_stats: true } };
const tools = ['weather', 'dice'].map(name => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { place: { type: 'string' } } } },
}));

/** Asks for a text of its own, with the directives, and wants to get exactly this. */
function said(draw: Draw, id: string, directives: string, more: object): Errand {
  const answer = secret(draw, id);
  const request = chat(`Question ${id} [[sim:${directives} say=${answer}]]`, more);
  return { request, endings, check: isAnswer(answer) };
}

const streamed = (draw: Draw): object => (draw.chance(0.6) ? { stream: true } : {});

const kinds: readonly Kind[] = [
  { name: 'whole reply', weight: 20, make: (draw, id) => said(draw, id, 'reasoning=none', {}) },
  { name: 'stream', weight: 25, make: (draw, id) => said(draw, id, '', { stream: true }) },
  {
    name: 'running usage',
    weight: 15,
    make: (draw, id) => {
      const usage = draw.one(['vllm', 'final', 'none']);
      const errand = said(draw, id, `usage=${usage} chunk=${draw.integer(1, 5)}`, continuous);
      return { ...errand, check: reply => errand.check?.(reply) ?? runningFault(reply) };
    },
  },
  {
    name: 'reasoning',
    weight: 15,
    make: (draw, id) => {
      const mode = draw.one(['field', 'reasoning_content', 'tags', 'implicit']);
      const directives = `reasoning=${mode} reasoning_tokens=${draw.integer(1, 60)} chunk=${draw.integer(1, 4)}`;
      const split = draw.one([{}, { reasoning_split: true }, { reasoning_split: false }]);
      return said(draw, id, directives, { ...streamed(draw), ...split });
    },
  },
  {
    name: 'tools',
    weight: 8,
    make: (draw, id) => ({
      request: chat(`Call ${id} [[sim:tool=dice calls=${draw.integer(1, 3)}]]`, { ...streamed(draw), tools }),
      endings,
      check: isAnswer('', 'tool_calls'),
    }),
  },
  {
    name: 'several choices',
    weight: 4,
    make: (draw, id) => said(draw, id, '', { ...streamed(draw), n: draw.integer(2, 3) }),
  },
  {
    name: 'cut by max_tokens',
    weight: 4,
    make: (draw, id) => ({
      request: chat(`Long ${id} [[sim:tokens=500]]`, { ...streamed(draw), max_tokens: draw.integer(1, 100) }),
      endings,
      check: isAnswer('', 'length'),
    }),
  },
  {
    name: 'paced stream',
    weight: 8,
    make: (draw, id) =>
      said(draw, id, `ttft=${draw.integer(0, 300)} tps=${draw.integer(80, 400)}`, continuous),
  },
  {
    name: 'slow reader',
    weight: 4,
    make: (draw, id) => ({
      ...said(draw, id, 'reasoning_tokens=60 tps=300', { stream: true }),
      manner: { pause_ms: draw.integer(5, 60) },
    }),
  },
  {
    name: 'model without reasoning',
    weight: 4,
    make: (draw, id) =>
      said(draw, id, 'reasoning=none', { ...streamed(draw), model: 'aion-labs/aion-rp-llama-3.1-8b' }),
  },
  { name: 'JSON for a stream', weight: 2, make: (draw, id) => said(draw, id, 'json', { stream: true }) },
  { name: 'no [DONE]', weight: 2, make: (draw, id) => said(draw, id, 'no_done', { stream: true }) },
  { name: 'large prompt', weight: 1, make: largePrompt },
  { name: 'compressed request', weight: 2, make: compressed },
  {
    name: 'catalog',
    weight: 3,
    make: draw => ({ request: plain(draw.one(['GET', 'HEAD']), '/v1/models'), endings, check: isCatalog }),
  },
];

/** Clients and upstreams that do what they should, in every shape that there is. */
export const healthyKinds: readonly Kind[] = kinds.map(kind => ({ ...kind, good: true }));

/** The everyday ones of them: a whole reply, a stream, running usage, a paced stream. */
export const everydayKinds = healthyKinds.filter(({ name }) =>
  ['whole reply', 'stream', 'running usage', 'paced stream'].includes(name),
);

function largePrompt(draw: Draw, id: string): Errand {
  const answer = secret(draw, id);
  const prompt = 'Many words. '.repeat(draw.integer(2_000, 20_000));
  return {
    request: chat(`${prompt}[[sim:say=${answer}]]`, streamed(draw)),
    endings,
    check: isAnswer(answer),
  };
}

function compressed(draw: Draw, id: string): Errand {
  const errand = said(draw, id, '', streamed(draw));
  const { request } = errand;
  const headers = { ...request.headers, 'content-encoding': 'gzip' };
  return { ...errand, request: { ...request, headers, body: gzipSync(request.body) } };
}

const isCatalog = ({ status, text }: Reply): string | undefined =>
  status === 200 && (text === '' || text.includes('"object":"list"')) ? undefined : `no catalog: ${status}`;
