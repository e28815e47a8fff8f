/** The frame of pages shown to visitors who are not signed in. */

import type { ComponentChildren, JSX } from 'preact'
import { Mark } from '../parts/brand.tsx'

export function Frame ({
  title,
  intro,
  children
}: {
  readonly title: string
  readonly intro?: ComponentChildren
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <main class='entrance'>
      <div class='entrance-card'>
        <header><Mark /><h1>{title}</h1>{intro !== undefined && <p class='muted'>{intro}</p>}</header>
        {children}
      </div>
    </main>
  )
}
