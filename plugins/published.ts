/**
 * What `sluice/plugin` exports: the plugin API, with what built-in plugins offer to others.
 *
 * @module sluice/plugin
 */
import '../src/mount/chain/create-chain.ts';

export * from '../src/plugin.ts';
export { type MapTextOptions, mapText, type TextMap } from './stages/redact/text/map-text.ts';
export type { Replacement } from './stages/redact/text/text-replacer.ts';
export { sqlRecords } from './stores/records/sql-records.ts';
