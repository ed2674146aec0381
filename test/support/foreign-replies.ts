import { expect } from '@jest/globals';
import type { Response as ExpressResponse, Request } from 'express';
import { chainOf } from './chain-app.ts';
import { startApp } from './express-app.ts';
import { eventsOf } from './gateway-under-test.ts';

type Handler = (request: Request, response: ExpressResponse) => unknown;

/** The chat endpoint of an application whose handler behind the chain is `handler`. */
export async function chatOf(handler: Handler, ...before: Parameters<typeof startApp>[0][]): Promise<string> {
  const app = await startApp(async app => {
    for (const build of before) await build(app);
    app.use(chainOf(), handler as never);
  });
  return `${app.url}/v1/chat/completions`;
}

/** The reply text of an OpenAI-compatible server, with characters of one to four bytes. */
export const answer = 'Answer é€😀.';
/** Its whole reply. */
export const whole = JSON.stringify({
  id: 'own',
  object: 'chat.completion',
  model: 'own',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: `<think>Hm.</think>${answer}` },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
});
const part = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ id: 'own', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
/** Its stream, event by event. */
export const stream = [
  part({ role: 'assistant', content: '<thi' }),
  part({ content: 'nk>Hm.</think>' }),
  part({ content: answer }),
  part({}, 'stop'),
  `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}\n\n`,
  'data: [DONE]\n\n',
];
/** Its usage, as a client sees it. */
export const usage = {
  prompt_tokens: 3,
  completion_tokens: 4,
  total_tokens: 7,
  prompt_tokens_details: { cached_tokens: 0 },
};

/** Reads a broken stream: the content before the error, and the error message. */
export async function brokenStream(reply: Response): Promise<{ content: string; message: string }> {
  expect(reply.status).toBe(200);
  const text = await reply.text();
  expect(text).not.toContain('Error occurred');
  const all = eventsOf(text);
  const [error, done] = all.slice(-2);
  expect(done?.data).toBe('[DONE]');
  expect(error?.json).toEqual({ error: { type: 'provider_error', message: expect.any(String) } });
  const choices = all.flatMap(({ json }) => json.choices ?? []);
  expect(choices.flatMap(({ finish_reason }) => finish_reason ?? [])).toEqual([]);
  const content = choices.map(choice => choice.delta.content ?? '').join('');
  return { content, message: error?.json.error?.message ?? '' };
}
