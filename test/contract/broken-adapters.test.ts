import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { ProviderDefinition } from '../../src/plugin.ts';
import { type AdapterContract, ContractError, checkAdapter } from '../../src/testing/index.ts';
import { fixturesOf } from '../support/provider-fixtures.ts';
import * as broken from './broken-adapters.ts';

const [answer, tools] = ['answer', 'tools'].map(name => fixturesOf('vllm').find(f => f.name === name)!);
const contract: AdapterContract = {
  fixtures: [answer!, tools!],
  errors: [
    {
      name: 'overload',
      status: 503,
      body: { error: { message: 'busy' } },
      shown: { status: 502, type: 'provider_error' },
    },
    {
      name: 'an error in the stream',
      stream: 'data: {"error":{"message":"busy"}}\n\n',
      shown: { status: 502, type: 'provider_error' },
    },
  ],
};

const breachOf = async (definition: ProviderDefinition<object>): Promise<ContractError> => {
  const thrown = await checkAdapter(definition, { ...contract, timeout_ms: 1000 }).catch(error => error);
  expect(thrown).toBeInstanceOf(ContractError);
  return thrown as ContractError;
};

/** The rule that is broken, how the problem begins, and the fixture and the beginning of the cut with which it shows. */
type Row = [
  definition: ProviderDefinition<object>,
  rule: string,
  problem: string,
  fixture?: string,
  cut?: string,
];

