/** The properties of a chart. */

export interface ChartSeries {
  readonly label: string
  readonly values: ReadonlyArray<number | null>
  /** One of the colours of series, from 1; `before` is drawn as a dashed grey line. */
  readonly colour: 1 | 2 | 3 | 4 | 5 | 6 | 'before'
}

export interface ChartProps {
  /** Describes the chart for readers who do not see it. */
  readonly label: string
  /** Start of each bucket, in Unix milliseconds. */
  readonly atMs: readonly number[]
  readonly bucket: 'minute' | 'hour' | 'day'
  readonly series: readonly ChartSeries[]
  readonly kind: 'bars' | 'lines'
  readonly format: (value: number) => string
  /** Shorter, for the axis. Default: the same. */
  readonly axisFormat?: (value: number) => string
  readonly onZoom?: (fromMs: number, untilMs: number) => void
}
