/** The values of a chart at the pointer. */

import type { JSX } from 'preact'
import type { ChartProps } from './chart-props.ts'

export interface TipPlace { readonly index: number, readonly left: number, readonly top: number }

const hour = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const day = new Intl.DateTimeFormat('en', { weekday: 'short', month: 'short', day: 'numeric', timeZone: 'UTC' })
const axisWidth = 56

export function ChartTip ({ atMs, bucket, series, format, place, width }: ChartProps & { readonly place: TipPlace, readonly width: number }): JSX.Element {
  const { index, left } = place
  const atRight = axisWidth + left > width / 2
  const x = atRight ? axisWidth + left - 12 : axisWidth + left + 12
  return (
    <div class='chart-tip' aria-hidden='true' style={{ transform: `translate(${x}px, 0)${atRight ? ' translateX(-100%)' : ''}` }}>
      <strong>{(bucket === 'day' ? day : hour).format(atMs[index])}</strong>
      {series.map(({ label, values, colour }) => (
        <span class='row' key={label}>
          <span class={`swatch ${colour === 'before' ? 'before' : `s${colour}`}`} />
          <span class='truncate'>{label}</span>
          <span class='number'>{values[index] === null || values[index] === undefined ? '–' : format(values[index])}</span>
        </span>
      ))}
    </div>
  )
}
