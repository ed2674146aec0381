import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../src/catalog/default-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { RawConnection, send } from '../support/raw-client.ts';

interface Entry {
  readonly id: string;
  readonly date: string;
  readonly created?: number;
  readonly description: string;
  readonly reasoning_effort: { supported: boolean; levels: string[]; default: string | null };
}

interface Catalog {
  readonly object: string;
  readonly data: Entry[];
  readonly models: Entry[];
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

const newest = { supported: true, levels: ['low', 'high', 'max'], default: 'high' };
const earlier = { supported: true, levels: ['none', 'low', 'medium', 'high', 'max'], default: 'medium' };
const unsupported = { supported: false, levels: [], default: null };
const large = { prompt: '0.000003', completion: '0.000006', input_cache_read: '0.00000075' };
const mini = { prompt: '0.0000007', completion: '0.0000014', input_cache_read: '0.00000018' };

/** Name, date, its midnight, context, prices, efforts of each model, as the protocol's table has them. */
const table = [
  ['aion-3.5', 'Aion 3.5', '2026-09-23', 1_790_121_600, 262_144, large, newest],
  ['aion-3.5-mini', 'Aion 3.5 Mini', '2026-09-23', 1_790_121_600, 262_144, mini, newest],
  ['aion-3.0', 'Aion 3.0', '2026-05-05', 1_777_939_200, 131_072, large, earlier],
  ['aion-3.0-mini', 'Aion 3.0 Mini', '2026-05-14', 1_778_716_800, 131_072, mini, earlier],
  [
    'aion-2.0',
    'Aion 2.0',
    '2025-12-21',
    1_766_275_200,
    131_072,
    { prompt: '0.0000008', completion: '0.0000016', input_cache_read: '0.0000002' },
    earlier,
  ],
  [
    'aion-rp-llama-3.1-8b',
    'Aion-RP 1.0 (8B)',
    '2024-11-30',
    1_732_924_800,
    32_768,
    { prompt: '0.0000008', completion: '0.0000016' },
    unsupported,
  ],
] as const;

const expected = table.map(([model, name, date, created, context_length, pricing, reasoning_effort]) => ({
  id: `aion-labs/${model}`,
  object: 'model',
  created,
  name: `AionLabs: ${name}`,
  description: expect.stringMatching(/\w/),
  date,
  context_length,
  max_completion_tokens: 32_768,
  is_moderated: false,
  architecture: { modality: 'text->text' },
  pricing,
  reasoning: reasoning_effort.supported,
  tool_calls: reasoning_effort.supported,
  reasoning_effort,
}));

describe('GET /v1/models', () => {
  it('has the fields of the interface and no others', async () => {
    const catalog = await catalogOf();
    expect(Object.keys(catalog)).toEqual(['object', 'data', 'models']);
    expect(catalog.object).toBe('list');
    expect(catalog.data).toEqual(expected);
  });

  it('keeps the legacy list: the same entries without object and created', async () => {
    const { data, models } = await catalogOf();
    expect(models).toEqual(expected.map(({ object, created, ...entry }) => entry));
    expect(models).toEqual(data.map(({ created, ...entry }) => ({ ...entry, object: undefined })));
    for (const entry of models) {
      expect(entry).not.toHaveProperty('object');
      expect(entry).not.toHaveProperty('created');
    }
  });

  it('dates each model at midnight UTC', async () => {
    for (const { date, created } of (await catalogOf()).data)
      expect(new Date(created! * 1000).toISOString()).toBe(`${date}T00:00:00.000Z`);
  });

  it('has a default effort that is one of the levels, or neither', async () => {
    for (const { reasoning_effort } of (await catalogOf()).data) {
      const { supported, levels, default: chosen } = reasoning_effort;
      if (supported) expect(levels).toContain(chosen);
      else expect({ levels, chosen }).toEqual({ levels: [], chosen: null });
    }
  });

  it('writes prices as decimal strings', async () => {
    const text = await (await fetch(url)).text();
    expect(text).toContain('"input_cache_read":"0.00000075"');
    const prices = [...text.matchAll(/"(?:prompt|completion|input_cache_read)":([^,}]+)/g)].map(
      ([, price]) => price,
    );
    expect(prices).toHaveLength(2 * 17);
    for (const price of prices) expect(price).toMatch(/^"\d+\.\d+"$/);
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
    expect(JSON.parse(reply.text)).toEqual(expected[0]);
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
