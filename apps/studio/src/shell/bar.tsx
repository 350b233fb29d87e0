/** The bar with the views, the theme and the account. On a phone the views move to the lower edge. */
import { Icon, type IconName } from '../parts/icon.tsx';
import { Link } from '../parts/link.tsx';
import { session, signOut } from '../session/session.ts';
import { texts } from '../texts/index.ts';
import { view } from './router.ts';
import { chooseTheme, THEMES, theme } from './theme.ts';

const VIEWS = ['make', 'speak', 'compare', 'gallery', 'belt'] as const;
/** Of the whole installation. */
const ADMIN_VIEWS = ['charts'] as const;

export function Bar() {
  const isAdmin = session.value?.scopes.includes('admin') ?? false;
  return (
    <header class="bar">
      <Link to={{ name: 'make' }} class="wordmark">
        <Glyph />
        <span>{texts.name}</span>
      </Link>
      <nav class="views" aria-label={texts.nav.label}>
        {[...VIEWS, ...(isAdmin ? ADMIN_VIEWS : [])].map((name) => (
          <Link key={name} to={{ name }} class="view-link" current={view.value.name === name}>
            <Icon name={name satisfies IconName} />
            <span>{texts.nav[name]}</span>
          </Link>
        ))}
        {isAdmin && (
          <Link
            to={{ name: 'admin', tab: 'traffic' }}
            class="view-link"
            current={view.value.name === 'admin'}
          >
            <Icon name="admin" />
            <span>{texts.nav.admin}</span>
          </Link>
        )}
      </nav>
      <Account />
    </header>
  );
}

/** A pane of glass on the rollers of the oven. */
export function Glyph() {
  return (
    <svg class="glyph" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect class="glyph-pane" x="6" y="3" width="20" height="20" rx="6" />
      <path class="glyph-shine" d="M11 7.5h7" />
      <circle cx="8" cy="27.5" r="2" />
      <circle cx="16" cy="27.5" r="2" />
      <circle cx="24" cy="27.5" r="2" />
    </svg>
  );
}

function Account() {
  const who = session.value;
  return (
    // Closed by a change of the view.
    <details class="account" key={view.value.name}>
      <summary aria-label={texts.account.label}>
        <Icon name="account" />
      </summary>
      <div class="menu">
        <p class="menu-who">
          <strong>{texts.account.signedIn(who?.tenant ?? '')}</strong>
          <span>{texts.account.key(who?.key ?? '')}</span>
        </p>
        <Themes />
        <Link to={{ name: 'planned' }} class="menu-item" current={view.value.name === 'planned'}>
          {texts.planned.title}
        </Link>
        <a class="menu-item" href="/docs">
          {texts.nav.api}
        </a>
        <button type="button" class="menu-item" onClick={() => signOut(false)}>
          {texts.account.signOut}
        </button>
        <button type="button" class="menu-item" onClick={() => signOut(true)}>
          {texts.account.signOutEverywhere}
        </button>
      </div>
    </details>
  );
}

function Themes() {
  return (
    <fieldset class="segmented">
      <legend class="hidden">{texts.theme.label}</legend>
      {THEMES.map((each) => (
        <label key={each}>
          <input
            type="radio"
            name="theme"
            checked={theme.value === each}
            onChange={() => chooseTheme(each)}
          />
          <span>
            <Icon name={each} />
            {texts.theme[each]}
          </span>
        </label>
      ))}
    </fieldset>
  );
}
