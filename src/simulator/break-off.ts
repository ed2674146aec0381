import type { ServerResponse } from 'node:http';

const broken = new WeakSet<ServerResponse>();

/** Sends `block` and then breaks the connection: by a TCP reset, or by closing it in the middle of the body. */
export function breakOff(response: ServerResponse, how: 'reset' | 'cut', block = ''): void {
  const { socket } = response;
  broken.add(response);
  const act = (): void => {
    if (how === 'reset') socket?.resetAndDestroy();
    else socket?.destroy();
  };
  if (block !== '') {
    response.write(block, act);
  } else if (response.headersSent) {
    response.flushHeaders();
    // The headers leave before the next turn of the event loop.
    setImmediate(act);
  } else {
    act();
  }
}

/** True when it was the simulator that broke the connection. */
export function wasBrokenOff(response: ServerResponse): boolean {
  return broken.has(response);
}
