import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { RawConnection, send } from '../support/raw-client.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
let generous: GatewayUnderTest;

beforeAll(async () => {
  upstream = await startScriptedUpstream(whole(503, { error: { message: 'overloaded' } }));
  gateway = await startGateway({ upstream, server: { max_body_bytes: 1000 } });
  generous = await startGateway({ upstream });
});

afterAll(async () => {
  await gateway?.close();
  await generous?.close();
  await upstream?.close();
});

/** What can be wrong with a request, in the order in which it is looked at, and what is then said. */
const faults = {
  path: { status: 404, says: /^Unknown request URL/ },
  method: { status: 405, says: /DELETE/ },
  key: { status: 401, says: /^Invalid API key/ },
  size: { status: 413, says: /1000 bytes/ },
  json: { status: 400, says: /not valid JSON/ },
  shape: { status: 400, says: /^temperature: / },
  model: { status: 400, says: /^model: / },
  upstream: { status: 502, says: /^The upstream provider returned an error/ },
} as const;
type Fault = keyof typeof faults;

/** A request that has these faults and no other; the upstream always fails. */
function requestWith(wrong: readonly Fault[]) {
  const has = (fault: Fault) => wrong.includes(fault);
  const text = JSON.stringify(
    ask(has('size') ? 'x'.repeat(2000) : 'Hello', {
      ...(has('model') && { model: 'aion-labs/unknown' }),
      ...(has('shape') && { temperature: 'hot' }),
    }),
  );
  return {
    path: has('path') ? '/v1/nothing' : '/v1/chat/completions',
    method: has('method') ? 'DELETE' : 'POST',
    headers: {
      authorization: `Bearer ${has('key') ? 'sk-unknown' : clientKey}`,
      'content-type': 'application/json',
    },
    body: has('json') ? text.slice(0, -1) : text,
  };
}

const names = Object.keys(faults) as Fault[];
const pairs = names.flatMap((first, at) => names.slice(at).map(later => [first, later] as const));

describe('a request with two faults', () => {
  it.each(pairs)('is refused for %s before %s', async (first, later) => {
    const { path, ...request } = requestWith([first, later]);
    const { status, text } = await send(gateway.url + path, request);
    const { error } = JSON.parse(text) as { error: { message: string } };
    expect(status).toBe(faults[first].status);
    expect(error.message).toMatch(faults[first].says);
  });

  it('is refused for the very first of all its faults', async () => {
    const { path, ...request } = requestWith(names);
    expect((await send(gateway.url + path, request)).status).toBe(404);
  });

  it('reaches the upstream only when it has no other fault', async () => {
    const before = upstream.requests.length;
    for (const fault of names) {
      const { path, ...request } = requestWith([fault]);
      await send(gateway.url + path, request);
    }
    expect(upstream.requests).toHaveLength(before + 1);
  });
});

describe('a large body', () => {
  const large = Buffer.alloc(17 * 1024 * 1024, 0x20);
  const headers = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });
  const upload = (key: string) =>
    send(`${generous.url}/v1/chat/completions`, { method: 'POST', headers: headers(key), body: large });

  it('of 17 MiB gets 401 without a key and 413 with one', async () => {
    expect((await upload('sk-unknown')).status).toBe(401);
    expect((await upload(clientKey)).status).toBe(413);
  });

  it.each([
    ['without a key', 'sk-unknown', /^HTTP\/1\.1 401 /],
    ['with one', clientKey, /^HTTP\/1\.1 413 /],
  ])('is refused on its content-length before it arrives, %s', async (_, key, says) => {
    const connection = new RawConnection(generous.url);
    connection.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${large.length}\r\n\r\n`,
    );
    await connection.received(says);
    connection.destroy();
  });

  it('can be sent to its end after the refusal, so that the client can read the answer', async () => {
    const connection = new RawConnection(generous.url);
    const errors: Error[] = [];
    connection.socket.on('error', error => errors.push(error));
    connection.write(
      'POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer sk-unknown\r\n' +
        `content-type: application/json\r\ncontent-length: ${8 * 1024 * 1024}\r\nconnection: close\r\n\r\n`,
    );
    await connection.received(/^HTTP\/1\.1 401 [\s\S]*\}\}$/);
    for (let sent = 0; sent < 8; sent++) {
      connection.write(large.subarray(0, 1024 * 1024));
      await new Promise(resolve => setTimeout(resolve, 20));
    }
    await connection.closed;
    expect(errors).toEqual([]);
  });

  it('in chunks is refused without a key before it arrives', async () => {
    const connection = new RawConnection(generous.url);
    connection.write(
      'POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\ncontent-type: application/json\r\n' +
        'transfer-encoding: chunked\r\n\r\n',
    );
    await connection.received(/^HTTP\/1\.1 401 /);
    connection.destroy();
  });
});
