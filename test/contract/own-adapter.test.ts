import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import gemini from '../../examples/own-adapter/gemini.ts';
import { systemClock } from '../../src/common/clock.ts';
import type { ChatRequest, ReasoningDetail } from '../../src/gateway/exchange/canonical.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { blocksOf, read } from '../support/documents/blocks.ts';
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

const encoded = (model: string, request: Partial<ChatRequest>) =>
  adapter.encode(sampleRequest(request), { model, effortMap: {}, extraParameters: [] });

const thinkingConfig = (model: string, request: Partial<ChatRequest>) =>
  (encoded(model, request).body.generationConfig as { thinkingConfig?: object } | undefined)?.thinkingConfig;

describe('the guide to adapters', () => {
  it('has an adapter that passes the check beside it', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-guide-'));
    try {
      await mkdir(join(directory, 'node_modules'));
      await symlink(root, join(directory, 'node_modules/sluice'));
      await symlink(join(root, 'node_modules/zod'), join(directory, 'node_modules/zod'));
      await writeFile(join(directory, 'package.json'), '{"type":"module"}');
      for (const { saved, code } of blocksOf('guide', read('docs/write-an-adapter.md')))
        if (saved !== undefined) await writeFile(join(directory, saved), code);
      const { failed, output } = await nodeTest(directory, 'parrot.test.ts');
      expect(output).toContain('ok 1 - parrot keeps the contract');
      expect(failed).toBe(false);
    } finally {
      await rm(directory, { recursive: true });
    }
  }, 60_000);
});

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

  it('names the effort that a model without thoughts is not told of, and stop sequences above five', () => {
    const request = { reasoning_effort: 'high', stop: ['1', '2', '3', '4', '5', '6'] };
    expect(encoded('gemini-2.0-flash', request).ignored).toEqual(['stop', 'reasoning_effort']);
  });

  it('sends the signatures that the client has kept, and none of another maker', () => {
    const call = { id: 'a', type: 'function' as const, function: { name: 'roll', arguments: '{}' } };
    const detail = { type: 'reasoning.encrypted', id: 'a', data: 's', format: 'google-gemini-v1' };
    const sent = (reasoning_details: ReasoningDetail[]) => {
      const { body, ignored } = encoded('gemini-2.5-flash', {
        messages: [
          { role: 'user', content: 'Roll.' },
          { role: 'assistant', content: null, reasoning: 'Hm.', reasoning_details, tool_calls: [call] },
          { role: 'tool', tool_call_id: 'a', content: '4' },
        ],
      });
      return { part: (body.contents as { parts: object[] }[])[1]!.parts[0], ignored };
    };
    const functionCall = { name: 'roll', args: {} };
    expect(sent([detail])).toEqual({ part: { functionCall, thoughtSignature: 's' }, ignored: [] });
    expect(sent([{ ...detail, format: 'anthropic-claude-v1' }])).toEqual({
      part: { functionCall },
      ignored: ['messages.reasoning'],
    });
  });

  it('sends images, also in the results of tools', () => {
    const image = (url: string) => ({ type: 'image_url' as const, image_url: { url } });
    const content = [image('data:image/png;base64,aGk='), image('https://example.com/a.png')];
    const parts = [
      { inlineData: { mimeType: 'image/png', data: 'aGk=' } },
      { fileData: { fileUri: 'https://example.com/a.png' } },
    ];
    const call = { id: 'a', type: 'function' as const, function: { name: 'look', arguments: '{}' } };
    const { contents } = encoded('gemini-2.5-flash', {
      messages: [
        { role: 'user', content },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'a', content },
      ],
    }).body;
    expect(contents).toMatchObject([
      { parts },
      {},
      { parts: [{ functionResponse: { name: 'look', response: { output: '' }, parts } }] },
    ]);
  });

  it('sends a stand-in for a signature that is lost, to models that refuse calls without any', () => {
    const call = (id: string) => ({
      id,
      type: 'function' as const,
      function: { name: 'roll', arguments: '' },
    });
    const messages: ChatRequest['messages'] = [
      { role: 'user', content: 'Roll.' },
      { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
      { role: 'tool', tool_call_id: 'a', content: '4' },
      { role: 'tool', tool_call_id: 'b', content: '7' },
    ];
    const functionCall = { name: 'roll', args: {} };
    expect(encoded('gemini-3-flash-preview', { messages }).body.contents).toMatchObject([
      {},
      {
        role: 'model',
        parts: [{ functionCall, thoughtSignature: 'skip_thought_signature_validator' }, { functionCall }],
      },
      { role: 'user', parts: [{ functionResponse: {} }, { functionResponse: {} }] },
    ]);
    const older = encoded('gemini-2.5-flash', { messages }).body.contents as { parts: object[] }[];
    expect(older[1]!.parts).toEqual([{ functionCall }, { functionCall }]);
  });
});
