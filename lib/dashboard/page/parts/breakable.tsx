/** An id or a code, which may wrap only after its separators. */

import type { JSX } from 'preact'

export function Breakable ({ children }: { readonly children: string }): JSX.Element {
  return (
    <>
      {children
        .split(/(?<=[_/.:-])(?=\w)/)
        .flatMap((part, index) => (index === 0 ? [part] : [<wbr key={index} />, part]))}
    </>
  )
}
