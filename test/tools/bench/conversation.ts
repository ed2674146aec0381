/** What the load generator asks for, and what the upstream answers, in vLLM's shape. */

export const model = 'aion-labs/aion-3.5';
/** The key that sluice knows; the others pass it on or ignore it. */
export const api_key = 'sk-bench-0123456789abcdef0123456789abcdef';
export const requestHeaders = {
  accept: 'application/json',
  'content-type': 'application/json',
  authorization: `Bearer ${api_key}`,
};

const paragraph =
  'A river bends because water on the outside of a slight curve runs faster and carries soil away, while on the inside it slows ' +
  'down and drops it. So every small curve grows, until the river cuts through its neck and leaves a lake behind. ';

const messages = [
  {
    role: 'system',
    content: `You are the assistant of a public library. Answer in plain English. ${paragraph}`,
  },
  { role: 'user', content: 'Good morning! Why do rivers bend, and do they always bend to the same side?' },
  { role: 'assistant', content: paragraph.repeat(2) },
  {
    role: 'user',
    content: 'Thank you. Which experiment with sand, a jug and a hose could a class do in ten minutes?',
  },
];

/** A chat request of 1.3 kB; with `stream`, a streamed one. */
export const chatBody = (stream?: { max_tokens: number; stream_options?: object | undefined }): string =>
  JSON.stringify({
    model,
    messages,
    temperature: 0.7,
    ...(stream ? { ...stream, stream: true } : { max_tokens: 512 }),
  });

export const answer = paragraph.repeat(4);
const identity = (object: string) =>
  `"id":"chatcmpl-5f0c6c1e9d7b4a3f8e2d1c0b9a887766","object":"${object}","created":1795132800,"model":"aion-3.5"`;
const usageOf = (tokens: number) =>
  `"usage":{"prompt_tokens":297,"total_tokens":${297 + tokens},"completion_tokens":${tokens}}`;

/** A whole reply of 1.5 kB. */
export const completion =
  `{${identity('chat.completion')},"choices":[{"index":0,"message":{"role":"assistant","content":${JSON.stringify(answer)},` +
  '"refusal":null,"annotations":null,"audio":null,"function_call":null,"tool_calls":[],"reasoning":null},"logprobs":null,' +
  `"finish_reason":"stop","stop_reason":null,"token_ids":null}],"service_tier":null,${usageOf(231)},"kv_transfer_params":null}`;

/** Of a growing configuration: the key of that number, of all accounts, and the id of the model of that number. */
export const growthKey = (at: number): string => `sk-growth-${String(at).padStart(40, '0')}`;
export const growthModel = (at: number): string => `growth/model-${at}`;

/** The events of a stream; of `tokens` tokens the role for 0, one word each after that. */
export function chunkText(tokens: number, running: boolean, finish_reason: 'stop' | null = null): string {
  const words = answer.split(/(?<= )/);
  const text = tokens === 0 ? { role: 'assistant', content: '' } : { content: words[tokens % words.length] };
  const delta = JSON.stringify(finish_reason ? {} : text);
  const finish = `"logprobs":null,"finish_reason":${JSON.stringify(finish_reason)},"token_ids":null`;
  const usage = running ? `,${usageOf(tokens)}` : '';
  return `data: {${identity('chat.completion.chunk')},"choices":[{"index":0,"delta":${delta},${finish}}]${usage}}\n\n`;
}

/** Finish, usage if asked for, and `[DONE]`, as they leave a server: together. */
export const streamEnd = (tokens: number, running: boolean, include_usage: boolean): string =>
  chunkText(tokens, running, 'stop') +
  (include_usage ? `data: {${identity('chat.completion.chunk')},"choices":[],${usageOf(tokens)}}\n\n` : '') +
  'data: [DONE]\n\n';
