/** The command without one tuned piece: `untuned.ts NAME --config FILE`. */
import { tunings } from './tunings.ts';

const [name = ''] = process.argv.splice(2, 1);
await tunings[name]!.remove();
await import('../../src/cli/sidecar.ts');
