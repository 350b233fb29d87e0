/** The keys of all tenants with what they may and their limits. A key is revoked here and created elsewhere. */
import type { Key } from '@lehr/client';
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { toast } from '../parts/toast.tsx';
import { texts } from '../texts/index.ts';
import { faultOf } from '../wire/fault.ts';
import { lehr, lehrOnce } from '../wire/lehr.ts';
import { limitsOf } from './limits.ts';
import { Panel } from './panel.tsx';
import { type Reading, useReading } from './reading.ts';
import { type Column, Table } from './table.tsx';

const EVERY_MS = 5_000;
const words = texts.admin.keys;

const nameOf = ({ name, prefix }: Key): string => name || prefix;
const dateOf = (iso: string | null): string =>
  iso === null ? words.never : new Date(iso).toLocaleDateString();

const columns = (doomed: Signal<Key | undefined>): readonly Column<Key>[] => [
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
    name: words.revoke,
    cell: (key) => (
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
    ),
  },
];

export function Keys() {
  const reading = useReading(lehrOnce.keys.list, EVERY_MS);
  const doomed = useSignal<Key | undefined>(undefined);
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
              columns={columns(doomed)}
            />
          )}
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
