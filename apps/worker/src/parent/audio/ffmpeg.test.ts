import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { shellProgram } from '../../../../../test/support/shell-program.ts';
import { decodeWithFfmpeg } from './ffmpeg.ts';
import type { AudioFormat } from './sniff.ts';

const BYTES = new Uint8Array(100_000);

interface Given {
  readonly ffmpeg?: string;
  readonly bytes?: Uint8Array;
  readonly format?: AudioFormat;
  readonly timeoutMs?: number;
  readonly maxDurationS?: number;
  readonly signal?: AbortSignal;
}

const decoding = ({
  bytes = BYTES,
  format = 'mp4',
  timeoutMs = 10_000,
  maxDurationS = 60,
  ...options
}: Given) => decodeWithFfmpeg(bytes, format, { maxDurationS, timeoutMs }, options);

async function samplesOf(given: Given): Promise<number[]> {
  const samples: number[] = [];
  for await (const block of decoding(given)) samples.push(...block);
  return samples;
}

async function lengthOf(given: Given): Promise<number> {
  let length = 0;
  for await (const block of decoding(given)) length += block.length;
  return length;
}

/** The process id that a program has written beside itself. */
const pidOf = (program: string): number => Number(readFileSync(`${program}.out`, 'utf8'));
const isAlive = (pid: number): boolean => spawnSync('kill', ['-0', `${pid}`]).status === 0;

