import { connect, type Socket } from 'node:net';
import type { Simulator, SimulatorOptions } from '../../../src/simulator/server.ts';
import { startSimulator } from '../../../src/simulator/server.ts';

const running: Simulator[] = [];

/** A simulator on a free port that `closeAll` ends. */
export async function simulate(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const simulator = await startSimulator(options);
  running.push(simulator);
  return simulator;
}

/** For afterEach. */
export async function closeAll(): Promise<void> {
  await Promise.all(running.splice(0).map(simulator => simulator.close()));
}

/** A request body with one user message. */
export function ask(content: string, more: object = {}): object {
  return { model: 'm', messages: [{ role: 'user', content }], ...more };
}

export function post(simulator: Simulator, body: object | string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${simulator.url}/chat/completions`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
    headers: { 'content-type': 'application/json', ...init.headers },
  });
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details?: { cached_tokens: number } | null;
  completion_tokens_details?: { reasoning_tokens: number } | null;
}

interface CallDelta {
  index: number;
  id?: string;
  type?: string;
  function: { name?: string; arguments: string };
}

export interface Chunk {
  id: string;
  object: string;
  created: number;
  model: string;
  choices: {
    index: number;
    delta: {
      role?: string;
      content?: string;
      reasoning?: string;
      reasoning_content?: string;
      tool_calls?: CallDelta[];
    };
    finish_reason: string | null;
    stop_reason?: string | null;
    logprobs: null;
  }[];
  usage?: Usage;
  system_fingerprint?: string;
  error?: { message: string; code: number };
}

export interface Completion {
  id: string;
  model: string;
  choices: {
    index: number;
    message: {
      role: string;
      content: string | null;
      reasoning?: string | null;
      reasoning_content?: string | null;
      tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
    };
    finish_reason: string;
    stop_reason: string | null;
  }[];
  usage?: Usage;
}

/** The answer to a request that is not streamed. */
export async function complete(simulator: Simulator, body: object): Promise<Completion> {
  const response = await post(simulator, body);
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as Completion;
}

/** What stands after `data: ` in each event of a stream. */
export async function streamData(simulator: Simulator, body: object): Promise<string[]> {
  const response = await post(simulator, { ...body, stream: true });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  return events(text);
}

/** The chunks of a stream that must end with `[DONE]`. */
export async function streamChunks(simulator: Simulator, body: object): Promise<Chunk[]> {
  const data = await streamData(simulator, body);
  if (data.pop() !== '[DONE]') throw new Error('The stream did not end with [DONE].');
  return data.map(text => JSON.parse(text) as Chunk);
}

/** The data of all events in a piece of SSE text. */
export function events(text: string): string[] {
  return text
    .split('\n\n')
    .filter(event => event !== '')
    .map(event => event.replace(/^data: /, ''));
}

/** Joins one text of all deltas of a choice. */
export function joined(
  chunks: Chunk[],
  key: 'content' | 'reasoning' | 'reasoning_content',
  index = 0,
): string {
  return chunks
    .flatMap(chunk => chunk.choices)
    .filter(choice => choice.index === index)
    .map(choice => choice.delta[key] ?? '')
    .join('');
}

export interface RawReply {
  text: string;
  /** `end`: the server closed in good order; otherwise the code of the socket's error. */
  ending: string;
}

/** Sends a request on a bare socket and tells exactly what came back and how the connection ended. */
export function rawPost(simulator: Simulator, body: object, wait_ms = 10_000): Promise<RawReply> {
  return new Promise(resolve => {
    const socket = openRequest(simulator, body);
    let text = '';
    const settle = (ending: string): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, ending });
    };
    const timer = setTimeout(() => settle('still open'), wait_ms);
    socket.setEncoding('utf8');
    socket.on('data', piece => {
      text += piece;
    });
    socket.on('error', (error: NodeJS.ErrnoException) => settle(error.code ?? 'error'));
    socket.on('end', () => settle('end'));
  });
}

/** Sends a request on a bare socket and leaves the rest to the caller. */
export function openRequest(simulator: Simulator, body: object): Socket {
  const text = JSON.stringify(body);
  const socket = connect(simulator.port, '127.0.0.1');
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: simulator\r\ncontent-type: application/json\r\n` +
      `connection: close\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  return socket;
}
