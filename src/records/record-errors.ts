/** The records store does not answer, or not now; the same may succeed later. */
export class StoreUnavailable extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'StoreUnavailable';
}

/** Whether `thrown` says that the store cannot be used now; anything else, such as a refusal, is its answer. */
export const isOutage = (thrown: unknown): boolean => thrown instanceof StoreUnavailable;

/** The database's own code for an outage: SQLSTATE, a system error or SQLite's number; undefined for anything else. */
export const databaseCode = (thrown: unknown): string | number | undefined =>
  isOutage(thrown) ? ((thrown as Error).cause as { code?: string | number } | undefined)?.code : undefined;

/** The records store refuses these values, and will every time: a constraint, or a value that it cannot hold. */
export class RecordRefused extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'RecordRefused';
  /** The field at fault, such as `plan`, if it is known. */
  readonly field: string | undefined;

  constructor(message: string, field?: string) {
    super(message);
    this.field = field;
  }
}

/** The record is one of the configuration, where alone it can be changed. */
export class ConfiguredRecord extends RecordRefused {}

/** There is no record of this name. */
export class NotThere extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'NotThere';
}

/** The name is taken. */
export class AlreadyThere extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'AlreadyThere';
  /** The account that has it, which may differ in upper and lower case. */
  readonly taken: string;

  constructor(taken: string, where = '') {
    super(`there is an account '${taken}'${where} already`);
    this.taken = taken;
  }
}

/** A key can no longer be used, and so not be changed. */
export class KeyEnded extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'KeyEnded';

  constructor(id: string) {
    super(`the key '${id}' has expired or is revoked`);
  }
}

/** A key was made with the same nonce already, perhaps at another instance. */
export class KeyExists extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'KeyExists';
  /** The id of that key. */
  readonly id: string;

  constructor(id: string) {
    super(`the key '${id}' was issued for the same form`);
    this.id = id;
  }
}

/** The account has as many keys as it may. */
export class TooManyKeys extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'TooManyKeys';
}

/** The name is that of another customer or admin key. */
export class NameTaken extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'NameTaken';
}

/** A request with the same idempotency key was carried out already, perhaps at another instance. */
export class RequestRepeated extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'RequestRepeated';
}
