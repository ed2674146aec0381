import { spawnSync } from 'node:child_process';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';

/** What the playground's script has; browsers are given it as it is, so it has no types of its own. */
interface Asset {
  codeOf(language: string, request: object, public_url: string): string;
  withShortImages(request: object): object;
}
const file = '../../../../../plugins/dashboard/assets/playground-code.js';
const { codeOf, withShortImages } = (await import(file)) as Asset;

const url = 'http://127.0.0.1:8080';
const requestWith = (...prompts: string[]) => ({
  model: 'aion-labs/aion-3.5',
  messages: prompts.map(content => ({ role: 'user', content })),
  reasoning_split: true,
  stream: true,
  stream_options: { include_usage: true, continuous_usage_stats: true },
});

/** What would end a string, a line, or the command, if it were not quoted. */
const nasty = [
  `it's "quoted" and \\escaped\\`,
  `'; touch /tmp/owned; echo '`,
  'line one\nline two\r\n\ttabbed',
  '$(id) `id` $HOME !! %s \\n ${process.exit(1)}',
  '</script><!-- \u2028\u2029 \u0000 \u001b[31m',
  'π 日本語 😀 \u{1F468}\u200D\u{1F469} \ud800',
  '\'\'\' """ `${1}` #{2}',
];

describe('prompts that would end a string, a line or a command', () => {
  const request = requestWith(...nasty);

  it('stay literal text in a shell', () => {
    // In place of curl: prints what it is given, each with a NUL behind it.
    const code = `curl() { for one in "$@"; do printf '%s\\0' "$one"; done; }\n${codeOf('curl', request, url)}`;
    const env = { SLUICE_API_KEY: 'sk-1' };
    const { stdout, stderr } = spawnSync('sh', ['-c', code], { encoding: 'utf8', env });
    const given = stdout.split('\0').slice(0, -1);
    expect(stderr).toBe('');
    expect(given.slice(0, -1)).toEqual([
      '-N',
      `${url}/v1/chat/completions`,
      '-H',
      'Authorization: Bearer sk-1',
      '-H',
      'Content-Type: application/json',
      '-d',
    ]);
    expect(JSON.parse(given.at(-1)!)).toEqual(request);
  });

  it('stay literal text in JavaScript', () => {
    const code = codeOf('javascript', request, url);
    const literal = code.slice(code.indexOf('create(') + 'create('.length, code.indexOf(');\nfor await'));
    expect(JSON.parse(runInNewContext(`JSON.stringify(${literal})`))).toEqual(request);
  });

  it('stay literal text in Python', () => {
    const code = codeOf('python', request, url);
    const literals = [...code.matchAll(/"content": (".*"),$/gm)].map(([, literal]) => literal!);
    // What JSON and Python read alike: no escape but these, no quote within, no line ended.
    for (const literal of literals)
      expect(literal).toMatch(/^"(?:[^"\\\n\r]|\\(?:["\\bfnrt]|u[\da-f]{4}))*"$/);
    expect(literals.map(literal => JSON.parse(literal))).toEqual(nasty);
  });
});

describe('the code sample of the playground', () => {
  it.each([`${url}`, `${url}/`, `${url}/v1`, `${url}/v1/`])('uses the same base URL for %s', given => {
    for (const language of ['curl', 'javascript', 'python'])
      expect(codeOf(language, requestWith('Why?'), given)).toMatch(/http:\/\/127\.0\.0\.1:8080\/v1(?!\/v1)/);
  });

  it('passes fields unknown to the Python SDK in extra_body', () => {
    const code = codeOf('python', { ...requestWith('Why?'), seed: 7, tools: [{}] }, url);
    expect(code).toContain('    stream=True,\n    stream_options={\n        "include_usage": True,');
    expect(code).toContain(
      '    seed=7,\n    tools=[\n        {\n        },\n    ],\n    extra_body={\n        "reasoning_split": True,\n    },\n)',
    );
  });

  it('shortens images, and leaves everything else as it is', () => {
    const url = `data:image/png;base64,${'A'.repeat(500)}`;
    const content = [{ type: 'image_url', image_url: { url } }];
    const request = { messages: [{ role: 'user', content }], note: `see ${url}` };
    const short = withShortImages(request) as typeof request;
    expect(short.messages[0]!.content[0]!.image_url.url).toBe(`data:image/png;base64,${'A'.repeat(24)}…`);
    expect(short.note).toBe(request.note);
    expect(request.messages[0]!.content[0]!.image_url.url).toBe(url);
    const without = requestWith('Why?');
    expect(withShortImages(without)).toBe(without);
  });
});
