/**
 * The address of the page as signals. Links are plain `<a href>`: clicks on links within the dashboard are
 * handled here, so that they work by keyboard, in new tabs and without any component.
 */

import { computed, signal } from '@preact/signals'

/** The path of the dashboard. */
export const base = '/dashboard'

const address = signal(new URL(location.href))

/** The path below the base: `/keys`. */
export const path = computed(() => address.value.pathname.slice(base.length).replace(/\/+$/, '') || '/')

export const query = computed(() => address.value.searchParams)

/** Returns the `href` of a page of the dashboard. */
export function at (place: string): string {
  return `${base}${place}`
}

export function navigate (place: string, { replace = false } = {}): void {
  const next = new URL(at(place), location.origin)
  if (next.href === address.value.href) return
  const samePath = next.pathname === address.value.pathname
  if (replace) history.replaceState(null, '', next)
  else history.pushState(null, '', next)
  address.value = next
  if (!samePath) scrollTo(0, 0)
}

/** Changes parameters of the address in place: `undefined` and the empty string remove one. */
export function setQuery (changes: Readonly<Record<string, string | undefined>>): void {
  const next = new URLSearchParams(query.value)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.delete(name)
    else next.set(name, value)
  }
  const text = next.toString()
  navigate(path.value + (text === '' ? '' : `?${text}`), { replace: true })
}

addEventListener('popstate', () => { address.value = new URL(location.href) })

document.addEventListener('click', event => {
  if (
    event.defaultPrevented ||
    event.button !== 0 ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    event.altKey
  ) {
    return
  }
  const link = event.target instanceof Element ? event.target.closest('a') : null
  if (
    link === null ||
    link.target !== '' ||
    link.hasAttribute('download') ||
    link.origin !== location.origin
  ) {
    return
  }
  if (link.pathname !== base && !link.pathname.startsWith(`${base}/`)) return
  event.preventDefault()
  navigate(link.pathname.slice(base.length) + link.search)
})
