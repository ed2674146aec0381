import { describe, expect, it } from '@jest/globals';
import { prettyLine } from '../../../../src/telemetry/pretty-line.ts';

const time = new Date(2026, 10, 22, 9, 5, 7, 42).toISOString();
const shown = (fields: object, isColoured = false) =>
  prettyLine(`${JSON.stringify({ level: 30, time, ...fields })}\n`, isColoured);

describe('a log line for people', () => {
  it('has the local time, the level, the message and the fields', () => {
    const fields = {
      level: 40,
      request_id: 'req_1',
      status: 200,
      model: 'a b',
      kinds: ['x'],
      msg: 'POST /v1 200',
    };
    expect(shown(fields)).toBe(
      '09:05:07.042 WARN  POST /v1 200 request_id=req_1 status=200 model="a b" kinds=["x"]\n',
    );
  });

  it('shows an error with its first calls in the same line', () => {
    const stack = `Error: oh\n${['a', 'b', 'c', 'd'].map(name => `    at ${name} (file.ts:1:1)`).join('\n')}`;
    expect(shown({ err: { type: 'Error', message: 'oh', stack }, msg: 'failed' })).toBe(
      '09:05:07.042 INFO  failed err="Error: oh (a (file.ts:1:1) < b (file.ts:1:1) < c (file.ts:1:1))"\n',
    );
    expect(shown({ err: 'a word', msg: 'failed' })).toContain('err="a word"');
  });

  it.each(['\u001b[31mred', '\u009b31mred', '\nforged line', '\r', '\u202e', '\u0007', '\u2028', '\u007f'])(
    'lets nothing control the terminal (case %#)',
    hostile => {
      const err = { type: hostile, message: hostile, stack: `Error\n    at ${hostile}` };
      const line = shown({ [hostile]: 1, field: hostile, nested: { [hostile]: hostile }, err, msg: hostile });
      expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect(line.endsWith('\n')).toBe(true);
    },
  );

  it('is coloured when it is wanted, in its own parts alone', () => {
    const line = shown({ level: 50, a: 1, msg: 'failed' }, true);
    expect(line).toContain('\u001b[31mERROR\u001b[39m failed');
    expect(shown({ level: 50, a: 1, msg: 'failed' })).not.toContain('\u001b');
  });

  it('leaves what is no JSON, and rows for `sluice ledger import`, as they are', () => {
    expect(prettyLine('no JSON\n', true)).toBe('no JSON\n');
    const row = `${JSON.stringify({ level: 50, time, ledger_row: { id: 'a' }, msg: 'a row' })}\n`;
    expect(prettyLine(row, true)).toBe(row);
  });
});
