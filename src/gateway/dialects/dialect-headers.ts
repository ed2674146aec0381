/** Names of headers, in lower case. */
export interface DialectHeaders {
  /** Where clients send the bare key, if not in `Authorization`. */
  readonly key?: string | undefined;
  /** Where clients read the id of the request, beside `x-request-id`. */
  readonly request_id?: string | undefined;
}
