import type { IncomingMessage } from 'node:http';
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { BodyLimits } from '../../../../../src/gateway/inbound/body-limits.ts';
import type { BufferedBody } from '../../../../../src/gateway/inbound/buffered-bytes.ts';
import { NamedCall } from '../../../../../src/mount/passthrough/named-call.ts';

const limits = { max_body_bytes: 1e6, max_body_values: 1000, max_body_keys: 1000 } as BodyLimits;
const held = { hold() {} } as unknown as BufferedBody;
const callOf = (type: string, body: Buffer, headers = {}) =>
  new NamedCall({ headers: { 'content-type': type, ...headers } } as IncomingMessage, body, limits, held);

const name = fc.stringMatching(/^[a-z][\w./:-]{0,60}[a-z]$/);
const bytes = fc.uint8Array({ maxLength: 600 }).map(array => Buffer.from(array));

/** A form in the manner of browsers, its fields in this order. */
const formOf = (fields: readonly (readonly [field: string, value: Buffer])[]) =>
  Buffer.concat([
    ...fields.flatMap(([field, value]) => [
      Buffer.from(`--b\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n`),
      value,
      Buffer.from('\r\n'),
    ]),
    Buffer.from('--b--\r\n'),
  ]);

it('puts another name into a form and leaves all other bytes, wherever the model stands', () => {
  fc.assert(
    fc.property(name, name, bytes, fc.boolean(), (model, other, file, isFirst) => {
      const form = (named: string) => {
        const fields = [
          ['file', file],
          ['model', Buffer.from(named)],
          ['language', Buffer.from('en')],
        ] as const;
        return formOf(isFirst ? fields.toReversed() : fields);
      };
      const call = callOf('multipart/form-data; boundary=b', form(model));
      expect(call.model).toBe(model);
      expect(call.bodyFor(other).equals(form(other))).toBe(true);
    }),
  );
});

it('puts another name into JSON, and leaves the bytes where the name is the same', () => {
  fc.assert(
    fc.property(
      name,
      name,
      fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 5 }),
      (model, other, fields) => {
        const text = JSON.stringify({ ...fields, model, nested: { model: 'x' } });
        const call = callOf('application/json', Buffer.from(text));
        expect(call.model).toBe(model);
        expect(call.bodyFor(model).toString()).toBe(text);
        expect(JSON.parse(call.bodyFor(other).toString())).toEqual({ ...JSON.parse(text), model: other });
      },
    ),
  );
});

it.each<[string, NamedCall]>([
  ['a body without one', callOf('application/json', Buffer.from('{"input":"x"}'))],
  ['a name that is no text', callOf('application/json', Buffer.from('{"model":7}'))],
  [
    'a compressed body',
    callOf('application/json', Buffer.from('{"model":"a"}'), { 'content-encoding': 'gzip' }),
  ],
  ['an empty body', callOf('', Buffer.alloc(0))],
])('finds no model in %s', (_, call) => {
  expect(call.model).toBeUndefined();
});
