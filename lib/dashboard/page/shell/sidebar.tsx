/** The navigation, with the user and the theme at its end. */

import type { JSX } from 'preact'
import { Mark } from '../parts/brand.tsx'
import { Button } from '../parts/button.tsx'
import { Icon, type IconName } from '../parts/icon.tsx'
import { at, path } from '../state/router.ts'
import { currentSession, may, signOut } from '../state/session.ts'
import { chooseTheme, theme, type Theme } from '../state/theme.ts'
import { menu } from './pages.ts'

export function Sidebar ({ open }: { readonly open: boolean }): JSX.Element {
  return (
    <nav class={open ? 'sidebar open' : 'sidebar'} aria-label='Main'>
      <a class='brand' href={at('/')}><Mark />Headgate</a>
      <div>
        {menu.map(({ title = '', entries }) => {
          const allowed = entries.filter(({ role }) => may(role))
          return (
            allowed.length > 0 && (
              <div class='nav' key={title} {...(title !== '' && { role: 'group', 'aria-label': title })}>
                {title !== '' && (
                  <div class='nav-title' aria-hidden='true'>
                    {title}
                  </div>
                )}
                {allowed.map(entry => (
                  <a
                    key={entry.path}
                    href={at(entry.path)}
                    aria-current={isCurrent(entry.path) ? 'page' : undefined}
                  >
                    <Icon name={entry.icon} />
                    {entry.label}
                  </a>
                ))}
              </div>
            )
          )
        })}
      </div>
      <Who />
    </nav>
  )
}

function isCurrent (to: string): boolean {
  return to === path.value || (to !== '/' && path.value.startsWith(`${to}/`))
}

const themes: Readonly<Record<Theme, { readonly icon: IconName, readonly next: Theme }>> = {
  system: { icon: 'screen', next: 'light' },
  light: { icon: 'sun', next: 'dark' },
  dark: { icon: 'moon', next: 'system' }
}

function Who (): JSX.Element {
  const { user } = currentSession()
  const { icon, next } = themes[theme.value]
  return (
    <div class='sidebar-end'>
      <div class='row still'>
        <a class='who grow' href={at('/profile')}>
          <span class='visually-hidden'>Your account: </span>
          <span class='avatar' aria-hidden='true'>
            {initials(user.name)}
          </span>
          <div class='small'>
            <div class='truncate'>{user.name}</div>
            <div class='faint'>{user.role}</div>
          </div>
        </a>
        <Button
          kind='plain'
          small
          icon={icon}
          label={`Theme: ${theme.value}`}
          onClick={() => chooseTheme(next)}
        />
        <Button kind='plain' small icon='out' label='Sign out' onClick={() => void signOut()} />
      </div>
    </div>
  )
}

function initials (name: string): string {
  const words = name.split(/\s+/).filter(Boolean)
  return [words[0], words.length > 1 ? words.at(-1) : undefined]
    .map(word => String.fromCodePoint(word?.codePointAt(0) ?? 32))
    .join('')
}
