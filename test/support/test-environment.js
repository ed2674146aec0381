import { TestEnvironment } from 'jest-environment-node';

// Nothing is open any more by then, but to free the heap of a hundred files takes longer than the half second that jest waits.
if (process.send) process.once('exit', code => process.exit(code));

/** Node's environment, in a worker that ends at once. */
export default TestEnvironment;
