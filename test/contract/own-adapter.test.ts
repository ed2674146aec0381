import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import gemini from '../../examples/own-adapter/gemini.ts';
import { systemClock } from '../../src/common/clock.ts';
import type { ChatRequest } from '../../src/gateway/exchange/canonical.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { sampleRequest } from '../unit/sample-exchange.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a file with Node's own test runner. */
const nodeTest = (cwd: string, file: string): Promise<{ failed: boolean; output: string }> =>
  new Promise(resolve => {
    const flags = ['--conditions=sluice-source', '--test', '--test-reporter=tap'];
    execFile(process.execPath, [...flags, file], { cwd }, (fault, output) =>
      resolve({ failed: fault !== null, output }),
    );
  });

const adapter = gemini.create(gemini.schema.parse({}) as never, {
  provider: 'google',
  log: createLog('silent'),
  clock: systemClock,
  metrics: undefined as never,
});

const thinkingConfig = (model: string, request: Partial<ChatRequest>) => {
  const { body } = adapter.encode(sampleRequest(request), { model, effortMap: {}, extraParameters: [] });
  return (body.generationConfig as { thinkingConfig?: object } | undefined)?.thinkingConfig;
};

describe('the example of an adapter', () => {
  it("passes the check under Node's test runner", async () => {
    const { failed, output } = await nodeTest(root, 'examples/own-adapter/gemini.check.ts');
    expect(output).toContain('ok 1 - gemini keeps the contract');
    expect(failed).toBe(false);
  }, 120_000);

  it.each([
    ['gemini-3-flash-preview', { reasoning_effort: 'max' }, { thinkingLevel: 'high', includeThoughts: true }],
    [
      'gemini-3-flash-preview',
      { reasoning_effort: 'none' },
      { thinkingLevel: 'minimal', includeThoughts: false },
    ],
    [
      'gemini-3.1-pro-preview',
      { reasoning_effort: 'minimal' },
      { thinkingLevel: 'low', includeThoughts: true },
    ],
    ['gemini-2.5-flash', { reasoning_effort: 'none' }, { thinkingBudget: 0, includeThoughts: false }],
    ['gemini-2.5-pro', { reasoning_effort: 'none' }, { thinkingBudget: 128, includeThoughts: false }],
    [
      'gemini-2.5-flash',
      { reasoning_effort: 'high', max_tokens: 1000 },
      { thinkingBudget: 800, includeThoughts: true },
    ],
    ['gemini-2.5-flash', {}, { includeThoughts: true }],
    ['gemini-2.0-flash', {}, undefined],
  ])('has %s think as in %j', (model, request, expected) => {
    expect(thinkingConfig(model, request)).toEqual(expected);
  });
});
