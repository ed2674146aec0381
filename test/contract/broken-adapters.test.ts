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

type Row = [definition: ProviderDefinition<object>, message: RegExp];

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

  const rows: Row[] = [
    [broken.encodesLater, /has a path that no request can have \(requests\)/],
    [broken.decodesToNothing, /does not decode a whole stream \(meaning\)\n {2}fixture {3}answer/],
    [
      broken.losesReasoning,
      /^loses-reasoning: does not decode what the stream says: reasoning of choice 0 \(meaning\)\n {2}fixture {3}answer\n {2}cut {7}uncut\n {2}expected {2}"Short question\. .*"\n {2}got {7}""$/,
    ],
    [
      broken.losesReasoningOfReplies,
      /does not decode what the whole reply says: reasoning of choice 0 \(whole-replies\)\n {2}fixture {3}answer\n {2}cut {7}not streamed/,
    ],
    [
      broken.countsItsStreams,
      /decodes another result when the bytes arrive otherwise: content of choice 0 \(same-result\)\n.*answer\n {2}cut {7}lines that end with CR LF/,
    ],
    [
      broken.isAlwaysComplete,
      /takes a stream that broke off for complete: .* \(truncation\)\n.*answer\n {2}cut {7}broken off at byte 0 of/,
    ],
    [
      broken.hasItsOwnFinishReason,
      /decodes to no canonical chunk: finish_reason \(shape\)[\s\S]*null or one of stop,[\s\S]*"END"/,
    ],
    [
      broken.addsTotalsWrongly,
      /decodes to no canonical reply: total_tokens \(shape\)[\s\S]*"50, the sum"\n {2}got {7}1$/,
    ],
    [broken.countsDown, /reports running usage that decreases \(usage\)[\s\S]*"at least 100"\n {2}got {7}99/],
    [broken.leavesIdsOut, /begins a tool call without an id \(tool-calls\)\n {2}fixture {3}tools/],
    [
      broken.countsCallsFromOne,
      /leaves a gap in the indexes of tool calls \(tool-calls\)[\s\S]*expected {2}0\n {2}got {7}1/,
    ],
    [broken.givesOneId, /gives two tool calls one id \(tool-calls\)[\s\S]*\["call","call"\]/],
    [broken.dropsBraces, /decodes arguments that are no JSON object \(tool-calls\)/],
    [
      broken.sharesItsDecoder,
      /mixes streams that are read at the same time: content of choice 0 \(isolation\)\n {2}fixture {3}answer/,
    ],
    [broken.throwsAtErrors, /throws at the body of an error reply \(errors\)[\s\S]*TypeError/],
    [
      broken.hasNoErrorStatus,
      /gives an error a status that is no error status \(errors\)\n {2}fixture {3}overload\n {2}cut {7}status 503[\s\S]*got {7}200/,
    ],
    [
      broken.blamesTheRequest,
      /shows clients another error \(errors\)\n {2}fixture {3}overload[\s\S]*"status":502[\s\S]*"status":400/,
    ],
    [
      broken.hidesErrors,
      /does not report an error of the upstream \(errors\)\n {2}fixture {3}an error in the stream/,
    ],
    [
      broken.trustsReplies,
      /throws what the gateway does not know \(nonsense\)\n {2}fixture {3}a whole reply\n {2}cut {7}"null"[\s\S]*TypeError/,
    ],
    [
      broken.loopsForever,
      /does not end \(nonsense\)\n {2}fixture {3}a whole reply\n {2}cut {7}"null"\n {2}expected {2}"an end within 1000 ms"/,
    ],
    [
      broken.answersAnything,
      /decodes a reply from what is none \(nonsense\)\n {2}fixture {3}a whole reply\n {2}cut {7}"null"/,
    ],
    [broken.changesTheRequest, /changes the request, which another attempt may need \(requests\)/],
    [
      broken.dropsStop,
      /leaves stop out and does not say so \(requests\)\n {2}fixture {3}stop\n {2}expected {2}"stop in the request, in `ignored` or refused"/,
    ],
    [
      broken.dropsSystem,
      /does not send what the request says \(requests\)\n {2}fixture {3}a system message\n {2}expected {2}"kit rules"/,
    ],
    [
      broken.losesReturnedReasoning,
      /leaves messages\.reasoning out and does not say so \(requests\)\n {2}fixture {3}reasoning that the client sends back/,
    ],
    [
      broken.losesImages,
      /does not send what the request says \(requests\)\n {2}fixture {3}images\n {2}expected {2}"a2l0LWltYWdl"/,
    ],
    [
      broken.losesCacheMarks,
      /leaves cache_control out and does not say so \(requests\)\n {2}fixture {3}a cache mark on a text/,
    ],
    [
      broken.forgetsTheEffortMap,
      /does not send what the request says \(requests\)\n {2}fixture {3}the effort_map of a model/,
    ],
    [broken.sendsUnknownFields, /sends a field that may not be sent \(requests\)/],
    [broken.sendsADate, /has a body that is no JSON \(requests\)[\s\S]*"body\.at"/],
    [broken.sendsABigInt, /has a body that cannot be written as JSON \(requests\)/],
    [
      broken.sendsASpace,
      /has a path that no request can have \(requests\)\n {2}fixture {3}a model with an odd name/,
    ],
    [
      broken.refusesWithoutAField,
      /refuses a request without naming the field \(requests\)\n {2}fixture {3}n\n/,
    ],
    [
      broken.putsTheKeyInThePath,
      /sends the key outside of its header, where it would be logged \(credentials\)/,
    ],
    [broken.forgetsTheKey, /does not send the key \(credentials\)/],
    [broken.hasAnOddHeader, /has a header that cannot be sent \(credentials\)[\s\S]*"x key: a"/],
  ];

  it.each(rows.map(([definition, message]) => ({ name: definition.name, definition, message })))(
    'reports $name',
    async ({ definition, message }) => {
      expect((await breachOf(definition)).message).toMatch(message);
    },
  );
});
