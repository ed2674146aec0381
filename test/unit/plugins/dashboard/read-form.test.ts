import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, it } from '@jest/globals';
import { readForm } from '../../../../plugins/dashboard/read-form.ts';

const max_bytes = 1024 * 1024;
const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '100000' };

/** A large form that is under way. */
function sending(sender: string) {
  const body = Object.assign(new PassThrough(), { headers });
  const read = readForm(body as unknown as IncomingMessage, max_bytes, sender);
  const received = read.then(
    form => form.get('prompt'),
    ({ status }) => status,
  );
  const end = () => {
    body.end('prompt=hello');
    return received;
  };
  return { received, end };
}

it('reads four large forms of one sender at a time, whatever others send meanwhile', async () => {
  const own = Array.from({ length: 4 }, () => sending('one'));
  const other = sending('other');
  expect(await sending('one').received).toBe(503);
  expect(await own[0]!.end()).toBe('hello');
  const fifth = sending('one');
  expect(await sending('one').received).toBe(503);
  for (const form of [fifth, ...own.slice(1), other]) expect(await form.end()).toBe('hello');
});
