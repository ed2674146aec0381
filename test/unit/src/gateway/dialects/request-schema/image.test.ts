import { describe, expect, it } from '@jest/globals';
import { messages } from '../../../../../../plugins/dialects/messages/index.ts';
import { responses } from '../../../../../../plugins/dialects/responses/index.ts';
import { chatCompletions } from '../../../../../../src/gateway/dialects/chat-completions/index.ts';

const none = { models: [] };
const chat = chatCompletions.create({ reasoning_key: 'reasoning' }, none);
const response = responses.create({ reasoning_placement: 'message' }, none);
const message = messages.create({ enabled: true }, none);
const user = (part: object) => [{ role: 'user', content: [part] }];

/** Parses a request with the image at `url`, in each dialect. */
const parsedIn = {
  'chat completions': (url: string) =>
    chat.parse({ model: 'a/b', messages: user({ type: 'image_url', image_url: { url } }) }),
  responses: (url: string) =>
    response.parse(
      { model: 'a/b', input: user({ type: 'input_image', image_url: url }) },
      { path: '/v1/responses', headers: {}, account_id: undefined },
    ),
  messages: (url: string) =>
    message.parse({
      model: 'a/b',
      max_tokens: 9,
      messages: user({ type: 'image', source: { type: 'url', url } }),
    }),
};

/** The address that is forwarded for `url`; undefined if the request is refused. */
function forwarded(dialect: keyof typeof parsedIn, url: string): string | undefined {
  try {
    const [part] = parsedIn[dialect](url).messages[0]!.content as { image_url: { url: string } }[];
    return part!.image_url.url;
  } catch {
    return undefined;
  }
}

/** Hosts that an upstream would reach in its own network. */
const ownHosts = `
  localhost a.localhost. a.localhost.. vllm:8000 127.0.0.1 127.0.0.1. 127.1 0x7f.1 0177.0.0.1
  2130706433 ①②⑦.0.0.1 0.0.0.0 10.0.0.7 100.100.100.200 168.63.129.16 169.254.169.254 [::] [::1]
  [::127.0.0.1] [::8.8.8.8] [::ffff:10.0.0.7] [::ffff:8.8.8.8] [::ffff:0:127.0.0.1]
  [64:ff9b::7f00:1] [2002:7f00:1::] [2001::1] [fe80::1] [fec0::1] [fd00:ec2::254] [fd00::7]
  [ff02::1] [4000::1] metadata.google.internal metadata.google.internal. metadata.goog
  printer.home.arpa vllm.default.svc.cluster.local
`
  .trim()
  .split(/\s+/);

describe.each(Object.keys(parsedIn) as (keyof typeof parsedIn)[])(
  'the address of an image in %s',
  dialect => {
    it.each([
      ['https://images.example.com/a.png?size=large', 'https://images.example.com/a.png?size=large'],
      ['HTTPS://1.1.1.1/a.png', 'https://1.1.1.1/a.png'],
      ['https://[2606:4700:4700::1111]/a.png', 'https://[2606:4700:4700::1111]/a.png'],
      ['https://images.example.com./a.png', 'https://images.example.com./a.png'],
      ['https:///Images.EXAMPLE.com:443/a/../b c.png', 'https://images.example.com/b%20c.png'],
      ['https://images.example.com?@127.0.0.1:8000/', 'https://images.example.com/?@127.0.0.1:8000/'],
      ['https://images.example.com#@127.0.0.1:8000/', 'https://images.example.com/#@127.0.0.1:8000/'],
      ['https://①.1.1.1/a.png', 'https://1.1.1.1/a.png'],
      ['https://bücher.example/a.png', 'https://xn--bcher-kva.example/a.png'],
    ])('is forwarded as it was checked: %s', (url, expected) => {
      expect(forwarded(dialect, url)).toBe(expected);
    });

    it.each([
      'http://images.example.com/a.png',
      'file:///etc/passwd',
      'https://user:secret@images.example.com/a.png',
      'https://user@images.example.com/a.png',
      'https://public.example.com\\@127.0.0.1:8000/',
      'https:/\\public.example.com/a.png',
      'https://public.example.com/a\\b.png',
      'https://public.example.com\t@127.0.0.1/',
      'https://public.example.com/a\r\nHost: 127.0.0.1',
      'https://public.example.com/a\u0000b.png',
      'https://public.example.com/a\u0085b.png',
      'https://a..example.com/a.png',
      'https://a`b.example.com/a.png',
      'https://',
    ])('is refused as %j', url => {
      expect(forwarded(dialect, url)).toBeUndefined();
    });

    it.each(ownHosts)("is refused in the upstream's own network, as %s", host => {
      expect(forwarded(dialect, `https://${host}/a.png`)).toBeUndefined();
    });
  },
);

describe('an image within a request', () => {
  it('is forwarded as it is', () => {
    const url = 'data:image/png;base64,iVBORw0KGgo=';
    for (const dialect of ['chat completions', 'responses'] as const)
      expect(forwarded(dialect, url)).toBe(url);
  });

  it.each(['data:text/html;base64,AAAA', 'data:image/png;base64,<script>', 'data:image/png,AAAA'])(
    'is refused as %s',
    url => {
      for (const dialect of ['chat completions', 'responses'] as const)
        expect(forwarded(dialect, url)).toBeUndefined();
    },
  );
});
