import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { ask } from '../support/gateway-under-test.ts';
import {
  closeHealthy,
  completion,
  expectBrokenStream,
  expectRefusal,
  expectWholeStream,
  finished,
  hostileSetting,
  type Setting,
  said,
} from '../support/hostile-setting.ts';
import {
  chunk,
  events,
  type Script,
  streamed,
  streamHead,
  thenReset,
  whole,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeHealthy);

const at_a_time = 30;
const reset = thenReset();

/** What the upstream does to request `n`, and what its client must see, whatever happens to the others. */
const cases: readonly ((n: number) => {
  script: Script;
  check(setting: Setting, message: string): Promise<void>;
})[] = [
  n => ({
    script: streamed(events(said(`answer ${n}`), finished(), '[DONE]')),
    check: async ({ gateway }, message) => {
      expectWholeStream(await gateway.stream(ask(message)), `answer ${n}`);
    },
  }),
  n => ({
    script: whole(200, completion(`answer ${n}`)),
    check: async ({ gateway }, message) => {
      const response = await gateway.post(ask(message));
      expect(await response.json()).toMatchObject({ choices: [{ message: { content: `answer ${n}` } }] });
    },
  }),
  n => ({
    script: whole(400, { error: { message: `refused ${n}` } }),
    check: async ({ gateway }, message) => {
      await expectRefusal(await gateway.post(ask(message)), 400, 'invalid_request_error', `refused ${n}`);
    },
  }),
  n => ({
    script: thenReset(streamHead(), chunk(events(said(`begun ${n}`)))),
    check: async ({ gateway }, message) =>
      expectBrokenStream(await gateway.stream(ask(message)), `begun ${n}`, 'provider_error'),
  }),
  () => ({
    script: reset,
    check: async ({ gateway }, message) => {
      await expectRefusal(await gateway.post(ask(message, { stream: true })), 502, 'provider_error');
    },
  }),
  n => ({
    script: streamed(`${events(said(`begun ${n}`))}data: {garbage\n\n`),
    check: async ({ gateway }, message) =>
      expectBrokenStream(await gateway.stream(ask(message)), `begun ${n}`, 'provider_error'),
  }),
  n => ({
    script: async socket => {
      socket.write(streamHead());
      for (const part of ['slow ', String(n)]) {
        await sleep(30);
        socket.write(chunk(events(said(part))));
      }
      // Left open after [DONE], and without the end of its body.
      socket.write(chunk(events(finished(), '[DONE]')));
    },
    check: async ({ gateway }, message) => {
      expectWholeStream(await gateway.stream(ask(message)), `slow ${n}`);
    },
  }),
];

/** Number of the case whose connection is reset before a reply. */
const resetting = cases.findIndex(one => one(0).script === reset);

it('keeps the replies of concurrent clients apart while upstreams fail', async () => {
  const setting = await hostileSetting({}, at_a_time);
  const planned = Array.from({ length: 280 }, (_, n) => cases[n % cases.length]!(n));
  setting.upstream.reply((socket, request) => {
    const [{ content }] = request.body.messages as [{ content: string }];
    const { script } = planned[Number(content)]!;
    return typeof script === 'function' ? script(socket, request) : socket.write(script);
  });
  let next = 0;
  const worker = async () => {
    for (let n = next++; n < planned.length; n = next++) await planned[n]!.check(setting, String(n));
  };
  await Promise.all(Array.from({ length: at_a_time }, worker));
  // None was left out, and none was sent twice but where a kept connection was reset before a reply.
  const sent = setting.upstream.requests.map(({ body }) => body.messages as { content: string }[]);
  const numbers = sent.map(([message]) => Number(message!.content));
  expect(new Set(numbers).size).toBe(planned.length);
  const again = numbers.filter((n, at) => numbers.indexOf(n) !== at);
  expect(again.filter(n => n % cases.length !== resetting)).toEqual([]);
  await until(async () => (await setting.gateway.metric('sluice_requests_total')) === planned.length);
});
