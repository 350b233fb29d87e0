/** The keys of all tenants with what they may and their limits, which are changed here. A key is revoked here and created elsewhere. */
import type { Key } from '@lehr/client';
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Panel } from '../parts/panel.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { toast } from '../parts/toast.tsx';
import { texts } from '../texts/index.ts';
import { faultOf } from '../wire/fault.ts';
import { lehr, lehrOnce } from '../wire/lehr.ts';
import { type Reading, useReading } from '../wire/reading.ts';
import { limitsOf } from './limits.ts';
import { LimitsDialog } from './limits-dialog.tsx';

const EVERY_MS = 5_000;
const words = texts.admin.keys;

const nameOf = ({ name, prefix }: Key): string => name || prefix;
const dateOf = (iso: string | null): string =>
  iso === null ? words.never : new Date(iso).toLocaleDateString();

interface Chosen {
  /** The key whose limits are being changed. */
  readonly limited: Signal<Key | undefined>;
  /** The key that is about to be revoked. */
  readonly doomed: Signal<Key | undefined>;
}

const columns = ({ limited, doomed }: Chosen): readonly Column<Key>[] => [
  {
    name: words.key,
    cell: (key) => (
      <span class="key-name">
        {nameOf(key)}
        <code>{key.prefix}</code>
        {!key.usable && <span class="fault">{words.unusable}</span>}
      </span>
    ),
  },
  { name: words.tenant, cell: ({ tenant }) => tenant },
  { name: words.scopes, cell: ({ scopes }) => scopes.join(', ') },
  { name: words.limits, cell: ({ limits }) => limitsOf(limits) },
  { name: words.used, cell: ({ last_used_at: at }) => dateOf(at) },
  { name: words.expires, cell: ({ expires_at: at }) => dateOf(at) },
  {
    name: words.changes,
    cell: (key) => (
      <span class="key-actions">
        <button
          type="button"
          class="button button-small"
          aria-label={words.changeOf(nameOf(key))}
          onClick={() => {
            limited.value = key;
          }}
        >
          {words.change}
        </button>
        <button
          type="button"
          class="button button-small"
          aria-label={words.revokeOf(nameOf(key))}
          onClick={() => {
            doomed.value = key;
          }}
        >
          {words.revoke}
        </button>
      </span>
    ),
  },
];

export function Keys() {
  const reading = useReading(lehrOnce.keys.list, EVERY_MS);
  const doomed = useSignal<Key | undefined>(undefined);
  const limited = useSignal<Key | undefined>(undefined);
  const changed = (key: Key): void => {
    reading.value.value = reading.value.value?.map((each) => (each.id === key.id ? key : each));
  };
  return (
    <Panel lead={words.lead} reading={reading}>
      {(keys) => (
        <>
          {keys.length === 0 ? (
            <p class="blank">{words.none}</p>
          ) : (
            <Table
              caption={texts.admin.tabs.keys}
              rows={keys}
              idOf={({ id }) => id}
              columns={columns({ limited, doomed })}
            />
          )}
          <LimitsDialog limited={limited} nameOf={nameOf} onChanged={changed} />
          <RevokeDialog doomed={doomed} reading={reading} />
        </>
      )}
    </Panel>
  );
}

interface RevokeDialogProps {
  readonly doomed: Signal<Key | undefined>;
  readonly reading: Reading<readonly Key[]>;
}

function RevokeDialog({ doomed, reading }: RevokeDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const key = doomed.value;
  useEffect(() => {
    if (key) dialog.current?.showModal();
    else dialog.current?.close();
  }, [key]);
  const close = (): void => {
    doomed.value = undefined;
  };
  const revoke = async (): Promise<void> => {
    close();
    if (!key) return;
    try {
      await lehr.keys.revoke(key.id);
      reading.value.value = reading.value.value?.filter(({ id }) => id !== key.id);
      toast(words.revoked);
    } catch (error) {
      reading.fault.value = faultOf(error);
    }
  };
  return (
    <dialog ref={dialog} class="dialog" onClose={close} aria-labelledby="revoke-title">
      <h2 id="revoke-title">{words.revoke}</h2>
      <p>{key && words.revokeAsk(nameOf(key))}</p>
      <div class="actions">
        <button type="button" class="button" onClick={close}>
          {words.keep}
        </button>
        <button type="button" class="button button-danger" onClick={revoke}>
          {words.revoke}
        </button>
      </div>
    </dialog>
  );
}
