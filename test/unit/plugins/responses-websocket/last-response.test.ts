import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { bodyWith, LastResponse } from '../../../../plugins/responses-websocket/last-response.ts';

const items = fc.array(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }), { maxLength: 4 });
const sent = (last: LastResponse, body: object) => {
  const input = last.inputOf(body as never);
  return input === undefined ? undefined : JSON.parse(bodyWith(body as never, input));
};

describe('the last response of a connection', () => {
  it('has the input of a chain as if it had been sent whole, whatever the items are', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(items, items), { minLength: 1, maxLength: 4 }), turns => {
        const last = new LastResponse(1e6);
        let whole: object[] = [];
        turns.forEach(([input, output], at) => {
          const body = { model: 'm', ...(at > 0 && { previous_response_id: `resp_${at}` }), input };
          whole = [...whole, ...input] as object[];
          expect(sent(last, body)).toEqual(
            JSON.parse(JSON.stringify({ model: 'm', input: whole, stream: true })),
          );
          last.remember({ id: `resp_${at + 1}`, output } as never, last.inputOf(body as never)!);
          whole = [...whole, ...output] as object[];
        });
      }),
      { numRuns: 50 },
    );
  });

  it('takes a text as a message of the user', () => {
    expect(sent(new LastResponse(100), { input: 'Hi' })).toEqual({
      input: [{ type: 'message', role: 'user', content: 'Hi' }],
      stream: true,
    });
  });

  it('is continued by its id alone, and by none once it is forgotten', () => {
    const last = new LastResponse(100);
    expect(last.isContinuedBy({ previous_response_id: undefined })).toBe(false);
    last.remember({ id: 'resp_1', output: [] }, '{"a":1}');
    expect(last.isContinuedBy({ previous_response_id: 'resp_1' })).toBe(true);
    expect(last.isContinuedBy({ previous_response_id: 'resp_2' })).toBe(false);
    expect(last.inputOf({ input: [2], previous_response_id: 'resp_2' })).toBe('2');
    expect(last.isStored).toBe(false);
    last.remember({ id: 'resp_1', output: [], store: true }, '{"a":1}');
    expect(last.isStored).toBe(true);
    last.forget();
    expect(last.isContinuedBy({ previous_response_id: 'resp_1' })).toBe(false);
    expect(last).toMatchObject({ bytes: 0, isStored: false });
  });

  it('is not remembered above its bound, in bytes, nor is the one before it', () => {
    const last = new LastResponse(10);
    last.remember({ id: 'resp_1', output: [] }, '"ééé"');
    expect(last.bytes).toBe(8);
    last.remember({ id: 'resp_2', output: [] }, '"ééééé"');
    expect(last.bytes).toBe(0);
    expect(last.isContinuedBy({ previous_response_id: 'resp_1' })).toBe(false);
  });

  it('leaves a request without items to the gateway', () => {
    expect(new LastResponse(10).inputOf({ messages: [] })).toBeUndefined();
  });
});
