import { styleText } from 'node:util';
import { asObject, type Json } from '../common/json-object.ts';
import { escaped } from './bounded-fields.ts';

type Style = Parameters<typeof styleText>[0];

/** Names and colours of pino's levels. */
const levels: Readonly<Record<number, readonly [name: string, style: Style]>> = {
  10: ['TRACE', 'gray'],
  20: ['DEBUG', 'gray'],
  30: ['INFO ', 'green'],
  40: ['WARN ', 'yellow'],
  50: ['ERROR', 'red'],
  60: ['FATAL', ['bold', 'red']],
};

/** Calls of an error's stack that are shown. */
const max_calls = 3;

/**
 * A log line for people: local time, level, message, fields, in one line. Nothing in it can control the terminal. A ledger row stays in JSON,
 * from which `sluice ledger import` reads it.
 */
export function prettyLine(json: string, isColoured: boolean): string {
  const line = parsed(json);
  if (line === undefined || 'ledger_row' in line) return json;
  const { level, time, msg, ...fields } = line;
  const paint = (style: Style, text: string) =>
    isColoured ? styleText(style, text, { validateStream: false }) : text;
  const [name, style] = levels[Number(level)] ?? ['     ', 'gray'];
  const shown = Object.entries(fields).map(
    ([field, value]) =>
      `${paint('gray', `${escaped(field)}=`)}${field === 'err' ? errorOf(value) : textOf(value)}`,
  );
  const parts = [
    paint('gray', clockTime(String(time))),
    paint(style, name),
    escaped(String(msg ?? '')),
    ...shown,
  ];
  return `${parts.join(' ')}\n`;
}

function parsed(json: string): Json | undefined {
  try {
    return asObject(JSON.parse(json));
  } catch {
    return undefined;
  }
}

function clockTime(iso: string): string {
  const date = new Date(iso);
  const two = (value: number) => String(value).padStart(2, '0');
  const [h, min, s] = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two);
  return `${h}:${min}:${s}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** A value as it is where it is one word, else in JSON. */
function textOf(value: unknown): string {
  if (typeof value === 'string' && /^[\w.:/@+-]+$/.test(value)) return value;
  return escaped(JSON.stringify(value));
}

/** An error with its first calls, for which the stack has a line each. */
function errorOf(err: unknown): string {
  const { type, message, stack } = asObject(err);
  if (typeof message !== 'string') return textOf(err);
  const calls = String(stack ?? '').match(/^ +at .+$/gm) ?? [];
  const where = calls.slice(0, max_calls).map(call => call.trim().slice('at '.length));
  const place = where.length > 0 ? ` (${where.join(' < ')})` : '';
  return escaped(JSON.stringify(`${type ?? 'Error'}: ${message}${place}`));
}
