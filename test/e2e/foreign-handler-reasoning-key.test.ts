import { afterEach, describe, expect, it } from '@jest/globals';
import { chainOf, post } from '../support/chain-app.ts';
import { closeApps, startApp } from '../support/express-app.ts';
import { answer, stream, whole } from '../support/foreign-replies.ts';
import { ask, eventsOf } from '../support/gateway-under-test.ts';

afterEach(closeApps);

type Options = NonNullable<Parameters<typeof chainOf>[1]>['chat_completions'];

/** What a client gets of a handler whose text has `<think>` tags, through chains one behind the other. */
async function messagesThrough(...chains: readonly Options[]): Promise<object[]> {
  const app = await startApp(app => {
    for (const chat_completions of chains)
      app.use(chainOf(undefined, chat_completions ? { chat_completions } : {}));
    app.use((request, response) => {
      const streaming = String(request.headers.accept).includes('event-stream');
      response.setHeader('content-type', streaming ? 'text/event-stream' : 'application/json');
      response.end(streaming ? stream.join('') : whole);
    });
  });
  const url = `${app.url}/v1/chat/completions`;
  const reply = await post(url, ask('Hello?'));
  const { choices } = (await reply.json()) as { choices: { message: object }[] };
  const streamed = await post(url, ask('Hello?', { stream: true }), { accept: 'text/event-stream' });
  const joined: Record<string, string> = {};
  for (const { json } of eventsOf(await streamed.text()))
    for (const [key, text] of Object.entries(json.choices?.[0]?.delta ?? {}))
      joined[key] = (joined[key] ?? '') + text;
  return [choices[0]!.message, joined];
}

describe('the reasoning field of a reply through a chain', () => {
  it.each([
    ['is reasoning by default', [undefined], { reasoning: 'Hm.' }],
    [
      'follows the reasoning_key option',
      [{ reasoning_key: 'reasoning_content' }],
      { reasoning_content: 'Hm.' },
    ],
    [
      'follows the reasoning_key of the first chain, not of a later one',
      [{ reasoning_key: 'reasoning_content' }, { reasoning_key: 'both' }],
      { reasoning_content: 'Hm.' },
    ],
  ] as const)('%s', async (_, chains, named) => {
    const message = { role: 'assistant', content: answer, ...named };
    expect(await messagesThrough(...chains)).toEqual([message, message]);
  });
});
