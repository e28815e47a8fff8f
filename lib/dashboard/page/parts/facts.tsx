/** Names and values, one per line; `null` values are omitted. */

import { Breakable } from './breakable.tsx'
import type { ComponentChildren, JSX } from 'preact'

export type Fact = readonly [name: string, value: ComponentChildren]

export function Facts ({ facts }: { readonly facts: readonly Fact[] }): JSX.Element {
  return (
    <dl class='facts'>
      {facts
        .filter(([, value]) => value !== null)
        .map(([name, value]) => [
          <dt key={name}>{name}</dt>,
          <dd key={`${name}=`}>{typeof value === 'string' ? <Breakable>{value}</Breakable> : value}</dd>
        ])}
    </dl>
  )
}
