import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { GatewayConfig } from '../../src/config/schema.ts';
import type { Gateway, GatewayOptions } from '../../src/index.ts';
import { defineExtension, type ExtensionContext, type ListedRow } from '../../src/published.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { startApp } from '../support/express-app.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { RawConnection } from '../support/raw-client.ts';
import { endServed, serveHere } from '../support/sidecar-here.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';
import { SocketClient, textOf } from '../support/web-socket-client.ts';

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());

interface Host {
  readonly url: string;
  readonly gateway: Gateway;
  readonly server: Server;
  metrics(): Promise<string>;
  /** Ledger rows of the request with this id that has opened a WebSocket, and of what came over it, the newest first, once there are `count`. */
  rows(id: string, count: number): Promise<readonly ListedRow[]>;
}

const servers: Server[] = [];
async function endAll(): Promise<void> {
  await endServed();
  await closeMounted();
  for (const server of servers.splice(0)) server.close();
}

/** A server of `node:http` with a gateway. */
async function host(sections: Partial<GatewayConfig> = {}, options: GatewayOptions = {}): Promise<Host> {
  let seen: ExtensionContext | undefined;
  const probe = defineExtension({
    name: 'probe',
    open(context) {
      seen = context;
      return {};
    },
  });
  const given = { responses: { websocket: true }, ...sections };
  const gateway = await mountable(simulator, given, { extensions: [probe], ...options });
  const server = createServer({ shouldUpgradeCallback: gateway.upgrades }, gateway);
  server.on('upgrade', gateway.upgrade).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  let rows: readonly ListedRow[] = [];
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    gateway,
    server,
    metrics: () => gateway.registry.metrics(),
    async rows(id, count) {
      await until(async () => {
        rows = await seen!.records.store.ledger.list({ limit: 100 });
        rows = rows.filter(({ request_id }) => request_id.split('.')[0] === id);
        return rows.length === count;
      });
      return rows;
    },
  };
}

const refusalOf = async (opening: Promise<unknown>) => {
  const reply = (await opening.then(
    () => {
      throw new Error('it was not refused');
    },
    thrown => thrown,
  )) as IncomingMessage;
  const { statusCode: status, headers } = reply;
  return { status, headers, body: JSON.parse(await text(reply)) };
};

