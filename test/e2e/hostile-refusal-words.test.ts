import { afterEach, describe, expect, it } from '@jest/globals';
import { closeHealthy, expectNoTrace, expectRefusal, hostileSetting } from '../support/hostile-setting.ts';
import { whole } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

describe('the message of an upstream rejection', () => {
  const cases = [
    {
      what: 'an address',
      text: 'see https://gpu-7.cluster.local:8000/v1/x?token=abc for more',
      not: /gpu-7|abc/,
    },
    { what: 'a key', text: 'bad key sk-proj-abcdef0123456789 here', not: /abcdef/ },
    { what: 'a login', text: 'no route to mysql://user:hunter2@db.internal/x now', not: /hunter2|db/ },
    { what: 'basic credentials', text: 'sent Authorization: Basic dXNlcjpwdw== there', not: /dXNl/ },
    { what: 'a key by its name', text: 'sent api_key="abc def" there', not: /abc|def/ },
    { what: 'a Slack token', text: 'sent xoxb-1234-abcdefgh there', not: /abcd/ },
    { what: 'a bearer token', text: 'sent Bearer eyJhbGciOi.J9 here', not: /eyJ/ },
    { what: 'a host with its port', text: 'no route to gpu-7.cluster.local:8000 now', not: /gpu-7|8000/ },
    { what: 'an internal host', text: 'no route to gpu-7.prod.svc.cluster.local now', not: /gpu-7|cluster/ },
    { what: 'an IPv4 address', text: 'no route to 10.11.12.13 now', not: /10\.11/ },
    { what: 'an IPv4 address with its port', text: 'no route to 10.11.12.13:8000 now', not: /10\.11|8000/ },
    { what: 'an IPv6 address with its port', text: 'no route to [fd00::17]:8000 now', not: /fd00|8000/ },
    { what: 'a file of the server', text: 'raised in /usr/lib/vllm/engine.py at once', not: /vllm|engine/ },
  ];

  it.each(cases)('hides $what', async ({ text, not }) => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(400, { error: { message: text } }));
    const message = await expectRefusal(await send(false), 400, 'invalid_request_error');
    expect(message).not.toMatch(not);
    // The rest is what the client needs.
    expect(message.startsWith(text.split(' ')[0] ?? '')).toBe(true);
    expect(message.endsWith(text.split(' ').at(-1) ?? '')).toBe(true);
  });

  it('hides a traceback', async () => {
    const { upstream, send } = await hostileSetting();
    const trace =
      'Traceback (most recent call last):\n  File "/app/serve.py", line 7, in generate\n    secret_function(prompt)\nValueError: bad';
    upstream.reply(whole(400, { error: { message: `The prompt is too long.\n${trace}` } }));
    const message = await expectRefusal(await send(false), 400, 'invalid_request_error');
    expect(message).toContain('The prompt is too long.');
    expect(message).not.toMatch(/Traceback|serve\.py|secret_function/);
  });

  it('hides the key and headers of the configuration', async () => {
    const provider = { api_key: 'Unmistakable.Key', headers: { 'x-team': 'very-internal-team' } };
    const { upstream, send } = await hostileSetting({ provider });
    const text = 'You sent Unmistakable.Key for very-internal-team and too many words';
    upstream.reply(whole(400, { error: { message: text } }));
    const message = await expectRefusal(await send(false), 400, 'invalid_request_error');
    expect(message).toBe('You sent [secret] for [secret] and too many words');
    expect(upstream.last.headers).toMatchObject({
      authorization: 'Bearer Unmistakable.Key',
      'x-team': 'very-internal-team',
    });
  });

  it('is cut at 2,000 characters', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(400, { error: { message: `Too long: ${'prompt '.repeat(1000)}` } }));
    const message = await expectRefusal(await send(false), 400, 'invalid_request_error');
    expect(message.length).toBeLessThanOrEqual(2000);
    expect(message).toMatch(/^Too long: prompt prompt/);
  });

  it.each(['a.', 'a-', ' \n', 'key-', '1.', '[:'])(
    'is cleaned in linear time when it consists of %p',
    async piece => {
      const { upstream, send } = await hostileSetting();
      upstream.reply(whole(400, { error: { message: `Bad: ${piece.repeat(200_000)}` } }));
      const start_ms = performance.now();
      const message = await expectRefusal(await send(false), 400, 'invalid_request_error');
      expect(message.length).toBeLessThanOrEqual(2000);
      // A pattern that backtracks over all of it would take minutes.
      expect(performance.now() - start_ms).toBeLessThan(5000);
    },
  );

  it('is replaced by a generic one when the body is too large to read', async () => {
    const { upstream, send } = await hostileSetting();
    const input = 'prompt '.repeat(300_000);
    upstream.reply(whole(422, { detail: [{ input, loc: ['body'], msg: 'Too long.' }] }));
    const message = await expectRefusal(await send(false), 400, 'invalid_request_error');
    expect(message).toMatch(/upstream provider refused/);
  });

  it('is found behind an echo of the prompt', async () => {
    const { upstream, send } = await hostileSetting();
    const input = 'prompt '.repeat(50_000);
    upstream.reply(whole(422, { detail: [{ input, loc: ['body', 'messages'], msg: 'Too long.' }] }));
    await expectRefusal(await send(false), 400, 'invalid_request_error', 'messages: Too long.');
  });

  it('keeps text that only resembles a secret', async () => {
    const { upstream, send } = await hostileSetting();
    const text = 'max_tokens: 99999 exceeds 32768 (version 0.11.2); see "temperature" and "top_p".';
    upstream.reply(whole(400, { error: { message: text } }));
    const response = await send(false);
    expectNoTrace('', response.headers, upstream);
    await expectRefusal(response, 400, 'invalid_request_error', text);
  });
});
