/** Handle of an item in `InFlightSet`, for its removal. */
export interface Place<T> {
  readonly item: T;
  /** @internal */
  at: number;
}

/**
 * Items in flight, unordered: exchanges, leases, anything that is added and removed with every request.
 *
 * A Map or Set would cost much more. For every few dozen entries added and removed V8 allocates a new table, to which the old one points;
 * once one of them has been moved to the old generation, young collections keep all later tables and what those hold, which is every
 * request, until the next full collection.
 */
export class InFlightSet<T> {
  readonly #places: Place<T>[] = [];

  get size(): number {
    return this.#places.length;
  }

  add(item: T): Place<T> {
    const place = { item, at: this.#places.length };
    this.#places.push(place);
    return place;
  }

  /** Removes an item; does nothing if it was removed already. */
  remove(place: Place<T>): void {
    const places = this.#places;
    if (places[place.at] !== place) return;
    const last = places.pop()!;
    if (last === place) return;
    last.at = place.at;
    places[place.at] = last;
  }

  /** A copy of the current items. */
  items(): T[] {
    return this.#places.map(({ item }) => item);
  }
}
