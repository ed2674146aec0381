import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Completion } from '../../src/canonical.ts';
import { ask } from '../support/gateway-under-test.ts';
import {
  assembledReply,
  fixtureOf,
  fixturesOf,
  providerNames,
  streamOf,
} from '../support/provider-fixtures.ts';
import {
  chat,
  type ProviderSetting,
  providerSetting,
  responses,
  written,
} from '../support/provider-setting.ts';
import { chunk, streamed, streamHead } from '../support/scripted-upstream.ts';

/** Every documented reply of every server, through both public formats. */
describe.each(providerNames)('the replies of %s', provider => {
  let setting: ProviderSetting;
  let exchanges = 0;

  beforeAll(async () => {
    setting = await providerSetting(provider);
  });

  afterAll(() => setting?.close());

  const cases = fixturesOf(provider).flatMap(fixture =>
    [true, false]
      .filter(isStreamed => isStreamed || fixture.reply)
      .flatMap(isStreamed => [chat, responses].map(dialogue => ({ fixture, isStreamed, dialogue })))
      // The responses format has one choice, and words of its own for a refusal.
      .filter(
        ({ dialogue }) => dialogue === chat || (fixture.choices.length === 1 && fixture.name !== 'refusal'),
      ),
  );

  it.each(cases)(
    'match $fixture.name through $dialogue.name, streamed: $isStreamed',
    async ({ fixture, isStreamed, dialogue }) => {
      setting.upstream.reply(written(fixture, isStreamed));
      const more = fixture.choices.length > 1 ? { n: fixture.choices.length } : {};
      const reply = await dialogue.ask(setting, { words: 'Why do rivers bend?', more }, isStreamed);
      expect(reply.choices.map(withoutSilence)).toEqual(fixture.choices.map(withoutSilence));
      const { prompt_tokens, completion_tokens } = fixture.usage;
      expect(reply.usage).toMatchObject({ prompt_tokens, completion_tokens });
      expect(await setting.settled(++exchanges)).toMatchObject({
        end_reason: 'completed',
        usage: { prompt_tokens, completion_tokens, estimated: false },
      });
    },
  );

  it('show running usage that ends with the billed usage', async () => {
    const fixture = fixtureOf(provider, 'answer');
    setting.upstream.reply(written(fixture, true));
    const { events } = await setting.gateway.stream(
      ask('Why do rivers bend?', { stream_options: { continuous_usage_stats: true } }),
    );
    exchanges++;
    const told = events.slice(0, -1).map(({ json }) => json.usage!);
    expect(told.every(usage => usage.total_tokens === usage.prompt_tokens + usage.completion_tokens)).toBe(
      true,
    );
    const counts = told.map(usage => usage.completion_tokens);
    expect(told.at(-1)).toMatchObject(fixture.usage);
    // Estimates, where the server tells nothing on the way, may be above the truth that ends them.
    expect(counts.slice(0, -1)).toEqual(counts.slice(0, -1).toSorted((a, b) => a - b));
    if (fixture.running) for (const count of fixture.running) expect(counts).toContain(count);
  });

  it('report a stream that breaks off and bill what it used', async () => {
    setting.upstream.reply(streamed(streamOf(provider, 'broken')));
    const { status, events } = await setting.gateway.stream(ask('Why do rivers bend?'));
    expect(status).toBe(200);
    const chunks = events
      .filter(({ json }) => json.choices)
      .map(({ json }) => ({ choices: [...json.choices!] }));
    expect(assembledReply(chunks).choices[0]!.message.content).toBe('Water');
    expect(events.at(-2)!.json).toEqual({
      error: { message: 'The upstream provider returned an error.', type: 'provider_error' },
    });
    expect(events.at(-1)!.data).toBe('[DONE]');
    const { end_reason, usage } = await setting.settled(++exchanges);
    expect(end_reason).toBe('upstream_failed');
    expect(usage.completion_tokens).toBeGreaterThan(0);
    expect(usage.prompt_tokens).toBeGreaterThan(0);
  });

  it('become one stream when they arrive whole for a streamed request', async () => {
    const fixture = fixtureOf(provider, 'tools');
    setting.upstream.reply(written(fixture, false));
    const reply = await chat.ask(setting, { words: 'Roll.' }, true);
    exchanges++;
    expect(reply.choices).toEqual(fixture.choices);
  });
});

describe('a stream of the Messages API', () => {
  it('ends at its last event, whatever happens to the connection', async () => {
    const setting = await providerSetting('anthropic');
    try {
      const { stream, choices } = fixtureOf('anthropic', 'answer');
      // Nothing follows: without looking at the event one would wait for the end of the body.
      setting.upstream.reply(Buffer.concat([Buffer.from(streamHead()), chunk(stream)]));
      const late = sleep(4000, 'late', { ref: false });
      const reply = await Promise.race([chat.ask(setting, { words: 'Why?' }, true), late]);
      expect((reply as Completion).choices).toEqual(choices);
    } finally {
      await setting.close();
    }
  });

  it('leaves the thinking in the text when the client wants it there', async () => {
    const setting = await providerSetting('anthropic');
    try {
      const fixture = fixtureOf('anthropic', 'answer');
      const { content, reasoning } = fixture.choices[0]!.message;
      for (const isStreamed of [true, false]) {
        setting.upstream.reply(written(fixture, isStreamed));
        const reply = await chat.ask(
          setting,
          { words: 'Why?', more: { reasoning_split: false } },
          isStreamed,
        );
        expect(reply.choices[0]!.message).toEqual({
          role: 'assistant',
          content: `<think>${reasoning}</think>${content}`,
        });
      }
    } finally {
      await setting.close();
    }
  });
});

/** A choice with all that is said in it; formats differ in how they show that nothing was. */
const withoutSilence = ({ index, message, finish_reason }: Completion['choices'][number]) => ({
  index,
  finish_reason,
  ...message,
  content: message.content || '',
  reasoning: message.reasoning || '',
});
