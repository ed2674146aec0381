import { describe, expect, it } from '@jest/globals';
import { chatCompletions } from '../../../../../src/dialects/chat-completions/index.ts';
import { messages } from '../../../../../src/dialects/messages/index.ts';
import { responses } from '../../../../../src/dialects/responses/index.ts';

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

    it.each([
      'https://localhost/a.png',
      'https://a.localhost./a.png',
      'https://a.localhost../a.png',
      'https://vllm:8000/metrics',
      'https://127.0.0.1/a.png',
      'https://127.0.0.1./a.png',
      'https://127.1/a.png',
      'https://0x7f.1/a.png',
      'https://0177.0.0.1/a.png',
      'https://2130706433/a.png',
      'https://①②⑦.0.0.1/a.png',
      'https://0.0.0.0/a.png',
      'https://10.0.0.7/a.png',
      'https://100.100.100.200/latest/meta-data',
      'https://168.63.129.16/machine',
      'https://169.254.169.254/latest/meta-data',
      'https://[::]/a.png',
      'https://[::1]/a.png',
      'https://[::127.0.0.1]/a.png',
      'https://[::8.8.8.8]/a.png',
      'https://[::ffff:10.0.0.7]/a.png',
      'https://[::ffff:8.8.8.8]/a.png',
      'https://[::ffff:0:127.0.0.1]/a.png',
      'https://[64:ff9b::7f00:1]/a.png',
      'https://[2002:7f00:1::]/a.png',
      'https://[2001::1]/a.png',
      'https://[fe80::1]/a.png',
      'https://[fec0::1]/a.png',
      'https://[fd00:ec2::254]/latest/meta-data',
      'https://[fd00::7]/a.png',
      'https://[ff02::1]/a.png',
      'https://[4000::1]/a.png',
      'https://metadata.google.internal/a.png',
      'https://metadata.google.internal./a.png',
      'https://metadata.goog/a.png',
      'https://printer.home.arpa/a.png',
      'https://vllm.default.svc.cluster.local/a.png',
    ])("is refused in the upstream's own network, as %s", url => {
      expect(forwarded(dialect, url)).toBeUndefined();
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