/** Shell scripts take the place of ffmpeg; test/worker/decode.test.ts runs the real one. */
describe('ffmpeg', () => {
  it('ffmpeg may open pipes only, gets its demuxer by name, and inherits no environment variable but PATH', async () => {
    const ffmpeg = shellProgram(
      'echo "$@" > "$0.out"; env >> "$0.out"; cat > /dev/null; printf "\\0\\0\\0\\0"',
    );
    expect(await samplesOf({ ffmpeg })).toEqual([0]);
    const [args, ...environment] = readFileSync(`${ffmpeg}.out`, 'utf8').trim().split('\n');
    expect(args).toContain('-protocol_whitelist pipe,cache,subfile ');
    expect(args).toContain(' -f mov -i subfile,,start,0,end,100000,,:cache:pipe:0 ');
    expect(args).toContain(' -threads 1 ');
    expect(args).toContain(' -ac 1 -ar 16000 -f f32le pipe:1');
    const ours = environment.filter((line) => !/^(PATH|PWD|OLDPWD|SHLVL|_)=/.test(line));
    expect(ours).toEqual([]);
  });

  it('ffmpeg runs under limits of the kernel on processor time, memory and the size of files', async () => {
    const ffmpeg = shellProgram('{ ulimit -t; ulimit -v; ulimit -f; } > "$0.out"; printf "\\0\\0\\0\\0"');
    const limits = () => readFileSync(`${ffmpeg}.out`, 'utf8');
    await samplesOf({ ffmpeg, timeoutMs: 7000, maxDurationS: 3600 });
    expect(limits()).toBe('7\n1048576\n196\n');
    await samplesOf({ ffmpeg, maxDurationS: 150 });
    expect(limits()).toBe('5\n1048576\n196\n');
  });

  it('Samples that the pipe cut in two are joined', async () => {
    const ffmpeg = shellProgram(
      'printf "\\0\\0\\200"; sleep 0.1; printf "\\077\\0\\0"; sleep 0.1; printf "\\0\\100"',
    );
    expect(await samplesOf({ ffmpeg })).toEqual([1, 2]);
  });

  it('ffmpeg is killed when it takes too long', async () => {
    const ffmpeg = shellProgram('echo $$ > "$0.out"; exec sleep 60');
    await expect(samplesOf({ ffmpeg, timeoutMs: 500 })).rejects.toMatchObject({
      code: 'invalid-audio',
      message: 'Decoding the file took longer than 0.5 seconds.',
    });
    await expect.poll(() => isAlive(pidOf(ffmpeg))).toBe(false);
  });

  it('The kernel kills an ffmpeg that takes too much processor time', async () => {
    const ffmpeg = shellProgram('ulimit -t 1; while :; do :; done');
    await expect(samplesOf({ ffmpeg, timeoutMs: 60_000, maxDurationS: 7200 })).rejects.toMatchObject({
      code: 'invalid-audio',
      message: 'Decoding the file took more than 60 seconds of processor time, or too much memory.',
    });
  }, 30_000);

  it('ffmpeg is killed when it takes more processor time than the sound that it has written allows', async () => {
    const ffmpeg = shellProgram('echo $$ > "$0.out"; while :; do :; done');
    await expect(samplesOf({ ffmpeg, timeoutMs: 60_000, maxDurationS: 7200 })).rejects.toMatchObject({
      code: 'invalid-audio',
      message: expect.stringContaining(
        'more processor time than its length allows: 2 seconds, and one more for',
      ),
    });
    await expect.poll(() => isAlive(pidOf(ffmpeg))).toBe(false);
  });

  it('ffmpeg may take more processor time for more sound', async () => {
    // 50 s of sound, then 2.3 s of processor time.
    const spin = 'i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done';
    const work = `head -c 3200000 /dev/zero; while [ "$(cut -d " " -f 14 /proc/$$/stat)" -lt 230 ]; do ${spin}; done`;
    expect(await lengthOf({ ffmpeg: shellProgram(work), timeoutMs: 60_000, maxDurationS: 7200 })).toBe(
      800_000,
    );
  });

  it('ffmpeg is killed when the reader of its samples stops', async () => {
    const ffmpeg = shellProgram('echo $$ > "$0.out"; exec cat /dev/zero');
    for await (const block of decoding({ ffmpeg })) {
      expect(block.length).toBeGreaterThan(0);
      break;
    }
    await expect.poll(() => isAlive(pidOf(ffmpeg))).toBe(false);
  });

  it('ffmpeg is killed when the signal aborts, whether it writes or not', async () => {
    for (const [i, work] of ['cat /dev/zero', 'sleep 60'].entries()) {
      const ffmpeg = shellProgram(`echo $$ > "$0.out"; exec ${work}`);
      const cancel = new AbortController();
      const reason = new Error(`cancelled ${i}`);
      const read = (async () => {
        for await (const _ of decoding({ ffmpeg, signal: cancel.signal }));
      })();
      setTimeout(() => cancel.abort(reason), 200);
      await expect(read).rejects.toBe(reason);
      await expect.poll(() => isAlive(pidOf(ffmpeg))).toBe(false);
    }
  });

  it('ffmpeg is not started after the signal has aborted', async () => {
    const ffmpeg = shellProgram('echo $$ > "$0.out"');
    await expect(samplesOf({ ffmpeg, signal: AbortSignal.abort() })).rejects.toThrow('aborted');
    expect(() => pidOf(ffmpeg)).toThrow('ENOENT');
  });

  it.each([
    ['is missing', 'exec /no/such/program', 'unavailable', 'cannot decode audio: ffmpeg is missing'],
    [
      'has no place for its temporary file',
      'echo Failed to create tempfile >&2; exit 1',
      'unavailable',
      '/tmp',
    ],
    ['fails', 'exit 1', 'invalid-audio', 'The mp4 file could not be decoded: it is broken, or holds a codec'],
    ['is killed by a fault of its own', 'kill -SEGV $$', 'invalid-audio', 'The mp4 file broke the decoder'],
    [
      'finds no audio track',
      'echo "Stream map \'0:a:0\' matches no streams." >&2; exit 1',
      'invalid-audio',
      'The mp4 file has no audio track.',
    ],
  ])('Decoding fails when ffmpeg %s', async (_, script, code, message) => {
    const refused = samplesOf({ ffmpeg: shellProgram(script) });
    await expect(refused).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
  });

  it('Decoding fails where PATH has no ffmpeg', async () => {
    const refused = samplesOf({ ffmpeg: 'no-such-ffmpeg' });
    await expect(refused).rejects.toMatchObject({
      code: 'unavailable',
      message:
        'This worker cannot decode audio: ffmpeg is missing: install it there, or send 16-bit mono WAV at 16 kHz.',
    });
  });

  const STREAM = '  Stream #0:0: Audio: flac, 16000 Hz, mono, s16';

  it('The length that a header states is believed, an estimated one is not', async () => {
    const says = (duration: string): string =>
      shellProgram(
        `printf "  Duration: ${duration}, start: 0.000000\\n${STREAM}\\n" >&2; sleep 0.3; printf "\\0\\0\\0\\0"`,
      );
    const tooLong = samplesOf({ ffmpeg: says('01:00:00.01'), format: 'flac', maxDurationS: 3600 });
    await expect(tooLong).rejects.toMatchObject({
      code: 'too-large',
      message: 'The audio is longer than the 3600 seconds allowed.',
    });
    const asLong = { ffmpeg: says('01:00:00.00'), format: 'flac', maxDurationS: 3600 } as const;
    expect(await samplesOf(asLong)).toEqual([0]);
    const estimated = { ffmpeg: says('02:00:00.00'), format: 'mp3', maxDurationS: 3600 } as const;
    expect(await samplesOf(estimated)).toEqual([0]);
  });
});
