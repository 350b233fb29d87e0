import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { TestReport } from './infra/local/test-report.ts';

/** Packages resolve to each other's sources, so unit tests need no build. */
const resolve = { conditions: ['lehr-source', 'node', 'default'] };
const ssr = { resolve: { conditions: resolve.conditions, externalConditions: resolve.conditions } };

/** The files that take longest. Most of that time they wait, so they start first and run beside the others. */
const LONG = [
  'test/worker/faults.test.ts',
  'test/repo/start.test.ts',
  'test/worker/responsive.test.ts',
  'test/e2e/fleet.test.ts',
  'test/e2e/demo-diffusion.test.ts',
  'test/conformance/whisper-transformers.test.ts',
  'test/studio/studio.test.ts',
  'test/studio/looks.test.ts',
  'test/studio/belt.test.ts',
  'test/studio/compare.test.ts',
  'test/queue/redis-connections.test.ts',
  'test/conformance/replicate.test.ts',
  'test/worker/whisper-v3.test.ts',
  'test/conformance/openai.test.ts',
  'test/conformance/openai-audio.test.ts',
  'test/worker/adapters-parity.test.ts',
  'test/repo/interrupted.test.ts',
  'test/api/process.test.ts',
  'test/worker/diffusion-families.test.ts',
  'lab/chaos/f12-slow-store.test.ts',
  'test/client/models.test.ts',
  'test/contracts/object-store.test.ts',
  'test/client/import.test.ts',
  'test/client/import-adapter.test.ts',
  'test/client/tune.test.ts',
  'test/client/prepare.test.ts',
  'test/client/cli.test.ts',
  'test/e2e/chain.test.ts',
  'test/worker/imported-parts.test.ts',
  'lab/noisy-tenants/noisy-tenants.test.ts',
  'test/models/reload.test.ts',
  'lab/fuzz/fuzz.test.ts',
  'test/worker/fetched-models.test.ts',
  'test/api/secret-rotation.test.ts',
  'test/worker/spot.test.ts',
  'test/worker/webgpu.test.ts',
  'test/e2e/footprint.test.ts',
  'test/e2e/log-canary.test.ts',
  'test/worker/cancels.test.ts',
  'test/webhooks/retries.test.ts',
  'test/worker/guided-pictures.test.ts',
  'test/studio/interruptions.test.ts',
  'test/e2e/speech.test.ts',
  'test/worker/pauses.test.ts',
  'test/e2e/direct-texts.test.ts',
  'test/api/batches.test.ts',
  'test/worker/cuda-operators.test.ts',
  'lab/chaos/f06-cut-redis-log.test.ts',
  'test/client/package.test.ts',
  'test/api/record-memory.test.ts',
  'test/repo/launcher.test.ts',
  'test/worker/control-nets.test.ts',
  'apps/worker/src/engine/models/imported/import-folder.test.ts',
  'apps/worker/src/engine/models/adapters/model-adapters.test.ts',
  'apps/worker/src/engine/resume.test.ts',
  'apps/worker/src/parent/audio/ffmpeg.test.ts',
  'apps/worker/src/engine/models/converted/convert-whisper.test.ts',
];

/** Rows of the fault suite that hold the architecture; `npm run lab -- chaos` runs all of them. */
const PINNED_FAULTS = ['f06-cut', 'f12', 'f15', 'f16'].map((row) => `lab/chaos/${row}-*.test.ts`);

/** vitest's own limit for a poll is one second, which a busy machine can exceed. */
const poll = { timeout: 15_000 };

/**
 * Of each project the long files first, so that none runs alone at the end. Unit tests last, and not between the others, because a process
 * runs files of one project only.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => rank(a) - rank(b));
  }
}

function rank({ moduleId, project }: TestSpecification): number {
  const place = LONG.findIndex((file) => moduleId.endsWith(`/${file}`));
  return (place >= 0 ? place : LONG.length) + (project.name === 'unit' ? LONG.length + 1 : 0);
}

/**
 * The fetch of Node 24 sometimes passes on bytes of a body that was cancelled in the same moment, and its own stream then rejects
 * where no caller can catch it. All other errors outside of tests fail the run.
 */
function isFaultOfFetch({ code, stack }: { code?: unknown; stack?: string }): boolean {
  return (
    code === 'ERR_INVALID_STATE' &&
    /ReadableByteStreamController\.enqueue .*\n.*deps\/undici\/undici/.test(stack ?? '')
  );
}

export default defineConfig({
  test: {
    // More than the usual two cores, because most files wait for leases, processes and servers half of their time.
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    tags: [
      {
        name: 'long',
        timeout: 600_000,
        description:
          'Takes more than 9 seconds in a run of all tests. Left out of npm test; npm test -- --all runs it.',
      },
    ],
    onUnhandledError: (error) => !isFaultOfFetch(error),
    reporters: ['default', new TestReport()],
    // Files share a process (isolate: false), because each would import the sources again, which takes as long as most tests.
    projects: [
      {
        resolve,
        ssr,
        test: {
          name: 'unit',
          include: ['{apps,packages}/*/src/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: { poll },
          isolate: false,
          setupFiles: ['test/support/equal-bytes.ts'],
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: 'whole',
          include: [
            'test/**/*.test.ts',
            'lab/!(chaos)/**/*.test.ts',
            'lab/chaos/removed-jobs.test.ts',
            ...PINNED_FAULTS,
          ],
          isolate: false,
          setupFiles: ['test/support/equal-bytes.ts'],
          globalSetup: ['test/support/build.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll },
        },
      },
    ],
  },
});
