/** A service that is broken on purpose, and what Prometheus must say of it. */
export interface ProvokedCase {
  /** The job under which it is scraped: alerts of other cases have another one. */
  readonly job: string;
  /** What happens, for the report. */
  readonly what: string;
  /** Alerts that must be quiet before, pending where they have a `for`, then firing, then resolved. */
  readonly alerts: readonly string[];
  /** Alerts that must not fire at any time. */
  readonly never?: readonly string[];
  start(): Promise<ProvokedService>;
}

/** A case that runs. */
export interface ProvokedService {
  /** Admin listeners to scrape. */
  readonly targets: readonly string[];
  /** Begins the fault. */
  provoke(): void | Promise<void>;
  /** Ends it. */
  heal(): void | Promise<void>;
  close(): Promise<void>;
}
