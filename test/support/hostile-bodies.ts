import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';

/** A request that one client may send to take the process down, and how it is answered. */
export interface HostileBody {
  readonly name: string;
  readonly path: '/v1/chat/completions' | '/v1/responses';
  readonly encoding?: string;
  readonly status: 200 | 400 | 413;
  readonly says: RegExp;
  /** Made when it is sent: together they are a gigabyte. */
  make(): Buffer;
  /** Size of what it decompresses to. */
  readonly bytes: number;
}

/** `server.max_body_bytes` by default; every body is about as large. */
export const body_bytes = 16 * 1024 * 1024;

const values = /^The request body has more than the 300000 values accepted\.$/;
const keys = /^The request body has more than the 150000 keys accepted\.$/;
const either = /^The request body has more than the \d+ (?:keys|values) accepted\.$/;
const notJson = /^The request body is not valid JSON/;
const expands = /^The request body decompresses to more than the \d+ bytes accepted of \d+ bytes of /;
const answered = /^/;

const model = '"model":"aion-labs/aion-3.5"';
const chatHead = `{${model},"messages":[{"role":"user","content":"Hello"}]`;
const responsesHead = `{${model},"input":"Hello"`;
const message = (rest: string): string => `{${model},"messages":[{"role":"user",${rest}`;
const assistant = (rest: string): string => `{${model},"messages":[{"role":"assistant",${rest}`;

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
const { raw } = String;

type Row = [name: string, status: HostileBody['status'], says: RegExp, make: () => Buffer];

