/**
 * A text on one line, cut where there is no room. The full text appears at the pointer, and in a list of
 * cards.
 */

import type { JSX } from 'preact'

export function Clip ({
  children,
  kind = ''
}: {
  readonly children: string
  readonly kind?: 'medium' | 'sub' | 'sub mono' | 'faint' | 'mono' | ''
}): JSX.Element {
  return (
    <span class={`clip ${kind}`} title={children}>
      {children}
    </span>
  )
}
