import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { root } from '../support/documents/blocks.ts';
import { caddy, machine, nginx } from '../support/recipes/machine.ts';
import { type RecipeSetting, runRecipe } from '../support/recipes/recipe.ts';
import { configured } from '../support/recipes/settings.ts';
import { selfSigned } from '../support/self-signed-certificate.ts';

const program = (name: string) =>
  `exec '${process.execPath}' '${fileURLToPath(new URL(`../support/recipes/${name}.ts`, import.meta.url))}' "$@"`;
const UPSTREAM_KEY = 'sk-upstream-5f2a';

/** A model server that asks for the key, and a configuration for it that does not have the key yet. */
const guarded = `
sluice simulate --port 8000 --models qwen3-8b,aion-3.5 --api-key "$UPSTREAM_KEY" > simulator.log &
sluice init --adapter vllm --url http://127.0.0.1:8000/v1 --models qwen3-8b --key-env UPSTREAM_KEY --yes 2> init.log
`;

/** Asks `model` at `address` with a key that `make` prints. */
const ask = (address: string, make: string, model: string, stream = false) => `
KEY=$(${make})
curl -sN ${address}/v1/chat/completions -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '${JSON.stringify(
  { model, stream, max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] },
)}'`;

const key_of_acme = 'sluice keys create --account acme --config /etc/sluice/sluice.yaml';

let site: string;
beforeAll(() => {
  site = mkdtempSync(join(tmpdir(), 'sluice-site-'));
  const { key, cert } = selfSigned(new Date(Date.now() + 86_400_000), ['llm.example.com']);
  writeFileSync(join(site, 'llm.example.com.key'), key);
  writeFileSync(join(site, 'llm.example.com.crt'), cert);
});
afterAll(() => rmSync(site, { recursive: true }));

/** A machine to which the name of the site leads, with its certificate. */
const siteSetting = (): Pick<RecipeSetting, 'ports' | 'environment' | 'before' | 'after'> => ({
  ports: [443],
  environment: { SITE: site },
  before: `
mkdir -p ~/root/etc/ssl && cp "$SITE"/* ~/root/etc/ssl/
printf 'connect-to = "llm.example.com::127.0.0.1:443"\\ncacert = "%s"\\n' ~/root/etc/ssl/llm.example.com.crt > ~/.curlrc
${configured}`,
  after: `${ask('https://llm.example.com', 'sluice keys create --account me --config sluice.yaml', 'vllm/qwen3-8b', true)}
curl -s -w ' %{http_code}\\n' https://llm.example.com/v1/chat/completions -H 'Authorization: Bearer sk-unknown' -d '{}'
sluice usage --by key --config sluice.yaml`,
});

describe('a recipe for a machine', () => {
  it('runs sluice as a service of systemd, with a key that only root can read', async () => {
    const { output } = await runRecipe('docs/how-to/systemd.md', {
      programs: machine(),
      environment: { UPSTREAM_KEY },
      before: `${guarded}sed -i '/api_key:/d' sluice.yaml`,
      after: `${ask('http://127.0.0.1:8080', 'sluice_as_root keys create --account me', 'vllm/qwen3-8b')}
until grep -q 'configuration reloaded' ~/journal; do sleep 0.1; done
journalctl --unit sluice
ls ~/root/var/lib/sluice
stat --format 'mode %a' ~/root/var/lib/sluice`,
    });
    expect(output).toContain('"object":"chat.completion"');
    expect(output).toContain('configuration reloaded');
    expect(output).toMatch(/^sluice\.db$/m);
    expect(output).toContain('mode 700');
  });

  it('puts nginx in front, which streams over TLS and leaves the errors of the gateway as they are', async () => {
    const { output } = await runRecipe('docs/how-to/nginx.md', {
      programs: { ...machine(), nginx: nginx() },
      ...siteSetting(),
    });
    expect(output).toMatch(/^data: \[DONE\]$/m);
    expect(output).toMatch(/"type":"authentication_error".* 401$/m);
  });

  it('puts Caddy in front, which streams over TLS and leaves the errors of the gateway as they are', async () => {
    const { output } = await runRecipe('docs/how-to/caddy.md', {
      programs: { ...machine(), caddy: caddy() },
      ...siteSetting(),
    });
    expect(output).toMatch(/^data: \[DONE\]$/m);
    expect(output).toMatch(/"type":"authentication_error".* 401$/m);
  });
});

describe('a recipe for containers', () => {
  it('runs the image with few rights, and two gateways with their stores by Compose', async () => {
    const files = ['Dockerfile', 'package.json', 'package-lock.json', 'LICENSE', 'bin', 'grafana'];
    const { output } = await runRecipe('docs/how-to/containers.md', {
      programs: { docker: program('docker') },
      needs: ['openssl'],
      environment: { UPSTREAM_KEY },
      after: ask(
        'http://127.0.0.1:8080',
        `docker compose exec gateway-1 ${key_of_acme}`,
        'aion-labs/aion-3.5',
      ),
      before: `${guarded}
sed -i 's/api_key:.*/api_key: "${UPSTREAM_KEY}"/' sluice.yaml
cp -r '${root}'examples .
for file in ${files.join(' ')}; do ln -s '${root}'$file $file; done`,
    });
    expect(output).toContain('"id":"vllm/qwen3-8b"');
    expect(output).toContain('"model":"aion-labs/aion-3.5"');
  });

  it('runs gateways in Kubernetes, and one beside vLLM, with the secrets that their configurations name', async () => {
    const { output } = await runRecipe('docs/how-to/kubernetes.md', {
      programs: { kubectl: program('kubectl') },
      needs: ['openssl'],
      environment: { UPSTREAM_KEY },
      before: guarded,
      after: `${ask('http://127.0.0.1:8080', `kubectl exec --namespace sluice deploy/sluice -- ${key_of_acme}`, 'aion-labs/aion-3.5')}
until grep -h "is listening" ~/pod/inference/log; do sleep 0.1; done`,
    });
    expect(output).toContain('"model":"aion-labs/aion-3.5"');
  });
});
