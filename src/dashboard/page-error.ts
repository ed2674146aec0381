import { htmlResponse, type PageResponse } from './page-response.ts';
import { errorDocument } from './view/document.ts';

/** Error for an operator's request, with the page that says it and what to do. */
export class PageError extends Error {
  override readonly name = 'PageError';
  readonly status: number;
  readonly response: PageResponse;

  constructor(status: number, message: string, advice = '', headers: PageResponse['headers'] = {}) {
    super(message);
    this.status = status;
    const page = htmlResponse(status, errorDocument(status, message, advice));
    this.response = { ...page, headers: { ...page.headers, ...headers } };
  }
}
