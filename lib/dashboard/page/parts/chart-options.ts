/** The style of charts: colours and fonts of the page, few lines. */

import uPlot from 'uplot'
import type { ChartProps, ChartSeries } from './chart-props.ts'

/** Resolves the page's CSS properties, since a canvas needs colours. */
function colours (element: HTMLElement): (name: string) => string {
  const probe = document.createElement('span')
  element.append(probe)
  return name => {
    probe.hidden = true
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
}

/**
 * Returns bars with the highest first, since lower ones are drawn over them, and the previous period over
 * all.
 */
export function drawingOrder (series: readonly ChartSeries[]): readonly ChartSeries[] {
  return [
    ...series.filter(({ colour }) => colour !== 'before').toReversed(),
    ...series.filter(({ colour }) => colour === 'before')
  ]
}

/** More bars than this are drawn as areas, since there is no room between bars. */
const maxBars = 72

export function chartOptions (
  { atMs, series, kind, bucket, format, axisFormat = format }: ChartProps,
  element: HTMLElement
): uPlot.Options {
  const colour = colours(element)
  const font = `11px ${getComputedStyle(element).fontFamily}`
  const axis = {
    stroke: colour('ink-3'),
    font,
    ticks: { show: false },
    grid: { stroke: colour('line'), width: 1 }
  }
  const drawn = kind === 'bars' ? drawingOrder(series) : series
  const shape = kind === 'bars' && atMs.length > maxBars ? 'areas' : kind
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    ms: 1,
    ...bucket === 'day' && { tzDate: (atMs: number) => uPlot.tzDate(new Date(atMs), 'Etc/UTC') },
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false },
      points: { show: kind === 'lines' },
      sync: { key: 'overview' }
    },
    scales: {
      x: {
        time: true,
        range: (_, min, max) =>
          shape === 'bars' ? [min - bucketMs(bucket) / 2, max + bucketMs(bucket) / 2] : [min, max]
      },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] }
    },
    series: [{}, ...drawn.map(line => seriesOptions(line, shape, colour))],
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 72,
        size: 26,
        values: (_, splits) => splits.map(split => tick(split, bucket))
      },
      { ...axis, size: 56, gap: 8, space: 44, values: (_, splits) => splits.map(axisFormat) }
    ]
  }
}

/** Fewer values than this are also drawn as points. */
const minLine = 12

function seriesOptions (
  { label, values, colour: name }: ChartSeries,
  shape: 'bars' | 'lines' | 'areas',
  colour: (name: string) => string
): uPlot.Series {
  if (name === 'before') {
    return { label, stroke: colour('ink-3'), width: 1.25, dash: [4, 4], points: { show: false } }
  }
  const stroke = colour(`series-${name}`)
  if (shape === 'bars') {
    return {
      label,
      fill: stroke,
      width: 0,
      points: { show: false },
      paths: uPlot.paths.bars!({ size: [0.72, 36], radius: 0.12 })
    }
  }
  if (shape === 'areas') return { label, stroke, fill: stroke, width: 1, points: { show: false } }
  // A line needs two points; a period that began just now has one.
  return {
    label,
    stroke,
    width: 1.75,
    points: { show: values.filter(value => value !== null).length < minLine, size: 6, fill: stroke }
  }
}

export function bucketMs (bucket: ChartProps['bucket']): number {
  return { minute: 60_000, hour: 3_600_000, day: 86_400_000 }[bucket]
}

const date = { month: 'short', day: 'numeric' } as const
const utcDay = new Intl.DateTimeFormat('en', { ...date, timeZone: 'UTC' })
const day = new Intl.DateTimeFormat('en', date)
const hour = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

/** Days are days of UTC; hours are those of the reader, with the date at midnight. */
function tick (atMs: number, bucket: ChartProps['bucket']): string {
  if (bucket === 'day') return atMs % bucketMs('day') === 0 ? utcDay.format(atMs) : ''
  const moment = new Date(atMs)
  return moment.getHours() === 0 && moment.getMinutes() === 0 ? day.format(moment) : hour.format(moment)
}
