const open_tag = '<think>';
const close_tag = '</think>';
const close_starts = Array.from(close_tag, (_, at) => close_tag.slice(0, at))
  .slice(1)
  .reverse();

/** What a piece of text turned out to be. Within one piece reasoning comes before content. */
export interface Split {
  reasoning: string;
  content: string;
}

export interface SplitterOptions {
  /** The text starts inside reasoning, with or without a tag (protocol f3). */
  readonly implicit: boolean;
  /** Drop the whitespace around the tags (protocol f6). */
  readonly trim: boolean;
}

/**
 * Splits the text of one choice at its `<think>` tags, in whatever pieces it comes (protocol f1 to f9). Where it stands:
 * `start`: an opening tag may still come; `reasoning`: inside; `between`: after a closing tag, when another block may
 * follow; `content`: for good. Every piece is looked at once: held whitespace only grows until it is let go, so that a
 * stream of it costs what it is long.
 */
export class ThinkSplitter {
  readonly #options: SplitterOptions;
  #state: 'start' | 'reasoning' | 'between' | 'content' = 'start';
  /** Whitespace that a tag would swallow. It is joined lazily and must not be read before it is let go. */
  #space = '';
  /** The beginning of a possible tag after that whitespace. */
  #tag = '';
  /** Whitespace directly after an opening tag is dropped. */
  #afterOpening = false;
  #anyReasoning = false;
  /** A further block is joined to the one before by a line break. */
  #join = '';

  constructor(options: SplitterOptions) {
    this.#options = options;
  }

  /** Everything from here on is content: no tag means anything any more, and nothing is held back. */
  get decided(): boolean {
    return this.#state === 'content';
  }

  push(text: string): Split {
    const split: Split = { reasoning: '', content: '' };
    let rest: string | undefined = this.#tag + text;
    this.#tag = '';
    // Each turn either consumes a tag and goes on with the rest, or waits for more text.
    while (rest !== undefined) rest = this.#turn(rest, split);
    return split;
  }

  /** The end of the text, or a tool call, which ends reasoning (f8): what is held back is literal text of the current part. */
  end(): Split {
    const split: Split = { reasoning: '', content: '' };
    const space = this.#letGo();
    const tag = this.#tag;
    this.#tag = '';
    const afterTag = this.#options.trim ? tag : space + tag;
    if (this.#state === 'reasoning') this.#reason(split, space + tag);
    else if (this.#state === 'start' && this.#options.implicit) this.#reason(split, afterTag);
    else split.content = this.#state === 'between' ? afterTag : space + tag;
    this.#state = 'content';
    return split;
  }

  #turn(text: string, split: Split): string | undefined {
    switch (this.#state) {
      case 'start':
        return this.#start(text);
      case 'reasoning':
        return this.#inside(text, split);
      case 'between':
        return this.#between(text);
      case 'content':
        split.content += text;
        return undefined;
    }
  }

  #start(text: string): string | undefined {
    const rest = this.#awaitOpening(text);
    if (rest === undefined || this.#state === 'reasoning') return rest;
    const all = this.#letGo() + rest;
    if (this.#options.implicit) return this.#open(all);
    this.#state = 'content';
    return all;
  }

  #between(text: string): string | undefined {
    const rest = this.#awaitOpening(text);
    if (rest === undefined) return rest;
    if (this.#state === 'reasoning') {
      this.#join = this.#anyReasoning ? '\n' : '';
      return rest;
    }
    this.#state = 'content';
    const space = this.#letGo();
    return this.#options.trim ? rest : space + rest;
  }

  /**
   * Looks for an opening tag behind whitespace: what follows the tag, with the state at `reasoning`; `undefined` while it may
   * still come; the text without its whitespace, which stays held, when it will not.
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

  /** Whitespace before a closing tag is dropped: that at the end of `text` is held until more text comes. */
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

/** What of a closing tag `text` ends with, without the whole of it. */
const beginningOfClose = (text: string): string => close_starts.find(start => text.endsWith(start)) ?? '';
