import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { contract } from '../../examples/own-adapter/fixtures.ts';

export const geminiKey = 'AIza-test-0123456789';

interface GeminiRequest {
  readonly contents: readonly {
    readonly parts: readonly { text?: string; functionCall?: object; thoughtSignature?: string }[];
  }[];
  readonly tools?: readonly object[];
}

/** A server that plays the Gemini API, with the replies of the example's fixtures. `requests` are those so far: path and body. */
export async function startGeminiServer() {
  const requests: { readonly path: string; readonly body: GeminiRequest }[] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as GeminiRequest;
    requests.push({ path: request.url!, body });
    answer(request, body, response);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1beta`;
  const close = async () => {
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  };
  return { url, requests, close };
}
export type GeminiServer = Awaited<ReturnType<typeof startGeminiServer>>;

/** The last text decides: BLOCK, OVERLOAD, WRONG, FAULT (in the stream) or CUT; else tools are called, and their results answered. */
function answer({ url = '', headers }: IncomingMessage, body: GeminiRequest, response: ServerResponse): void {
  const refuse = (code: number, status: string, message: string) => {
    response.writeHead(code, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { code, message, status } }));
  };
  if (headers['x-goog-api-key'] !== geminiKey) return refuse(400, 'INVALID_ARGUMENT', 'API key not valid.');
  const isStream = url.endsWith(':streamGenerateContent?alt=sse');
  if (!isStream && !url.endsWith(':generateContent')) return refuse(404, 'NOT_FOUND', 'No such method.');
  const word = /BLOCK|OVERLOAD|WRONG|FAULT|CUT/.exec(body.contents.at(-1)?.parts[0]?.text ?? '')?.[0];
  if (word === 'OVERLOAD') return refuse(503, 'UNAVAILABLE', 'The model is overloaded.');
  if (word === 'WRONG') return refuse(400, 'INVALID_ARGUMENT', 'Invalid value.');
  const calls = body.contents.flatMap(({ parts }) => parts).filter(({ functionCall }) => functionCall);
  if (calls.length > 0 && calls[0]?.thoughtSignature !== 'c2lnbmVkLWNhbGw=')
    return refuse(400, 'INVALID_ARGUMENT', 'Function call is missing a thought_signature.');
  const name = word === 'BLOCK' ? 'blocked-prompt' : body.tools && calls.length === 0 ? 'tools' : 'answer';
  const { stream = '', reply } = contract.fixtures.find(fixture => fixture.name === name)!;
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
  if (!isStream) return void response.end(JSON.stringify(reply));
  if (word === undefined || word === 'BLOCK') return void response.end(stream);
  const events = stream.split(/(?<=\r\n\r\n)/);
  response.write(events.slice(0, 3).join(''));
  if (word === 'CUT') return void response.end();
  const error = { code: 503, message: 'Overloaded.', status: 'UNAVAILABLE' };
  response.end(`data: ${JSON.stringify({ error })}\r\n\r\n`);
}
