import { expect, test } from 'vitest';
import { versionFolder } from './fetch-model.ts';

test('A path of models.yaml is absolute or relative to the folder of the file', () => {
  const places = { models: '/srv/lehr', cache: '/var/cache' };
  const folderOf = (path: string) => versionFolder({ version: '1', path, weight: 1 }, places);
  expect(folderOf('models/whisper')).toBe('/srv/lehr/models/whisper');
  expect(folderOf('../whisper')).toBe('/srv/whisper');
  expect(folderOf('/data/whisper')).toBe('/data/whisper');
});
