import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { RawConnection, type RawReply, send } from '../support/raw-client.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';

const hashedKey = 'sk-kept-as-a-digest-only';

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  upstream = await startScriptedUpstream(
    whole(200, {
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  );
  gateway = await startGateway({
    upstream,
    config: {
      accounts: {
        tester: { keys: [{ value: clientKey }] },
        other: { keys: [{ sha256: hash('sha256', hashedKey, 'hex').toUpperCase() }] },
      },
    },
  });
});

afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

const sendWith = (headers: Readonly<Record<string, string>>): Promise<RawReply> =>
  send(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(ask('Hello')),
  });

describe('a request with a key', () => {
  it.each([
    ['as Bearer', `Bearer ${clientKey}`],
    ['as Api-Key', `Api-Key ${clientKey}`],
    ['with the other scheme in mixed case', `API-key ${clientKey}`],
    ['when only its digest is configured', `Bearer ${hashedKey}`],
  ])('is accepted %s', async (_, authorization) => {
    const { status, headers } = await sendWith({ authorization });
    expect(status).toBe(200);
    expect(headers['www-authenticate']).toBeUndefined();
  });
});

describe('a request without a key', () => {
  it.each<[string, string | undefined, Readonly<Record<string, string>>?]>([
    ['no header', undefined],
    ['a scheme alone', 'Bearer'],
    ['another scheme', `Basic ${Buffer.from(`user:${clientKey}`).toString('base64')}`],
    ['the key in another header', undefined, { 'x-api-key': clientKey }],
  ])('gets 401 with how to send a key: %s', async (_, authorization, more = {}) => {
    const { status, headers, text } = await sendWith({
      ...more,
      ...(authorization !== undefined && { authorization }),
    });
    expect(status).toBe(401);
    expect(headers['www-authenticate']).toBe('Bearer realm="api", Api-Key realm="api"');
    expect(JSON.parse(text)).toEqual({
      error: {
        message:
          "Missing API key. Send 'Authorization: Bearer <API_KEY>' or 'Authorization: Api-Key <API_KEY>'.",
        type: 'authentication_error',
      },
    });
  });
});

describe('a request with a wrong key', () => {
  it.each([
    ['unknown', 'sk-unknown'],
    ['cut short', clientKey.slice(0, -1)],
    ['the digest of a configured key', hash('sha256', hashedKey, 'hex')],
    ['the name of a property', '__proto__'],
    ['of 7000 characters', 'k'.repeat(7000)],
  ])('gets 401 and no details: %s', async (_, key) => {
    for (const scheme of ['Bearer', 'Api-Key']) {
      const { status, headers, text } = await sendWith({ authorization: `${scheme} ${key}` });
      expect(status).toBe(401);
      expect(headers['www-authenticate']).toBe('Bearer realm="api", error="invalid_token"');
      expect(JSON.parse(text)).toEqual({
        error: { message: 'Invalid API key.', type: 'authentication_error' },
      });
    }
  });

  it('never reaches the upstream', async () => {
    const before = upstream.requests.length;
    await sendWith({ authorization: 'Bearer sk-unknown' });
    expect(upstream.requests).toHaveLength(before);
  });

  it('is refused before its body has arrived', async () => {
    const connection = new RawConnection(gateway.url);
    connection.write(
      'POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer sk-unknown\r\n' +
        'content-type: application/json\r\ncontent-length: 17825792\r\n\r\n{"mod',
    );
    await connection.received(/^HTTP\/1\.1 401 [\s\S]*Invalid API key\./);
    connection.destroy();
  });
});
