const open_tag = '<think>';
const close_tag = '</think>';
const close_starts = Array.from(close_tag, (_, at) => close_tag.slice(0, at))
  .slice(1)
  .reverse();

/** A piece of text, split. Within one piece reasoning comes before content. */
export interface Split {
  reasoning: string;
  content: string;
}

export interface SplitterOptions {
  /** The text starts inside reasoning, with or without a tag. */
  readonly implicit: boolean;
  /** Drop the whitespace around the tags. */
  readonly trim: boolean;
}

/**
 * Splits the text of one choice at its `<think>` tags, however the text is cut into pieces. States: `start`: an opening
 * tag may still come; `reasoning`: inside; `between`: after a closing tag, when another block may follow; `content`: until the end. Every
 * piece is scanned once, and held whitespace only grows until it is released, so the cost is linear in the length.
 */
export class ThinkSplitter {
  readonly #options: SplitterOptions;
  #state: 'start' | 'reasoning' | 'between' | 'content' = 'start';
  /** Whitespace that a tag would swallow. Joined lazily: read it only when it is released. */
  #space = '';
  /** The beginning of a possible tag after that whitespace. */
  #tag = '';
  /** Whitespace directly after an opening tag is dropped. */
  #afterOpening = false;
  #anyReasoning = false;
  /** Line break that joins a further block to the one before. */
  #join = '';

  constructor(options: SplitterOptions) {
    this.#options = options;
  }

  /** True once all further text is content: tags have no meaning any more, and nothing is held back. */
  get decided(): boolean {
    return this.#state === 'content';
  }

  push(text: string): Split {
    const split: Split = { reasoning: '', content: '' };
    let rest: string | undefined = this.#tag + text;
    this.#tag = '';
    // Each turn either consumes a tag and continues with the rest, or waits for more text.
    while (rest !== undefined) rest = this.#turn(rest, split);
    return split;
  }

  /** Ends the text, or its reasoning at a tool call: held text is literal text of the current part. Adds it to `split`. */
  end(split: Split = { reasoning: '', content: '' }): Split {
    const space = this.#letGo();
    const tag = this.#tag;
    this.#tag = '';
    const afterTag = this.#options.trim ? tag : space + tag;
    if (this.#state === 'reasoning') this.#reason(split, space + tag);
    else if (this.#state === 'start' && this.#options.implicit) this.#reason(split, afterTag);
    else split.content += this.#state === 'between' ? afterTag : space + tag;
    this.#state = 'content';
    return split;
  }

  #turn(text: string, split: Split): string | undefined {
    switch (this.#state) {
      case 'start':
      case 'between':
        return this.#beforeBlock(text, this.#state === 'start');
      case 'reasoning':
        return this.#inside(text, split);
      case 'content':
        split.content += text;
        return undefined;
    }
  }

  #beforeBlock(text: string, isStart: boolean): string | undefined {
    const rest = this.#awaitOpening(text);
    if (rest === undefined || this.#state === 'reasoning') return rest;
    const space = this.#letGo();
    if (isStart && this.#options.implicit) return this.#open(space + rest);
    this.#state = 'content';
    // Whitespace after a closing tag belongs to the tag.
    return isStart || !this.#options.trim ? space + rest : rest;
  }

  /**
   * Looks for an opening tag after whitespace. Returns the text after the tag, with the state `reasoning`; `undefined` while a tag may
   * still come; the text without its whitespace, which stays held, if no tag can come.
   */
  #awaitOpening(text: string): string | undefined {
    const rest = text.trimStart();
    if (rest.startsWith(open_tag)) {
      this.#letGo();
      return this.#open(rest.slice(open_tag.length));
    }
    this.#space += text.slice(0, text.length - rest.length);
    if (!open_tag.startsWith(rest)) return rest;
    this.#tag = rest;
    return undefined;
  }

  #open(rest: string): string {
    this.#state = 'reasoning';
    this.#afterOpening = this.#options.trim;
    this.#join = this.#anyReasoning ? '\n' : '';
    return rest;
  }

  #inside(from: string, split: Split): string | undefined {
    const text = this.#afterOpening ? from.trimStart() : from;
    if (text === '') return undefined;
    this.#afterOpening = false;
    const close = text.indexOf(close_tag);
    if (close === -1) {
      this.#tag = beginningOfClose(text);
      this.#reasonUpToSpace(split, text.slice(0, text.length - this.#tag.length));
      return undefined;
    }
    this.#reasonUpToSpace(split, text.slice(0, close));
    this.#letGo();
    this.#state = 'between';
    return text.slice(close + close_tag.length);
  }

  /**
   * Adds reasoning, and holds whitespace at the end of `text` until more text comes, because whitespace before a closing tag is dropped.
   */
  #reasonUpToSpace(split: Split, text: string): void {
    const certain = this.#options.trim ? text.trimEnd() : text;
    if (certain !== '') this.#reason(split, this.#letGo() + certain);
    this.#space += text.slice(certain.length);
  }

  #reason(split: Split, text: string): void {
    if (text === '') return;
    split.reasoning += this.#join + text;
    this.#join = '';
    this.#anyReasoning = true;
  }

  #letGo(): string {
    const space = this.#space;
    this.#space = '';
    return space;
  }
}

/** The part of a closing tag with which `text` ends, if not the whole tag. */
const beginningOfClose = (text: string): string => close_starts.find(start => text.endsWith(start)) ?? '';
