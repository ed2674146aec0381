import { htmlResponse, type PageResponse } from './page-response.ts';
import { errorPage } from './view/error-page.ts';

/** Error for an operator's request; message and advice become an error page. */
export class PageError extends Error {
  override readonly name = 'PageError';
  readonly status: number;
  readonly advice: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, advice = '', headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.advice = advice;
    this.headers = headers;
  }

  response(): PageResponse {
    const response = htmlResponse(this.status, errorPage(this.status, this.message, this.advice));
    return { ...response, headers: { ...response.headers, ...this.headers } };
  }
}
