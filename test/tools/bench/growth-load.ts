import { join } from 'node:path';
import { Client, type Dispatcher } from 'undici';
import type { PrintingProcess } from '../../support/printing-process.ts';
import { cpuSecondsOf, gateway_core } from '../machine.ts';
import { bare, root, startFile } from '../processes.ts';
import { requestHeaders } from './conversation.ts';
import { growthKey, growthModel } from './growth-names.ts';
import type { GrowthServer, GrowthSizes } from './growth-server.ts';
import { replyTo } from './request-load.ts';

/** Making a million accounts takes a while. */
const startup_ms = 300_000;
const connections = 4;
/** Warm code, and a measurement that steps of 10 ms, in which Linux counts CPU time, do not distort. */
const [warmup_cpu_s, least_cpu_s, least_requests] = [2, 1, 4];

/** A sidecar with so much of everything, in a process of its own on the gateways' core. */
export class GrowingSidecar {
  readonly told: GrowthServer;
  readonly #process: PrintingProcess;

  private constructor(told: GrowthServer, process: PrintingProcess) {
    this.told = told;
    this.#process = process;
  }

  static async start(sizes: GrowthSizes): Promise<GrowingSidecar> {
    const file = join(root, 'test/tools/bench/growth-server.ts');
    const flags = ['--max-old-space-size=8192'];
    const started = startFile(file, [JSON.stringify(sizes)], { core: gateway_core, env: bare(), flags });
    const [, text] = await started.printed(/growth (\{.*\})/, startup_ms);
    return new GrowingSidecar(JSON.parse(text!), started);
  }

  /** CPU microseconds per request, in the long run of a closed loop; every reply has the `status`. */
  async cpu_us(
    requestOf: () => Dispatcher.DispatchOptions,
    status = 200,
    origin = this.told.url,
  ): Promise<number> {
    const clients = Array.from({ length: connections }, () => new Client(origin));
    let requests = 0;
    let isStopped = false;
    const loops = clients.map(async client => {
      while (!isStopped) {
        await replyTo(client, requestOf(), status);
        requests++;
      }
    });
    const all = Promise.all(loops);
    const used = async (cpu_s: number) => {
      const [from_s, from] = [cpuSecondsOf(this.#process.pid), requests];
      for (;;) {
        await Promise.race([new Promise(resolve => setTimeout(resolve, 20)), all]);
        const [seconds, count] = [cpuSecondsOf(this.#process.pid) - from_s, requests - from];
        if (seconds >= cpu_s && count >= least_requests) return (seconds / count) * 1e6;
      }
    };
    try {
      await used(warmup_cpu_s);
      const figure = await used(least_cpu_s);
      isStopped = true;
      await all;
      return figure;
    } finally {
      isStopped = true;
      for (const client of clients) void client.destroy();
    }
  }

  async stop(): Promise<void> {
    this.#process.signal('SIGKILL');
    await this.#process.exited;
  }
}

const text = 'A river bends because water on the outside of a slight curve runs faster. ';

/** A request with any key and model of so many. */
export function requestOfMany(keys: number, models: number): () => Dispatcher.DispatchOptions {
  const any = (count: number) => Math.floor(Math.random() * count);
  return () =>
    chatRequest({ model: growthModel(any(models)), messages: [{ role: 'user', content: text }] }, any(keys));
}

/** The header with the key of that number. */
export const headersOf = (key: number) => ({ authorization: `Bearer ${growthKey(key)}` });

const chatRequest = (body: object, key = 0, path = '/v1/chat/completions'): Dispatcher.DispatchOptions => ({
  path,
  method: 'POST',
  headers: { ...requestHeaders, ...headersOf(key) },
  body: JSON.stringify(body),
});

/** What a conversation has: text of so many characters in each of so many messages, and so many tools. */
export interface Conversation {
  readonly characters?: number;
  readonly messages?: number;
  readonly tools?: number;
}

/** The same conversation as a request of each format. */
export function conversationOf({ characters = 100, messages = 1, tools = 0 }: Conversation) {
  const content = text.repeat(Math.ceil(characters / text.length)).slice(0, characters);
  const turns = Array.from({ length: messages }, (_, at) => ({
    role: (messages - at) % 2 === 1 ? 'user' : 'assistant',
    content,
  }));
  const parameters = {
    type: 'object',
    properties: { place: { type: 'string', description: text }, days: { type: 'integer', minimum: 1 } },
    required: ['place'],
  };
  const functions = Array.from({ length: tools }, (_, at) => ({ name: `forecast_${at}`, description: text }));
  const model = growthModel(0);
  const listed = <T>(form: (one: (typeof functions)[0]) => T) =>
    tools === 0 ? {} : { tools: functions.map(form) };
  const bodies = {
    '/v1/chat/completions': {
      messages: turns,
      ...listed(one => ({ type: 'function', function: { ...one, parameters } })),
    },
    '/v1/responses': { input: turns, ...listed(one => ({ type: 'function', ...one, parameters })) },
    '/v1/messages': {
      messages: turns,
      max_tokens: 100,
      ...listed(one => ({ ...one, input_schema: parameters })),
    },
  };
  return Object.entries(bodies).map(([path, body]) => chatRequest({ model, ...body }, 0, path));
}
