import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { alongside, startApp } from '../support/express-app.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { RawConnection } from '../support/raw-client.ts';
import { head, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeMounted);

interface Line {
  readonly level: number;
  readonly endpoint?: string;
  readonly end_reason?: string;
  readonly status?: number;
  readonly error_type?: string;
}

const warn_level = 40;
const limit_ms = 200;

/** A gateway that writes its log into `lines`, in front of an upstream that will be told what to play. */
async function setting(non_stream_timeout_ms = 60_000) {
  const lines: Line[] = [];
  const log = pino({ level: 'info' }, { write: text => lines.push(JSON.parse(text) as Line) });
  const upstream = alongside(await startScriptedUpstream());
  const gateway = await mountable(upstream, { server: { non_stream_timeout_ms } }, { log });
  const app = await startApp(express => express.use(gateway));
  const send = (stream: boolean): RawConnection => {
    const body = JSON.stringify(ask('Hello?', { stream }));
    const connection = new RawConnection(app.url);
    const headers = `host: gateway\r\nauthorization: Bearer ${clientKey}\r\ncontent-type: application/json`;
    connection.write(
      `POST /v1/chat/completions HTTP/1.1\r\n${headers}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    return connection;
  };
  /** The line that records the exchange, once nothing is in flight. The operator need not be woken for an upstream. */
  const record = async (): Promise<Line> => {
    await until(() => gateway.inFlight === 0 && lines.some(({ endpoint }) => endpoint !== undefined));
    expect(lines.filter(({ level }) => level > warn_level)).toEqual([]);
    return lines.find(({ endpoint }) => endpoint !== undefined)!;
  };
  return { upstream, send, record };
}

const text = JSON.stringify(completion('Hello.'));
const headOf = (connection: string) =>
  head(200, { 'content-type': 'application/json', 'content-length': 9000, connection });
const ends = {
  closes: (socket: Socket) => socket.end(),
  resets: (socket: Socket) => socket.resetAndDestroy(),
};
const cases = (['close', 'keep-alive'] as const).flatMap(connection =>
  (Object.keys(ends) as (keyof typeof ends)[]).flatMap(how =>
    [20, text.length].map(sent_bytes => ({ connection, how, sent_bytes })),
  ),
);

describe.each(cases)(
  'a reply of $sent_bytes bytes instead of 9000, $connection, $how',
  ({ connection, how, sent_bytes }) => {
    const short = async (socket: Socket, before_end: () => unknown = () => {}) => {
      socket.write(headOf(connection) + text.slice(0, sent_bytes));
      // A reset would take along what has not been read.
      await sleep(30);
      await before_end();
      ends[how](socket);
    };

    it.each([true, false])("is reported as the provider's error, stream: %s", async stream => {
      const { upstream, send, record } = await setting();
      upstream.reply(socket => short(socket));
      await send(stream).received(/^HTTP\/1\.1 502 [\s\S]*"type":"provider_error"/);
      const failed = { end_reason: 'upstream_failed', status: 502, error_type: 'provider_error' };
      expect(await record()).toMatchObject(failed);
    });

    it.each([true, false])(
      'is recorded with one true end reason when the client leaves in that moment, stream: %s',
      async stream => {
        const { upstream, send, record } = await setting();
        upstream.reply(socket => short(socket, () => client.destroy()));
        const client = send(stream);
        expect(['client_gone', 'upstream_failed']).toContain((await record()).end_reason);
      },
    );

    it('ends the background read of a client that has left', async () => {
      const { upstream, send, record } = await setting();
      upstream.reply(socket =>
        short(socket, () => {
          client.destroy();
          return sleep(50);
        }),
      );
      const client = send(false);
      expect(await record()).toMatchObject({ end_reason: 'client_gone' });
    });

    it('is recorded with its true end reason just before and after the time limit', async () => {
      const at = async (offset_ms: number) => {
        const { upstream, send, record } = await setting(limit_ms);
        upstream.reply(socket => short(socket, () => sleep(limit_ms - 30 + offset_ms)));
        await send(false).received(/^HTTP\/1\.1 (502|524) [\s\S]*"type":"(provider|timeout)_error"/);
        return (await record()).end_reason;
      };
      const reasons = await Promise.all([-20, 0, 20, 500].map(at));
      for (const reason of reasons) expect(['time_limit', 'upstream_failed']).toContain(reason);
      expect(reasons.at(-1)).toBe('time_limit');
    });
  },
);
