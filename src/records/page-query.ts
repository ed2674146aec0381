/** A page of records. */
export interface PageQuery {
  /** Its id. */
  readonly id?: string;
  /** A part of the text by which the record is found, in any case. */
  readonly search?: string | undefined;
  /** The id of the last record of the page before. */
  readonly after?: string | undefined;
  /** The id of the first record of the page behind; instead of `after`. */
  readonly before?: string | undefined;
  /** How many at most. */
  readonly limit: number;
}

/** Records by their ids, in pages. */
export interface PagedRecords<R, Q extends PageQuery> {
  /** A page of records in their order, found by the record before or behind it. */
  list(query: Q): Promise<R[]>;
  /** The one of this id; undefined if there is none. */
  find(id: string): Promise<R | undefined>;
  /** How many records all pages together have. */
  count(query?: Partial<Q>): Promise<number>;
}
