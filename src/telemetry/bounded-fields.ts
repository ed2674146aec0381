import { isNativeError } from 'node:util/types';

/** Most characters of a line's texts together, before they are escaped. */
const max_line = 16_384;
const max_message = 512;
const max_text = 2048;
const max_stack = 4096;
/** Most entries of all arrays and objects together, levels of objects in each other, and errors of a chain of causes. */
const max_entries = 256;
const max_levels = 6;
const max_causes = 4;

/** Properties of errors that are logged. Others may hold anything: body-parser's errors have the whole request body. */
const facts = [
  ...['name', 'code', 'errno', 'syscall', 'address', 'port', 'hostname', 'path', 'dest'],
  ...['status', 'statusCode', 'type', 'param', 'severity', 'schema', 'table', 'constraint', 'routine'],
] as const;

/**
 * The fields of a log line with every text cut to a length that no client and no upstream can exceed. Errors stay errors. A `ledger_row` stays
 * whole: it is a bill, which is read from the line, and has bounds of its own.
 */
export function boundedFields(fields: Record<string, unknown>): Record<string, unknown> {
  if (!('ledger_row' in fields)) return bounded(fields);
  const { ledger_row, ...others } = fields;
  return { ledger_row, ...bounded(others) };
}

const bounded = (fields: Record<string, unknown>): Record<string, unknown> =>
  isSmall(fields) ? fields : new LineBounds().entries(fields, max_levels);

/** False also for what cannot be read, such as a property that throws. */
function isSmall(fields: Record<string, unknown>): boolean {
  try {
    return room(fields, max_small, 2) >= 0;
  } catch {
    return false;
  }
}

/** Characters up to which fields need no copy: the line of an exchange, which is written for every request, is well below. */
const max_small = 2048;

/** What is left of `most` characters after the texts and names of `object`; negative if they are more, or anything but plain values. */
function room(object: object, most: number, levels: number): number {
  let left = most;
  // Reading names and values separately takes a third of the time of reading each value by its name.
  for (const name of Object.keys(object)) left -= name.length;
  for (const value of Object.values(object)) {
    if (typeof value === 'string') left -= value.length;
    else if (typeof value === 'object' && value !== null) {
      const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
      left = isPlain && levels > 0 ? room(value, left, levels - 1) : -1;
    }
    if (left < 0) return left;
  }
  return left;
}

/** A log line's message in one line of at most about 550 characters; control and format characters are escaped. */
export const boundedMessage = (message: string): string => escaped(cut(message, max_message));

const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/**
 * `text` with characters escaped that end a line, control a terminal or change the direction of writing. JSON stays the same JSON, if it has
 * no line break between its values.
 */
export const escaped = (text: string): string =>
  text.replace(invisible, found => found.split('').map(unitOf).join(''));

const unitOf = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Beginning and end of a text: the message of an error stands at the beginning of its stack, the status at the end of a line. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = Math.min(256, most >> 2);
  const start = Math.max(0, most - end);
  return `${text.slice(0, start)}…[${text.length - start - end} characters]…${end > 0 ? text.slice(-end) : ''}`;
}

/** The message of a JSON parser without its quotation, which may be of a prompt or of an answer. */
function withoutQuotation(message: string): string {
  const end = message.lastIndexOf(' is not valid JSON');
  const start = message.indexOf('"');
  return end === -1 || start === -1 || start > end
    ? message
    : `${message.slice(0, start).replace(/[,.\s]+$/, '')}${message.slice(end)}`.trim();
}

const isError = (value: unknown): value is Error => isNativeError(value) || value instanceof Error;

/** Cuts the values of one line, which share the characters of `max_line`. */
class LineBounds {
  #left = max_line;
  #entries_left = max_entries;

