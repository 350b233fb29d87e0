/** What was sent to the receiver of a job's webhook, with every attempt, and a button that sends the last event again. */
import { type DeliveryLog, isOver, type Job } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Icon } from '../parts/icon.tsx';
import { toast } from '../parts/toast.tsx';
import { texts } from '../texts/index.ts';
import { faultOf } from '../wire/fault.ts';
import { lehr } from '../wire/lehr.ts';
import { pause } from '../wire/pause.ts';

/** While an attempt is due. */
const LOOK_EVERY_MS = 1_500;
/** An attempt that is due later than this is not waited for: the page says when it is. */
const SOON_MS = 30_000;

export function Deliveries({ job }: { readonly job: Job }) {
  const log = useSignal<DeliveryLog | undefined>(undefined);
  const problem = useSignal('');
  /** Counts what makes another look necessary. */
  const looks = useSignal(0);
  useEffect(() => {
    if (!job.webhook) return;
    const stop = new AbortController();
    watchDeliveries(
      job.id,
      (next) => {
        log.value = next;
      },
      stop.signal,
    ).catch((error: unknown) => {
      if (!stop.signal.aborted) problem.value = faultOf(error).message;
    });
    return () => stop.abort();
  }, [job.id, job.status, looks.value]);
  if (!job.webhook) return null;
  const resend = async (): Promise<void> => {
    problem.value = '';
    try {
      await lehr.redeliver(job.id);
      toast(texts.job.webhook.resent);
      looks.value += 1;
    } catch (error) {
      problem.value = faultOf(error).message;
    }
  };
  return (
    <section class="card" aria-label={texts.job.webhook.title}>
      <div class="snippet-bar">
        <h2>{texts.job.webhook.title}</h2>
        {log.value && log.value.deliveries.length > 0 && (
          <button type="button" class="button button-small" onClick={resend}>
            <Icon name="again" />
            {texts.job.webhook.resend}
          </button>
        )}
      </div>
      <p class="hint">{job.webhook.url}</p>
      <p class="fault" role="alert">
        {problem.value}
      </p>
      {log.value && <Log log={log.value} />}
      {log.value?.deliveries.length === 0 && (
        <p class="hint">{isOver(job) ? texts.job.webhook.none : texts.job.webhook.notYet}</p>
      )}
    </section>
  );
}

async function watchDeliveries(
  id: string,
  take: (log: DeliveryLog) => void,
  stopped: AbortSignal,
): Promise<void> {
  while (!stopped.aborted) {
    const log = await lehr.deliveries(id, { signal: stopped });
    if (stopped.aborted) return;
    take(log);
    const isDueSoon = log.deliveries.some(
      ({ next_attempt_at: at }) => at !== null && Date.parse(at) < Date.now() + SOON_MS,
    );
    if (!isDueSoon) return;
    await pause(LOOK_EVERY_MS, stopped);
  }
}

function Log({ log: { deliveries, attempts } }: { readonly log: DeliveryLog }) {
  return (
    <ul class="deliveries">
      {deliveries.map(({ webhook_id: id, event, state, next_attempt_at: next }) => (
        <li key={id} class="delivery">
          <p class="delivery-head">
            <strong>{event}</strong>
            <span class="status" data-status={state}>
              {texts.job.webhook.states[state]}
            </span>
          </p>
          <ol class="attempts" aria-label={texts.job.webhook.attempts(event)}>
            {attempts
              .filter((attempt) => attempt.webhook_id === id)
              .map((attempt) => (
                <Attempt key={attempt.at} attempt={attempt} />
              ))}
          </ol>
          {next !== null && <p class="hint">{texts.job.webhook.next(new Date(next).toLocaleTimeString())}</p>}
        </li>
      ))}
    </ul>
  );
}

function Attempt({ attempt }: { readonly attempt: DeliveryLog['attempts'][number] }) {
  const { at, status, ms, answer, error } = attempt;
  const isGood = status !== null && status >= 200 && status < 300;
  return (
    <li>
      <time dateTime={at}>{new Date(at).toLocaleTimeString()}</time>
      <span class="attempt-status" data-good={isGood}>
        {status ?? texts.job.webhook.noAnswer}
      </span>
      <span class="attempt-ms">{texts.job.ms(ms)}</span>
      {(error ?? answer) !== '' && <span class="attempt-answer">{error ?? answer}</span>}
    </li>
  );
}
