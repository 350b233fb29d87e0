/** One batch: how far it is, what can be done with it, and its lines as a contact sheet, page by page. */
import type { Batch, BatchLine } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { FollowedBatch, hasEnded } from '../jobs/follow-batch.ts';
import { LineBox } from '../jobs/line-box.tsx';
import { type LineValue, valuesOfLines } from '../jobs/setting-text.ts';
import { Icon } from '../parts/icon.tsx';
import { Link } from '../parts/link.tsx';
import { Trouble } from '../parts/panel.tsx';
import { texts } from '../texts/index.ts';
import { BatchActions, BatchProgress, nameOf, timeOf } from './batches.tsx';

const words = texts.planned;
const PAGE = 60;
/** Of a file that is not valid. */
const MAX_ERRORS = 20;

export function BatchPage({ id }: { readonly id: string }) {
  const followed = useSignal<FollowedBatch | undefined>(undefined);
  useEffect(() => {
    const started = new FollowedBatch(id, PAGE);
    followed.value = started;
    return () => started.stop();
  }, [id]);
  if (!followed.value) return null;
  const { batch, fault, isLost } = followed.value;
  return (
    <article class="planned">
      <header class="job-head">
        <Link to={{ name: 'planned' }} class="back">
          <Icon name="back" />
          {words.title}
        </Link>
        <h1>{batch.value ? nameOf(batch.value) : words.batch}</h1>
        {batch.value && <Head batch={batch.value} />}
        <Trouble isLost={isLost} fault={fault} />
      </header>
      {!fault.value && <Lines followed={followed.value} />}
    </article>
  );
}

function Head({ batch }: { readonly batch: Batch }) {
  const { id, status, source, created_at, expires_at, retried_from } = batch;
  return (
    <>
      <p class="job-line">
        <span>{words.batchStates[status]}</span>
        <code>{id}</code>
      </p>
      <BatchProgress batch={batch} />
      <p class="hint">
        {words.sources[source]} {words.madeAt(timeOf(created_at))}{' '}
        {!hasEnded(batch) && words.until(timeOf(expires_at))}{' '}
        {retried_from !== null && <Link to={{ name: 'batch', id: retried_from }}>{words.repeats}</Link>}
      </p>
      <BatchActions batch={batch} />
    </>
  );
}

/** A page is read from its start. */
async function turn(turned: Promise<void>): Promise<void> {
  await turned;
  window.scrollTo(0, 0);
}

function Lines({ followed }: { readonly followed: FollowedBatch }) {
  const [batch, lines] = [followed.batch.value, followed.lines.value];
  if (!batch || !lines) return <div class="loading" aria-busy="true" />;
  if (batch.errors) return <Errors errors={batch.errors.data} />;
  if (lines.length === 0)
    return <p class="blank">{batch.status === 'validating' ? words.noLineYet : words.noLine}</p>;
  const values = valuesOfLines(lines);
  return (
    <div class="planned-part">
      <ol class="sheet" aria-label={words.lines}>
        {lines.map((line, i) => (
          <Line key={line.line} line={line} values={values[i]} onStale={() => followed.refresh()} />
        ))}
      </ol>
      {(followed.hasPrevious.value || followed.hasNext.value) && (
        <nav class="sheet-pages" aria-label={words.pages}>
          <button
            type="button"
            class="button"
            disabled={!followed.hasPrevious.value}
            onClick={() => turn(followed.showPrevious())}
          >
            {words.previousPage}
          </button>
          <span role="status">
            {words.linesOf(lines[0].line, lines[lines.length - 1].line, batch.request_counts.total)}
          </span>
          <button
            type="button"
            class="button"
            disabled={!followed.hasNext.value}
            onClick={() => turn(followed.showNext())}
          >
            {words.nextPage}
          </button>
        </nav>
      )}
    </div>
  );
}

interface LineProps {
  readonly line: BatchLine;
  readonly values: readonly LineValue[];
  readonly onStale: () => void;
}

function Line({ line, values, onStale }: LineProps) {
  const { custom_id } = line;
  const alt = [custom_id, ...values.map((each) => each.join(' '))].join(', ');
  return (
    <li class="sheet-line">
      <LineBox line={line} alt={alt} width={1} height={1} onStale={onStale} />
      <p class="sheet-id">{custom_id}</p>
      <dl class="sheet-values">
        {values.map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd title={text}>{text}</dd>
          </div>
        ))}
      </dl>
    </li>
  );
}

function Errors({ errors }: { readonly errors: NonNullable<Batch['errors']>['data'] }) {
  return (
    <ul class="sheet-errors">
      {errors.slice(0, MAX_ERRORS).map(({ line, message }, i) => (
        <li key={i}>{line === null ? message : words.errorOfLine(line, message)}</li>
      ))}
      {errors.length > MAX_ERRORS && <li>{texts.textJob.more(errors.length - MAX_ERRORS)}</li>}
    </ul>
  );
}
