/** The place of something in `InFlightSet`, by which it is taken out again. */
export interface Place<T> {
  readonly item: T;
  /** @internal */
  at: number;
}

/**
 * What is under way at this moment, in no order: exchanges, leases, anything that comes and goes with every request.
 *
 * A Map or Set would do the same and cost much more. For every few dozen entries that have come and gone V8 makes it a new table, and the
 * one before points to it; once one of them has been moved to the old generation, young collections keep all tables that follow and
 * whatever those hold, which is every request, until the next full collection.
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

  /** Does nothing for what has been taken out already. */
  remove(place: Place<T>): void {
    const places = this.#places;
    if (places[place.at] !== place) return;
    const last = places.pop()!;
    if (last === place) return;
    last.at = place.at;
    places[place.at] = last;
  }

  /** All that is there now; what comes or goes meanwhile is no matter. */
  items(): T[] {
    return this.#places.map(({ item }) => item);
  }
}
