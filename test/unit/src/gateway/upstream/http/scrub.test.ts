import { describe, expect, it } from '@jest/globals';
import { scrubbed, withoutCredentials } from '../../../../../../src/gateway/upstream/http/scrub.ts';

/** Texts with credentials: as a client sees them, and as they are logged. */
const credentials: [given: string, shown: string, logged: string][] = [
  ['mysql://user:pw@db/x is down', '[address] is down', 'mysql://[secret]@db/x is down'],
  ['redis://:p@ss/w@cache:6379/0 is down', '[address] is down', 'redis://[secret]@cache:6379/0 is down'],
  ['cannot reach root:hunter2@10.0.0.9', 'cannot reach [address]', 'cannot reach [secret]@10.0.0.9'],
  ['pg://u:p w@db/x is down', '[address] is down', 'pg://[secret]@db/x is down'],
  [`pg://u:p"w'<z@db/x is down`, '[address] is down', 'pg://[secret]@db/x is down'],
  ['amqps+x://h/?a=1&api_key=b broke', '[address] broke', 'amqps+x://h/?a=1&api_key=[secret] broke'],
  [
    'GET https://h.example/?key=b failed',
    'GET [address] failed',
    'GET https://h.example/?key=[secret] failed',
  ],
  ...[
    ['sent Authorization: Basic dXNlcjpwdw==, sorry', 'sent Authorization: [secret], sorry'],
    ['sent Authorization: Bearer abc.def-ghi, sorry', 'sent Authorization: [secret], sorry'],
    ['sent {"x-api-key": "abc def"} to it', 'sent {"x-api-key": [secret]} to it'],
    ['wrong api_key="abc" given', 'wrong api_key=[secret] given'],
    ["wrong apiKey='a b c' given", 'wrong apiKey=[secret] given'],
    [
      String.raw`body {\"client_secret\":\"abc\"} refused`,
      String.raw`body {\"client_secret\":[secret]} refused`,
    ],
    ['DB_PASSWORD=swordfish was set', 'DB_PASSWORD=[secret] was set'],
    ['the password: swordfish', 'the password: [secret]'],
    ['Incorrect API key provided: abc-1. Try again.', 'Incorrect API key provided: [secret] Try again.'],
    ['password hunter2 is wrong', 'password [secret] is wrong'],
    ['the password is hunter2', 'the password is [secret]'],
    ['password was "hunter two" here', 'password was [secret] here'],
    ["api key 'swordfish' is wrong", 'api key [secret] is wrong'],
    ['password: 1234567 is wrong', 'password: [secret] is wrong'],
    ['password: true-love is wrong', 'password: [secret] is wrong'],
    ['got <password>swordfish</password> back', 'got <password>[secret]</password> back'],
    ['password%3Dswordfish is wrong', 'password%3D[secret] is wrong'],
    ['OPENAI_KEY=abc is wrong', 'OPENAI_KEY=[secret] is wrong'],
    ['AccountKey=abcd==;x is wrong', 'AccountKey=[secret];x is wrong'],
    ['root with pw=abc is wrong', 'root with pw=[secret] is wrong'],
    ['your key is abcd1234 there', 'your key is [secret] there'],
    ['key=abcd1234, wrong', 'key=[secret], wrong'],
    ['Bearer: abc123 is wrong', 'Bearer: [secret] is wrong'],
    ['Set-Cookie: a=b; c=d\nfailed', 'Set-Cookie: [secret]\nfailed'],
    ['with Bearer abcdef it fails', 'with Bearer [secret] it fails'],
    ['with basic QWxhZGRpbjpvcGVu it fails', 'with basic [secret] it fails'],
    ['slack xoxb-1234-abcd and xoxp-1 failed', 'slack [secret] and [secret] failed'],
    ['Incorrect key sk-proj-abcdefgh1234 given', 'Incorrect key [secret] given'],
    ['token hf_abcdefghijkl is wrong', 'token [secret] is wrong'],
    [`key: AIza${'aB3-_'.repeat(7)}.`, 'key: [secret].'],
    ['gsk_abcdefghijkl, xai-abcdefghijkl failed', '[secret], [secret] failed'],
    [`ghp_${'a1'.repeat(18)} and AKIA${'A1'.repeat(8)}`, '[secret] and [secret]'],
    ['ya29.a0AfB_byC-12345 or eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', '[secret] or [secret]'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIab\n-----END RSA PRIVATE KEY----- was read', '[secret] was read'],
    // Told by their shape alone.
    ['saw 9f86d081884c7d659a2feaa0c55ad015 there', 'saw [secret] there'],
    ['saw wJalrXUtnFEMI/K7MDENG/bPxRfiCYzT4hQmUoVd there', 'saw [secret] there'],
    ['saw 0123456789abcdef0123 there', 'saw [secret] there'],
    ['saw abcdefghij0123456789 there', 'saw [secret] there'],
    ['saw k3jh4kjh2uiasdf98asdfhj there', 'saw [secret] there'],
    ['saw qzxkvjwhgfpltnbrdmcsyeua there', 'saw [secret] there'],
    ['saw 6ba7b810-9dad-11d1-80b4-00c04fd430c8 there', 'saw [secret] there'],
  ].map(([given, expected]): [string, string, string] => [given!, expected!, expected!]),
];

/** Addresses and places, which only operators see. */
const places: [given: string, shown: string][] = [
  ['Cannot reach http://10.0.0.7:8000/v1/chat?n=a, retrying.', 'Cannot reach [address] retrying.'],
  ['see https://internal.example/help for more', 'see [address] for more'],
  ['10.0.0.7:8000 refused', '[address] refused'],
  ['10.0.0.7 refused', '[address] refused'],
  ['[fd00::7]:8000 refused', '[address] refused'],
  ['fe80::1 refused, [fe80::1%eth0]:80 refused', '[address] refused, [address] refused'],
  ['2001:db8:1:2:3:4:5:6 refused', '[address] refused'],
  ['worker-3.cluster.local:8000 refused', '[address] refused'],
  ['vllm.models.svc refused', '[address] refused'],
  ['db.prod.acme.com refused', '[address] refused'],
  ['my.acme.ch and db.acme.us refused', '[address] and [address] refused'],
  ['node17:8000 refused', '[address] refused'],
  ['redis:6379 is down', '[address] is down'],
  ['getaddrinfo ENOTFOUND vllm', 'getaddrinfo ENOTFOUND [address]'],
  ['localhost:8000 refused, localhost as well', '[address] refused, [address] as well'],
  ['Cannot connect to host vllm:8000 ssl:default', 'Cannot connect to host [address] ssl:default'],
  ['in /usr/lib/python3/vllm/engine.py line 7', 'in [file] line 7'],
  ['no space left on /var/lib/models', 'no space left on [file]'],
  ['open /tmp: no such file', 'open [file]: no such file'],
  ['unix:/var/run/x.sock refused', 'unix:[file] refused'],
  ['cannot read ../keys/x.pem, $HOME/x/y', 'cannot read [file], [file]'],
  ['in engine/worker.go:33 it fails', 'in [file] it fails'],
  ['in C:/Users/me/model.bin it fails', 'in [file] it fails'],
  ["can't open '~/.cache/hub/x'", "can't open '[file]'"],
  ['in C:\\Users\\me\\model.bin it fails', 'in [file] it fails'],
  ['raised at engine.py:71 today', 'raised at [file] today'],
  ['raised at sampling.cpp:1234 today', 'raised at [file] today'],
  ['Failed.\nTraceback (most recent call last):\n  File "x.py"\nKeyError: 1', 'Failed.'],
  ['Failed.\n    at run (main.js:7:1)\n    at x', 'Failed.'],
];

/** Messages of servers and libraries, all of which their clients need to read. */
const readable = [
  "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.",
  "'max_tokens' or 'max_completion_tokens' is too large: 50000. This model's maximum context length is 32768 tokens and your request has 12 input tokens (50000 > 32768 - 12).",
  "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of 200000 tokens: 190000 tokens from the input messages and 10000 tokens for the completion.",
  'the request exceeds the available context size. try increasing the context size or enable context shift (n_ctx = 8192, n_prompt_tokens = 9001)',
  'The model `meta-llama/Llama-3.1-70B-Instruct-FP8-dynamic` does not exist.',
  'model vendor/name-1.5-instruct-2026 or Qwen/Qwen2.5-Coder-32B-Instruct-GPTQ-Int4 or gpt-4o-mini-2024-07-18',
  'bartowski/Meta-Llama-3.1-8B-Instruct-GGUF:Q4_K_M, anthropic.claude-3-5-sonnet-20241022-v2:0, claude-sonnet-4-5-20250929',
  'prompt is too long: 210000 tokens > 200000 maximum',
  'messages.1.content.0.tool_result.tool_use_id: Field required; messages.0.content.0.image.source.base64.media_type',
  'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01A09q90qw90lkasdjl3kdfj.',
  "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_9tQ8bVh2Xk3LmN4pR5sT6uV7",
  "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  'This model is only supported in /v1/responses and not in /v1/chat/completions.',
  "body.messages.0.ChatCompletionUserMessageParam.content: Input should be a valid string; type=string_type, input_value=[{'a': 1}], input_type=list",
  '1 validation error for ChatCompletionRequest: temperature Input should be less than or equal to 2 [type=less_than_equal, input_value=7, input_type=int]',
  'api_key: Field required; token: must not be empty; Basic validation failed; password is required',
  'Set VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 or lower --max-model-len; guided_decoding_backend and chat_template_kwargs are unknown',
  'max_tokens: 0 is not accepted; use 1 or more. Version 1.2.3, ratio 3:10, at 12:30:15, e.g. and/or; seed:12345, n:10.',
  'asia-northeast1, key points, an AIzaz and github. Tokens per minute: limit:4096, std::bad_alloc',
  'Unexpected token < in JSON at position 0; unexpected token: 128009; invalid JSON schema at #/$defs/Tool/properties',
  'Please pass gpt-4o-2024 as the model. token > 4096; a short-key wins; Missing key: tool_choice2; layers.12.weight is no key',
  "Invalid 'prompt_cache_key': string too long. The API key is not valid. Please pass a valid API key. Unexpected token 'x2'",
  'unknown path /models, GET /health, /app-v2; us.anthropic.claude-3-5-haiku-20241022-v1:0; qwen2.5:7b; meta/llama-3.1:405b',
  'Internationalization of uncharacteristically straightforwardly counterrevolutionaries, ChatCompletionContentPartTextParam',
  '模型的最大上下文长度为 4096 个令牌。 Превышена максимальная длина контекста.',
  'The limit resets at 2026-11-24T03:45:21.020Z; hf_overrides; /no_think; </think>; 100%; ====================',
];

describe('the scrubber of upstream messages', () => {
  it.each(credentials)(
    'takes the credentials out of %j, for clients and for the log',
    (given, shown, logged) => {
      expect(withoutCredentials(given)).toBe(logged);
      expect(scrubbed(given)).toBe(shown);
    },
  );

  it.each(places)('takes places out of %j for clients, and leaves them in the log', (given, shown) => {
    expect(scrubbed(given)).toBe(shown);
    expect(withoutCredentials(given)).toBe(given);
  });

  it.each(readable)('leaves unchanged: %s', words => {
    expect(scrubbed(words)).toBe(words);
    expect(withoutCredentials(words)).toBe(words);
  });

  it.each([
    'mysql://user:pw@host',
    '10.0.0.7:8000',
    'Authorization: Basic dXNlcjpwdw==',
    '/srv/app/x.py:7',
    '…',
    '',
  ])('leaves nothing of %j, which says nothing to a client', given => {
    expect(scrubbed(given)).toBe('');
  });

  it('cuts for clients at 2,000 characters, for the log at 500 or as asked', () => {
    const long = 'too long '.repeat(1000);
    expect(scrubbed(long)).toHaveLength(2000);
    expect(scrubbed(long)).toMatch(/…$/);
    expect(withoutCredentials(long)).toHaveLength(500);
    expect(withoutCredentials(long, 300)).toMatch(/^.{299}…$/);
  });

  it('drops a word that the cut has divided, as half a secret has no shape', () => {
    const given = `${'too long '.repeat(443)}here sk-proj-abcdefgh1234`;
    for (const text of [scrubbed(given), withoutCredentials(given, 5000)]) expect(text).not.toContain('sk-');
  });

  it('takes little time for adversarial text', () => {
    const pieces =
      'a.|a-|1.1.1.1|sk-|/a|bearer |http://|@a.|a:|a:b@|::|token |token:"|password=|a b:|-----BEGIN A-----|' +
      'cookie:|aB3|\n at |api key provided |[a:|\\"|x://a:b |password is "|key is |a/b.|a_key-';
    for (const piece of pieces.split('|')) {
      const start_ms = performance.now();
      scrubbed(piece.repeat(60_000));
      withoutCredentials(piece.repeat(60_000));
      expect([piece, performance.now() - start_ms < 250]).toEqual([piece, true]);
    }
  });
});
