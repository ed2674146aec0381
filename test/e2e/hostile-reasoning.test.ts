import { afterEach, describe, expect, it } from '@jest/globals';
import {
  closeHealthy,
  completion,
  delta,
  expectWholeStream,
  finished,
  hostileSetting,
  reasoningOf,
} from '../support/hostile-setting.ts';
import { events, streamed, whole } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

const done = [finished(), '[DONE]'];

const reasonings: readonly { form: string; message: object }[] = [
  { form: 'reasoning', message: { reasoning: 'Greet.', content: 'Hi.' } },
  { form: 'reasoning_content', message: { reasoning_content: 'Greet.', content: 'Hi.' } },
  { form: 'both names', message: { reasoning: 'Greet.', reasoning_content: 'Greet.', content: 'Hi.' } },
  { form: 'one name and null', message: { reasoning: null, reasoning_content: 'Greet.', content: 'Hi.' } },
  { form: 'one name and nothing', message: { reasoning: '', reasoning_content: 'Greet.', content: 'Hi.' } },
  {
    form: 'reasoning_details',
    message: {
      reasoning_details: [
        { type: 'reasoning.summary', summary: 'Gre' },
        { type: 'reasoning.encrypted', data: 'c2VjcmV0' },
        { type: 'reasoning.text', text: 'et.', signature: 'c2ln' },
      ],
      content: 'Hi.',
    },
  },
  {
    form: 'reasoning beside reasoning_details',
    message: {
      reasoning: 'Greet.',
      reasoning_details: [{ type: 'reasoning.text', text: 'Greet.' }],
      content: 'Hi.',
    },
  },
  {
    form: 'thinking parts',
    message: {
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'Greet.' }] },
        { type: 'text', text: 'Hi' },
        { type: 'text', text: '.' },
      ],
    },
  },
  {
    form: 'thinking parts of text',
    message: {
      content: [
        { type: 'thinking', thinking: 'Greet.' },
        { type: 'text', text: 'Hi.' },
      ],
    },
  },
  { form: 'tags', message: { content: '<think>Greet.</think>Hi.' } },
];

describe.each(reasonings)('reasoning sent as $form', ({ message }) => {
  it('becomes `reasoning`, and no other field, in a stream', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(delta({ role: 'assistant', content: '' }), delta(message), ...done)));
    const reply = await stream();
    expectWholeStream(reply, 'Hi.');
    expect(reasoningOf(reply)).toBe('Greet.');
    expect(reply.text).not.toMatch(/reasoning_content|reasoning_details|thinking|c2VjcmV0|c2ln/);
  });

  it('becomes `reasoning`, and no other field, in a whole reply', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(200, completion(null, message)));
    const reply = (await (await send(false)).json()) as ReturnType<typeof completion>;
    expect(reply.choices[0]?.message).toEqual({ role: 'assistant', content: 'Hi.', reasoning: 'Greet.' });
  });

  it('returns to its tags for a client that sets reasoning_split to false', async () => {
    const { upstream, send, stream } = await hostileSetting();
    upstream.reply(whole(200, completion(null, message)));
    const reply = (await (await send(false, { reasoning_split: false })).json()) as ReturnType<
      typeof completion
    >;
    expect(reply.choices[0]?.message).toEqual({ role: 'assistant', content: '<think>Greet.</think>Hi.' });
    upstream.reply(streamed(events(delta(message), ...done)));
    expectWholeStream(await stream({ reasoning_split: false }), '<think>Greet.</think>Hi.');
  });
});
