import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { Webhooks } from '../../../../plugins/notices/webhook.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const older = `whsec_${Buffer.alloc(24, 8).toString('base64')}`;
const notice = {
  id: '019ab000-0000-7000-8000-000000000001',
  key: 'secret of the outbox',
  subject: 'account:acme',
  type: 'limit.threshold_reached',
  data: { account: 'acmé', used_percent: 80 },
  created_ms: Date.parse('2026-11-20T12:00:00Z'),
};

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function receiver(handler: RequestListener): Promise<string> {
  const server: Server = createServer(handler).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks?x=1`;
}

function post(url: string, timeout_ms = 2000, secrets = [secret]) {
  const webhooks = new Webhooks();
  ends.push(() => webhooks.close());
  return webhooks.post({ url, secrets, timeout_ms }, notice, Date.now(), new AbortController().signal);
}

describe('posting a notice to a webhook', () => {
  it('sends JSON that other implementations of Standard Webhooks find signed, by each of its secrets', async () => {
    let seen: IncomingMessage | undefined;
    let body = '';
    const url = await receiver(async (request, response) => {
      seen = request;
      body = await text(request);
      response.writeHead(204).end();
    });
    await post(url, 2000, [secret, older]);
    expect(seen).toMatchObject({ method: 'POST', url: '/hooks?x=1' });
    expect(seen!.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': notice.id });
    expect(JSON.parse(body)).toEqual({
      id: notice.id,
      type: notice.type,
      created: '2026-11-20T12:00:00.000Z',
      data: notice.data,
    });
    const { webhooks } = new OpenAI({ apiKey: 'unused' });
    for (const one of [secret, older]) await webhooks.verifySignature(body, seen!.headers as never, one);
    await expect(webhooks.verifySignature(`${body} `, seen!.headers as never, secret)).rejects.toThrow();
  });

  it.each([
    [500, false],
    [302, false],
    [404, false],
    [410, true],
  ])('fails for status %i, and follows nothing', async (status, isFinal) => {
    let requests = 0;
    const url = await receiver((_, response) => {
      requests++;
      response.writeHead(status, { location: '/elsewhere' }).end();
    });
    await expect(post(url)).rejects.toMatchObject({ message: `status ${status}`, isFinal });
    expect(requests).toBe(1);
  });

  it('waits no longer than its time limit for a receiver that is silent, or never ends', async () => {
    const silent = await receiver(() => {});
    await expect(post(silent, 300)).rejects.toMatchObject({ name: 'DeliveryFailed', isFinal: false });
    const endless = await receiver((_, response) => {
      response.writeHead(500);
      const timer = setInterval(() => response.write('x'.repeat(1000)), 5);
      response.once('close', () => clearInterval(timer));
    });
    const began_ms = performance.now();
    await expect(post(endless, 1000)).rejects.toMatchObject({ name: 'DeliveryFailed' });
    expect(performance.now() - began_ms).toBeLessThan(5000);
  });

  it('says why a receiver cannot be reached', async () => {
    await expect(post('http://127.0.0.1:9/')).rejects.toMatchObject({ message: 'ECONNREFUSED' });
  });
});
