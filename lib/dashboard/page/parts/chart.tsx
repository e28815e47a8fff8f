/**
 * A chart over time, drawn by uPlot: stacked bars, or lines; a tip at the pointer; a period selected by
 * dragging. On the keyboard, arrows move along it, with Shift over a period, and Enter selects that.
 */

import type { JSX } from 'preact'
import { useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { useSignal } from '@preact/signals'
import uPlot from 'uplot'
import { isDark } from '../state/theme.ts'
import { endsOf, movedBy, type Stretch } from './chart-keys.ts'
import { bucketMs, chartOptions, drawingOrder } from './chart-options.ts'
import type { ChartProps, ChartSeries } from './chart-props.ts'
import { ChartTable } from './chart-table.tsx'
import { bucketName, ChartTip, valueText, type TipPosition } from './chart-tip.tsx'

export function Chart (props: ChartProps): JSX.Element {
  const { label, atMs, bucket, series, kind, format } = props
  const place = useRef<HTMLDivElement>(null)
  const tip = useSignal<TipPosition | undefined>(undefined)
  const pointed = useRef(false)
  const drawn = useRef<uPlot | undefined>(undefined)
  const stretch = useRef<Stretch | undefined>(undefined)
  const said = useSignal('')
  const help = useId()
  const zoom = useRef(props.onZoom)
  zoom.current = props.onZoom
  const dark = isDark()

  useLayoutEffect(() => {
    const element = place.current
    if (element === null) return
    const plot = new uPlot(
      {
        ...chartOptions(props, element),
        hooks: {
          setCursor: [
            ({ cursor: { idx, left, top } }) => {
              tip.value =
                !pointed.current || idx === null || idx === undefined || left === undefined || left < 0
                  ? undefined
                  : { index: idx, left, top: top ?? 0 }
            }
          ],
          setSelect: [
            plot => {
              const { left, width } = plot.select
              if (width > 8) zoom.current?.(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'))
              plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
            }
          ]
        }
      },
      chartData(props),
      element
    )
    drawn.current = plot
    stretch.current = undefined
    const observer = new ResizeObserver(() =>
      plot.setSize({ width: element.clientWidth, height: element.clientHeight })
    )
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [atMs, series, kind, dark])

  const leave = (): void => {
    pointed.current = false
    stretch.current = undefined
    tip.value = undefined
    said.value = ''
    drawn.current?.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
  }
  const press = (event: KeyboardEvent): void => {
    const { current: plot } = drawn
    const next = movedBy(event, stretch.current, atMs.length - 1)
    if (event.key === 'Escape') leave()
    if (event.key === 'Enter' && stretch.current !== undefined) {
      const [first, last] = endsOf(stretch.current)
      zoom.current?.(atMs[first] ?? 0, (atMs[last] ?? 0) + bucketMs(bucket))
    }
    if (next === undefined || plot === undefined) return
    event.preventDefault()
    stretch.current = next
    pointed.current = true
    const [left, right] = endsOf(next).map(index => plot.valToPos(atMs[index] ?? 0, 'x'))
    plot.setSelect(
      { left: left ?? 0, top: 0, width: (right ?? 0) - (left ?? 0), height: plot.over.clientHeight },
      false
    )
    plot.setCursor({ left: plot.valToPos(atMs[next.to] ?? 0, 'x'), top: 0 })
    said.value = `${bucketName(atMs[next.to], bucket)}: ${series.map(({ label, values }) => `${label} ${valueText(values[next.to], format)}`).join(', ')}`
  }
  const table = useMemo(() => <ChartTable {...props} />, [atMs, series])

  return (
    <div
      class='chart'
      role='group'
      aria-label={label}
      aria-describedby={help}
      tabIndex={0}
      onKeyDown={press}
      onBlur={leave}
      onPointerEnter={() => {
        pointed.current = true
      }}
      onPointerLeave={leave}
    >
      <div class='chart-plot' role='img' aria-label={`${label}. ${spoken(series, format)}`} ref={place} />
      <span class='visually-hidden' id={help}>
        Arrow keys move along the chart, with Shift over a period; Enter zooms into it.
      </span>
      <span class='visually-hidden' role='status'>
        {said}
      </span>
      {table}
      {tip.value !== undefined && (
        <ChartTip {...props} place={tip.value} width={place.current?.clientWidth ?? 0} />
      )}
    </div>
  )
}

/** Returns the columns of uPlot. Bars of several series are stacked: the highest sum is drawn first. */
function chartData ({ atMs, series, kind }: ChartProps): uPlot.AlignedData {
  if (kind === 'lines') return [[...atMs], ...series.map(({ values }) => [...values])]
  const sums = atMs.map(() => 0)
  const stacked = series.map(({ values, colour }) =>
    colour === 'before' ? [...values] : sums.map((sum, index) => (sums[index] = sum + (values[index] ?? 0)))
  )
  return [[...atMs], ...drawingOrder(series).map(line => stacked[series.indexOf(line)] ?? [])]
}

function spoken (series: readonly ChartSeries[], format: (value: number) => string): string {
  return series
    .map(({ label, values }) => {
      const known = values.filter(value => value !== null)
      return known.length === 0
        ? `${label}: no values`
        : `${label}: from ${format(Math.min(...known))} to ${format(Math.max(...known))}`
    })
    .join('. ')
}
