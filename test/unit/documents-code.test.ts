import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { blocksOf, blocksOfDocstrings, blocksOfDocuments, read, root } from '../support/documents/blocks.ts';
import { commandLines, faultsOfCommandLine } from '../support/documents/command-lines.ts';
import { faultsOfConfiguration } from '../support/documents/configurations.ts';
import { type PublicSymbol, publicSymbols } from '../support/documents/public-symbols.ts';
import { faultsOfBlocks } from '../support/documents/typed-blocks.ts';
import { UserProject } from '../support/documents/user-project.ts';

let project: UserProject;
let symbols: readonly PublicSymbol[];
beforeAll(() => {
  project = new UserProject();
  symbols = publicSymbols(project);
});
afterAll(() => project.remove());

const sources = globSync('{src,plugins}/**/*.ts', { cwd: root });
const blocks = [...blocksOfDocuments(), ...blocksOfDocstrings()];

describe('code in documents and docstrings', () => {
  it('compiles in a strict project that has the package, and a block with a mistake is reported at its line', () => {
    const typed = blocks.filter(({ language }) => language === 'ts');
    expect(typed.length).toBeGreaterThan(3);
    const document = [
      "Text.\n\n```ts\nimport { auth } from 'sluice';\n\nauth({ x_api_kee: true });\n```\n",
      '<!-- around:\nclass Wrapped {\n  …\n}\n-->\n\n```ts\nmethod(): number {\n  return "text";\n}\n```\n',
    ].join('\n');
    const found = faultsOfBlocks([...typed, ...blocksOf('sample.md', document)], project);
    expect(found.toSorted().reverse()).toEqual([
      expect.stringMatching(/^sample\.md:6: TS\d+: .*x_api_kee/),
      expect.stringMatching(/^sample\.md:17: TS\d+: .*string/),
    ]);
  });

  it('is a configuration that the schema accepts, where it is YAML', () => {
    const written = blocks.filter(({ language }) => language === 'yaml');
    expect(written.length).toBeGreaterThan(3);
    expect(written.flatMap(faultsOfConfiguration)).toEqual([]);
  });

  it('is checked: a configuration with a misspelt name, a wrong value or no form is reported', () => {
    const document =
      '```yaml\nserver: { prt: 1 }\nlog: { level: loud }\nstages: [auth: { x_api_kee: true }]\n```\n\n```yaml\n- auth\n```\n';
    expect(blocksOf('sample.md', document).flatMap(faultsOfConfiguration)).toEqual([
      expect.stringMatching(/^sample\.md:2: server\.prt: unknown name/),
      expect.stringMatching(/^sample\.md:2: log\.level: must be one of/),
      expect.stringMatching(/^sample\.md:2: stages\[0\]\.auth\.x_api_kee: unknown name/),
      expect.stringMatching(/^sample\.md:8: is no configuration/),
    ]);
  });

  it('is JSON, where it says so', () => {
    for (const { language, code } of blocks) if (language === 'json') JSON.parse(code);
  });

  it('names commands, options and npm scripts that exist', () => {
    const lines = commandLines(blocks);
    expect(lines.filter(({ text }) => text.startsWith('sluice ')).length).toBeGreaterThan(5);
    expect(lines.flatMap(faultsOfCommandLine)).toEqual([]);
  });

  it('is checked: commands, options and scripts that do not exist are reported', () => {
    const code =
      'sluice chek\nsluice check --confg x | cat # --no\nnpm run doks && X=1 npm start -- keys mak\nnpm run bench -- latenzy\n';
    const lines = commandLines([{ document: 'sample.md', line: 1, language: 'sh', code }]);
    const found = lines.filter(({ place }) => place.startsWith('sample')).flatMap(faultsOfCommandLine);
    expect(found).toEqual([
      "sample.md:1: sluice has no command 'chek'",
      'sample.md:2: sluice check has no option --confg',
      "sample.md:3: there is no npm script 'doks'",
      "sample.md:3: sluice keys has no command 'mak'",
      "sample.md:4: npm run bench has no 'latenzy'",
    ]);
  });

  it('has the languages that are checked by these names', () => {
    const others = ['typescript', 'js', 'javascript', 'bash', 'shell', 'yml', 'jsonc'];
    expect(blocks.filter(({ language }) => others.includes(language))).toEqual([]);
  });
});

describe('public types', () => {
  it('have a docstring on every exported symbol and every member', () => {
    expect(symbols.length).toBeGreaterThan(500);
    expect(
      symbols.filter(({ documentation }) => documentation.trim() === '').map(({ name }) => name),
    ).toEqual([]);
  });

  it.each([
    ['sluice GatewayConfig.providers', 'Servers that models run on'],
    ['sluice ModelOptions.pricing', 'decimal strings per token'],
    ['sluice ChainOptions.max_body_bytes', 'The largest request body'],
    ['sluice auth', 'refuses all other requests'],
    ['sluice/plugin Exchange.signal', 'Aborts when the upstream is no longer needed'],
  ])('show on %s what it is', (name, text) => {
    expect(symbols.find(symbol => symbol.name === name)?.documentation).toContain(text);
  });

  it('are not inferred from schemas where a user meets them', () => {
    const declarations = [
      'dist/src/index.d.ts',
      'dist/plugins/stages/auth/index.d.ts',
      'dist/src/config/gateway-config.d.ts',
    ];
    for (const file of declarations)
      expect(readFileSync(join(project.package, file), 'utf8')).not.toMatch(/Zod(Object|Optional|Default)/);
  });

  it('name no document that users do not have', () => {
    const unknown =
      /\b(protocol|spec|design|pitfalls?)(\.md)? (section )?([a-z]?\d+(\.\d+)*)\b|\b(design|protocol|spec|pitfalls|words)\.md\b/i;
    const named = sources.flatMap(file =>
      read(file)
        .split('\n')
        .flatMap((line, at) => (unknown.test(line) ? [`${file}:${at + 1}: ${line.trim()}`] : [])),
    );
    expect(named).toEqual([]);
  });

  it('have examples in fenced blocks, which are compiled', () => {
    const examples = sources.flatMap(file => {
      const text = read(file);
      return [...text.matchAll(/@example\n\s*\* (.*)/g)].map(([, first]) => `${file}: ${first}`);
    });
    expect(examples.filter(example => !example.endsWith('```ts'))).toEqual([]);
    expect(blocksOfDocstrings().length).toBeGreaterThanOrEqual(examples.length);
  });
});
