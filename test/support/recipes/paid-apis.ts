import type { ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { startSimulator } from '../../../src/simulator/server.ts';
import { selfSigned } from '../self-signed-certificate.ts';

/** A request as a stand-in for a paid API has received it. */
export interface ReceivedRequest {
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** A server behind the names of paid APIs. */
export interface PaidApis {
  readonly port: number;
  /** Its certificate in PEM, which its clients are to trust. */
  readonly certificate: string;
  readonly received: readonly ReceivedRequest[];
  close(): Promise<void>;
}

/** A model that a paid API lists: by its name alone, or as its entry in the list, with `id`. */
export type ListedModel = string | (Readonly<Record<string, unknown>> & { readonly id: string });

/** The end of a path, which says what is asked; before it stands the version, as in `/v1beta/openai`. */
const call = /\/(?:chat\/completions|completions|embeddings|models|messages|messages\/count_tokens|rerank)$/;

/** Answers for `hosts` over TLS as the simulator does, below whatever path the API has. `models` are those that it lists. */
export async function startPaidApis(
  hosts: readonly string[],
  models: readonly ListedModel[],
): Promise<PaidApis> {
  const entries = models.map(model => (typeof model === 'string' ? { id: model } : model));
  const simulator = await startSimulator(entries.length === 0 ? {} : { models: entries.map(({ id }) => id) });
  const { key, cert } = selfSigned(new Date(Date.now() + 86_400_000), hosts);
  const received: ReceivedRequest[] = [];
  const server = createTlsServer({ key, cert }, async (request, response) => {
    const { method = 'GET', headers } = request;
    const [path = ''] = (request.url ?? '').split('?');
    const body = (await buffer(request)).toString();
    received.push({ host: headers.host ?? '', method, path, headers, body });
    if (entries.length > 0 && path.endsWith('/models')) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ object: 'list', data: entries }));
      return;
    }
    await answer(
      `${new URL(simulator.url).origin}/v1${call.exec(path)?.[0] ?? path}`,
      { method, headers, body },
      response,
    );
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
    await simulator.close();
  };
  return { port: (server.address() as AddressInfo).port, certificate: cert, received, close };
}

async function answer(
  url: string,
  { method, headers, body }: Pick<ReceivedRequest, 'method' | 'headers' | 'body'>,
  response: ServerResponse,
): Promise<void> {
  const version = headers['anthropic-version'];
  const sent = {
    'content-type': 'application/json',
    ...(typeof version === 'string' && { 'anthropic-version': version }),
  };
  const reply = await fetch(url, { method, headers: sent, ...(method !== 'GET' && { body }) });
  response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? 'text/plain' });
  if (reply.body) Readable.fromWeb(reply.body as never).pipe(response);
  else response.end();
}
