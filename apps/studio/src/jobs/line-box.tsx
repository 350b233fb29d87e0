/** A line of a batch: its picture or its words, or how far it is. */
import type { BatchLine } from '@lehr/client';
import { textResults } from '../gallery/text-results.ts';
import { Picture } from '../parts/picture.tsx';
import { texts } from '../texts/index.ts';

interface LineBoxProps {
  /** Undefined until it is known. */
  readonly line: BatchLine | undefined;
  /** What its picture shows. */
  readonly alt: string;
  readonly width: number;
  readonly height: number;
  /** Called when the link of its picture has expired. */
  readonly onStale: () => void;
}

export function LineBox({ line, alt, width, height, onStale }: LineBoxProps) {
  const [image, ...others] = line?.job?.output?.images ?? [];
  const words = wordsOf(line);
  return (
    <div class="pane line-box" style={{ aspectRatio: `${width} / ${height}` }} data-status={stateOf(line)}>
      {image ? (
        <a class="line-link" href={image.url} target="_blank" rel="noopener">
          <Picture image={image} alt={alt} lazy onStale={onStale} />
          {others.length > 0 && <span class="tile-more">{texts.gallery.more(others.length)}</span>}
        </a>
      ) : words ? (
        <blockquote class="line-words">{words}</blockquote>
      ) : (
        <LineNote line={line} />
      )}
    </div>
  );
}

function LineNote({ line }: Pick<LineBoxProps, 'line'>) {
  const state = stateOf(line);
  const progress = state === 'running' ? line?.job?.progress : undefined;
  const problem = line?.error?.message ?? line?.job?.error?.detail;
  return (
    <p class="line-note" data-bad={problem !== undefined}>
      {problem ?? (progress ? `${Math.round(progress.fraction * 100)} %` : texts.status[state])}
    </p>
  );
}

function stateOf(line: BatchLine | undefined) {
  return line?.error ? 'failed' : (line?.job?.status ?? 'queued');
}

const wordsOf = (line: BatchLine | undefined): string | undefined =>
  line?.job && (line.job.output?.text?.trim() || textResults(line.job)[0]);
