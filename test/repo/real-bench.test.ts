/** The frame of npm run lab -- real: what it keeps, what it skips, and the page that it writes. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { supportCard } from '../../lab/real/card.ts';
import { loggedKinds } from '../../lab/real/clients/logged-kinds.ts';
import { readRealResults, realPage } from '../../lab/real/page.ts';
import { runSection } from '../../lab/real/run-section.ts';
import type { Row, Section, SectionResults } from '../../lab/real/section.ts';
import { plainWaveform } from '../support/audio-golden.ts';
import { wav } from '../support/speech-files.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { readText } from './readme.ts';

/** A section whose comparisons note that they ran; `broken` throws. */
async function world(names: readonly string[]) {
  const folder = await tempFolder('real');
  const ran: string[] = [];
  const section: Section = {
    title: 'Whisper',
    about: 'With real weights.',
    environments: [],
    comparisons: names.map((name) => ({
      name,
      title: `Comparison ${name}`,
      run: async () => {
        ran.push(name);
        if (name === 'broken') throw new Error('no space left');
        return [{ what: 'tokens', figure: ran.length }];
      },
    })),
  };
  const run = (options: { again?: boolean; only?: string } = {}) =>
    runSection(section, {
      name: 'whisper',
      cache: join(folder, 'cache'),
      results: join(folder, 'results'),
      again: false,
      say: () => {},
      ...options,
    });
  const kept = async (): Promise<SectionResults> =>
    JSON.parse(await readFile(join(folder, 'results/whisper.json'), 'utf8'));
  return { run, ran, kept };
}

test('A comparison that finished is skipped at the next run and repeated with --again', async () => {
  const { run, ran, kept } = await world(['jfk', 'long']);
  await run();
  await run();
  expect(ran).toEqual(['jfk', 'long']);
  await run({ again: true, only: 'lon' });
  expect(ran).toEqual(['jfk', 'long', 'long']);
  const { comparisons } = await kept();
  expect(comparisons.map(({ name, rows }) => [name, rows[0].figure])).toEqual([
    ['jfk', 1],
    ['long', 3],
  ]);
});

test('A comparison that throws keeps no result, is named at the end, and does not stop the others', async () => {
  const { run, ran, kept } = await world(['broken', 'jfk']);
  expect(await run()).toEqual(['whisper/broken']);
  expect((await kept()).comparisons.map(({ name }) => name)).toEqual(['jfk']);
  await run();
  expect(ran).toEqual(['broken', 'jfk', 'broken']);
});

test('The page shows units, the spread, missed targets and their reason', () => {
  const rows: Row[] = [
    {
      what: 'one file',
      lehr: 1.2345,
      other: 1,
      unit: 's',
      figure: 1.2345,
      spread: [1.1, 1.4],
      wanted: '<= 1.1',
      met: false,
      note: 'two | cores',
    },
    { what: 'memory', figure: 812.4, unit: 'MB' },
  ];
  const comparison = {
    name: 'jfk',
    title: 'A file of 11 s',
    date: '2026-11-23',
    machine: '2 cores',
    seconds: 7,
  };
  const page = realPage([
    {
      title: 'Whisper',
      about: 'With real weights.',
      versions: ['torch==2.8.0'],
      comparisons: [{ ...comparison, load: [1, 2.5], rows }],
    },
  ]);
  expect(page).toContain('Versions: torch==2.8.0.');
  expect(page).toContain(
    '| one file (two \\| cores) | 1.23 s | 1 s | **1.23** | 1.1 .. 1.4 | <= 1.1, **missed** |',
  );
  expect(page).toContain('| memory |  |  | **812 MB** |  |  |');
  expect(page).toContain('Run on 2026-11-23 in 7 s on 2 cores; load 1 to 2.5.');
});

test('The card counts what was met of each model, names what was missed, and says what was not run', () => {
  const comparison = { title: '', date: '2026-11-23', machine: '2 cores', load: [1, 1], seconds: 1 } as const;
  const row = (what: string, met: boolean, figure: number | string = 1) => ({
    what,
    figure,
    wanted: 'x',
    met,
  });
  const card = supportCard([
    {
      title: 'Whisper',
      about: '',
      versions: [],
      comparisons: [
        { ...comparison, name: 'tokens', rows: [row('a', true), { what: 'b', figure: 3 }] },
        {
          ...comparison,
          name: 'exports',
          rows: [row('int8: equal', false, '1 of 3'), row('fp16: equal', true)],
        },
      ],
    },
  ]);
  expect(card).toContain('| Whisper base, real weights | tokens, language, translation; float32 | 1 of 1 |');
  expect(card).toContain('| merged decoder, int8 | 0 of 1; missed: int8: equal: 1 of 3 |');
  expect(card).toContain('| merged decoder, float16 | 1 of 1 |');
  expect(card).toContain('| SD-Turbo | float32, float16; few channels | not run |');
});

test('The errors that a server logged are counted by request, message and cause', () => {
  const failed = (path: string) =>
    JSON.stringify({
      level: 'error',
      requestId: `${Math.random()}`,
      method: 'POST',
      path,
      msg: 'a request failed with an internal error',
      error: { message: 'Unexpected token' },
    });
  const lines = [failed('/t2i'), failed('/fill-mask'), 'the API ended: SIGKILL', failed('/fill-mask')];
  expect(loggedKinds(lines)).toBe(
    [
      '2 x POST /fill-mask: a request failed with an internal error: Unexpected token',
      '1 x POST /t2i: a request failed with an internal error: Unexpected token',
      '1 x the API ended: SIGKILL',
    ].join('; '),
  );
});

test('The waveform that is compared has the samples of a WAV without its header, also when the WAV is a Buffer of Node', () => {
  const samples = Int16Array.of(-0x8000, 0, 0x4000);
  expect([...plainWaveform(wav(samples))]).toEqual([-1, 0, 0.5]);
  expect([...plainWaveform(new Uint8Array(wav(samples)))]).toEqual([-1, 0, 0.5]);
});

test('lab/real-models.md is the page that the committed results make', () => {
  expect(readText('lab/real-models.md')).toBe(realPage(readRealResults()));
});
