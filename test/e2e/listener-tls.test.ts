import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { DashboardVisitor, dashboardAdmin, operator } from '../support/dashboard-visitor.ts';
import { ask, clientKey, configOf, startGateway, sumOf } from '../support/gateway-under-test.ts';
import { completion, finished, said, used } from '../support/hostile-setting.ts';
import { RawConnection } from '../support/raw-client.ts';
import {
  chunk,
  events,
  lastChunk,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamHead,
  whole,
} from '../support/scripted-upstream.ts';
import { type SelfSigned, selfSigned } from '../support/self-signed-certificate.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { trustCertificate } from '../support/trusted-certificates.ts';
import { until } from '../support/until.ts';

const year_ms = 365 * 86_400_000;
const inYears = (years: number) => new Date(Math.floor((Date.now() + years * year_ms) / 1000) * 1000);
/** The last one in a week. */
const ends = [inYears(1), inYears(2), inYears(1 / 52)] as const;
const [first, second, third] = ends.map(end => selfSigned(end)) as [SelfSigned, SelfSigned, SelfSigned];
const distrust = [first, second, third].map(({ cert }) => trustCertificate(cert));

const folder = mkdtempSync(join(tmpdir(), 'sluice-tls-'));
let versions = 0;
/** Puts a pair into the folder as Kubernetes does: `data` is a symbolic link that is swapped. */
function mount({ cert, key }: SelfSigned): void {
  const version = `v${++versions}`;
  mkdirSync(join(folder, version));
  writeFileSync(join(folder, version, 'tls.crt'), cert);
  writeFileSync(join(folder, version, 'tls.key'), key, { mode: 0o600 });
  symlinkSync(version, join(folder, 'new'));
  renameSync(join(folder, 'new'), join(folder, 'data'));
}
const files = { cert_file: join(folder, 'data/tls.crt'), key_file: join(folder, 'data/tls.key') };

let upstream: ScriptedUpstream;
let sidecar: SidecarProcess;
const silent: Socket[] = [];
let silentClosed = 0;

beforeAll(async () => {
  mount(first);
  upstream = await startScriptedUpstream(whole(200, completion('Hello.')));
  sidecar = await startSidecar(
    sidecarConfig(upstream.url, {
      log: { level: 'info' },
      server: { tls: files },
      admin: dashboardAdmin({ tls: files }),
    } as object),
  );
  for (let count = 0; count < 1000; count++)
    silent.push(
      connect(Number(new URL(sidecar.url).port), '127.0.0.1')
        .on('error', () => {})
        .on('close', () => silentClosed++),
    );
});
afterAll(async () => {
  await sidecar?.stop();
  await upstream?.close();
  for (const end of distrust) end();
  rmSync(folder, { recursive: true });
});

const post = (content: string, more: object = {}): Promise<Response> =>
  fetch(`${sidecar.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${clientKey}`,
      'content-type': 'application/json',
      connection: 'close',
    },
    body: JSON.stringify(ask(content, more)),
  });

const metric = async (name: string, labels: Readonly<Record<string, string>>) =>
  sumOf(await (await fetch(`${sidecar.adminUrl}/metrics`)).text(), name, labels);

/** When the certificate ends that a new connection is shown. */
function shownEnd(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(url);
    const socket = tls.connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()!.validToDate.getTime());
      socket.destroy();
    });
    socket.on('error', reject);
  });
}
const shows = (end: Date) => async () => (await shownEnd(sidecar.url)) === end.getTime();

