/** A link out of the dashboard, to an address that a configuration, a model or a provider has given. */

import type { ComponentChildren, JSX } from 'preact'

/** An address that is not `http` or `https` is text: others run scripts, open files or start programs. */
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
