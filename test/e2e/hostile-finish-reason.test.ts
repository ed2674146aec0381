import { afterEach, describe, expect, it } from '@jest/globals';
import {
  bothWays,
  closeHealthy,
  completion,
  expectBrokenStream,
  expectRefusal,
  expectWholeStream,
  finished,
  hostileSetting,
  said,
} from '../support/hostile-setting.ts';
import { events, streamed, whole } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

const ended = (reason: string) => {
  const reply = completion('Hello');
  return { ...reply, choices: [{ ...reply.choices[0], finish_reason: reason }] };
};

describe('a finish reason that no adapter knows', () => {
  it('is stop to the client, and counted by the word', async () => {
    const { upstream, stream, send, gateway } = await hostileSetting();
    for (const reason of ['repetition', 'x'.repeat(5000)]) {
      upstream.reply(streamed(events(said('Hello'), finished(reason), '[DONE]')));
      expectWholeStream(await stream(), 'Hello');
      upstream.reply(whole(200, ended(reason)));
      const text = await (await send(false)).text();
      expect(text).toContain('"finish_reason":"stop"');
      expect(text).not.toContain(reason);
    }
    const counted = { sluice_provider: 'upstream', finish_reason: 'repetition' };
    expect(await gateway.metric('sluice_unknown_finish_reasons_total', counted)).toBe(2);
    expect(await gateway.metrics()).not.toContain('x'.repeat(65));
  });
});

describe('a finish reason that means a failure', () => {
  it.each(bothWays)('is never the end of an answer, $way', async ({ stream: isStreamed }) => {
    const { upstream, stream, send } = await hostileSetting();
    for (const reason of ['network_error', 'insufficient_system_resource', 'Cancelled']) {
      if (isStreamed) {
        upstream.reply(streamed(events(said('Hello'), finished(reason), '[DONE]')));
        expectBrokenStream(await stream(), 'Hello', 'provider_error');
      } else {
        upstream.reply(whole(200, ended(reason)));
        await expectRefusal(await send(false), 502, 'provider_error');
      }
    }
  });
});
