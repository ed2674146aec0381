import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CountingUpstream } from '../support/counting-upstream.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { type RawReply, send } from '../support/raw-client.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { cpuSecondsOf } from '../tools/machine.ts';

/** Of the process, for a body of up to 16 MiB: a quarter of 250 ms per MiB, and three times what the dearest takes on a slow core. */
const most_cpu_ms = 1000;
const most_memory_mib = 1024;
/** Of requests beside it, by the clock: 500 ms on a machine with a free core, and here others may be using it. */
const most_wait_ms = 5000;

/** `server.max_body_bytes` by default; every body is about as large. */
const body_bytes = 16 * 1024 * 1024;

const values = /^The request body has more than the 300000 values accepted\.$/;
const keys = /^The request body has more than the 150000 keys accepted\.$/;
const notJson = /^The request body is not valid JSON/;
const expands = /^The request body decompresses to more than the \d+ bytes accepted of \d+ bytes of /;
const tooLong = /context window/;
/** Status 200, without words. */
const answered = undefined;

const model = '"model":"aion-labs/aion-3.5"';
const chatHead = `{${model},"messages":[{"role":"user","content":"Hello"}]`;
const message = (rest: string): string => `{${model},"messages":[{"role":"user",${rest}`;
const assistant = (rest: string): string => `{${model},"messages":[{"role":"assistant",${rest}`;
const messages = `{${model},"messages":[`;
const input = `{${model},"input":[`;
const schema = `${chatHead},"tools":[{"type":"function","function":{"name":"f","parameters":{`;

type Part = string | ((at: number) => string);

/** `head`, then `part` as often as it fits, then `tail`, and spaces; a comma behind the last part is left out. */
function filled(head: string, part: Part, tail: string, bytes = body_bytes): Buffer {
  const body = Buffer.allocUnsafe(bytes);
  let at = body.write(head);
  const room = bytes - at - Buffer.byteLength(tail);
  if (typeof part === 'string') {
    const end = at + room - (room % Buffer.byteLength(part));
    body.fill(part, at, end);
    at = end;
  } else at += numberedTo(room, part).copy(body, at);
  if (body[at - 1] === 0x2c) at--;
  at += body.write(tail, at);
  return body.fill(' ', at);
}

const numbered = new Map<(at: number) => string, Buffer>();

/** As many numbered parts as fit. The bytes are made once for each kind of part, since most bodies share them. */
function numberedTo(bytes: number, part: (at: number) => string): Buffer {
  let all = numbered.get(part);
  if (!all) {
    let text = '';
    for (let number = 0; text.length < body_bytes; number++) text += part(number);
    all = Buffer.from(text, 'latin1');
    numbered.set(part, all);
  }
  return all.subarray(0, all.lastIndexOf(',', bytes - 1) + 1);
}

/** As `filled`, with so many parts. */
function counted(head: string, part: Part, tail: string, count: number): Buffer {
  const parts =
    typeof part === 'string'
      ? part.repeat(count)
      : Array.from({ length: count }, (_, at) => part(at)).join('');
  return Buffer.from(head + (parts.endsWith(',') ? parts.slice(0, -1) : parts) + tail);
}

const key: Part = at => `"k${at}":1,`;
const user = '{"role":"user","content":"a"},';
const { raw } = String;

/** How a body is made, when it is sent, since together they are a gigabyte, and what is said of it. */
type Bodies = Readonly<Record<string, readonly [says: RegExp | undefined, make: () => Buffer]>>;

