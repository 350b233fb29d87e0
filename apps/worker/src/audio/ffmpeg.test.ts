import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { plainWaveform, sampleFile } from '../../../../test/support/audio-golden.ts';
import { ffmpegBlocks } from './ffmpeg.ts';
import { UnreadableCodec } from './formats/unreadable-codec.ts';

const CODEC = new UnreadableCodec('alac');
const BYTES = new Uint8Array(100_000);

/** A program that takes ffmpeg's place. `$0.out` is a file beside it. */
function program(script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'lehr-ffmpeg-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'ffmpeg');
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

async function samplesOf(command: string, timeoutMs = 5000, bytes = BYTES): Promise<number[]> {
  const samples: number[] = [];
  for await (const { channels } of ffmpegBlocks(bytes, 'mp4', CODEC, timeoutMs, command)) {
    samples.push(...channels[0]);
  }
  return samples;
}

describe('ffmpegBlocks', () => {
  it('may open nothing but its pipes, is told the format, and sees nothing of our environment', async () => {
    const path = program('echo "$@" > "$0.out"; env >> "$0.out"; cat > /dev/null; printf "\\0\\0\\0\\0"');
    expect(await samplesOf(path)).toEqual([0]);
    const [args, ...environment] = readFileSync(`${path}.out`, 'utf8').trim().split('\n');
    expect(args).toContain('-protocol_whitelist pipe -f mov -i pipe:0');
    expect(args).toContain('-ac 1 -ar 16000 -f f32le pipe:1');
    const ours = environment.filter((line) => !/^(PATH|PWD|OLDPWD|SHLVL|_)=/.test(line));
    expect(ours).toEqual([]);
  });

  it('joins floats that the pipe cut in two', async () => {
    const path = program(
      'printf "\\0\\0\\200"; sleep 0.1; printf "\\077\\0\\0"; sleep 0.1; printf "\\0\\100"',
    );
    expect(await samplesOf(path)).toEqual([1, 2]);
  });

  it('is killed when it takes too long, and when nobody wants more', async () => {
    const slow = program('exec sleep 60');
    await expect(samplesOf(slow, 200)).rejects.toThrow(
      'is broken, cannot be read as a stream, or took too long.',
    );

    const endless = program('echo $$ > "$0.out"; exec cat /dev/zero');
    for await (const { channels } of ffmpegBlocks(BYTES, 'mp4', CODEC, 60_000, endless)) {
      expect(channels[0].length).toBeGreaterThan(0);
      break;
    }
    const pid = Number(readFileSync(`${endless}.out`, 'utf8'));
    await expect.poll(() => spawnSync('kill', ['-0', `${pid}`]).status).not.toBe(0);
  });

  it.each([
    [
      'is not there',
      'exec /no/such/program',
      'The mp4 file holds alac, which this worker cannot decode; send wav',
    ],
    ['fails', 'exit 1', 'The mp4 file could not be decoded: the alac in it is broken'],
    ['finds no sound', 'exit 0', 'The mp4 file could not be decoded: the alac in it is broken'],
  ])('refuses the file when it %s', async (_, script, message) => {
    const refused = samplesOf(program(script));
    await expect(refused).rejects.toMatchObject({ code: 'invalid-audio' });
    await expect(refused).rejects.toThrow(message);
  });

  // Where a machine has the real one.
  it.skipIf(spawnSync('ffmpeg', ['-version']).status !== 0)('hears what the real ffmpeg hears', async () => {
    const bytes = sampleFile('speech/en_circle.wav');
    const samples: number[] = [];
    for await (const { channels } of ffmpegBlocks(bytes, 'wav', CODEC, 10_000)) samples.push(...channels[0]);
    expect(Float32Array.from(samples)).toEqual(plainWaveform(bytes));
  });
});
