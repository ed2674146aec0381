/**
 * What `sluice/plugin` exports: the plugin API, with what built-in plugins offer to others.
 *
 * @module sluice/plugin
 */
import './mount/chain/create-chain.ts';

export { type MapTextOptions, mapText, type TextMap } from '../plugins/stages/redact/text/map-text.ts';
export type { Replacement } from '../plugins/stages/redact/text/text-replacer.ts';
export { sqlRecords } from '../plugins/stores/records/sql-records.ts';
export { LeaseTable } from './mount/state/leases/lease-table.ts';
export * from './plugin.ts';