  entries(object: object, levels: number): Record<string, unknown> {
    const bounded: Record<string, unknown> = {};
    const names = Object.keys(object);
    const taken = this.#take(names.length);
    for (let at = 0; at < taken; at++) {
      const name = names[at]!;
      // Assigning `__proto__` would set the prototype.
      if (name !== '__proto__') bounded[this.#name(name)] = this.#read(object as Facts, name, levels - 1);
    }
    if (names.length > taken) bounded.left_out = names.length - taken;
    return bounded;
  }

  /** A line is not lost for a property that throws when it is read. */
  #read(object: Facts, name: string, levels: number): unknown {
    try {
      return this.#value(object[name], levels);
    } catch {
      return '[unreadable]';
    }
  }

  #value(value: unknown, levels: number): unknown {
    if (typeof value === 'string') return this.#text(value, max_text);
    if (typeof value !== 'object' || value === null || value instanceof Date) return value;
    if (isError(value)) return this.#error(value, max_causes);
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (levels <= 0) return Array.isArray(value) ? '[…]' : '{…}';
    if (!Array.isArray(value)) return this.entries(value, levels);
    const taken = this.#take(value.length);
    const bounded = value.slice(0, taken).map(one => this.#value(one, levels - 1));
    return value.length > taken ? [...bounded, `…[${value.length - taken} more]`] : bounded;
  }

  #take(entries: number): number {
    const taken = Math.min(entries, this.#entries_left);
    this.#entries_left -= taken;
    return taken;
  }

  /** Names written in code are not counted; those of a client's JSON may be long. */
  #name(name: string): string {
    return name.length <= 64 ? name : this.#text(name, 64);
  }

  #text(text: string, most: number): string {
    const bounded = cut(text, Math.min(most, this.#left));
    this.#left = Math.max(0, this.#left - bounded.length);
    return bounded;
  }

  /**
   * The error itself if it may be logged as it is, else a copy of what may be. A DOMException, such as that of `AbortSignal.timeout`, becomes
   * an Error of its name: its class has 25 constants, which loggers write as if they were properties.
   */
  #error(error: Error, causes: number): Error {
    const said = String(error.message);
    const clean = withoutQuotation(said);
    const stack = String(error.stack ?? '');
    const parts = {
      message: this.#text(clean, max_text),
      stack: this.#text(clean === said ? stack : stack.replaceAll(said, clean), max_stack),
      ...('cause' in error && { cause: this.#cause(error.cause, causes) }),
      ...('errors' in error && { errors: this.#several(error.errors, causes) }),
    };
    const told = this.#factsOf(error);
    if (error instanceof DOMException) return copyOf(new Error(), parts, { name: error.name });
    const isWhole =
      Object.entries(parts).every(([name, part]) => part === (error as unknown as Facts)[name]) &&
      Object.entries(error).every(([name, value]) => told[name] === value || name in parts);
    return isWhole ? error : copyOf(error, parts, told);
  }

  #cause(cause: unknown, causes: number): unknown {
    if (!isError(cause)) return this.#value(cause, 1);
    return causes > 1 ? this.#error(cause, causes - 1) : undefined;
  }

  /** The first ones of an AggregateError, such as one for each address that refused. */
  #several(errors: unknown, causes: number): unknown {
    if (!Array.isArray(errors)) return undefined;
    return causes > 1 ? errors.slice(0, max_causes).map(one => this.#cause(one, causes - 1)) : [];
  }

  #factsOf(error: Error): Facts {
    const told: Facts = {};
    for (const name of facts) {
      const value = Object.hasOwn(error, name) ? (error as unknown as Facts)[name] : undefined;
      if (typeof value === 'string') told[name] = this.#text(value, 256);
      else if (typeof value === 'number' || typeof value === 'boolean') told[name] = value;
    }
    return told;
  }
}

type Facts = Record<string, unknown>;

/** An error of the same class: loggers name it in what they write. */
function copyOf(error: Error, parts: object, told: Facts): Error {
  const copy = Object.create(Object.getPrototypeOf(error)) as Error;
  for (const [name, value] of Object.entries(parts))
    Object.defineProperty(copy, name, { value, writable: true, configurable: true });
  return Object.assign(copy, told);
}