describe('a reply over WebSocket', () => {
  let app: Host;
  let client: SocketClient;
  let id: string;
  let opened = 0;
  beforeAll(async () => {
    app = await host();
  });
  beforeEach(async () => {
    id = `agent-${++opened}`;
    client = await SocketClient.open(app.url, { headers: { 'x-request-id': id } });
  });
  afterEach(async () => {
    client.ws.terminate();
    await until(async () => /^sluice_responses_websocket_open 0$/m.test(await app.metrics()));
  });
  afterAll(endAll);

  it('has one event in each message, and is an exchange of its own', async () => {
    expect(client.headers['x-request-id']).toBe(id);
    const events = await client.ask({ input: '[[sim:say=Hello there]]' });
    expect(events.map(event => event.sequence_number)).toEqual(events.map((_, at) => at));
    expect(events[0]).toMatchObject({ type: 'response.created' });
    expect(textOf(events)).toBe('Hello there');
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed' } });
    await client.ask({ input: 'More [[sim:tokens=3]]' });
    const rows = await app.rows(id, 2);
    expect(rows.map(({ request_id, status, endpoint }) => [request_id, status, endpoint])).toEqual([
      [`${id}.2`, 200, 'responses'],
      [`${id}.1`, 200, 'responses'],
    ]);
    expect(await app.metrics()).toMatch(/^sluice_responses_websocket_open 1$/m);
    client.ws.close(1000);
    expect(await client.closed()).toBe(1000);
    await until(async () => /websocket_closed_total\{code="1000"\} 1$/m.test(await app.metrics()));
    expect(await app.metrics()).toMatch(/^sluice_responses_websocket_open 0$/m);
  });

  it('goes on from the last response, whose items were not sent again, without a store', async () => {
    const [first] = (await client.ask({ input: 'I am Ann [[sim:say=Hello Ann]]' })).slice(-1);
    const previous_response_id = first!.response!.id;
    const more = { previous_response_id, input: [{ role: 'user', content: 'Who am I? [[sim:echo]]' }] };
    const events = await client.ask(more);
    expect(events.at(-1)).toMatchObject({ type: 'response.completed' });
    const [second, one] = await app.rows(id, 2);
    expect(second!.prompt_tokens).toBeGreaterThan(one!.prompt_tokens + 4);
    // Only the last one is known, and that no longer after a failure.
    const after = { previous_response_id: events.at(-1)!.response!.id, input: 'More' };
    expect(await client.ask({ ...after, temperature: 9 })).toMatchObject([{ status: 400 }]);
    const forgotten = { status: 400, error: { code: 'previous_response_not_found' } };
    expect(await client.ask(after)).toMatchObject([forgotten]);
    const [error] = await client.ask(more);
    expect(error).toMatchObject({
      type: 'error',
      status: 400,
      error: { type: 'invalid_request_error', code: 'previous_response_not_found' },
      headers: { 'x-should-retry': 'false' },
    });
    expect(textOf(await client.ask({ input: '[[sim:say=Still here]]' }))).toBe('Still here');
  });

  it('is prepared without an exchange for generate: false, and gone on from', async () => {
    const events = await client.ask({ generate: false, input: [{ role: 'user', content: 'A long one' }] });
    expect(events.map(({ type }) => type)).toEqual(['response.created', 'response.completed']);
    const { id: previous_response_id, output } = events.at(-1)!.response!;
    expect(output).toEqual([]);
    const reply = await client.ask({ previous_response_id, input: 'Go [[sim:say=Gone]]' });
    expect(textOf(reply)).toBe('Gone');
    await app.rows(id, 1);
    // Both in one packet.
    const { _socket: socket } = client.ws as unknown as { readonly _socket: Socket };
    socket.cork();
    client.create({ generate: false, input: 'One' });
    client.create({ input: '[[sim:say=At once]]' });
    socket.uncork();
    await until(() => textOf(client.events).endsWith('At once'));
    // As Codex does, which tells its tools first.
    expect(await client.ask({ generate: false, input: [] })).toHaveLength(2);
  });

  it('takes the fields of a request in response as well, and ignores what tells of a response', async () => {
    client.send({ type: 'response.processed', response_id: 'resp_1' });
    const response = { model: 'aion-labs/aion-3.5', input: '[[sim:say=Inside]]' };
    client.send({ type: 'response.create', response });
    await client.seen(({ type }) => type === 'response.completed');
    expect(textOf(client.events)).toBe('Inside');
  });

  it('is the only one until it has ended: another request is 409, and one after the end is served', async () => {
    client.create({ input: '[[sim:tokens=5 tps=100]]' });
    await client.seen(({ type }) => type === 'response.created');
    client.create({ input: 'too early' });
    const error = await client.seen(({ type }) => type === 'error');
    expect(error).toMatchObject({ status: 409, error: { code: 'response_in_progress' } });
    // In the very turn in which it reads the end.
    let isAsked = false;
    client.ws.on('message', data => {
      if (isAsked || !String(data).includes('"response.completed"')) return;
      isAsked = true;
      client.create({ input: '[[sim:say=Second]]' });
    });
    await until(() => textOf(client.events).endsWith('Second'));
    expect(client.events.filter(({ type }) => type === 'error')).toHaveLength(1);
  });

  it('ends with its client: the row says who has left', async () => {
    client.create({ input: '[[sim:tokens=2000 tps=50]]' });
    await client.seen(({ type }) => type === 'response.output_text.delta');
    client.ws.terminate();
    const [row] = await app.rows(id, 1);
    expect(row).toMatchObject({ end_reason: 'client_gone', status: 200 });
    expect(await app.metrics()).toMatch(/websocket_closed_total\{code="1006"\} [1-9]/);
  });

  it('ends with its upstream: an error with its status, and the connection serves on', async () => {
    const events = await client.ask({ input: '[[sim:tokens=30 reset=5]]' });
    const failed = events.find(({ type }) => type === 'error');
    expect(failed).toMatchObject({ status: 502, error: { type: 'provider_error' } });
    const [error] = await client.ask({ input: '[[sim:status=500]]' });
    expect(error).toMatchObject({ type: 'error', status: 502, error: { type: 'provider_error' } });
    expect(textOf(await client.ask({ input: '[[sim:say=Again]]' }))).toBe('Again');
    const rows = await app.rows(id, 3);
    expect(rows.map(row => row.end_reason)).toEqual(['completed', 'upstream_failed', 'upstream_failed']);
  });

  it.each<[string, object | string, RegExp]>([
    ['is no JSON', '{"type":', /not valid JSON/],
    ['is no object', '[1]', /must be a JSON object/],
    ['is of an unknown type', { type: 'session.update' }, /^type: is not known/],
    [
      'asks for a background reply',
      { type: 'response.create', background: true },
      /^background: is not offered/,
    ],
    ['names a stream', { type: 'response.create', stream_id: 'a' }, /^stream_id: is not offered/],
    ['has a field at fault', { type: 'response.create', model: 'm', input: 7 }, /^input: /],
    [
      'has too many values',
      `{"type":"response.create","input":[${'[],'.repeat(400_000)}0]}`,
      /more than 300000 values/,
    ],
    [
      'is nested too deeply',
      `{"type":"response.create","input":${'['.repeat(60_000)}${']'.repeat(60_000)}}`,
      /nested/,
    ],
  ])('is refused with 400 for a message that %s', async (_, message, why) => {
    client.send(message);
    const error = await client.seen(({ type }) => type === 'error');
    expect(error).toMatchObject({ status: 400, error: { type: 'invalid_request_error' } });
    expect(error.error!.message).toMatch(why);
    expect(textOf(await client.ask({ input: '[[sim:say=On]]' }))).toBe('On');
  });
});

