import { describe, expect, it } from '@jest/globals';
import { runRecipe } from '../support/recipes/recipe.ts';
import { configured } from '../support/recipes/settings.ts';

describe('a recipe for a gateway in operation', () => {
  it('serves HTTPS, and a renewed certificate without a restart', async () => {
    const { output } = await runRecipe('docs/how-to/tls.md', {
      needs: ['openssl'],
      before: configured,
      after: `
until grep 'certificate reloaded' sluice.log; do sleep 0.1; done
curl -sv --cacert tls/tls.crt https://localhost:8080/v1/models -o catalog.json 2>&1 | grep 'expire date'
[ "$(curl -s -o plain -w '%{http_code}' http://localhost:8080/v1/models || true)" = 000 ] && echo plain HTTP is closed
`,
    });
    expect(output).toContain('"id":"vllm/qwen3-8b"');
    const [, end] = /expire date: (.*)/.exec(output) ?? [];
    expect(Date.parse(end!)).toBeGreaterThan(Date.now() + 80 * 86_400_000);
    expect(output).toContain('plain HTTP is closed');
  });

  it('changes the configuration of a running gateway, refuses a mistake, and hands over to the next process', async () => {
    const { output } = await runRecipe('docs/how-to/change-the-configuration.md', {
      before: configured,
      after: `
wait $old
sed -i 's/requests_per_minute/requests_per_moment/' sluice.yaml
sluice reload --config sluice.yaml || true
curl -s http://127.0.0.1:8080/v1/models
grep -c 'is listening' next.log
`,
    });
    expect(output).toMatch(
      /refused; the configuration before it serves on\n.*requests_per_moment.*did you mean 'requests_per_month'\?/,
    );
    expect(output).toMatch(/1\nthe page has ended/);
    expect(output.match(/"object":"list"/g)).toHaveLength(1);
    expect(output.match(/^ready/gm)).toHaveLength(2);
  });

  it('closes a gateway to strangers, step by step', async () => {
    const { output } = await runRecipe('docs/how-to/harden.md', {
      before: configured,
      after:
        'sluice keys list --config sluice.yaml; until grep "configuration reloaded" sluice.log; do sleep 0.1; done',
    });
    // The rotated key ends in seven days, the new one in as many as the old one had.
    expect(output.match(/^key_\S+ +acme +laptop/gm)).toHaveLength(2);
  });
});