describe('a listener with TLS', () => {
  it('serves an OpenAI client over HTTPS, whole and streamed, while a thousand handshakes are not finished', async () => {
    expect(sidecar.url).toMatch(/^https:/);
    expect(silentClosed).toBe(0);
    const client = new OpenAI({ apiKey: clientKey, baseURL: `${sidecar.url}/v1`, maxRetries: 0 });
    const { choices } = await client.chat.completions.create(ask('Hello') as never);
    expect(choices[0]!.message.content).toBe('Hello.');
    upstream.replyOnce(
      Buffer.concat([
        Buffer.from(streamHead()),
        chunk(events(said('Hello'), said(' again.'), finished(), used(7, 3), '[DONE]')),
        Buffer.from(lastChunk),
      ]),
    );
    let text = '';
    const stream = await client.chat.completions.create({ ...ask('Hello'), stream: true } as never);
    for await (const { choices } of stream as unknown as AsyncIterable<OpenAI.ChatCompletionChunk>)
      text += choices[0]?.delta.content ?? '';
    expect(text).toBe('Hello again.');
  });

  it('has cookies on its admin listener that browsers send over HTTPS only', async () => {
    const visitor = new DashboardVisitor(`${sidecar.adminUrl}/dashboard/`);
    expect(visitor.base).toMatch(/^https:/);
    const { headers, location } = await visitor.signIn(operator.password);
    expect(location).toBe('.');
    for (const cookie of headers.getSetCookie()) expect(cookie).toMatch(/; Secure/);
    expect(headers.getSetCookie()).not.toEqual([]);
  });

  it('closes plain HTTP and counts it, and answers broken HTTP below TLS in its own format', async () => {
    const plain = new RawConnection(sidecar.url);
    plain.write('GET /v1/models HTTP/1.1\r\nhost: sluice\r\n\r\n');
    await plain.closed;
    expect(plain.text).toBe('');
    const labels = { listener: 'server', reason: 'plain_http' };
    expect(await metric('sluice_listener_handshake_failures_total', labels)).toBe(1);

    const { port } = new URL(sidecar.url);
    const broken = tls.connect({ host: '127.0.0.1', port: Number(port), ca: first.cert });
    broken.write('NO HTTP\r\n\r\n');
    let reply = '';
    for await (const part of broken) reply += part;
    expect(reply).toMatch(/^HTTP\/1\.1 400 /);
    expect(reply).toContain('"invalid_request_error"');
  });

  it('shows new connections a new certificate, while a stream goes on, and keeps it when a later pair is broken', async () => {
    let finish = () => {};
    upstream.replyOnce(socket => {
      socket.write(Buffer.concat([Buffer.from(streamHead()), chunk(events(said('Hello')))]));
      finish = () =>
        void socket.write(
          Buffer.concat([
            chunk(events(said(' again.'), finished(), used(7, 3), '[DONE]')),
            Buffer.from(lastChunk),
          ]),
        );
    });
    const stream = await post('Hello', { stream: true });
    mount(second);
    await until(shows(ends[1]));
    finish();
    expect(await stream.text()).toMatch(/ again\.[\s\S]*data: \[DONE\]\n\n$/);
    const expiry = 'sluice_listener_certificate_expiry_timestamp_seconds';
    await until(async () => (await metric(expiry, { listener: 'admin' })) === ends[1].getTime() / 1000);
    expect(await metric(expiry, { listener: 'server' })).toBe(ends[1].getTime() / 1000);
    expect(sidecar.output()).toContain('certificate reloaded');

    mount({ cert: third.cert, key: second.key });
    await until(() => sidecar.output().includes('failed to read the new certificate'));
    expect(sidecar.output()).toContain('is not the key of the first certificate in cert_file');
    expect((await post('Hello')).status).toBe(200);
    writeFileSync(files.key_file, third.key);
    await until(shows(ends[2]));
    await until(() => sidecar.output().includes('the certificate of this listener expires soon'));
    expect(sidecar.output()).not.toContain('PRIVATE KEY');
  });

  it('ends handshakes that are not finished in ten seconds', async () => {
    await until(() => silentClosed === silent.length, 12_000);
    const labels = { listener: 'server', reason: 'timeout' };
    await until(async () => (await metric('sluice_listener_handshake_failures_total', labels)) === 1000);
  });
});

describe('a listener with TLS and authorities for clients', () => {
  const client = selfSigned(ends[0]);
  const stranger = selfSigned(ends[0]);

  it('serves only clients with a certificate, finishes a stream at the shutdown, and does not wait for handshakes', async () => {
    const authorities = join(folder, 'clients.pem');
    writeFileSync(authorities, client.cert);
    writeFileSync(files.cert_file, first.cert);
    writeFileSync(files.key_file, first.key);
    const certified = { ...files, client_ca_file: authorities, min_version: 'TLSv1.3' } as const;
    const gateway = await startGateway({ upstream, server: { tls: certified } });
    const { needsRestart } = await gateway.gateway.reload(configOf({ upstream, server: { tls: files } }));
    expect(needsRestart).toEqual(['server.tls']);
    const asked = (options: object): Promise<{ status: number; text: string }> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' };
        const sent = { method: 'POST', headers, ca: first.cert, agent: false, ...options };
        const outgoing = request(`${gateway.url}/v1/chat/completions`, sent, async response => {
          let text = '';
          for await (const part of response) text += part;
          resolve({ status: response.statusCode!, text });
        });
        outgoing.on('error', reject).end(JSON.stringify(ask('Hello', { stream: true })));
      });
    // By the alert: any other reason to fail says nothing about certificates of clients.
    await expect(asked({})).rejects.toThrow(/alert certificate required/);
    await expect(asked(stranger)).rejects.toThrow('socket hang up');
    await expect(asked({ ...client, maxVersion: 'TLSv1.2' })).rejects.toThrow(/alert protocol version/);

    const other = selfSigned(ends[0]);
    writeFileSync(authorities, client.cert + other.cert);
    await until(() =>
      asked(other).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );

    let finish = () => {};
    upstream.replyOnce(socket => {
      finish = () => {
        socket.write(streamHead());
        socket.write(chunk(events(said('Hello'), finished(), used(7, 3), '[DONE]')));
        socket.write(lastChunk);
      };
    });
    const requests = upstream.requests.length;
    const running = asked(client);
    await until(() => upstream.requests.length > requests);
    const pending = new RawConnection(gateway.url);
    await expect(asked({})).rejects.toThrow(/alert certificate required/);
    const began_ms = performance.now();
    const closed = gateway.close();
    finish();
    expect(await running).toMatchObject({ status: 200, text: expect.stringMatching(/data: \[DONE\]\n\n$/) });
    await closed;
    await pending.closed;
    expect(performance.now() - began_ms).toBeLessThan(8000);
  });
});
