/** Sections of a page, selected in its address: each tab is a link. */

import type { JSX } from 'preact'
import { at, path, query } from '../state/router.ts'
import type { Choice } from './select.tsx'

/** @param choices the first is shown without a parameter */
export function Tabs ({
  label,
  choices
}: {
  readonly label: string
  readonly choices: readonly Choice[]
}): JSX.Element {
  const shown = currentTab(choices)
  return (
    <nav class='tabs' aria-label={label}>
      {choices.map(({ value, label }, index) => (
        <a
          key={value}
          href={at(index === 0 ? path.value : `${path.value}?tab=${value}`)}
          aria-current={value === shown ? 'page' : undefined}
        >
          {label}
        </a>
      ))}
    </nav>
  )
}

export function currentTab (choices: readonly Choice[]): string {
  const named = query.value.get('tab')
  return choices.find(({ value }) => value === named)?.value ?? choices[0]?.value ?? ''
}
