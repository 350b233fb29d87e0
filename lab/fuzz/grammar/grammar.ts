/** All requests that the fuzzer makes. The same seed makes the same requests. */
import fc from 'fast-check';
import type { OpenApiDocument } from '../../../test/support/openapi.ts';
import type { FuzzRequest } from '../request.ts';
import { audioRequest } from './audio.ts';
import { documentedRequest } from './documented.ts';
import { guidanceRequest } from './guidance.ts';
import { jsonRequest } from './json-bodies.ts';
import { multipartRequest } from './multipart.ts';
import { rawRequest } from './raw.ts';

/** Sent at the same time: some faults need two requests. */
const MAX_BATCH = 6;

export const batchOf = (document: OpenApiDocument): fc.Arbitrary<readonly FuzzRequest[]> =>
  fc.array(
    fc.oneof(
      { weight: 10, arbitrary: documentedRequest(document) },
      { weight: 3, arbitrary: jsonRequest },
      { weight: 4, arbitrary: guidanceRequest },
      { weight: 4, arbitrary: multipartRequest },
      { weight: 4, arbitrary: rawRequest },
      { weight: 1, arbitrary: audioRequest },
    ),
    { minLength: 1, maxLength: MAX_BATCH },
  );