const chat: Bodies = {
  // Where they stand makes no difference: they are counted before the body is parsed.
  'empty objects': [values, () => filled(messages, '{},', ']}')],
  'keys of a tool schema': [keys, () => filled(schema, key, '}}}]}')],
  'one key again and again': [keys, () => filled(`${chatHead},`, '"a":1,', '}')],
  '16 MiB of [': [values, () => Buffer.alloc(body_bytes, '[')],
  '16 MiB of {"a":': [keys, () => filled('', '{"a":', '')],
  // Below those limits.
  '100,000 messages without a role': [
    /^messages\[0\]\.role: /,
    () => counted(messages, '{},', ']}', 100_000),
  ],
  '70,000 valid messages': [answered, () => counted(messages, user, ']}', 70_000)],
  '70,000 valid messages and one that is not': [
    /^messages\[70000\]: /,
    () => counted(messages, at => (at < 70_000 ? user : '1,'), ']}', 70_001),
  ],
  '142,000 unknown fields': [
    /^more than the 1000 unknown parameters accepted/,
    () => counted(`${chatHead},`, key, '}', 142_000),
  ],
  '142,000 keys of logit_bias': [
    answered,
    () => counted(`${chatHead},"logit_bias":{`, at => `"${at * 20_011}":1,`, '}}', 142_000),
  ],
  '142,000 keys of a tool schema': [answered, () => counted(schema, key, '}}}]}', 142_000)],
  '150,000 levels in tools': [
    /^tools: is nested more than 256 levels/,
    () => Buffer.from(`${chatHead},"tools":${'['.repeat(150_000)}${']'.repeat(150_000)}}`),
  ],
  'a text of words': [tooLong, () => filled(message('"content":"'), 'words ', '"}]}')],
  'a text of ideographs': [tooLong, () => filled(message('"content":"'), '語', '"}]}')],
  // A letter between them, since a run of quotes has few tokens.
  'quotes, escaped': [tooLong, () => filled(message('"content":"'), raw`\"a`, '"}]}')],
  'a name of a model': [
    /^model: unknown model/,
    () => filled('{"messages":[{"role":"user","content":"a"}],"model":"', 'm', '"}'),
  ],
  'an unknown field': [answered, () => filled(`${chatHead},"`, 'x', '":1}')],
  'a number': [/^temperature: /, () => filled(`${chatHead},"temperature":1`, '0', '}')],
  'numbers of 700 digits': [
    answered,
    () => filled(`${chatHead},"x":[`, `0.${'123456789'.repeat(78)}e-290,`, ']}'),
  ],
  'arguments that are 16 MiB of [': [
    /^messages/,
    () =>
      filled(
        assistant('"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"'),
        '[',
        '"}}, 1]}]}',
      ),
  ],
  'white space': [answered, () => filled(chatHead, ' ', '}')],
  'a fault at the very end': [notJson, () => filled(message('"content":"'), 'words ', '"}]}}')],
  'a fault at the very end of many values': [
    notJson,
    () => counted(`${chatHead},"x":[`, '{},', ']}}', 290_000),
  ],
};

const responses: Bodies = {
  'input items that are empty objects': [values, () => filled(input, '{},', ']}')],
  '290,000 items that are nothing': [/^input\[0\]/, () => counted(input, '{},', ']}', 290_000)],
  '70,000 parts of an assistant': [
    answered,
    () =>
      counted(
        `${input}{"role":"assistant","content":[`,
        '{"type":"output_text","text":"a"},',
        ']}]}',
        70_000,
      ),
  ],
  '42,000 calls and outputs': [
    answered,
    () =>
      counted(
        input,
        at =>
          at % 2
            ? `{"type":"function_call_output","call_id":"c${at - 1}","output":"a"},`
            : `{"type":"function_call","call_id":"c${at}","name":"f","arguments":"{}"},`,
        ']}',
        42_000,
      ),
  ],
};

const bomb = (bytes = body_bytes): Buffer => filled(`{${model},"tools":[`, '{},', ']}', bytes);
const spaces = (): Buffer => Buffer.alloc(4 * body_bytes, ' ');
const fast = (bytes: Buffer): Buffer =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });
/** By their encoding and what is in them. */
const compressed: Bodies = {
  'gzip of tools': [expands, () => gzipSync(bomb())],
  'br of tools': [expands, () => fast(bomb())],
  'gzip of spaces': [expands, () => gzipSync(spaces())],
  'gzip of a mebibyte of tools': [values, () => gzipSync(bomb(1024 * 1024))],
};

