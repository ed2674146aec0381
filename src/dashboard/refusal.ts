import { type Answer, htmlAnswer } from './answer.ts';
import { errorPage } from './view/error-page.ts';

/** A request of an operator that is not done; the words are for them. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly advice: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, advice = '', headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.advice = advice;
    this.headers = headers;
  }

  answer(): Answer {
    const answer = htmlAnswer(this.status, errorPage(this.status, this.message, this.advice));
    return { ...answer, headers: { ...answer.headers, ...this.headers } };
  }
}
