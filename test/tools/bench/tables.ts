import {
  type Contestant,
  direct,
  handWritten,
  keepAliveProxy,
  nginx,
  portkey,
  proxy,
} from './contestants.ts';
import {
  continuous,
  envelope,
  mounted,
  mountedWithFlags,
  sluice,
  workersOnOneCore,
  workersOnTwoCores,
} from './sluice-contestants.ts';

/** Contestants that are compared with the first one named `baseline`. */
interface Table {
  readonly title: string;
  readonly baseline: string;
  readonly contestants: readonly Contestant[];
}

/** Every table by its name. */
export const tables: Readonly<Record<string, Table>> = {
  gateways: {
    title: 'Gateways',
    baseline: 'http-proxy-middleware',
    contestants: [
      direct,
      nginx,
      proxy,
      keepAliveProxy,
      handWritten,
      portkey,
      sluice,
      envelope,
      continuous,
      mounted,
    ],
  },
  v8: { title: 'Options of V8', baseline: 'sluice-express', contestants: [mounted, mountedWithFlags] },
  workers: {
    title: 'Workers',
    baseline: 'sluice',
    contestants: [sluice, workersOnOneCore, workersOnTwoCores],
  },
};
