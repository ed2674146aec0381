import { existsSync } from 'node:fs';
import { mistakesIn } from '../common/config-error.ts';
import { statesOf, watchFiles } from '../common/watch-files.ts';
import { type ConfigSource, loadConfig, type Settings } from '../config/load.ts';
import { type ConfigText, expectRereadable } from '../config/read-config.ts';
import type { Reloaded } from '../records/define-extension.ts';
import type { Log } from '../telemetry/log.ts';
import { type ConfiguredParts, configuredParts, type LastingParts } from './assemble.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { changedSections, type FixedValues, type GatewayProcess, kindOf, withFixed } from './reload.ts';
import type { RunningConfigurations } from './running-configuration.ts';

interface Setup {
  /** What is loaded without another source. */
  readonly source: ConfigSource | ConfigText;
  /** The state of its file before it was read; undefined for an object. */
  readonly state: string | undefined;
  readonly options: GatewayOptions;
  readonly process: GatewayProcess;
  readonly running: RunningConfigurations;
  /** Called after another configuration has begun to serve. */
  readonly onReplaced: () => void;
}

/** Reloads of a gateway's configuration, one after the other. */
export class ConfigReloads {
  readonly #setup: Setup;
  #last: Promise<unknown> = Promise.resolve();
  /** A reload of the usual source that has not begun, and comes after all others. */
  #waiting: Promise<Reloaded> | undefined;
  #state: string | undefined;
  #isClosed = false;
  #unwatch: (() => void) | undefined;

  constructor(setup: Setup) {
    this.#setup = setup;
    this.#state = setup.state;
  }

  /**
   * Loads `source` once earlier reloads are done, and serves it. Calls for the usual source that wait are one reload. Rejects with a
   * ConfigError, or because of `close`.
   */
  reload(source: ConfigSource | ConfigText = this.#setup.source): Promise<Reloaded> {
    const isUsual = source === this.#setup.source;
    if (isUsual && this.#waiting) return this.#waiting;
    const done = this.#last.then(() => {
      if (this.#waiting === done) this.#waiting = undefined;
      return this.#reload(source);
    });
    this.#waiting = isUsual ? done : undefined;
    this.#last = done.catch(() => {});
    return done;
  }

  /** Refuses further reloads, and the one that runs. */
  close(): void {
    this.#isClosed = true;
    this.#unwatch?.();
  }

  /** Watches the file, if the configuration wants that now. */
  follow(): void {
    const { source, running } = this.#setup;
    const { settings, log } = running.current.parts;
    const isWanted = settings.server.reload_on_change && typeof source === 'string';
    if (isWanted === (this.#unwatch !== undefined)) return;
    this.#unwatch?.();
    this.#unwatch = isWanted
      ? watchFiles([source], () => this.#changed(source, log), undefined, this.#state)
      : undefined;
  }

  #changed(file: string, log: Log): void {
    // Between its removal and its return; the watch sees that as well.
    if (!existsSync(file))
      return log.warn({ file }, 'the file of the configuration is missing; it is not reloaded');
    // The log has the mistakes.
    this.reload().catch(() => {});
  }

  async #reload(source: ConfigSource | ConfigText): Promise<Reloaded> {
    this.#expectOpen();
    const { log, metrics } = this.#setup.running.current.parts;
    try {
      if (typeof source === 'string') expectRereadable(source);
      if (source === this.#setup.source) this.#state = stateOf(source);
      const settings = await loadConfig(source, process.env, this.#setup.options);
      this.#expectOpen();
      const reloaded = await this.#replace(settings);
      if (this.#setup.process.primary) return reloaded;
      metrics.reloaded('success');
      this.#tell(reloaded, log);
      return reloaded;
    } catch (thrown) {
      // What a worker refuses is told by the primary process.
      if (!this.#isClosed && !this.#setup.process.primary) {
        metrics.reloaded('failure');
        log.error(faultsOf(thrown), 'configuration refused, the previous one stays in use');
      }
      throw thrown;
    }
  }

  #tell({ changed, needsRestart, warnings }: Reloaded, log: Log): void {
    log.info(
      { changed, ...(needsRestart.length > 0 && { needs_restart: needsRestart }) },
      'configuration reloaded',
    );
    for (const warning of warnings) log.warn(warning);
  }

  /** Creates the parts of `loaded` and lets them serve, here and in workers. Nothing has changed if it rejects. */
  async #replace(loaded: Settings): Promise<Reloaded> {
    const { running, options, process, onReplaced } = this.#setup;
    const before: LastingParts & ConfiguredParts = running.current.parts;
    const { settings, needsRestart } = withFixed(
      loaded,
      before.settings as unknown as FixedValues,
      kindOf(process),
    );
    const goBack = await process.forward?.(settings);
    try {
      this.#expectOpen();
      const parts = configuredParts(settings, options, before, before);
      running.replace(parts);
    } catch (thrown) {
      await goBack?.();
      throw thrown;
    }
    onReplaced();
    this.follow();
    return { changed: changedSections(before.settings, settings), needsRestart, warnings: settings.warnings };
  }

  #expectOpen(): void {
    if (this.#isClosed) throw new Error('the gateway is closing, and takes no other configuration');
  }
}

/** The state of the file of `source`; undefined for an object. */
export const stateOf = (source: ConfigSource | ConfigText): string | undefined =>
  typeof source === 'string' ? statesOf([source]) : undefined;

/** What the log says of a configuration that was refused: its mistakes, or the error. */
function faultsOf(thrown: unknown): object {
  const mistakes = mistakesIn(thrown);
  return mistakes ? { mistakes } : { err: thrown };
}
