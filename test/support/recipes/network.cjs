// Loaded by every Node process of a recipe. Its usual ports are free ones here, and hosts of paid APIs are a server of the test.
const { Server, Socket } = require('node:net');

/** @type {{ ports: Record<string, number>, hosts: Record<string, number> }} */
const { ports, hosts } = JSON.parse(process.env.RECIPE_NETWORK);
const isHere = host => host === undefined || host === 'localhost' || host === '127.0.0.1' || host === '::1';

/** The options among the arguments of `listen` or `connect`, which `net.connect` passes on as a list. */
const optionsIn = args => [args[0]].flat()[0];

const { listen } = Server.prototype;
Server.prototype.listen = function (...args) {
  const options = optionsIn(args);
  if (typeof options === 'object' && options !== null && ports[options.port])
    options.port = ports[options.port];
  else if (ports[options]) args[0] = ports[options];
  return listen.apply(this, args);
};

const { connect } = Socket.prototype;
Socket.prototype.connect = function (...args) {
  const options = optionsIn(args);
  if (typeof options === 'object' && options !== null) {
    const port = hosts[options.host] ?? (isHere(options.host) ? ports[options.port] : undefined);
    if (hosts[options.host]) options.host = '127.0.0.1';
    if (port) options.port = port;
  }
  return connect.apply(this, args);
};
