/** A chart over time, drawn by uPlot: bars that are stacked, or lines; a tip at the pointer; a period chosen by dragging. */

import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useSignal } from '@preact/signals'
import uPlot from 'uplot'
import { isDark } from '../state/theme.ts'
import { chartOptions, drawingOrder } from './chart-options.ts'
import type { ChartProps, ChartSeries } from './chart-props.ts'
import { ChartTip, type TipPlace } from './chart-tip.tsx'

export function Chart (props: ChartProps): JSX.Element {
  const { label, atMs, series, kind, format } = props
  const place = useRef<HTMLDivElement>(null)
  const tip = useSignal<TipPlace | undefined>(undefined)
  const pointed = useRef(false)
  const zoom = useRef(props.onZoom)
  zoom.current = props.onZoom
  const dark = isDark()

  useEffect(() => {
    const element = place.current
    if (element === null) return
    const plot = new uPlot({
      ...chartOptions(props, element),
      hooks: {
        setCursor: [({ cursor: { idx, left, top } }) => {
          tip.value = !pointed.current || idx === null || idx === undefined || left === undefined || left < 0 ? undefined : { index: idx, left, top: top ?? 0 }
        }],
        setSelect: [plot => {
          const { left, width } = plot.select
          if (width > 8) zoom.current?.(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'))
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        }]
      }
    }, chartData(props), element)
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: element.clientHeight }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [atMs, series, kind, dark])

  return (
    <div
      class='chart' role='img' aria-label={`${label}. ${spoken(series, format)}`}
      onPointerEnter={() => { pointed.current = true }}
      onPointerLeave={() => {
        pointed.current = false
        tip.value = undefined
      }}
    >
      <div class='chart-plot' ref={place} />
      {tip.value !== undefined && <ChartTip {...props} place={tip.value} width={place.current?.clientWidth ?? 0} />}
    </div>
  )
}

/** Returns the columns of uPlot. Bars of several series stand on one another: the highest sum is drawn first. */
function chartData ({ atMs, series, kind }: ChartProps): uPlot.AlignedData {
  if (kind === 'lines') return [[...atMs], ...series.map(({ values }) => [...values])]
  const sums = atMs.map(() => 0)
  const stacked = series.map(({ values, colour }) => (
    colour === 'before' ? [...values] : sums.map((sum, index) => (sums[index] = sum + (values[index] ?? 0)))
  ))
  return [[...atMs], ...drawingOrder(series).map(line => stacked[series.indexOf(line)] ?? [])]
}

function spoken (series: readonly ChartSeries[], format: (value: number) => string): string {
  return series.map(({ label, values }) => {
    const known = values.filter(value => value !== null)
    return known.length === 0 ? `${label}: no values` : `${label}: from ${format(Math.min(...known))} to ${format(Math.max(...known))}`
  }).join('. ')
}
