import { cacheControl } from './cache-control.ts';
import { byType, eachParsedBy, fault, parsedBy } from './first-fault.ts';
import { acceptedImageUrl, imagePart, imageUrl } from './image.ts';
import { audio, file } from './media.ts';
import { message, messageFields } from './message.ts';
import {
  anyObject,
  atLeastOne,
  checkStreamOptions,
  flag,
  isStringOrArray,
  nonEmptyText,
  notOffered,
  number,
  optionalText,
  present,
  seed,
  sharedFields,
  sharedParameters,
  sharedRequest,
  text,
  tokens,
  topLogprobs,
} from './shared-fields.ts';
import { setAsideInEach, setAsideInMessages, setAsideStreamOptions } from './unknown-fields.ts';

/** What request schemas in the manner of OpenAI's are made of, with the messages that clients of the built-in dialects know. */
export const requestFields = {
  byType,
  cacheControl,
  eachParsedBy,
  fault,
  parsedBy,
  acceptedImageUrl,
  imagePart,
  imageUrl,
  message,
  messageFields,
  anyObject,
  atLeastOne,
  audio,
  checkStreamOptions,
  file,
  flag,
  isStringOrArray,
  nonEmptyText,
  notOffered,
  number,
  optionalText,
  present,
  seed,
  sharedFields,
  sharedParameters,
  sharedRequest,
  text,
  tokens,
  topLogprobs,
  setAsideInEach,
  setAsideInMessages,
  setAsideStreamOptions,
};