const chat: Row[] = [
  ['messages that are empty objects', 400, values, () => filled(`{${model},"messages":[`, '{},', ']}')],
  ['messages that are numbers', 400, values, () => filled(`{${model},"messages":[`, '1,', ']}')],
  ['tools that are empty objects', 400, values, () => filled(`${chatHead},"tools":[`, '{},', ']}')],
  [
    'tool_calls that are empty objects',
    400,
    values,
    () => filled(assistant('"tool_calls":['), '{},', ']}]}'),
  ],
  ['content parts that are empty objects', 400, values, () => filled(message('"content":['), '{},', ']}]}')],
  ['content parts that are null', 400, values, () => filled(message('"content":['), 'null,', ']}]}')],
  ['stop sequences', 400, values, () => filled(`${chatHead},"stop":[`, '"a",', ']}')],
  ['arrays of arrays', 400, values, () => filled(`${chatHead},"x":[`, '[[[]],[]],', ']}')],
  ['nulls in an unknown field', 400, values, () => filled(`${chatHead},"x":[`, 'null,', ']}')],
  ['keys at the top', 400, keys, () => filled(`${chatHead},`, key, '}')],
  ['keys of metadata', 400, keys, () => filled(`${chatHead},"metadata":{`, key, '}}')],
  ['keys of logit_bias', 400, keys, () => filled(`${chatHead},"logit_bias":{`, at => `"${at}":1,`, '}}')],
  [
    'keys of a tool schema',
    400,
    keys,
    () =>
      filled(`${chatHead},"tools":[{"type":"function","function":{"name":"f","parameters":{`, key, '}}}]}'),
  ],
  [
    'keys of a content part',
    400,
    keys,
    () => filled(message('"content":[{"type":"text","text":"a",'), key, '}]}]}'),
  ],
  ['one key again and again', 400, keys, () => filled(`${chatHead},`, '"a":1,', '}')],
  [
    'messages again and again',
    400,
    either,
    () => filled(`{${model},`, '"messages":[{"role":"user","content":"a"}],', '}'),
  ],
  ['16 MiB of [', 400, values, () => Buffer.alloc(body_bytes, '[')],
  ['16 MiB of {"a":', 400, keys, () => filled('', '{"a":', '')],
  ['16 MiB of [ in tools', 400, values, () => filled(`${chatHead},"tools":`, '[', '')],
  [
    '100,000 messages without a role, below the limits',
    400,
    /^messages\[0\]\.role: /,
    () => counted(`{${model},"messages":[`, '{},', ']}', 100_000),
  ],
  [
    '290,000 tools that are nothing, below the limits',
    400,
    /^tools\[0\]: /,
    () => counted(`${chatHead},"tools":[`, '{},', ']}', 290_000),
  ],
  [
    '290,000 tool_calls that are nothing, below the limits',
    400,
    /^messages\[0\]\.tool_calls\[0\]/,
    () => counted(assistant('"tool_calls":['), '{},', ']}]}', 290_000),
  ],
  [
    '290,000 parts that are nothing, below the limits',
    400,
    /^messages\[0\]\.content\[0\]/,
    () => counted(message('"content":['), '{},', ']}]}', 290_000),
  ],
  [
    '70,000 valid messages',
    200,
    answered,
    () => counted(`{${model},"messages":[`, '{"role":"user","content":"a"},', ']}', 70_000),
  ],
  [
    '70,000 valid messages and one that is not',
    400,
    /^messages\[70000\]: /,
    () =>
      counted(
        `{${model},"messages":[`,
        at => (at < 70_000 ? '{"role":"user","content":"a"},' : '1,'),
        ']}',
        70_001,
      ),
  ],
  [
    '70,000 valid content parts',
    200,
    answered,
    () => counted(message('"content":['), '{"type":"text","text":"a"},', ']}]}', 70_000),
  ],
  [
    '149,000 unknown fields',
    400,
    /^more than the 1000 unknown parameters accepted/,
    () => counted(`${chatHead},`, key, '}', 142_000),
  ],
  [
    '149,000 keys of metadata',
    400,
    /^metadata: must have at most 16 keys/,
    () => counted(`${chatHead},"metadata":{`, key, '}}', 142_000),
  ],
  [
    '149,000 keys of logit_bias',
    200,
    answered,
    () => counted(`${chatHead},"logit_bias":{`, at => `"${at * 20_011}":1,`, '}}', 142_000),
  ],
  [
    '149,000 keys of a tool schema',
    200,
    answered,
    () =>
      counted(
        `${chatHead},"tools":[{"type":"function","function":{"name":"f","parameters":{`,
        key,
        '}}}]}',
        142_000,
      ),
  ],
  [
    '148,000 keys of as many shapes',
    200,
    answered,
    () => counted(`${chatHead},"x":[`, at => `{"k${at}":1},`, ']}', 148_000),
  ],
  [
    '150,000 levels in tools',
    400,
    /^tools: is nested more than 256 levels/,
    () => Buffer.from(`${chatHead},"tools":${'['.repeat(150_000)}${']'.repeat(150_000)}}`),
  ],
  ['a text of 16 MiB', 400, /context window/, () => filled(message('"content":"'), 'words ', '"}]}')],
  [
    'a text of 16 MiB without spaces',
    400,
    /context window/,
    () => filled(message('"content":"'), 'x', '"}]}'),
  ],
  [
    'a text of 5.6 million ideographs',
    400,
    /context window/,
    () => filled(message('"content":"'), '語', '"}]}'),
  ],
  // A letter between them, since a run of quotes has few tokens.
  ['quotes, escaped', 400, /context window/, () => filled(message('"content":"'), raw`\"a`, '"}]}')],
  ['letters, escaped', 400, /context window/, () => filled(message('"content":"'), raw`\u0041`, '"}]}')],
  [
    'half characters, escaped',
    400,
    /context window/,
    () => filled(message('"content":"'), raw`\ud83c`, '"}]}'),
  ],
  [
    'a model of 16 MiB',
    400,
    /^model: unknown model/,
    () => filled('{"messages":[{"role":"user","content":"a"}],"model":"', 'm', '"}'),
  ],
  ['an unknown field of 16 MiB', 200, answered, () => filled(`${chatHead},"`, 'x', '":1}')],
  ['a number of 16 MiB', 400, /^temperature: /, () => filled(`${chatHead},"temperature":1`, '0', '}')],
  [
    'numbers of 700 digits',
    200,
    answered,
    () => filled(`${chatHead},"x":[`, `0.${'123456789'.repeat(78)}e-290,`, ']}'),
  ],
  [
    'numbers with large exponents',
    200,
    answered,
    () => filled(`${chatHead},"x":[`, `1e${'9'.repeat(60)},`, ']}'),
  ],
  [
    'arguments that are 16 MiB of [',
    400,
    /^messages/,
    () =>
      filled(
        assistant('"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"'),
        '[',
        '"}}, 1]}]}',
      ),
  ],
  ['white space', 200, answered, () => filled(`${chatHead}`, ' ', '}')],
  ['a fault at the very end', 400, notJson, () => filled(message('"content":"'), 'words ', '"}]}}')],
  [
    'a fault at the very end of many values',
    400,
    notJson,
    () => counted(`${chatHead},"x":[`, '{},', ']}}', 290_000),
  ],
];