describe('with a store', () => {
  afterEach(endAll);

  it('a stored response is continued over any connection, and one that is not stored over its own', async () => {
    const store = { ttl_days: 1, keys: ['a secret of more than thirty-two characters'] };
    const { url, rows } = await host({ responses: { websocket: true, store } });
    const [one, other] = [
      await SocketClient.open(url, { headers: { 'x-request-id': 'one' } }),
      await SocketClient.open(url),
    ];
    const first = (await one.ask({ input: 'I am Ann', store: true })).at(-1)!.response!.id;
    const next = { previous_response_id: first, input: 'Who am I?' };
    const then = (await one.ask({ ...next, store: true })).at(-1);
    expect(then).toMatchObject({ response: { store: true, previous_response_id: first } });
    const more = { previous_response_id: then!.response!.id, input: 'Are you sure?' };
    const second = (await one.ask(more)).at(-1)!.response!.id;
    const [third] = await one.ask({ ...next, previous_response_id: second });
    expect(third).toMatchObject({ type: 'response.created' });
    const tokens = (await rows('one', 4)).map(row => row.prompt_tokens);
    expect(tokens).toEqual([...tokens].sort((less, more) => more - less));
    expect((await other.ask(next)).at(-1)).toMatchObject({ type: 'response.completed' });
    const [error] = await other.ask({ ...next, previous_response_id: second });
    expect(error).toMatchObject({ status: 400, error: { code: 'previous_response_not_found' } });
    one.ws.close();
    other.ws.close();
  });
});

describe('frames of a hostile client', () => {
  let url: string;
  beforeAll(async () => {
    ({ url } = await host({ server: { max_body_bytes: 65_536 } }));
  });
  afterAll(endAll);

  it.each<[string, number, (client: SocketClient) => void]>([
    ['binary', 1003, ({ ws }) => ws.send(Buffer.from('{}'))],
    ['of invalid UTF-8', 1007, ({ ws }) => ws.send(Buffer.from([0xff, 0xfe]), { binary: false })],
    ['larger than a body', 1009, ({ ws }) => ws.send('x'.repeat(70_000))],
    [
      'larger in parts',
      1009,
      ({ ws }) => {
        for (let part = 0; part < 8; part++) ws.send('x'.repeat(10_000), { fin: false });
      },
    ],
    ['not masked', 1002, ({ ws }) => ws.send('{}', { mask: false })],
  ])('%s close it with %i', async (_, code, send) => {
    const client = await SocketClient.open(url, { perMessageDeflate: true });
    expect(client.ws.extensions).toBe('');
    send(client);
    expect(await client.closed()).toBe(code);
  });
});

