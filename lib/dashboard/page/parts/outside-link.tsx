/** A link out of the dashboard, to an address from a configuration, a model or a provider. */

import type { ComponentChildren, JSX } from 'preact'

/**
 * Shows addresses with other schemes than `http` and `https` as text: they could run a script or a program.
 */
export function OutsideLink ({
  url,
  children
}: {
  readonly url: string
  readonly children: ComponentChildren
}): JSX.Element {
  if (!/^https?:\/\//i.test(url)) return <span class='break'>{url}</span>
  return (
    <a class='break' href={url} target='_blank' rel='noopener noreferrer nofollow'>
      {children}
    </a>
  )
}
