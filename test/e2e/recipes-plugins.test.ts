import { describe, expect, it } from '@jest/globals';
import { hashKey } from '../../src/records/key-secret.ts';
import { blocksOf, read } from '../support/documents/blocks.ts';
import { runRecipe } from '../support/recipes/recipe.ts';

/** Asks the gateway of a page for the status and body of a chat with this message. */
const chat = (model: string, message: string) =>
  `curl -s -w ' status=%{http_code}\\n' http://127.0.0.1:8080/v1/chat/completions -H "Authorization: Bearer $SLUICE_KEY" \
  -H 'Content-Type: application/json' -d '${JSON.stringify({ model, messages: [{ role: 'user', content: message }] })}'`;

describe('a recipe for a plugin', () => {
  it('adds a stage that asks a service once for an account and a model, and refuses when it is too slow', async () => {
    const after = `
${chat('acme/large', 'Hello')}
kill -STOP %2
${chat('acme/large', 'Hello')}
${chat('acme/small', 'Hello')}
kill -CONT %2
${chat('acme/small', '[[sim:say=They wander.]]')}
curl -s http://127.0.0.1:8081/metrics | grep entitlement_answers
grep '"err"' sluice.log
`;
    const { output } = await runRecipe('docs/how-to/write-a-stage.md', { after });
    expect(output).toContain('✔ keeps the contract of a stage');
    // Twice from the cache.
    expect(output.match(/Not in your contract\.".* status=403/g)).toHaveLength(2);
    expect(output).toMatch(/Try again later\..* status=503/);
    expect(output).toMatch(/"content":"They wander\.".* status=200/);
    for (const answer of ['yes', 'no', 'none']) expect(output).toContain(`{answer="${answer}"} 1`);
    expect(output).toMatch(/"level":50,.*"stack":"TimeoutError/);
  });

  it('tests what a stage answers while its service fails or is silent, and when the client leaves', async () => {
    const page = 'docs/how-to/write-a-stage.md';
    const stage = blocksOf(page, read(page)).find(({ file }) => file === 'entitlement.ts')!;
    const before = `npm init --yes && npm pkg set type=module && npm install sluice zod prom-client
cat > entitlement.ts <<'END_OF_STAGE'
${stage.code}END_OF_STAGE`;
    const { output } = await runRecipe('docs/how-to/test-a-stage.md', { before });
    expect(output).toMatch(/pass 5\n.*fail 0\n/);
  });

  it('changes replies, streamed and whole', async () => {
    const { output } = await runRecipe('docs/how-to/change-a-stream.md', {
      after: chat('Qwen/Qwen3-8B', '[[sim:say=Ask project Falcon.]]'),
    });
    expect(output).toMatch(/✔ house-words[\s\S]*✔ no-reasoning/);
    const texts = [...output.matchAll(/"content":"(.*?)"/g)].map(([, text]) => text).join('');
    expect(texts).toMatch(/(Ask the project\.){2}$/);
    expect(output).not.toContain('"reasoning":"');
  });

  it('adds an adapter of one file for a format of its own', async () => {
    const { output } = await runRecipe('docs/how-to/write-an-adapter.md', {
      after: chat('acme/parrot', 'Hello'),
    });
    expect(output).toContain('✔ keeps the contract of an adapter');
    expect(output).toMatch(/"content":"Hi\.".*"prompt_tokens":3,"completion_tokens":2.* status=200/);
  });

  it('offers another interface, whole, streamed and with its errors', async () => {
    await runRecipe('docs/how-to/write-a-dialect.md');
  });

  it('adds an extension that answers operators', async () => {
    const after = `
export SLUICE_KEY=$(sluice keys create --account me --config sluice.yaml)
${chat('acme/small', 'Why do rivers bend?')}
until curl -s http://127.0.0.1:8081/month-cost | grep '"me"'; do :; done
`;
    const { output } = await runRecipe('docs/how-to/write-an-extension.md', { after });
    expect(output).toContain('✔ keeps the contract of an extension');
    expect(output).toContain('{"currency":"EUR","accounts":[["me","0"]]}');
  });

  it('keeps records and counters in stores of its own', async () => {
    const after = `
test -s main.db
sluice accounts create acme --limits '{"requests_per_minute":1}' --config sluice.yaml
export SLUICE_KEY=$(sluice keys create --account acme --config sluice.yaml)
${chat('acme/small', 'Why do rivers bend?')}
${chat('acme/small', 'Why do rivers bend?')}
curl -s http://127.0.0.1:8081/metrics | grep -E '^sluice_(store|state)'
`;
    const { output } = await runRecipe('docs/how-to/write-a-store.md', { after });
    expect(output).toMatch(/status=200[\s\S]*status=429/);
    expect(output).toContain('sluice_store_up{store="state",operation="exchange"} 1');
    expect(output).toContain('They wander.');
  });
});

describe('a recipe for a move from another gateway', () => {
  const hosts = ['api.openai.com', 'api.anthropic.com', 'api.mistral.ai'];
  const providerKeys = {
    OPENAI_API_KEY: 'sk-openai',
    ANTHROPIC_API_KEY: 'sk-anthropic',
    MISTRAL_API_KEY: 'sk-mistral',
  };

  it('brings models and keys from LiteLLM, and serves a client with its old key', async () => {
    const [laptop, expired] = ['sk-acme-1111', 'sk-acme-2222'].map(hashKey);
    const keys = [
      { token: laptop, key_alias: 'laptop', team_id: 't1', rpm_limit: 60, models: ['small'] },
      { token: expired, key_alias: 'old', team_id: 't1', expires: '2020-01-01T00:00:00Z' },
    ];
    const teams = [{ team_id: 't1', team_alias: 'acme' }];
    // Answers only to the query of the page.
    const psql = `[ "$*" = 'postgres://litellm -Atf export.sql' ] && grep -q LiteLLM_VerificationToken export.sql && echo '${JSON.stringify({ keys, teams, users: [] })}'`;
    const { output, received } = await runRecipe('docs/how-to/from-litellm.md', {
      hosts,
      programs: { psql },
      environment: {
        ...providerKeys,
        DATABASE_URL: 'postgres://litellm',
        LITELLM_KEY: 'sk-acme-1111',
        LITELLM_MASTER_KEY: 'sk-master-1',
      },
      after: `curl -s -w ' status=%{http_code}' http://127.0.0.1:8080/v1/chat/completions -H 'Authorization: Bearer sk-acme-2222' -d '{}'`,
    });
    expect(output).toMatch(/"model":"small","choices"[\s\S]* status=401/);
    const [asked] = received.filter(({ method }) => method === 'POST');
    expect([asked?.host, JSON.parse(asked?.body ?? '{}').model]).toEqual([
      'api.mistral.ai',
      'mistral-small-latest',
    ]);
  });

  it('brings a config from Portkey, and serves its model to a new key', async () => {
    const { output, received } = await runRecipe('docs/how-to/from-portkey.md', {
      hosts,
      environment: providerKeys,
    });
    expect(output).toContain('"model":"assistant","choices"');
    const [asked] = received.filter(({ method }) => method === 'POST');
    expect([asked?.host, JSON.parse(asked?.body ?? '{}').model]).toEqual(['api.openai.com', 'gpt-4o-mini']);
  });
});

describe('a recipe for agents', () => {
  /** Asks as an agent does that has been given these settings; the answer goes to standard output. */
  const asking = (url: string, key: string, model: string, field: string) =>
    `curl -sf "${url}" -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -H 'anthropic-version: 2023-06-01' ` +
    `-d '{"model":"'"${model}"'",${field}}' > answer.json || exit 1; echo "$(basename "$0") was answered"`;
  const messages = '"max_tokens":99,"messages":[{"role":"user","content":"Hello"}]';
  /** The setting that the brackets of this pattern hold in a file, as a command substitution. */
  const setting = (file: string, pattern: string) => `$(sed -nE 's|.*${pattern}.*|\\1|p' ${file} | head -1)`;

  it('connects each by its own settings', async () => {
    const codex = `key=${setting('~/.codex/config.toml', 'env_key = "(.*)"')}
      url=${setting('~/.codex/config.toml', 'base_url = "(.*)"')}
      ${asking('$url/responses', '${!key}', setting('~/.codex/config.toml', 'model = "(.*)"'), '"input":"Hello"')}`;
    const claude = asking(
      '$ANTHROPIC_BASE_URL/v1/messages',
      '$ANTHROPIC_AUTH_TOKEN',
      '$ANTHROPIC_MODEL',
      messages,
    );
    const qwen = asking('$OPENAI_BASE_URL/chat/completions', '$OPENAI_API_KEY', '$OPENAI_MODEL', messages);
    const opencode = `node -e "JSON.parse(require('fs').readFileSync('opencode.json'))" || exit 1
      ${asking(
        `${setting('opencode.json', '"baseURL": "([^"]*)"')}/chat/completions`,
        setting('opencode.json', '"apiKey": "([^"]*)"'),
        setting('opencode.json', '"model": "sluice/([^"]*)"'),
        messages,
      )}`;
    const cn = asking(
      `${setting('continue.yaml', 'apiBase: "([^"]*)"')}/chat/completions`,
      setting('continue.yaml', 'apiKey: ([^,]*),'),
      setting('continue.yaml', ' model: ([^,]*),'),
      messages,
    );
    const programs = { codex, claude, qwen, opencode, cn };
    const { output } = await runRecipe('docs/how-to/connect-agents.md', { programs });
    for (const name of Object.keys(programs)) expect(output).toContain(`${name} was answered`);
  });
});
