/** `--import` of a program that says `express`: gives it Express 4. */
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (name, context, next) => next(name === 'express' ? 'express4' : name, context),
});
