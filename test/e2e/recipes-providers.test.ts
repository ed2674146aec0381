import { describe, expect, it } from '@jest/globals';
import { type RecipeRun, runRecipe } from '../support/recipes/recipe.ts';

/** A program that refuses to start without `words`, each with its value if it has one, as the page explains them. */
const expecting = (words: readonly string[], start: string): string => `
for word in ${words.map(word => `'${word}'`).join(' ')}; do
  [[ " $* " == *" $word "* ]] || { echo "$0 was not given $word" >&2; exit 2; }
done
${start}`;

/** Model servers, by the simulator, as they would be with the options of the page. */
const vllm = expecting(
  [
    'serve Qwen/Qwen3-8B',
    '--reasoning-parser qwen3',
    '--enable-auto-tool-choice',
    '--tool-call-parser hermes',
    '--enable-prompt-tokens-details',
  ],
  'exec sluice simulate --models "$2" --port "$4" --max-model-len "$6" --cached-tokens 0.5',
);
const python3 = expecting(
  [
    '-m sglang.launch_server',
    '--model-path Qwen/Qwen3-8B',
    '--reasoning-parser qwen3',
    '--tool-call-parser qwen25',
    '--enable-cache-report',
  ],
  'exec sluice simulate --models "$4" --port "$6" --max-model-len "$8" --reasoning reasoning_content --cached-tokens 0.5',
);
const llamaServer = expecting(
  [
    '-hf Qwen/Qwen3-8B-GGUF:Q4_K_M',
    '--alias qwen3-8b',
    '--parallel 2',
    '--ctx-size 32768',
    '--no-kv-unified',
    '--jinja',
  ],
  'exec sluice simulate --models "$4" --port "$6" --max-model-len 16384 --reasoning reasoning_content',
);
const ollama = `
case "$1" in
  serve) [ "$OLLAMA_CONTEXT_LENGTH" = 32768 ] && exec sluice simulate --models qwen3:8b --port 11434 --max-model-len 262144;;
  pull) [ "$2" = qwen3:8b ];;
  *) exit 2;;
esac`;

/** Google Cloud's program, for the words of its pages. */
const gcloud = `
case "$*" in
  'auth print-access-token') echo ya29.of-this-hour ;;
  'config get project') echo acme-project ;;
  *) exit 2 ;;
esac`;

const longPrompt = `
node -p 'JSON.stringify({ model: "ollama/qwen3:8b", messages: [{ role: "user", content: "river ".repeat(60000) }] })' > long.json
curl -s -w ' %{http_code}\\n' http://127.0.0.1:8080/v1/chat/completions -H "Authorization: Bearer $SLUICE_KEY" -H 'Content-Type: application/json' -d @long.json`;

describe('a recipe for a model server', () => {
  it('puts sluice in front of vLLM, with running usage, reasoning apart and a price', async () => {
    const { output } = await runRecipe('docs/how-to/vllm.md', { programs: { vllm } });
    // The last column is the cost.
    expect(output).toMatch(/^Qwen\/Qwen3-8B +1 +0 .* 0\.0\d+$/m);
  });

  it('puts sluice in front of SGLang, with cached tokens in the usage', async () => {
    const { output } = await runRecipe('docs/how-to/sglang.md', { programs: { python3 } });
    const [, row = ''] = /^(Qwen\/Qwen3-8B .*)$/m.exec(output) ?? [];
    const [, requests, , , , , , , , cached] = row.split(/ +/).map(Number);
    expect(requests).toBe(2);
    expect(cached).toBeGreaterThan(0);
    expect(output).not.toMatch(/"reasoning":"[^"]/);
  });

  it('puts sluice in front of llama.cpp, with as many permits as it has slots', async () => {
    const after = 'cat sluice.yaml';
    const { output } = await runRecipe('docs/how-to/llama-cpp.md', {
      programs: { 'llama-server': llamaServer },
      after,
    });
    expect(output).toMatch(/adapter: llama-cpp\n {4}max_concurrent: 2\n/);
  });

  it('puts sluice in front of Ollama, and refuses a prompt that Ollama would cut off', async () => {
    const { output } = await runRecipe('docs/how-to/ollama.md', { programs: { ollama }, after: longPrompt });
    expect(output).toMatch(/"message":"[^"]*context[^"]*"[^\n]* 400$/m);
    expect(output).toContain('"role":"assistant"');
  });
});

/** The bodies of the requests for an answer that `host` has received. */
const asked = ({ received }: RecipeRun, host: string) =>
  received.filter(request => request.method === 'POST' && request.host === host);

