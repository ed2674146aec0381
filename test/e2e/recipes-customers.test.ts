import { describe, expect, it } from '@jest/globals';
import { root } from '../support/documents/blocks.ts';
import { runRecipe } from '../support/recipes/recipe.ts';

/** `vllm serve MODEL --port N`, by the simulator. */
const vllm = 'exec sluice simulate --models "$2" "${@:3}"';

/** The configuration of a reader who has one: a model at $2 and $10 per million tokens, in front of the simulator. */
const configured = (more = 'accounts: { me: {} }') => `
sluice simulate --port 8000 --models Qwen/Qwen3-8B &
cat > sluice.yaml <<'END_OF_CONFIGURATION'
providers:
  local: { adapter: vllm, base_url: http://127.0.0.1:8000/v1 }
models:
  - id: Qwen/Qwen3-8B
    name: Qwen3 8B
    date: 2026-01-01
    context_length: 32768
    max_completion_tokens: 4096
    pricing:
      prompt: "0.000002"
      completion: "0.00001"
    reasoning: false
    tool_calls: true
    reasoning_effort: { supported: false, levels: [], default: null }
    upstreams:
      - { provider: local, model: Qwen/Qwen3-8B, paid_prices: { prompt: "0.000001", completion: "0.000008" } }
stores: { records: sqlite:./sluice.db }
usage_api: { enabled: true }
${more}
END_OF_CONFIGURATION
`;

/** The same with a gateway that runs. */
const running = (more?: string) => `${configured(more)}
sluice --config sluice.yaml > sluice.log &
`;

/** A customer of it with a key. */
const customer = (options = '', name = 'production') => `
sluice accounts create acme ${options} --config sluice.yaml
export ACME_KEY=$(sluice keys create --account acme --name ${name} --config sluice.yaml)
curl -s -o /dev/null http://127.0.0.1:8081/healthz
`;

/** A request of that customer. */
const asked = (id: string, max_tokens: number) => `
curl -s -o /dev/null http://127.0.0.1:8080/v1/chat/completions -H "Authorization: Bearer $ACME_KEY" -H 'Content-Type: application/json' -H 'x-request-id: ${id}' \\
  -d '{"model":"Qwen/Qwen3-8B","max_tokens":${max_tokens},"messages":[{"role":"user","content":"Why do rivers bend?"}]}'
`;

describe('a recipe for customers', () => {
  it('gives each customer a budget, refuses what does not fit and raises it until a time', async () => {
    const { output } = await runRecipe('docs/how-to/customer-budgets.md', { programs: { vllm } });
    const statuses = [...output.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));
    expect(statuses).toEqual([429, 200]);
    expect(output).toContain('after the raise: 200');
    expect(output).toMatch(/^acme +\d+ +\d+ .* 0\.00\d+$/m);
  });

  it('finds a leaked key by its last characters, revokes it and shows what it was used for', async () => {
    const leaked = `${customer()}${asked('of-a-thief', 20)}\nprintf '%s\\n' "$ACME_KEY" > leaked.txt`;
    const { output } = await runRecipe('docs/how-to/leaked-key.md', {
      before: running() + leaked,
      after: `curl -s -o /dev/null -w 'new key: %{http_code}\\n' http://127.0.0.1:8080/v1/limits -H "Authorization: Bearer $NEW_KEY"`,
    });
    expect(output).toMatch(/new key: 200/);
    expect(output).toMatch(/^ +1 "client_address"/m);
  });

  it('bills new prices from a reload on, keeps old costs and counts what the provider is paid', async () => {
    const { output } = await runRecipe('docs/how-to/prices.md', {
      before: running('admin: { socket: ./admin.sock }') + customer(),
    });
    const costs = [...output.matchAll(/"cost_usd": "([\d.]+)"/g)].map(([, usd]) => Number(usd));
    expect(costs[1]! - costs[0]!).toBeCloseTo(50 * 0.000_002, 9);
    const [, all] = /^all +(.*)$/m.exec(output)!;
    const [cost, requests, paid, margin] = all!.trim().split(/ +/).slice(-4).map(Number);
    expect(requests).toBe(2);
    expect(cost! - paid!).toBeCloseTo(margin!, 9);
  });

  it('explains a 429 by its text, its line in the log, the ledger and the limits, and helps', async () => {
    const key = 'admin-0123456789-0123456789-0123456789';
    await runRecipe('docs/how-to/explain-a-429.md', {
      environment: { SLUICE_ADMIN_KEY: key },
      before:
        running(`admin_api: { enabled: true, keys: [{ name: ops, role: admin, value: ${key} }] }`) +
        customer(`--limits '{"usd_per_month": "0.01"}'`) +
        asked('complaint-1', 2000) +
        'until sluice ledger find complaint-1 --config sluice.yaml > /dev/null; do :; done',
    });
  });

  it('shares a budget among teams and keys, and says which limit refused', async () => {
    const { output } = await runRecipe('docs/how-to/teams.md', { before: running() });
    // Two keys, each with what it was admitted; refusals are counted a second later.
    expect(output.match(/^acme-sales +key_\w+ .* 0\.000522 /gm)).toHaveLength(2);
  });

  it('prints the bill of a month, and splits it by tags that were set afterwards', async () => {
    const { output } = await runRecipe('docs/how-to/statements.md', {
      before: [
        running('admin: { socket: ./admin.sock }'),
        customer('', 'search-app'),
        asked('one', 20),
        asked('two', 20),
      ].join('\n'),
    });
    const [, billed] = /^20[\d-]+,acme,.*,([\d.]+)$/m.exec(output)!;
    const tagged = /^acme +search +2 .*$/m.exec(output)![0].split(/ +/);
    // Behind the cost are what was paid for it, and the margin.
    expect(Number(tagged.at(-4))).toBe(Number(billed));
  });

  it('counts what new limits would refuse before they do', async () => {
    const { output } = await runRecipe('docs/how-to/try-limits.md', {
      before: running('admin: { socket: ./admin.sock }') + customer(),
    });
    expect(output).not.toMatch(/^429$/m);
  });

  it('lets customers see their own account at the portal, and only those', async () => {
    const { output } = await runRecipe('docs/how-to/customer-portal.md', {
      before: `${configured()}sluice accounts create acme --config sluice.yaml\n`,
      after: `node ${root}test/support/recipes/portal-visit.ts http://127.0.0.1:8081/dashboard/ http://127.0.0.1:8080/portal/ "$DASHBOARD_PASSWORD" acme`,
    });
    expect(output).toContain('accepted: 303, start page: 200, names its account: true, stranger: 303');
  });

  it('tells a webhook, signed, that half of a limit is used', async () => {
    const { output } = await runRecipe('docs/how-to/notices.md', {
      before: configured(),
      after: 'cat receiver.log',
    });
    expect(output).toMatch(/"type":"test"/);
    expect(output).toContain('webhook:ops has it');
  });

  it('sells prepaid credit, refuses what it does not cover and adds what is paid', async () => {
    const { output } = await runRecipe('docs/how-to/prepaid-credit.md', { before: running() });
    expect(output).toMatch(/"used":"0\.00[\d]+","remaining":"24\.99/);
  });
});
