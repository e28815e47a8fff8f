/** A placeholder for loading content, in its final size, so that nothing moves when the content arrives. */

import type { JSX } from 'preact'

const widths = ['line-70', 'line-50', 'line-90', 'line-30'] as const

export function SkeletonLines ({ lines = 3 }: { readonly lines?: number }): JSX.Element {
  return (
    <div class='stack' role='status' aria-label='Loading'>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} class={`skeleton ${widths[index % widths.length] ?? ''}`} />
      ))}
    </div>
  )
}

export function SkeletonBlock (): JSX.Element {
  return <span class='skeleton block' role='status' aria-label='Loading' />
}

export function SkeletonRows ({
  rows = 6,
  columns
}: {
  readonly rows?: number
  readonly columns: number
}): JSX.Element {
  return (
    <>
      {Array.from({ length: rows }, (_, row) => (
        <tr key={row} aria-hidden='true'>
          {Array.from({ length: columns }, (_, column) => (
            <td key={column}>
              <span class={`skeleton ${widths[(row + column) % widths.length] ?? ''}`} />
            </td>
          ))}
        </tr>
      ))}
    </>
  )
}
