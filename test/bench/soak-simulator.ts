/** The simulated upstream as a process of its own: started with options as JSON, asked for its counters by any message. */
import { type SimulatorOptions, startSimulator } from '../../src/simulator/server.ts';

const options = JSON.parse(process.argv[2] ?? '{}') as Partial<SimulatorOptions>;
const simulator = await startSimulator({ ...options, recorded_requests: 0 });
process.on('message', () => process.send?.(simulator.stats));
process.on('disconnect', () => process.exit());
process.send?.({ url: simulator.url });
