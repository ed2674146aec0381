const open_tag = '<think>';
const close_tag = '</think>';

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
 * follow; `content`: for good.
 */
export class ThinkSplitter {
  readonly #options: SplitterOptions;
  #state: 'start' | 'reasoning' | 'between' | 'content' = 'start';
  /** Text not yet decided upon: a possible tag, or whitespace that a tag would swallow. */
  #held = '';
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
    if (this.#state === 'content') {
      split.content = text;
      return split;
    }
    this.#held += text;
    // Each turn either consumes a tag and goes on, or waits for more text.
    while (this.#turn(split));
    return split;
  }

  /** The end of the text, or a tool call, which ends reasoning (f8): what is held back is literal text of the current part. */
  end(): Split {
    const split: Split = { reasoning: '', content: '' };
    const held = this.#held;
    this.#held = '';
    const afterTag = this.#options.trim ? held.trimStart() : held;
    if (this.#state === 'reasoning') this.#reason(split, held);
    else if (this.#state === 'start' && this.#options.implicit) this.#reason(split, afterTag);
    else split.content = this.#state === 'between' ? afterTag : held;
    this.#state = 'content';
    return split;
  }

  #turn(split: Split): boolean {
    switch (this.#state) {
      case 'start':
        return this.#start(split);
      case 'reasoning':
        return this.#inside(split);
      case 'between':
        return this.#between(split);
      case 'content':
        split.content += this.#held;
        this.#held = '';
        return false;
    }
  }

  #start(split: Split): boolean {
    const text = this.#held.trimStart();
    if (text.startsWith(open_tag)) return this.#open(text.slice(open_tag.length));
    if (open_tag.startsWith(text)) return false;
    if (this.#options.implicit) return this.#open(this.#held);
    this.#state = 'content';
    return this.#turn(split);
  }

  #open(rest: string): boolean {
    this.#held = rest;
    this.#state = 'reasoning';
    this.#afterOpening = this.#options.trim;
    return true;
  }

  #inside(split: Split): boolean {
    if (this.#afterOpening) {
      this.#held = this.#held.trimStart();
      if (this.#held === '') return false;
      this.#afterOpening = false;
    }
    const close = this.#held.indexOf(close_tag);
    if (close === -1) {
      const keep = this.#undecided();
      this.#reason(split, this.#held.slice(0, keep));
      this.#held = this.#held.slice(keep);
      return false;
    }
    const text = this.#held.slice(0, close);
    this.#reason(split, this.#options.trim ? text.trimEnd() : text);
    this.#held = this.#held.slice(close + close_tag.length);
    this.#state = 'between';
    return true;
  }

  /** Where the held text stops being certain: at a beginning closing tag and the whitespace before it. */
  #undecided(): number {
    const text = this.#held;
    let keep = text.length;
    for (let length = Math.min(close_tag.length - 1, text.length); length > 0; length--) {
      if (!text.endsWith(close_tag.slice(0, length))) continue;
      keep = text.length - length;
      break;
    }
    return this.#options.trim ? text.slice(0, keep).trimEnd().length : keep;
  }

  #between(split: Split): boolean {
    const text = this.#held.trimStart();
    if (text.startsWith(open_tag)) {
      this.#join = this.#anyReasoning ? '\n' : '';
      return this.#open(text.slice(open_tag.length));
    }
    if (open_tag.startsWith(text)) return false;
    if (this.#options.trim) this.#held = text;
    this.#state = 'content';
    return this.#turn(split);
  }

  #reason(split: Split, text: string): void {
    if (text === '') return;
    split.reasoning += this.#join + text;
    this.#join = '';
    this.#anyReasoning = true;
  }
}
