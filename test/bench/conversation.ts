/** What the load generator asks: an everyday chat request of about 1.3 kB. */

export const model = 'aion-labs/aion-3.5';
/** The key that sluice knows; the other contestants pass it on or ignore it. */
export const api_key = 'sk-bench-0123456789abcdef0123456789abcdef';

const system =
  'You are the assistant of a public library. Answer in plain English, in at most three paragraphs, and name the shelf ' +
  'where a reader can find more. When a question is about opening hours, fees or lost cards, answer from the house rules ' +
  'below and from nothing else. House rules: the library is open from nine to seven on weekdays and from ten to four on ' +
  'Saturdays; books are lent for four weeks and may be renewed twice unless somebody has reserved them; a lost card costs ' +
  'five euros; children under twelve pay nothing. Never guess the title of a book: if you are not sure, say so.';

const conversation = [
  { role: 'system', content: system },
  { role: 'user', content: 'Good morning! Why do rivers bend, and do they always bend to the same side?' },
  {
    role: 'assistant',
    content:
      'A river bends because water on the outside of a slight curve runs faster and carries soil away, while on the inside ' +
      'it slows down and drops it. So every small curve grows. There is no preferred side; see shelf 551.4.',
  },
  {
    role: 'user',
    content:
      'Thank you. My daughter has to give a talk of ten minutes about it at school next week. Which experiment with a tray ' +
      'of sand, a jug and a hose could she show there, how much sand does it need, and what should the class look out for?',
  },
];

/** How a stream is asked for. */
export interface StreamWish {
  readonly max_tokens: number;
  readonly stream_options: Readonly<Record<string, boolean>> | undefined;
}

/** One request as bytes. `extra` are a contestant's own headers. */
export function requestBytes(
  port: number,
  extra: Readonly<Record<string, string>>,
  path: string,
  body: string,
): Buffer {
  const headers = {
    host: `127.0.0.1:${port}`,
    ...requestHeaders(extra),
    'content-length': String(Buffer.byteLength(body)),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

export const requestHeaders = (extra: Readonly<Record<string, string>>): Record<string, string> => ({
  accept: 'application/json',
  'content-type': 'application/json',
  'user-agent': 'sluice-bench',
  authorization: `Bearer ${api_key}`,
  ...extra,
});

export function bodyText(stream?: StreamWish): string {
  const request = { model, messages: conversation, temperature: 0.7 };
  if (!stream) return JSON.stringify({ ...request, max_tokens: 512 });
  const { max_tokens, stream_options } = stream;
  return JSON.stringify({ ...request, max_tokens, stream: true, ...(stream_options && { stream_options }) });
}
