/** Names the colours of a chart. */

import type { JSX } from 'preact'
import type { ChartSeries } from './chart-props.ts'

export function Legend ({ series }: { readonly series: readonly ChartSeries[] }): JSX.Element {
  return (
    <ul class='legend'>
      {series.map(({ label, colour }) => (
        <li key={label}>
          <span class={`swatch ${colour === 'before' ? 'before' : `s${colour}`}`} />
          <span class='truncate'>{label}</span>
        </li>
      ))}
    </ul>
  )
}