describe('memory of all connections is bounded', () => {
  afterEach(endAll);
  const several = (count: number, url: string) =>
    Promise.all(Array.from({ length: count }, () => SocketClient.open(url)));
  /** The beginning of a text frame that says it has 60,000 bytes: masked with zeros. */
  const begun = (bytes: number) =>
    Buffer.concat([Buffer.from([0x81, 0xfe, 0xea, 0x60, 0, 0, 0, 0]), Buffer.alloc(bytes, 'x')]);
  const sendPart = ({ ws }: SocketClient, bytes: number) =>
    (ws as unknown as { _socket: Socket })._socket.write(begun(bytes));

  it('a message that does not arrive in time closes it with 1008, while others may talk', async () => {
    const { url } = await host({ server: { body_timeout_ms: 300 } });
    const [slow, other] = (await several(2, url)) as [SocketClient, SocketClient];
    sendPart(slow, 10);
    other.ws.ping();
    expect(await slow.closed()).toBe(1008);
    expect(other.code).toBeUndefined();
  });

  it('messages that arrive close the largest with 1013', async () => {
    const { url } = await host({ server: { max_body_bytes: 65_536 } });
    const clients = await several(9, url);
    for (const [at, client] of clients.entries()) sendPart(client, at === 4 ? 59_990 : 59_000);
    expect(await clients[4]!.closed()).toBe(1013);
    expect(clients.filter(({ code }) => code !== undefined)).toHaveLength(1);
  });

  it('the oldest of last responses are forgotten', async () => {
    const { url } = await host({ server: { max_body_bytes: 8192 } });
    const input = 'x'.repeat(7000);
    const ids: string[] = [];
    const clients = await several(20, url);
    for (const client of clients)
      ids.push((await client.ask({ generate: false, input })).at(-1)!.response!.id);
    const next = (at: number) =>
      clients[at]!.ask({ generate: false, previous_response_id: ids[at], input: [] });
    expect(await next(0)).toMatchObject([{ error: { code: 'previous_response_not_found' } }]);
    expect(await next(10)).toMatchObject([{ type: 'response.created' }, { type: 'response.completed' }]);
  });
});

describe('a client that does not read', () => {
  afterEach(endAll);

  it('is not read from while it sends faster than replies end, and cut off', async () => {
    const { url, gateway, server, rows } = await host({ server: { slow_client_ms: 500 } });
    let connection: Socket | undefined;
    server.on('connection', socket => void (connection = socket));
    const client = await SocketClient.open(url, { headers: { 'x-request-id': 'flood' } });
    client.create({ input: '[[sim:tokens=60000 tps=1000000]]' });
    await client.seen(({ type }) => type === 'response.output_text.delta');
    client.ws.pause();
    await until(() => connection!.writableNeedDrain);
    for (let sent = 0; sent < 40; sent++) client.create({ input: 'x'.repeat(500_000) });
    // Cut off, as a stalled reader of events is.
    await until(() => gateway.inFlight === 0);
    expect(await rows('flood', 1)).toMatchObject([{ end_reason: 'slow_client' }]);
    // Of 20 MB.
    expect(connection!.bytesRead).toBeLessThan(10_000_000);
    await until(() => new Promise(resolve => server.getConnections((_, open) => resolve(open === 0))));
    client.ws.terminate();
  });
});

