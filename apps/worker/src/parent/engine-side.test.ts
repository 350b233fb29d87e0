import { parseRegistry, silentLog, systemClock } from '@lehr/shared';
import { expect, test } from 'vitest';
import { EngineSide, type EngineSideParts } from './engine-side.ts';

const registry = parseRegistry(`
models:
  - { name: ears, task: whisper, versions: [{ version: "1", path: a }] }
`);

test('No other group makes way for speech that waits for the memory of its audio', () => {
  let hasRoom = true;
  const parts: Partial<EngineSideParts> = {
    clock: systemClock,
    log: silentLog,
    registry,
    tasks: ['whisper'],
    engine: { models: [], silenceMs: 1 } as unknown as EngineSideParts['engine'],
    times: {} as EngineSideParts['times'],
    observe: {} as EngineSideParts['observe'],
    audio: { hasRoom: () => hasRoom } as unknown as EngineSideParts['audio'],
  };
  const side = new EngineSide(parts as EngineSideParts);
  const room = () => side.room('whisper.ears@1', 'standard');
  expect(room()).toMatchObject({ running: false, freeRows: 8 });
  hasRoom = false;
  // As of a lane that runs.
  expect(room()).toEqual({ running: true, freeRows: 0 });
});

test('No job is claimed for a model that is closed and will be opened again, as after a file of it has changed', () => {
  const parts: Partial<EngineSideParts> = {
    clock: systemClock,
    log: silentLog,
    registry,
    tasks: ['whisper'],
    engine: {
      models: [{ task: 'whisper', ref: 'ears@1', folder: 'a' }],
      silenceMs: 1,
    } as unknown as EngineSideParts['engine'],
    times: {} as EngineSideParts['times'],
    observe: {} as EngineSideParts['observe'],
    audio: { hasRoom: () => true } as unknown as EngineSideParts['audio'],
  };
  const side = new EngineSide(parts as EngineSideParts);
  expect(side.serves('whisper.ears@1')).toBe(false);
  expect(side.room('whisper.ears@1', 'standard')).toEqual({ running: true, freeRows: 0 });
});
