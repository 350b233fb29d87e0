/** Variables of the store for outputs, of API and workers. */
import { z } from 'zod';
import { httpUrl, SECRET } from './kinds.ts';

export const STORE_ENV = {
  LEHR_STORE: z.enum(['folder', 's3']).default('folder').meta({
    description:
      'Where inputs and outputs are stored. The folder, in LEHR_HOME, is for the processes of one machine; all processes need the same store.',
  }),
  LEHR_STORE_SECRET: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .meta({
      description:
        'Signs links to stored outputs and to event streams; the same for every API process. Default: generated in LEHR_HOME.',
      ...SECRET,
    }),
  LEHR_S3_BUCKET: z
    .string()
    .min(3, 'must have at least 3 characters')
    .optional()
    .meta({ description: 'Bucket of the S3 store.' }),
  LEHR_S3_REGION: z.string().default('us-east-1').meta({ description: 'Region of the bucket.' }),
  LEHR_S3_ENDPOINT: httpUrl.optional().meta({ description: 'An S3 server other than AWS.' }),
  LEHR_S3_PUBLIC_ENDPOINT: httpUrl.optional().meta({
    description: 'The URL by which callers reach that server, if it is another one; links are signed for it.',
  }),
} as const;