describe('a recipe for a paid API', () => {
  it('puts sluice in front of OpenAI, with the key from the environment, its name of the cap, and a cost', async () => {
    const models = ['gpt-5.4-mini', 'gpt-5.4', 'text-embedding-3-small'];
    const run = await runRecipe('docs/how-to/openai.md', { hosts: ['api.openai.com'], models });
    const [request] = asked(run, 'api.openai.com');
    expect(request?.headers.authorization).toBe('Bearer sk-your-key');
    expect(JSON.parse(request!.body)).toMatchObject({
      model: 'gpt-5.4-mini',
      max_completion_tokens: 2000,
      reasoning_effort: 'low',
    });
    expect(request?.body).not.toContain('max_tokens');
  });

  it('puts sluice in front of Anthropic, for clients of both interfaces', async () => {
    const models = [
      {
        id: 'claude-sonnet-5-5',
        display_name: 'Claude Sonnet 5.5',
        max_input_tokens: 1_000_000,
        max_tokens: 128_000,
      },
    ];
    const run = await runRecipe('docs/how-to/anthropic.md', {
      hosts: ['api.anthropic.com'],
      models,
      after: 'cat sluice.yaml',
    });
    const requests = asked(run, 'api.anthropic.com');
    expect(requests.map(({ path }) => path)).toEqual(['/v1/messages', '/v1/messages']);
    expect(requests[0]?.headers).toMatchObject({
      'x-api-key': 'sk-ant-your-key',
      'anthropic-version': '2023-06-01',
    });
    expect(JSON.parse(requests[0]!.body)).toMatchObject({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'low' },
    });
    expect(requests[0]?.body).toContain('cache_control');
    expect(run.output).toMatch(/context_length: 1000000\s+max_completion_tokens: 128000/);
  });

  it('puts sluice in front of Azure OpenAI, with deployments in two regions', async () => {
    const hosts = ['acme-sweden.openai.azure.com', 'acme-france.openai.azure.com'];
    const run = await runRecipe('docs/how-to/azure.md', { hosts });
    const [request, ...others] = hosts.flatMap(host => asked(run, host));
    expect(others).toEqual([]);
    const [key, deployment] =
      request?.host === hosts[0] ? ['your-key-in-sweden', 'chat-mini'] : ['your-key-in-france', 'mini-eu'];
    expect(request?.headers['api-key']).toBe(key);
    expect(request?.headers.authorization).toBeUndefined();
    expect(request?.path).toBe('/openai/v1/chat/completions');
    expect(JSON.parse(request!.body)).toMatchObject({ model: deployment, max_completion_tokens: 2000 });
  });

  it('puts sluice in front of Gemini, without the parameters that Gemini refuses, and of Vertex AI', async () => {
    // The last one as Vertex AI calls it.
    const models = ['models/gemini-2.5-flash', 'models/text-embedding-004', 'google/gemini-2.5-flash'];
    const vertex = 'europe-west4-aiplatform.googleapis.com';
    const run = await runRecipe('docs/how-to/gemini.md', {
      hosts: ['generativelanguage.googleapis.com', vertex],
      models,
      programs: { gcloud },
    });
    const [request] = asked(run, 'generativelanguage.googleapis.com');
    expect(request?.headers.authorization).toBe('Bearer your-key');
    expect(request?.path).toBe('/v1beta/openai/chat/completions');
    expect(JSON.parse(request!.body)).not.toHaveProperty('seed');
    const [atVertex, ...others] = asked(run, vertex);
    expect(others).toEqual([]);
    expect(atVertex?.headers.authorization).toBe('Bearer ya29.of-this-hour');
    expect(atVertex?.path).toBe(
      '/v1/projects/acme-project/locations/europe-west4/endpoints/openapi/chat/completions',
    );
    expect(JSON.parse(atVertex!.body)).toMatchObject({ model: 'google/gemini-2.5-flash', seed: 7 });
    // The one of Vertex AI ignores nothing.
    expect(run.output.match(/HTTP\/1\.1 200 OK|x-ignored-parameters/g)).toEqual([
      'HTTP/1.1 200 OK',
      'x-ignored-parameters',
      'HTTP/1.1 200 OK',
    ]);
  });

  it('puts sluice in front of OpenRouter, with its prices and a choice of who may serve', async () => {
    const run = await runRecipe('docs/how-to/openrouter.md', {
      hosts: ['openrouter.ai'],
      models: openRouter,
    });
    const [request] = asked(run, 'openrouter.ai');
    expect(request?.headers).toMatchObject({
      authorization: 'Bearer sk-or-your-key',
      'x-title': 'Acme Chat',
    });
    expect(JSON.parse(request!.body)).toMatchObject({
      model: 'qwen/qwen3-32b',
      provider: { data_collection: 'deny', sort: 'throughput' },
      reasoning: { effort: 'high' },
    });
    expect(run.output).toMatch(/prompt: "0\.00000008"\s+completion: "0\.00000024"/);
  });
});

describe('a recipe for several providers', () => {
  it('answers from the second provider once the first is killed, and shows the failover', async () => {
    const { output } = await runRecipe('docs/how-to/failover.md', {
      after: 'sluice usage --by account --config sluice.yaml',
    });
    expect(output).toMatch(/^sluice_upstream_attempts_total\{sluice_provider="gpu",status="200"\} 1$/m);
    expect(output).toMatch(/^sluice_upstream_attempts_total\{sluice_provider="paid",status="200"\} 2$/m);
    // Three requests, none of them an error.
    expect(output).toMatch(/^me +3 +0 /m);
  });

  it('drains a provider without a lost request', async () => {
    const { output } = await runRecipe('docs/how-to/drain-a-provider.md', {
      after: `grep -c -F '[DONE]' long.txt short.txt; grep -c '"error"' long.txt || sluice usage --by account --config sluice.yaml`,
    });
    expect(output).toContain('long.txt:1\nshort.txt:1');
    expect(output).toMatch(/^me +2 +0 /m);
  });
});

/** A few models as OpenRouter lists them. */
const openRouter = [
  {
    id: 'qwen/qwen3-32b',
    name: 'Qwen: Qwen3 32B',
    context_length: 40_960,
    top_provider: { max_completion_tokens: 40_960 },
    pricing: { prompt: '0.00000008', completion: '0.00000024' },
    supported_parameters: ['tools', 'reasoning'],
  },
  {
    id: 'openai/gpt-5.4-mini',
    name: 'OpenAI: GPT-5.4 Mini',
    context_length: 400_000,
    top_provider: { max_completion_tokens: 128_000 },
    pricing: { prompt: '0.00000075', completion: '0.0000045' },
    supported_parameters: ['tools', 'reasoning'],
  },
  { id: 'mistralai/mistral-small', pricing: { prompt: '0.0000001', completion: '0.0000003' } },
];
