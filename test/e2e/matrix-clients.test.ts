import type { Socket } from 'node:net';
import { expect } from '@jest/globals';
import { finished, said, used } from '../support/hostile-setting.ts';
import { matrix } from '../support/matrix/matrix.ts';
import { completed } from '../support/matrix/parts.ts';
import {
  chunk,
  events,
  lastChunk,
  type Script,
  streamHead,
  type UpstreamRequest,
} from '../support/scripted-upstream.ts';
import { halfSeen, middleOf, usageKinds } from '../support/settlement-answer.ts';
import { until } from '../support/until.ts';

/** More than the buffers of a connection hold. */
const large_bytes = 8 * 1024 * 1024;
const part_bytes = 64 * 1024;

/** Requests whose reply has had to wait for its client. */
const waits = new Set<UpstreamRequest>();

/** Writes parts as fast as they are taken until there is none. */
async function pour(
  socket: Socket,
  request: UpstreamRequest,
  next: (sent: number) => Buffer | undefined,
): Promise<void> {
  let sent = 0;
  for (let part = next(sent); part && !socket.destroyed; part = next(++sent)) {
    if (socket.write(part)) continue;
    waits.add(request);
    await new Promise(resolve => socket.once('drain', resolve).once('close', resolve));
  }
}

const text = 'x'.repeat(part_bytes);

/** Counts a hundred tokens for each part, without an end. */
const endless: Script = (socket, request) => {
  socket.write(middleOf(usageKinds[0]!));
  return pour(socket, request, sent => {
    const usage = { prompt_tokens: 331, completion_tokens: 100 * (sent + 1) };
    return chunk(events({ ...said(text), usage }));
  });
};

const large: Script = async (socket, request) => {
  socket.write(streamHead());
  await pour(socket, request, sent =>
    sent < large_bytes / part_bytes ? chunk(events(said(text))) : undefined,
  );
  socket.write(Buffer.concat([chunk(events(finished(), used(7, 3), '[DONE]')), Buffer.from(lastChunk)]));
};

matrix(
  'a client that reads nothing for slow_client_ms',
  [
    {
      when: 'the stream goes on',
      plays: () => endless,
      ways: ['streamed'],
      kinds: usageKinds.slice(0, 1),
      client: async ({ client }) => {
        await client.received(halfSeen);
        client.pause();
      },
      settled: { end_reason: 'slow_client', status: 200, error_type: undefined },
      connection: 'gateway',
      also: ({ client }, { usage }) => {
        client.leave();
        expect(usage).toMatchObject({ prompt_tokens: 331, estimated: false });
        expect(usage.completion_tokens % 100).toBe(0);
      },
    },
  ],
  { server: { slow_client_ms: 1500 } },
);

matrix('a client that reads slowly', [
  {
    when: 'a stream is large',
    plays: () => large,
    ways: ['streamed'],
    dialects: ['chat.completions'],
    client: async ({ client, requests }) => {
      await client.received(/xxx/);
      client.pause();
      await until(() => waits.has(requests[0]!));
      client.resume();
    },
    told: { finish: 'stop', text: 'x'.repeat(large_bytes) },
    settled: completed,
  },
]);