const responses: Row[] = [
  ['input items that are empty objects', 400, values, () => filled(`{${model},"input":[`, '{},', ']}')],
  ['messages that are empty objects', 400, values, () => filled(`{${model},"messages":[`, '{},', ']}')],
  ['tools that are empty objects', 400, values, () => filled(`${responsesHead},"tools":[`, '{},', ']}')],
  ['include that is numbers', 400, values, () => filled(`${responsesHead},"include":[`, '1,', ']}')],
  [
    'input parts that are empty objects',
    400,
    values,
    () => filled(`{${model},"input":[{"role":"user","content":[`, '{},', ']}]}'),
  ],
  [
    'output parts that are empty objects',
    400,
    values,
    () => filled(`{${model},"input":[{"type":"function_call_output","call_id":"a","output":[`, '{},', ']}]}'),
  ],
  ['keys at the top', 400, keys, () => filled(`${responsesHead},`, key, '}')],
  ['keys of text', 400, keys, () => filled(`${responsesHead},"text":{`, key, '}}')],
  [
    '290,000 tools that are nothing, below the limits',
    400,
    /^tools\[0\]/,
    () => counted(`${responsesHead},"tools":[`, '{},', ']}', 290_000),
  ],
  [
    '290,000 items that are nothing, below the limits',
    400,
    /^input\[0\]/,
    () => counted(`{${model},"input":[`, '{},', ']}', 290_000),
  ],
  [
    '149,000 unknown fields of reasoning',
    400,
    /^reasoning: more than the 1000 unknown/,
    () => counted(`${responsesHead},"reasoning":{`, key, '}}', 142_000),
  ],
  [
    '70,000 valid items',
    200,
    answered,
    () => counted(`{${model},"input":[`, '{"role":"user","content":"a"},', ']}', 70_000),
  ],
  [
    '70,000 parts of an assistant',
    200,
    answered,
    () =>
      counted(
        `{${model},"input":[{"role":"assistant","content":[`,
        '{"type":"output_text","text":"a"},',
        ']}]}',
        70_000,
      ),
  ],
  [
    '42,000 calls and outputs',
    200,
    answered,
    () =>
      counted(
        `{${model},"input":[`,
        at =>
          at % 2
            ? `{"type":"function_call_output","call_id":"c${at - 1}","output":"a"},`
            : `{"type":"function_call","call_id":"c${at}","name":"f","arguments":"{}"},`,
        ']}',
        42_000,
      ),
  ],
];

const bomb = (): Buffer => filled(`{${model},"tools":[`, '{},', ']}');
const spaces = (): Buffer => Buffer.alloc(4 * body_bytes, ' ');
const fast = (bytes: Buffer): Buffer =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });

const compressed: [string, string, HostileBody['status'], RegExp, () => Buffer][] = [
  ['tools in gzip', 'gzip', 413, expands, () => gzipSync(bomb())],
  ['tools in x-gzip', 'x-gzip', 413, expands, () => gzipSync(bomb())],
  ['tools in deflate', 'deflate', 413, expands, () => deflateSync(bomb())],
  ['tools in br', 'br', 413, expands, () => fast(bomb())],
  ['64 MiB of spaces in gzip', 'gzip', 413, expands, () => gzipSync(spaces())],
  ['64 MiB of spaces in br', 'br', 413, expands, () => fast(spaces())],
  [
    'a mebibyte of tools in gzip',
    'gzip',
    400,
    values,
    () => gzipSync(filled(`{${model},"tools":[`, '{},', ']}', 1024 * 1024)),
  ],
];

const fromRow =
  (path: HostileBody['path']) =>
  ([name, status, says, make]: Row): HostileBody => ({ name, path, status, says, make, bytes: body_bytes });

export const hostileBodies: readonly HostileBody[] = [
  ...chat.map(fromRow('/v1/chat/completions')),
  ...responses.map(fromRow('/v1/responses')),
  ...compressed.map(
    ([name, encoding, status, says, make]): HostileBody => ({
      name,
      path: '/v1/responses',
      encoding,
      status,
      says,
      make,
      bytes: body_bytes,
    }),
  ),
];
