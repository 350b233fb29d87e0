/** The pictures of a comparison as a table: each cell fills when its job has ended. */
import { isOver } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { Icon } from '../parts/icon.tsx';
import { Link } from '../parts/link.tsx';
import { Picture } from '../parts/picture.tsx';
import { texts } from '../texts/index.ts';
import { valuesOf } from './comparison.ts';
import { savePicture } from './export.ts';
import { type Cell, isBusy, isOpen, type Made } from './making.ts';

export function Grid({ made }: { readonly made: Made }) {
  const { comparison, cells } = made;
  const columns = valuesOf(comparison.xs);
  const { axes } = texts.compare;
  return (
    <>
      <div class="grid-scroll">
        <table class="compare-grid">
          <caption class="hidden">{texts.compare.grid(comparison.prompt)}</caption>
          <thead>
            <tr>
              <td />
              {columns.map((x) => (
                <th key={x} scope="col">
                  {texts.compare.value(axes[comparison.x], x)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {valuesOf(comparison.ys).map((y) => (
              <tr key={y}>
                <th scope="row">{texts.compare.value(axes[comparison.y], y)}</th>
                {cells
                  .filter((cell) => cell.y === y)
                  .map((cell) => (
                    <CellBox key={cell.x} cell={cell} />
                  ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Foot made={made} />
    </>
  );
}

function CellBox({ cell }: { readonly cell: Cell }) {
  const { job, x, y, request } = cell;
  const { width, height } = request.input;
  const image = job?.output?.images?.[0];
  return (
    <td>
      <div
        class="pane grid-pane"
        data-status={job?.status ?? 'queued'}
        style={{ aspectRatio: `${width} / ${height}` }}
      >
        {job && image ? (
          <Link to={{ name: 'job', id: job.id }} class="grid-link">
            <Picture image={image} alt={texts.compare.cell(x, y)} />
          </Link>
        ) : (
          <p class="grid-note" data-bad={job?.status === 'failed' || Boolean(cell.fault?.message)}>
            {noteOf(cell)}
          </p>
        )}
      </div>
    </td>
  );
}

function noteOf({ job, fault }: Cell): string {
  if (fault) return fault.message || texts.compare.notMade;
  if (!job) return texts.status.queued;
  if (job.status === 'failed') return job.error?.detail ?? texts.status.failed;
  if (job.status === 'running' && job.progress) return `${Math.round(job.progress.fraction * 100)} %`;
  return texts.status[job.status];
}

function Foot({ made }: { readonly made: Made }) {
  const failed = useSignal(false);
  const done = made.cells.filter((cell) => !isOpen(cell)).length;
  const hasPicture = made.cells.some(({ job }) => job && isOver(job) && job.output?.images?.length);
  const save = async (): Promise<void> => {
    failed.value = false;
    await savePicture(made).catch(() => {
      failed.value = true;
    });
  };
  return (
    <div class="compare-foot">
      <p role="status">{texts.compare.done(done, made.cells.length)}</p>
      <button type="button" class="button" disabled={isBusy.value || !hasPicture} onClick={save}>
        <Icon name="download" />
        {texts.compare.export}
      </button>
      <p class="fault" role="alert">
        {failed.value && texts.compare.exportFailed}
      </p>
    </div>
  );
}
