#!/usr/bin/env node
'use strict';
// Every Node can parse this file, so that one which is too old for the rest is told in a sentence and not by a syntax error.
const needed = parseInt(/\d+/.exec(require('../package.json').engines.node)[0], 10);

if (parseInt(process.versions.node, 10) < needed) {
  process.stderr.write(
    'sluice needs Node ' +
      needed +
      ' or newer; this is Node ' +
      process.versions.node +
      ' (' +
      process.execPath +
      '). Install one from https://nodejs.org, or let npm bring it: npx --package node@' +
      needed +
      ' --package sluice sluice\n',
  );
  process.exitCode = 1;
} else {
  require('#command');
}
