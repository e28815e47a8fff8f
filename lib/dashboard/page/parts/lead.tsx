/** A name that links to a page; plain text if there is no page. */

import type { JSX } from 'preact'
import { at } from '../state/router.ts'
import { Clip } from './clip.tsx'

export function Lead ({
  place,
  children
}: {
  readonly place: string | undefined
  readonly children: string
}): JSX.Element {
  return place === undefined ? (
    <Clip kind='medium'>{children}</Clip>
  ) : (
    <a class='clip' title={children} href={at(place)}>
      {children}
    </a>
  )
}
