import type { IncomingHttpHeaders } from 'node:http';
import { tokenCount } from '../../gateway/exchange/canonical.ts';
import { JsonMembers } from './json-members.ts';

const names = ['model', 'n', 'best_of', 'max_tokens', 'max_completion_tokens', 'max_output_tokens'];
const max_value_bytes = 1024;

/** Bytes of text to a token, which is about the same in all languages: what has few letters to a token has many bytes to a letter. */
export const bytes_per_token = 4;
/** Bytes of compressed text to a token. */
export const packed_bytes_per_token = 2;
/** Bytes of sound or pictures to a token, low: ten tokens a second at 64 to 256 kbit/s. */
export const media_bytes_per_token = 1000;
/** How far deflate compresses at most. */
const max_compression = 1032;

/** Reads what a request asks for in its body's bytes as they pass: JSON, or a form with a field `model`. */
export class RequestMeter {
  readonly #isPacked: boolean;
  readonly #type: string;
  readonly #members = new JsonMembers(names, max_value_bytes);
  #form: FormModel | undefined;
  #isText = false;
  #bytes = 0;

  constructor(headers: IncomingHttpHeaders) {
    this.#isPacked = !/^(?:identity)?$/i.test(headers['content-encoding'] ?? '');
    this.#type = headers['content-type'] ?? '';
  }

  /** Takes a part of the body. The media type is the client's word, which servers may ignore: the first byte decides. */
  write(part: Buffer): void {
    if (this.#bytes === 0 && part.length > 0) this.#begin(part);
    this.#bytes += part.length;
    if (this.#isPacked) return;
    this.#members.write(part);
    this.#form?.write(part);
  }

  #begin(part: Buffer): void {
    const isJson = /^\s*["[{]/.test(part.toString('latin1', 0, 64));
    this.#isText = isJson || /^(?:$|text\/|application\/.*(?:json|xml|urlencoded))/i.test(this.#type);
    if (!isJson && /^multipart\//i.test(this.#type)) this.#form = new FormModel();
  }

  /** Whether the body is a multipart form. */
  get isForm(): boolean {
    return this.#form !== undefined;
  }

  /** The model that the body names; undefined if it names none, or is compressed. */
  get model(): string | undefined {
    const name = this.#form ? this.#form.model : this.#members.get('model');
    return typeof name === 'string' ? name : undefined;
  }

  /** Whether any of the body has been sent to the upstream. */
  get hasBegun(): boolean {
    return this.#bytes > 0;
  }

  /** Estimated tokens of the prompt. */
  get tokens(): number {
    const bytes = this.#isPacked
      ? packed_bytes_per_token
      : this.#isText
        ? bytes_per_token
        : media_bytes_per_token;
    return Math.ceil(this.#bytes / bytes);
  }

  /** The most tokens that the body can have: each has a byte at least. Many texts in one request may exceed a context window. */
  get most_tokens(): number {
    return this.#isPacked ? this.#bytes * max_compression : this.#bytes;
  }

  /** Completions that were asked for, of each prompt. */
  get choices(): number {
    return Math.max(1, this.#count('n'), this.#count('best_of'));
  }

  /** Tokens that each completion may have at most, if the request says so. */
  get max_completion(): number {
    const asked = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'].map(name => this.#count(name));
    return asked.find(count => count > 0) ?? Infinity;
  }

  #count(name: string): number {
    return tokenCount(this.#members.get(name)) ?? 0;
  }
}

const field = Buffer.from('name="model"');
/** Bytes from the field's name to the end of its value that are read. */
const max_field_bytes = 512;
/** The value behind the headers of the part. */
const value = /^name="model"(?:;[^\r\n]*)?\r?\n(?:[\w-]+:[^\r\n]*\r?\n)*\r?\n([^\r\n]+)\r?\n/;

/** Where the value of the field `model` stands in a multipart body, or the part of one. */
export function formField(bytes: Buffer): { readonly from: number; readonly to: number } | undefined {
  for (let at = bytes.indexOf(field); at !== -1; at = bytes.indexOf(field, at + field.length)) {
    const found = value.exec(bytes.toString('latin1', at, at + max_field_bytes));
    if (!found) continue;
    const to = at + found[0].replace(/\r?\n$/, '').length;
    return { from: to - found[1]!.length, to };
  }
  return undefined;
}

/** Finds the field `model` in a multipart body that comes in parts, such as that of a transcription. Takes linear time. */
export class FormModel {
  /** The value; undefined as long as none has come. */
  model: string | undefined;
  #held: Buffer = Buffer.alloc(0);

  write(part: Buffer): void {
    if (this.model !== undefined) return;
    const bytes = Buffer.concat([this.#held, part]);
    const found = formField(bytes);
    if (found) {
      this.model = bytes.toString('utf8', found.from, found.to);
      return;
    }
    // Copied, since the part may be a view of a large block.
    this.#held = Buffer.from(bytes.subarray(-max_field_bytes));
  }
}
