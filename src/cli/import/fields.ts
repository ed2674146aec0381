import { isObject, type Json } from '../../common/json-object.ts';
import { type Expression, expressionOf } from './expression.ts';
import type { Findings, Path } from './findings.ts';

/** What is done with a field: the reason why it has no counterpart, nothing because it needs none, or how it comes over. */
export type FieldRule = string | null | ((value: unknown, path: Path) => void);

/** An object of the source. A field that is not of the form that its reader asks for is noted, and read as absent. */
export class Fields {
  readonly path: Path;
  readonly #value: Json;
  readonly #findings: Findings;

  constructor(value: unknown, path: Path, findings: Findings) {
    this.path = path;
    this.#findings = findings;
    this.#value = isObject(value) ? value : {};
    if (value != null && !isObject(value)) findings.lost(path, 'must be an object');
  }

  /** The names of the fields that are not null. */
  get names(): readonly string[] {
    return Object.keys(this.#value).filter(name => this.#value[name] != null);
  }

  /** A field as it is written; null as undefined. */
  value(name: string): unknown {
    return Object.hasOwn(this.#value, name) ? (this.#value[name] ?? undefined) : undefined;
  }

  /** A text that may be a variable, as it is written in a configuration: a key, an address, or a part of one. */
  text(name: string): Expression | undefined {
    const value = this.value(name);
    const text = typeof value === 'number' ? String(value) : value;
    if (text === undefined || (typeof text === 'string' && text.trim() === '')) return undefined;
    if (typeof text === 'string' && /^[\x20-\x7e]+$/.test(text)) return expressionOf(text.trim());
    return this.#refuse(name, 'must be a text of printable ASCII');
  }

  /** A number, also one that is written as a text. */
  number(name: string): number | undefined {
    const value = this.value(name);
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof number === 'number' && number >= 0 && number <= largest) return number;
    return value === undefined
      ? undefined
      : this.#refuse(name, 'must be a number here, not a variable or text');
  }

  /** A whole number above 0. */
  count(name: string): number | undefined {
    const number = this.number(name);
    return number === undefined ? undefined : Math.round(number) || undefined;
  }

  /** Seconds as milliseconds, at least one. */
  seconds_ms(name: string): number | undefined {
    const number = this.number(name);
    return number ? Math.max(1, Math.round(Math.min(number, max_seconds) * 1000)) : undefined;
  }

  /** A truth value. */
  boolean(name: string): boolean | undefined {
    const value = this.value(name);
    if (typeof value === 'boolean') return value;
    if (typeof value === 'string' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
    return value === undefined ? undefined : this.#refuse(name, 'must be true or false');
  }

  /** An object below. */
  fields(name: string): Fields {
    return new Fields(this.value(name), [...this.path, name], this.#findings);
  }

  /** A list; what is none is noted. */
  list(name: string): readonly unknown[] {
    const value = this.value(name);
    if (Array.isArray(value)) return value;
    if (value !== undefined) this.#refuse(name, 'must be a list');
    return [];
  }

  /** Follows the rule of each field; one without a rule is noted as unknown. */
  follow(rules: Readonly<Record<string, FieldRule>>): void {
    for (const name of this.names) {
      const path = [...this.path, name];
      const rule = Object.hasOwn(rules, name) ? rules[name] : 'is not known here';
      if (typeof rule === 'string') this.#findings.lost(path, rule);
      else rule?.(this.#value[name], path);
    }
  }

  #refuse(name: string, message: string): undefined {
    this.#findings.lost([...this.path, name], message);
  }
}

/** The largest number that is believed. */
const largest = 1e12;
/** What a timer takes, in seconds. */
const max_seconds = 2_000_000;
