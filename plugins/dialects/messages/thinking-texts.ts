import type { ReasoningDetail } from '../../../src/plugin.ts';
import { block_separator, signatureOf, textOfDetail } from './reasoning-details.ts';

/** The texts of thinking in a stream, to tell which of them a signature belongs to. */
export class ThinkingTexts {
  /** Text of the open block. */
  #open = '';
  #isSigned = false;
  /** Texts of blocks that ended without a signature, which may still come. */
  readonly #unsigned = new Set<string>();
  #hasAny = false;
  /** True if a decoder may put a separator before the next text. */
  #isSeparated = false;

  /** Whether any thinking has been written. */
  get hasAny(): boolean {
    return this.#hasAny;
  }

  /** A piece without the separator that decoders put between two blocks. */
  withoutSeparator(piece: string): string {
    const isSeparated = this.#isSeparated;
    this.#isSeparated = false;
    return isSeparated && piece.startsWith(block_separator) ? piece.slice(block_separator.length) : piece;
  }

  add(text: string): void {
    this.#open += text;
    this.#hasAny = true;
  }

  /** Whether a detail is of the open text, which may lack a line break that was taken for a separator. */
  isOf(detail: ReasoningDetail): boolean {
    const text = textOfDetail(detail);
    return text === this.#open || text === block_separator + this.#open;
  }

  /** Signature of the open text; undefined if a stage has changed what the client may read. */
  signature(detail: ReasoningDetail): string | undefined {
    this.#isSeparated = true;
    if (textOfDetail(detail) !== '' && !this.isOf(detail)) return undefined;
    this.#isSigned = true;
    return signatureOf(detail, this.#open);
  }

  /** Signature of a text whose block has ended; undefined if there is none to bring back. */
  lateSignature(detail: ReasoningDetail): string | undefined {
    return this.#unsigned.delete(textOfDetail(detail)) ? signatureOf(detail, '') || undefined : undefined;
  }

  /** Ends the block. Returns whether it had no signature. */
  end(): boolean {
    const isUnsigned = !this.#isSigned;
    if (isUnsigned) this.#unsigned.add(this.#open);
    this.#open = '';
    this.#isSigned = false;
    return isUnsigned;
  }
}