describe('a WebSocket that is refused has a plain reply, and no socket is left open', () => {
  afterEach(endAll);

  it.each<[string, number, object, Partial<GatewayConfig>, string]>([
    ['without a key', 401, { authorization: '' }, {}, 'authentication_error'],
    ['with another key', 401, { authorization: 'Bearer sk-other' }, {}, 'authentication_error'],
    ['where none is offered', 426, {}, { responses: {} }, 'invalid_request_error'],
  ])('%s: %i', async (_, status, headers, sections, type) => {
    const { url, gateway } = await host(sections);
    const refused = await refusalOf(SocketClient.open(url, { headers: headers as Record<string, string> }));
    expect(refused).toMatchObject({ status, body: { error: { type } } });
    expect(refused.headers).toMatchObject({
      'x-request-id': expect.stringMatching(/^req_/),
      connection: expect.stringMatching(/close/),
    });
    await until(() => gateway.inFlight === 0);
  });

  it('beyond those of its account or of all', async () => {
    const { url } = await host({
      responses: { websocket: { max_open: 3, max_open_per_account: 2 } },
      accounts: {
        tester: { keys: [{ value: clientKey }] },
        other: { keys: [{ value: 'sk-other-key-0123456789' }] },
      },
    });
    const other = { headers: { authorization: 'Bearer sk-other-key-0123456789' } };
    await SocketClient.open(url);
    const second = await SocketClient.open(url);
    expect(await refusalOf(SocketClient.open(url))).toMatchObject({
      status: 429,
      headers: { 'retry-after': '5' },
      body: { error: { type: 'rate_limit_error' } },
    });
    await SocketClient.open(url, other);
    expect(await refusalOf(SocketClient.open(url, other))).toMatchObject({ status: 503 });
    second.ws.close();
    await second.closed();
    await until(() =>
      SocketClient.open(url).then(
        () => true,
        () => false,
      ),
    );
  });

  it('by a limit before 101, and within a message after it', async () => {
    const plans = { small: { requests_per_minute: 1 } };
    const { url } = await host({
      plans,
      accounts: { tester: { plan: 'small', keys: [{ value: clientKey }] } },
    });
    const client = await SocketClient.open(url);
    // To open it counts nothing.
    expect(textOf(await client.ask({ input: '[[sim:say=One]]' }))).toBe('One');
    const [error] = await client.ask({ input: 'two' });
    expect(error).toMatchObject({
      status: 429,
      error: { type: 'rate_limit_error' },
      headers: { 'retry-after': expect.any(String) },
    });
    expect(await refusalOf(SocketClient.open(url))).toMatchObject({
      status: 429,
      body: { error: { type: 'rate_limit_error' } },
    });
  });

  it('on any path, with any method and protocol', async () => {
    const { url, server } = await host();
    const status = async (line: string, rest: string, expected: RegExp) => {
      const connection = new RawConnection(url);
      connection.write(
        `${line} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${clientKey}\r\nconnection: upgrade\r\n${rest}`,
      );
      await connection.received(expected);
      return connection;
    };
    const notFound = /^HTTP\/1\.1 404 [\s\S]*"invalid_request_error"/;
    for (const path of ['/v1/nothing', '/', '/v1/responses/x'])
      await status(`GET ${path}`, 'upgrade: websocket\r\n\r\n', notFound);
    const handshake = /^HTTP\/1\.1 400 [\s\S]*handshake is not valid/;
    await (await status('GET /v1/responses', 'upgrade: websocket\r\n\r\n', handshake)).closed;
    const body = JSON.stringify({ model: 'aion-labs/aion-3.5', messages: [{ role: 'user', content: 'Hi' }] });
    const offersHttp2 = `upgrade: h2c\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    await status('POST /v1/chat/completions', offersHttp2, /^HTTP\/1\.1 200 /);
    // As in versions of Node, or with hosts, that do not ask which requests are upgrades.
    Object.assign(server, { shouldUpgradeCallback: () => true });
    for (const offered of ['websocket', 'h2c'])
      for (const path of ['/v1/nothing', '/'])
        await (await status(`GET ${path}`, `upgrade: ${offered}\r\n\r\n`, notFound)).closed;
    await (await status('GET /v1/models', 'upgrade: h2c\r\n\r\n', /^HTTP\/1\.1 200 /)).closed;
    const refused = /^HTTP\/1\.1 400 [\s\S]*without the header Upgrade/;
    await (await status('POST /v1/chat/completions', offersHttp2, refused)).closed;
  });
});

describe('a connection ends', () => {
  afterEach(endAll);

  it('with 1001 at a shutdown: at once between replies, and after the reply that runs', async () => {
    const sidecar = await serveHere(sidecarConfig(simulator.url, { responses: { websocket: true } }));
    const idle = await SocketClient.open(sidecar.url);
    const busy = await SocketClient.open(sidecar.url);
    busy.create({ input: '[[sim:reasoning=none tokens=10 tps=20]]' });
    await busy.seen(({ type }) => type === 'response.created');
    const stopped = sidecar.stop();
    expect(await idle.closed()).toBe(1001);
    expect(busy.code).toBeUndefined();
    expect(await busy.closed()).toBe(1001);
    expect(busy.events.at(-1)).toMatchObject({ type: 'response.completed' });
    await stopped;
    expect(sidecar.lines).toContainEqual(
      expect.objectContaining({ msg: 'websocket closed', code: 1001, account: 'tester', replies: 1 }),
    );
  });

  it('with an error and 1001 when its reply does not end in the time for a shutdown', async () => {
    const { url, gateway } = await host();
    const client = await SocketClient.open(url);
    client.create({ input: '[[sim:tokens=5000 tps=50]]' });
    await client.seen(({ type }) => type === 'response.output_text.delta');
    await gateway.close(100);
    expect(await client.closed()).toBe(1001);
    expect(client.events.find(({ type }) => type === 'error')).toMatchObject({
      status: 502,
      error: { type: 'server_error' },
    });
  });

  it('with 1008 when its key is not valid any longer', async () => {
    const { url, gateway } = await host();
    const client = await SocketClient.open(url);
    await client.ask({ input: '[[sim:say=Before]]' });
    const accounts = { tester: { keys: [{ value: 'sk-another-key-0123456789' }] } };
    await gateway.reload(sidecarConfig(simulator.url, { accounts, responses: { websocket: true } }));
    const [error] = await client.ask({ input: 'After' });
    expect(error).toMatchObject({ status: 401, error: { type: 'authentication_error' } });
    expect(await client.closed()).toBe(1008);
  });

  it('with 1000 after 10 minutes of silence, or of 60 minutes with an error', async () => {
    const clock = new FakeClock();
    const { url } = await host({}, { clock });
    const [silent, talking] = [await SocketClient.open(url), await SocketClient.open(url)];
    for (let passed = 0; passed < 6; passed++) {
      clock.advance(9 * 60_000);
      await talking.ask({ input: '[[sim:say=Talk]]' });
      if (passed === 1) expect(await silent.closed()).toBe(1000);
    }
    expect(talking.code).toBeUndefined();
    clock.advance(7 * 60_000);
    expect(await talking.closed()).toBe(1000);
    expect(talking.events.at(-1)).toMatchObject({
      status: 400,
      error: { code: 'websocket_connection_limit_reached' },
    });
  });

  it('with 1001 when a reload switches it off', async () => {
    const { url, gateway } = await host();
    const client = await SocketClient.open(url);
    await gateway.reload(sidecarConfig(simulator.url));
    expect(await client.closed()).toBe(1001);
    expect(await refusalOf(SocketClient.open(url))).toMatchObject({ status: 426 });
  });
});

describe('a host', () => {
  afterEach(endAll);

  it('of Express keeps its own WebSockets, and its accountOf is asked about the request that opened one', async () => {
    const asked: (string | undefined)[] = [];
    const accountOf = ({ headers }: IncomingMessage) => {
      asked.push(headers.upgrade);
      return headers.cookie === 'session=ann' ? { id: 'ann' } : undefined;
    };
    const gateway = await mountable(simulator, { responses: { websocket: true } }, { accountOf });
    const app = await startApp(express => express.use(gateway));
    app.server.on('upgrade', (request, socket, head) =>
      gateway.upgrade(request, socket, head, () => socket.end('HTTP/1.1 200 Own\r\n\r\n')),
    );
    const headers = { authorization: '', cookie: 'session=ann' };
    const client = await SocketClient.open(app.url, { headers });
    expect(textOf(await client.ask({ input: '[[sim:say=Hi Ann]]' }))).toBe('Hi Ann');
    expect(asked).toEqual(['websocket', 'websocket']);
    const hijacked = SocketClient.open(app.url, { headers: { ...headers, origin: 'https://other.example' } });
    expect(await refusalOf(hijacked)).toMatchObject({ status: 403 });
    await SocketClient.open(app.url, { headers: { ...headers, origin: app.url } });
    const own = new RawConnection(app.url);
    own.write('GET /own HTTP/1.1\r\nhost: app\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
    await own.received(/^HTTP\/1\.1 200 Own/);
    client.ws.close();
    await client.closed();
  });
});
