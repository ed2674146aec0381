import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { blocksOfDocstrings, root } from '../support/documents/blocks.ts';
import { type PublicSymbol, publicSymbols } from '../support/documents/public-symbols.ts';
import { UserProject } from '../support/documents/user-project.ts';

let project: UserProject;
let symbols: readonly PublicSymbol[];
beforeAll(() => {
  project = new UserProject();
  symbols = publicSymbols(project);
});
afterAll(() => project.remove());

const sources = globSync('{src,plugins}/**/*.ts', { cwd: root });

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

  it('compile in a strict project with the dependencies alone, the declarations themselves checked', () => {
    const files = new Map([
      [
        'strict.ts',
        [
          "import { auth, createChain, createGateway, type GatewayConfig } from 'sluice';",
          "import { defineProvider, defineStage } from 'sluice/plugin';",
          "import { checkStage } from 'sluice/testing';",
          "const model = { id: 'a/b', name: 'B', date: '2026-01-01', context_length: 1, max_completion_tokens: 1 };",
          'export const everything = [createChain, createGateway, defineProvider, defineStage, checkStage, model];',
          "export const adapter: GatewayConfig['providers'] = {",
          "  own: { adapter: './own.ts', base_url: 'http://127.0.0.1', region: 'eu' },",
          "  vllm: { adapter: 'vllm', base_url: 'http://127.0.0.1', thinking_switches: ['thinking'] },",
          '};',
          '// @ts-expect-error An option that does not exist.',
          'auth({ x_api_kee: true });',
        ].join('\n'),
      ],
    ]);
    expect(project.faultsOf(files, { skipLibCheck: false })).toEqual([]);
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
      readFileSync(join(root, file), 'utf8')
        .split('\n')
        .flatMap((line, at) => (unknown.test(line) ? [`${file}:${at + 1}: ${line.trim()}`] : [])),
    );
    expect(named).toEqual([]);
  });

  it('have examples in fenced blocks, which are compiled', () => {
    const examples = sources.flatMap(file => {
      const text = readFileSync(join(root, file), 'utf8');
      return [...text.matchAll(/@example\n\s*\* (.*)/g)].map(([, first]) => `${file}: ${first}`);
    });
    expect(examples.filter(example => !example.endsWith('```ts'))).toEqual([]);
    expect(blocksOfDocstrings().length).toBeGreaterThanOrEqual(examples.length);
  });
});
