/** A surface for one subject, with its title and its actions. */

import type { ComponentChildren, JSX } from 'preact'

export interface CardProps {
  readonly title?: ComponentChildren
  readonly subtitle?: ComponentChildren
  readonly actions?: ComponentChildren
  /** True if the content extends to the edges, as tables do. */
  readonly flush?: boolean
  readonly children: ComponentChildren
}

export function Card ({ title, subtitle, actions, flush = false, children }: CardProps): JSX.Element {
  return (
    <section class='card'>
      {title !== undefined && (
        <header class={flush ? 'lined' : undefined}>
          <div class='grow'><h2>{title}</h2>{subtitle !== undefined && <p>{subtitle}</p>}</div>
          {actions !== undefined && <div class='row'>{actions}</div>}
        </header>
      )}
      {flush ? children : <div class='body'>{children}</div>}
    </section>
  )
}
