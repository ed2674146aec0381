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
  it('is stop to the client, and counted without its text', async () => {
    const { upstream, stream, send, gateway } = await hostileSetting();
    const reasons = ['repetition', 'sk-live-0123456789abcdef', 'x'.repeat(5000)];
    for (const reason of reasons) {
      upstream.reply(streamed(events(said('Hello'), finished(reason), '[DONE]')));
      expectWholeStream(await stream(), 'Hello');
      upstream.reply(whole(200, ended(reason)));
      const text = await (await send(false)).text();
      expect(text).toContain('"finish_reason":"stop"');
      expect(text).not.toContain(reason);
    }
    const counted = { sluice_provider: 'upstream', finish_reason: 'other' };
    expect(await gateway.metric('sluice_unknown_finish_reasons_total', counted)).toBe(6);
    const metrics = await gateway.metrics();
    for (const reason of reasons) expect(metrics).not.toContain(reason.slice(0, 20));
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
