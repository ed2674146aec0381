import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../src/config/example-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { RawConnection, send } from '../support/raw-client.ts';

interface Catalog {
  readonly object: string;
  readonly data: readonly object[];
  readonly models: readonly object[];
}

let gateway: GatewayUnderTest;
let url: string;

beforeAll(async () => {
  // Nothing of how a model is served may show.
  const model = { effort_map: { low: { budget: 1 } }, starts_in_reasoning: true, on_client_gone: 'abort' };
  const served = defaultModels('upstream').map(entry =>
    entry.reasoning_effort.supported ? { ...entry, ...model } : entry,
  );
  gateway = await startGateway({
    upstream: 'http://127.0.0.1:9/v1',
    config: { models: served } as Partial<GatewayConfig>,
  });
  url = `${gateway.url}/v1/models`;
});

afterAll(() => gateway?.close());

const catalogOf = async (): Promise<Catalog> => (await (await fetch(url)).json()) as Catalog;

describe('GET /v1/models', () => {
  it('has every model, in the legacy list as well, and nothing of how one is served', async () => {
    const { object, data, models } = await catalogOf();
    expect([object, data.length, models.length]).toEqual(['list', 6, 6]);
    expect(JSON.stringify(data)).not.toMatch(/upstream|effort_map|starts_in|on_client_gone/);
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ['no key', {}],
    ['an unknown key', { authorization: 'Bearer sk-unknown' }],
    ['a malformed header', { authorization: 'nonsense' }],
    ['an empty header', { authorization: '' }],
  ])('answers a request with %s', async (_, headers) => {
    const { status, text } = await send(url, { headers });
    expect(status).toBe(200);
    expect(JSON.parse(text).data).toHaveLength(6);
  });

  it('answers a request that has a body', async () => {
    const { status } = await send(url, { headers: { 'content-type': 'text/plain' }, body: '{{{' });
    expect(status).toBe(200);
  });

  it('answers HEAD with the same headers and no body', async () => {
    const [get, head] = [await send(url), await send(url, { method: 'HEAD' })];
    const told = ({ headers }: typeof get) => ({ ...headers, date: '', 'x-request-id': '' });
    expect(head.status).toBe(200);
    expect(head.text).toBe('');
    expect(told(head)).toEqual(told(get));
    expect(get.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(get.headers['content-length']).toBe(String(Buffer.byteLength(get.text)));
  });
});

describe('GET /v1/models/{id}', () => {
  it.each([
    ['with its slash', 'aion-labs/aion-3.5'],
    ['with its slash encoded', 'aion-labs%2Faion-3.5'],
    [
      'with all of it encoded',
      [...'aion-labs/aion-3.5'].map(letter => `%${letter.charCodeAt(0).toString(16)}`).join(''),
    ],
    ['with a slash at its end and a query', 'aion-labs/aion-3.5/?a=b'],
  ])('answers with the entry of the list when the id is sent %s', async (_, id) => {
    const reply = await send(`${url}/${id}`);
    expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect(JSON.parse(reply.text)).toEqual((await catalogOf()).data[0]);
  });

  it('answers HEAD, and a client that has the entry already, without a body', async () => {
    const { headers } = await send(`${url}/aion-labs/aion-3.5`);
    const head = await send(`${url}/aion-labs/aion-3.5`, { method: 'HEAD' });
    expect([head.status, head.text, head.headers.etag]).toEqual([200, '', headers.etag]);
    const known = await send(`${url}/aion-labs/aion-3.5`, { headers: { 'if-none-match': headers.etag! } });
    expect([known.status, known.text]).toEqual([304, '']);
    expect((await send(`${url}/aion-labs/aion-3.0`)).headers.etag).not.toBe(headers.etag);
  });

  it.each([
    ['aion-3.5', 'aion-3.5'],
    ['aion-labs', 'aion-labs'],
    ['aion-labs%252Faion-3.5', 'aion-labs%2Faion-3.5'],
    ['%zz%', '%zz%'],
    ['..%2fchat%2fcompletions', '../chat/completions'],
    ['%00%0d%0a', '\0\r\n'],
    ['__proto__', '__proto__'],
    ['x'.repeat(4000), 'x'.repeat(256)],
  ])('answers 404 for an id that is not in the catalog: %s', async (path, id) => {
    const { status, text } = await send(`${url}/${path}`);
    expect(status).toBe(404);
    expect(JSON.parse(text)).toEqual({
      error: { message: `The model '${id}' does not exist.`, type: 'invalid_request_error' },
    });
  });

  it('takes dot segments for a part of the id', async () => {
    const connection = new RawConnection(url);
    connection.write('GET /v1/models/../chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    await connection.closed;
    expect(connection.text).toContain('HTTP/1.1 404 ');
    expect(connection.text).toContain("The model '../chat/completions' does not exist.");
  });

  it('answers 405 for other methods', async () => {
    const { status, headers } = await send(`${url}/aion-labs/aion-3.5`, { method: 'DELETE' });
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD']);
  });
});

describe('the entity tag of the catalog', () => {
  const tagOf = async (): Promise<string> => (await fetch(url)).headers.get('etag') ?? '';

  it('stays the same for the same catalog and differs for another', async () => {
    const tag = await tagOf();
    expect(tag).toMatch(/^"[^"]{8,}"$/);
    expect(await tagOf()).toBe(tag);
    const other = await startGateway({
      upstream: 'http://127.0.0.1:9/v1',
      model: { description: 'Another description.' },
    });
    const reply = await fetch(`${other.url}/v1/models`).finally(other.close);
    expect(reply.headers.get('etag')).not.toBe(tag);
  });

  it.each([
    ['as it is', (tag: string) => tag],
    ['made weak by a proxy', (tag: string) => `W/${tag}`],
    ['among others', (tag: string) => `"one", ${tag} , W/"two"`],
    ['as any', () => '*'],
  ])('saves a client that has the catalog the body when its tag is sent %s', async (_, given) => {
    const tag = await tagOf();
    const { status, headers, text } = await send(url, { headers: { 'if-none-match': given(tag) } });
    expect(status).toBe(304);
    expect(text).toBe('');
    expect(headers.etag).toBe(tag);
    expect(headers['content-length']).toBeUndefined();
    expect(headers['x-request-id']).toMatch(/^req_/);
  });

  it.each(['"other"', '', 'other'])('does not save the body when the sent tag differs: %s', async given => {
    expect((await send(url, { headers: { 'if-none-match': given } })).status).toBe(200);
  });
});

it('answers every request on a connection, and closes it when asked to', async () => {
  const connection = new RawConnection(url);
  const lines = 'GET /v1/models HTTP/1.1\r\nhost: x\r\n';
  connection.write(`${lines}\r\n`);
  await connection.received(/"object":"list"/);
  connection.write(`${lines}connection: close\r\n\r\n`);
  await connection.closed;
  expect(connection.text.match(/HTTP\/1\.1 200 /g)).toHaveLength(2);
});
