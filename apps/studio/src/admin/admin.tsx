/** What administrators see: the traffic, the fleet, models, tenants, keys, dead letters and settings. */
import { useEffect, useRef } from 'preact/hooks';
import { Link } from '../parts/link.tsx';
import { session } from '../session/session.ts';
import { ADMIN_TABS, type AdminTab } from '../shell/router.ts';
import { texts } from '../texts/index.ts';
import { DeadLettersPanel } from './dead-letters.tsx';
import { Fleet } from './fleet.tsx';
import { Keys } from './keys.tsx';
import { Models } from './models.tsx';
import { SettingsPanel } from './settings.tsx';
import { Tenants } from './tenants.tsx';
import { TrafficPanel } from './traffic.tsx';

const PANELS: Readonly<Record<AdminTab, () => preact.JSX.Element>> = {
  traffic: TrafficPanel,
  fleet: Fleet,
  models: Models,
  tenants: Tenants,
  keys: Keys,
  'dead-letters': DeadLettersPanel,
  settings: SettingsPanel,
};

export function Admin({ tab }: { readonly tab: AdminTab }) {
  const Current = PANELS[tab];
  const isAdmin = session.value?.scopes.includes('admin') === true;
  const tabs = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a phone the tabs are wider than the window.
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [tab]);
  return (
    <div class="admin">
      <header class="admin-head">
        <h1>{texts.admin.title}</h1>
        <a class="button button-small" href="/admin/queues">
          {texts.admin.board}
        </a>
      </header>
      {isAdmin ? (
        <>
          <nav ref={tabs} class="admin-tabs" aria-label={texts.admin.tabs.label}>
            {ADMIN_TABS.map((each) => (
              <Link key={each} to={{ name: 'admin', tab: each }} class="admin-tab" current={each === tab}>
                {texts.admin.tabs[each]}
              </Link>
            ))}
          </nav>
          <Current key={tab} />
        </>
      ) : (
        <p class="fault" role="alert">
          {texts.admin.noAccess}
        </p>
      )}
    </div>
  );
}
