/** Passes each message of the engine on to the parts of the engine side that it concerns. */
import type { Log } from '@lehr/shared';
import type { TextProgressMessage, TransformProgressMessage } from '../engine/protocol/messages.ts';
import type { JobSpans } from './reports/job-spans.ts';
import type { LaneCalls } from './reports/running.ts';
import type { LaneSpeeds } from './reports/worker-status.ts';
import type { LaneRows } from './runs/lane-rows.ts';
import type { Runs } from './runs/runs.ts';
import type { WorkerObserver } from './runs/worker-parts.ts';
import type { WorkEvent } from './supervisor/engine-supervisor.ts';
import type { SilenceLimit } from './supervisor/silence-limit.ts';

export interface EngineMessageParts {
  readonly runs: Runs;
  readonly laneRows: LaneRows;
  readonly speeds: LaneSpeeds;
  readonly calls: LaneCalls;
  readonly silence: SilenceLimit;
  readonly observe: WorkerObserver;
  readonly log: Log;
  /** Absent: nothing is traced. */
  readonly spans?: JobSpans | undefined;
}

export function dispatch(parts: EngineMessageParts, message: WorkEvent): void {
  const { runs, laneRows, speeds, silence, observe, spans } = parts;
  parts.calls.count(message);
  spans?.received(message);
  switch (message.type) {
    case 'running':
      runs.engineRuns(message.samples);
      return;
    case 'row-cap':
      laneRows.setCap(message.lane, message.rows);
      return;
    case 'last-step':
      laneRows.release(message.sample);
      return;
    case 'lane-changed':
      runs.changeLane(message.sample, message.lane);
      return;
    case 'stepped':
      speeds.stepped(message.lane, message.rows, message.ms);
      silence.stepped(message.lane, message.ms);
      observe.stepped(message);
      for (const { id, step, steps } of message.samples) runs.sampleStepped(id, step, steps);
      return;
    case 'noise-thread-lost':
      parts.log.warn(
        { cause: message.failure },
        'the noise thread is lost; the engine draws all noise itself',
      );
      return;
    case 'decoder-progress':
      observe.decoderProgress(message);
      return;
    case 'checkpoints':
    case 'resumed':
    case 'checkpoint-ignored':
      runs.checkpointed(message);
      return;
    case 'preview':
      runs.publishPreview(message);
      return;
    case 'segment':
      runs.addSegment(message);
      return;
    case 'transcribed':
      speeds.transcribed(runs.laneOf(message.sample), message);
      runs.endSample(message);
      return;
    case 'text-progress':
      textProgressed(parts, message);
      return;
    case 'transform-progress':
      tilesProgressed(parts, message);
      return;
    case 'answered':
    case 'transformed':
    case 'finished':
    case 'failed':
    case 'canceled':
      runs.endSample(message);
      return;
  }
}

function textProgressed(
  { runs, speeds, silence, observe }: EngineMessageParts,
  message: TextProgressMessage,
): void {
  const { lane, tokens, ms, samples } = message;
  // A row-step of text is a token; the prices of the API rely on it.
  speeds.stepped(lane, tokens, ms);
  if (message.runs > 0) silence.stepped(lane, ms / message.runs);
  observe.textProgress(message);
  for (const { id, answered } of samples) runs.sampleStepped(id, answered);
}

function tilesProgressed(
  { runs, speeds, silence, observe }: EngineMessageParts,
  message: TransformProgressMessage,
): void {
  const { lane, tiles, ms, samples } = message;
  if (message.runs > 0) {
    // A row-step of these lanes is a tile; the prices of the API rely on it.
    speeds.stepped(lane, tiles, ms);
    silence.stepped(lane, ms / message.runs);
  }
  observe.transformProgress(message);
  for (const { id, done, of } of samples) runs.sampleStepped(id, done, of);
}