const upstream = new CountingUpstream();
let sidecar: SidecarProcess;

beforeAll(async () => {
  await upstream.listen();
  const plans = { tokens: { tokens_per_minute: 1_000_000_000 } };
  const accounts = { tester: { plan: 'tokens', keys: [{ value: clientKey }] } };
  sidecar = await startSidecar(sidecarConfig(upstream.url, { plans, accounts }));
  for (let sent = 0; sent < 50; sent++) expect((await good()).status).toBe(200);
});

afterAll(async () => {
  const code = await sidecar?.stop();
  await upstream.close();
  expect(code).toBe(0);
  // Level 50 and above is the log of bugs.
  expect(sidecar.output()).not.toMatch(/"level":[56]0|Error:/);
});

const headers = { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' };

const good = (): Promise<RawReply> =>
  send(`${sidecar.url}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify(ask('Hello')),
  });

const post = (path: string, body: Buffer, encoding: object): Promise<RawReply> =>
  send(`${sidecar.url}/v1/${path}`, { method: 'POST', headers: { ...headers, ...encoding }, body });

/** The most memory that the process has held since this was called before. */
function peakMemory_mib(): number {
  const status = readFileSync(`/proc/${sidecar.pid}/status`, 'latin1');
  writeFileSync(`/proc/${sidecar.pid}/clear_refs`, '5');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/** Sends something again and again until it is stopped: the longest that any took, in milliseconds. */
function repeated(request: () => Promise<RawReply>): { stop(): Promise<number> } {
  let stopped = false;
  let slowest_ms = 0;
  const run = async () => {
    // biome-ignore lint/plugin: load, not a wait.
    while (!stopped) {
      const began_ms = performance.now();
      expect((await request()).status).toBe(200);
      slowest_ms = Math.max(slowest_ms, performance.now() - began_ms);
      await sleep(10);
    }
    return slowest_ms;
  };
  const running = run();
  return {
    stop() {
      stopped = true;
      return running;
    },
  };
}

const all = [
  ...Object.entries(chat).map(([name, body]) => ({ name, path: 'chat/completions', body, encoding: {} })),
  ...Object.entries(responses).map(([name, body]) => ({ name, path: 'responses', body, encoding: {} })),
  ...Object.entries(compressed).map(([name, body]) => ({
    ...{ name, path: 'responses', body, encoding: { 'content-encoding': name.split(' ')[0] } },
  })),
];

describe('a hostile request among four other clients', () => {
  it.each(all)(
    'is answered within CPU and memory limits and delays none of them: $path, $name',
    async ({ path, body: [says, make], encoding }) => {
      const body = make();
      peakMemory_mib();
      const others = [good, good, good, good, () => send(`${sidecar.adminUrl}/healthz`)].map(repeated);
      const before_ms = cpuSecondsOf(sidecar.pid) * 1000;
      const { status, text } = await post(path, body, encoding);
      const cpu_ms = cpuSecondsOf(sidecar.pid) * 1000 - before_ms;
      const waits_ms = await Promise.all(others.map(other => other.stop()));
      expect(status).toBe(says ? (says === expands ? 413 : 400) : 200);
      const { error } = JSON.parse(text) as { error?: { message: string; type: string } };
      if (says)
        expect(error).toEqual({ message: expect.stringMatching(says), type: 'invalid_request_error' });
      expect(error?.message.length ?? 0).toBeLessThan(300);
      expect(cpu_ms).toBeLessThan(most_cpu_ms);
      expect(peakMemory_mib()).toBeLessThan(most_memory_mib);
      expect(Math.max(...waits_ms)).toBeLessThan(most_wait_ms);
    },
    120_000,
  );
});
