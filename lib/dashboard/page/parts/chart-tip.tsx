/** The values of a chart at the pointer. */

import type { JSX } from 'preact'
import type { ChartProps } from './chart-props.ts'

export interface TipPosition { readonly index: number, readonly left: number, readonly top: number }

/** Returns the time of a bucket. Days are UTC days; hours and minutes are the reader's. */
export function bucketName (atMs: number | undefined, bucket: ChartProps['bucket']): string {
  return (bucket === 'day' ? day : hour).format(atMs)
}

/** Returns a value as it is shown. */
export function valueText (value: number | null | undefined, format: ChartProps['format']): string {
  return value === null || value === undefined ? '–' : format(value)
}

const hour = new Intl.DateTimeFormat('en', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23'
})
const day = new Intl.DateTimeFormat('en', {
  weekday: 'short',
  month: 'short',
  day: 'numeric',
  timeZone: 'UTC'
})
const axisWidth = 56

export function ChartTip ({
  atMs,
  bucket,
  series,
  format,
  place,
  width
}: ChartProps & { readonly place: TipPosition, readonly width: number }): JSX.Element {
  const { index, left } = place
  const atRight = axisWidth + left > width / 2
  // Beside the pointer, and inside the card: 100 % is the width of the tip.
  const x = atRight
    ? `max(0px, ${axisWidth + left - 12}px - 100%)`
    : `min(${axisWidth + left + 12}px, ${width}px - 100%)`
  return (
    <div class='chart-tip' aria-hidden='true' style={{ transform: `translateX(${x})` }}>
      <strong>{bucketName(atMs[index], bucket)}</strong>
      {series.map(({ label, values, colour }) => (
        <span class='row' key={label}>
          <span class={`swatch ${colour === 'before' ? 'before' : `s${colour}`}`} />
          <span class='truncate'>{label}</span>
          <span class='number'>{valueText(values[index], format)}</span>
        </span>
      ))}
    </div>
  )
}
