import { ENV } from '@lehr/shared';
import { expect, test } from 'vitest';
import { settingsOf } from './settings.ts';

const SECRETS = Object.entries(ENV)
  .filter(([, schema]) => (schema.meta() as { secret?: boolean } | undefined)?.secret)
  .map(([name]) => name);

test('No setting shows the value of a secret, but whether it is set', () => {
  const config = Object.fromEntries(SECRETS.map((name) => [name, `the value of ${name}`]));
  const settings = settingsOf({ ...config, HF_TOKEN: undefined });
  expect(settings.length).toBeGreaterThan(8);
  expect(JSON.stringify(settings)).not.toContain('the value of');
  expect(settings.filter(({ is_set }) => !is_set).map(({ name }) => name)).toEqual(['HF_TOKEN']);
});

test('Other settings show their value in force, lists with commas and addresses without a user', () => {
  const settings = settingsOf({
    LEHR_MAX_WAIT_S: 600,
    LEHR_TRUSTED_PROXIES: ['10.0.0.1', '10.1.0.0/16'],
    AWS_ENDPOINT_URL_S3: 'https://ada:secret@s3.example/x',
    LEHR_PUBLIC_URL: undefined,
    NOT_OURS: 'x',
  });
  expect(settings.map(({ name, value }) => [name, value])).toEqual([
    ['AWS_ENDPOINT_URL_S3', 'https://s3.example/x'],
    ['LEHR_MAX_WAIT_S', '600'],
    ['LEHR_PUBLIC_URL', null],
    ['LEHR_TRUSTED_PROXIES', '10.0.0.1,10.1.0.0/16'],
  ]);
  expect(settings[1].description).toContain('wait');
});

test('A password with an @ is not shown either', () => {
  const [{ value }] = settingsOf({ AWS_ENDPOINT_URL_S3: 'https://ada:p@secret@s3.example/a@b' });
  expect(value).toBe('https://s3.example/a@b');
});