describe('checkAdapter', () => {
  it('accepts an adapter that keeps the contract', async () => {
    await expect(checkAdapter(broken.goodAdapter, contract)).resolves.toBeUndefined();
  });

  it('asks for a stream or a reply in every fixture', async () => {
    const empty = { fixtures: [{ name: 'empty', choices: [] }] };
    await expect(checkAdapter(broken.goodAdapter, empty)).rejects.toThrow(
      'the fixture empty has neither a stream nor a reply',
    );
  });

  it.each<[string, object, object, string | RegExp]>([
    ['no fixtures', {}, { fixtures: [] }, 'fixtures: must have at least one fixture'],
    ['a misspelt field', {}, { fixture: [] }, "fixture: unknown name; did you mean 'fixtures'?"],
    [
      'a misspelt field of a fixture',
      {},
      { fixtures: [{ ...answer, replys: {} }] },
      "fixtures[0].replys: unknown name; did you mean 'reply'?",
    ],
    ['a name that is not in kebab-case', { name: 'My Server' }, {}, 'name: must be in kebab-case'],
    [
      'wrong options',
      { schema: z.strictObject({ region: z.string() }) },
      { options: { region: 3 } },
      /options of good: 1 mistake\n {2}region: must be a string, not 3$/,
    ],
    ['a promise', { create: async () => ({}) }, {}, 'must not be a promise'],
  ])('says in a sentence that it was given %s', async (_, facts, changes, message) => {
    const definition = { ...broken.goodAdapter, name: 'good', ...facts } as ProviderDefinition<object>;
    const thrown = await checkAdapter(definition, { ...contract, ...changes }).catch(error => error);
    expect(thrown).toMatchObject({ name: 'ConfigError' });
    if (typeof message === 'string') expect(thrown.message).toContain(message);
    else expect(thrown.message).toMatch(message);
  });

  it('sends results of tools that can be read and not written again', async () => {
    const definition = broken.adapterThat('parses-results', () => {
      const { encode, ...rest } = broken.goodAdapter.create({}, undefined as never);
      return {
        ...rest,
        encode(request, target) {
          const sent = encode(request, target);
          const results = request.messages.map(({ role, content }) => {
            try {
              return role === 'tool' ? JSON.parse(String(content)) : null;
            } catch {
              return null;
            }
          });
          return { ...sent, body: { ...sent.body, results } };
        },
      };
    });
    expect((await breachOf(definition)).message).toMatch(
      /has a body that cannot be written as JSON.*\n {2}fixture {3}tool results/,
    );
  });

  it('says in its message what was expected and what came', async () => {
    expect((await breachOf(broken.losesReasoning)).message).toMatch(
      /^loses-reasoning: does not decode what the stream says: reasoning of choice 0 \(meaning\)\n {2}fixture {3}answer\n {2}cut {7}uncut\n {2}expected {2}"Short question\. .*"\n {2}got {7}""$/,
    );
  });

  const noField = 'leaves messages.reasoning out and does not say so';
  const brokenOff = 'takes a stream that broke off for complete: ';
  const rows: Row[] = [
    [broken.encodesLater, 'requests', 'has a path that no request can have'],
    [broken.decodesToNothing, 'meaning', 'does not decode a whole stream', 'answer'],
    [broken.losesReasoning, 'meaning', 'does not decode what the stream says: reasoning', 'answer', 'uncut'],
    [broken.losesReasoningOfReplies, 'whole-replies', 'does not decode what the whole reply says', 'answer'],
    [broken.countsItsStreams, 'same-result', 'decodes another result', 'answer', 'lines that end with CR LF'],
    [broken.isAlwaysComplete, 'truncation', brokenOff, 'answer', 'broken off at byte 0 of'],
    [broken.hasItsOwnFinishReason, 'shape', 'decodes to no canonical chunk: finish_reason'],
    [broken.addsTotalsWrongly, 'shape', 'decodes to no canonical reply: total_tokens'],
    [broken.countsDown, 'usage', 'reports running usage that decreases'],
    [broken.leavesIdsOut, 'tool-calls', 'begins a tool call without an id', 'tools'],
    [broken.countsCallsFromOne, 'tool-calls', 'leaves a gap in the indexes of tool calls'],
    [broken.givesOneId, 'tool-calls', 'gives two tool calls one id'],
    [broken.dropsBraces, 'tool-calls', 'decodes arguments that are no JSON object'],
    [broken.sharesItsDecoder, 'isolation', 'mixes streams that are read at the same time: content', 'answer'],
    [broken.throwsAtErrors, 'errors', 'throws at the body of an error reply'],
    [broken.hasNoErrorStatus, 'errors', 'gives an error a status that is no', 'overload', 'status 503'],
    [broken.forgivesThrottling, 'errors', 'gives an error a status that is no', 'an error reply'],
    [broken.blamesTheRequest, 'errors', 'shows clients another error', 'overload'],
    [broken.hidesErrors, 'errors', 'does not report an error of the upstream', 'an error in the stream'],
    [broken.trustsReplies, 'nonsense', 'throws what the gateway does not know', 'a whole reply', '"null"'],
    [broken.loopsForever, 'nonsense', 'does not end', 'a whole reply', '"null"'],
    [broken.answersAnything, 'nonsense', 'decodes a reply from what is none', 'a whole reply', '"null"'],
    [broken.changesTheRequest, 'requests', 'changes the request, which another attempt may need'],
    [broken.dropsStop, 'requests', 'leaves stop out and does not say so', 'stop'],
    [broken.dropsSystem, 'requests', 'does not send what the request says', 'a system message'],
    [broken.losesReturnedReasoning, 'requests', noField, 'reasoning that the client sends back'],
    [broken.losesImages, 'requests', 'does not send what the request says', 'images'],
    [
      broken.losesCacheMarks,
      'requests',
      'leaves cache_control out and does not say so',
      'a cache mark on a text',
    ],
    [
      broken.forgetsTheEffortMap,
      'requests',
      'does not send what the request says',
      'the effort_map of a model',
    ],
    [broken.sendsUnknownFields, 'requests', 'sends a field that may not be sent'],
    [broken.sendsADate, 'requests', 'has a body that is no JSON'],
    [broken.sendsABigInt, 'requests', 'has a body that cannot be written as JSON'],
    [broken.sendsASpace, 'requests', 'has a path that no request can have', 'a model with an odd name'],
    [broken.refusesWithoutAField, 'requests', 'refuses a request without naming the field', 'n'],
    [
      broken.putsTheKeyInThePath,
      'credentials',
      'sends the key outside of its header, where it would be logged',
    ],
    [broken.forgetsTheKey, 'credentials', 'does not send the key'],
    [broken.hasAnOddHeader, 'credentials', 'has a header that cannot be sent'],
  ];

  it.each(rows.map(row => [row[0].name, ...row] as const))(
    'reports %s',
    async (subject, definition, rule, problem, ...[fixture, cut = '']) => {
      const breach = await breachOf(definition);
      expect(breach).toMatchObject({ subject, rule, ...(fixture !== undefined && { fixture }) });
      expect([breach.problem.slice(0, problem.length), breach.cut?.slice(0, cut.length) ?? '']).toEqual([
        problem,
        cut,
      ]);
    },
  );
});
