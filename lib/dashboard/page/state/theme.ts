/** The theme: the system's, or the one chosen in this browser. */

import { effect, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

export const theme = signal<Theme>(readTheme())

const darkSystem = matchMedia('(prefers-color-scheme: dark)')
const systemIsDark = signal(darkSystem.matches)
darkSystem.addEventListener('change', () => { systemIsDark.value = darkSystem.matches })

/** Returns whether the page is dark now, as a dependency: charts are drawn again when it changes. */
export function isDark (): boolean {
  return theme.value === 'dark' || (theme.value === 'system' && systemIsDark.value)
}

export function chooseTheme (next: Theme): void {
  if (next === 'system') localStorage.removeItem('theme')
  else localStorage.setItem('theme', next)
  theme.value = next
}

effect(() => {
  const { dataset } = document.documentElement
  if (theme.value === 'system') delete dataset.theme
  else dataset.theme = theme.value
})

function readTheme (): Theme {
  const kept = localStorage.getItem('theme')
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}
